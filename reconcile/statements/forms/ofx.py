"""OFX 1 (SGML) and 2 (XML): the entries of bank and card statements, signed as they are written.

Tags are told apart by the standard library's parser, which expands and fetches nothing. OFX 2.3, chapter 11.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from html.parser import HTMLParser
from typing import NamedTuple

from reconcile.histories.files import FileRefused
from reconcile.statements.forms.bank import Entry, laid_out
from reconcile.statements.layouts import Layout
from reconcile.statements.opening import File

BYTES_MAX = 20 * 2**20
PIECE = 2**16
VALUE_MAX = 2000
AMOUNT = re.compile(r"[-+]?(?:\d{1,18}(?:[.,]\d{0,6})?|[.,]\d{1,6})")
DAY = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\d{0,6}(?:\.\d{3})?)?(?:\[.*\])?")
WESTERN = re.compile(
    r"^CHARSET\s*:\s*1252|encoding=.(?:iso-8859-1|windows-1252)", re.IGNORECASE | re.MULTILINE
)
WHOLE = frozenset(("stmttrn", "stmtrs", "ccstmtrs", "invstmtrs"))
"""What is told once its end has come."""


class _Told(NamedTuple):
    """An entry, or the statement around it, by the names of what stood in it."""

    name: str
    values: dict[str, str]


def is_ofx(head: str) -> bool:
    """Say whether a text begins as OFX does."""
    return bool(re.match(r"OFXHEADER\s*:|(?:<\?[^>]*>\s*)*<(?:OFX>|\?OFX)", head, re.IGNORECASE))


def look(file: File) -> Layout:
    """See that every entry is whole; FileRefused where one is not."""
    if file.size > BYTES_MAX:
        raise FileRefused(f"{file.name} is OFX of more than 20 MB. Export fewer days at a time.")
    encoding = _encoding(file)
    for _ in _told(file, encoding):
        pass
    notes = [
        f"Nothing proves that {file.name} holds every entry: OFX has no opening balance.",
        f"A line of {file.name} is an entry, counted from 1.",
    ]
    return laid_out(file, "OFX", partial(_entries, file, encoding), notes)


def _encoding(file: File) -> str:
    """Return how it is written: as stated, by its mark, or as its own head says."""
    head = file.head.decode("latin-1")
    if not file.how.encoding and WESTERN.search(head):
        return "cp1252"
    return file.encoding()


class _Tags(HTMLParser):
    """Keeps what stands behind each tag; a tag without an end of its own ends with the next."""

    def __init__(self) -> None:
        super().__init__()
        self.made: list[_Told] = []
        self.open: list[_Told] = []
        self.tag = self.around = self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Begin an element."""
        self._keep()
        self.tag, self.text = tag, ""
        if tag in WHOLE:
            self.open.append(_Told(tag, {}))
        elif tag in ("currency", "origcurrency"):
            self.around = tag

    def handle_data(self, data: str) -> None:
        """Read what stands behind a tag."""
        if len(self.text) < VALUE_MAX:
            self.text += data

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        self._keep()
        if tag == self.around:
            self.around = ""
        if tag in WHOLE:
            if not self.open or self.open[-1].name != tag:
                raise ValueError(f"{tag.upper()} ends where it did not begin")
            told = self.open.pop()
            around = self.open[-1].values if self.open else {}
            self.made.append(told._replace(values={"curdef": around.get("curdef", "")} | told.values))

    def _keep(self) -> None:
        text = self.text.strip()
        if self.tag and text and self.open:
            name = f"{self.around}.{self.tag}" if self.around else self.tag
            self.open[-1].values.setdefault(name, text[:VALUE_MAX])
        self.tag = self.text = ""


def _told(file: File, encoding: str) -> Iterator[_Told]:
    tags = _Tags()
    with file.text(encoding) as text:
        try:
            while piece := text.read(PIECE):
                tags.feed(piece)
                yield from tags.made
                tags.made.clear()
            tags.close()
            yield from tags.made
        except ValueError as error:
            raise FileRefused(f"Line {tags.getpos()[0]} of {file.name} is no OFX: {error}.") from None
    if tags.open:
        raise FileRefused(f"{file.name} ends within {tags.open[-1].name.upper()}: it is not whole.")


def _entries(file: File, encoding: str) -> Iterator[Entry]:
    number = 0
    for told in _told(file, encoding):
        if told.name == "stmttrn":
            number += 1
            yield _entry(number, told.values)


def _entry(number: int, values: dict[str, str]) -> Entry:
    amount, day = values.get("trnamt", ""), values.get("dtposted", "")
    found = DAY.fullmatch(day)
    why = "" if AMOUNT.fullmatch(amount) else f'the amount "{amount[:40]}" cannot be read'
    if "correctfitid" in values:
        why = f"it corrects the entry {values['correctfitid'][:60]}: which of them counts cannot be told"
    return Entry(
        number,
        Decimal(amount.replace(",", ".")) if AMOUNT.fullmatch(amount) else "",
        values.get("currency.cursym") or values["curdef"],
        "-".join(found.groups()) if found else day,
        bank=values.get("fitid", ""),
        payment=values.get("refnum", ""),
        other=values.get("checknum", ""),
        text=f"{values.get('name', '')} {values.get('memo', '')}".strip()[:200],
        why=why,
    )
