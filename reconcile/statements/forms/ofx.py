"""OFX 1 (SGML) and 2 (XML): the entries of bank and card statements, signed as they are written.

Only what is written as a tag of OFX is one; all else is text. Where a bank does not escape what payers write,
HTML's scripts and comments would hide entries. OFX 2.3, chapters 2 and 11.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from html import unescape
from typing import IO, NamedTuple

from reconcile.histories.files import MARKS, FileRefused
from reconcile.statements.forms.bank import Entry, laid_out
from reconcile.statements.layouts import Layout
from reconcile.statements.opening import File

BYTES_MAX = 20 * 2**20
PIECE = 2**16
VALUE_MAX = 2000
AMOUNT = re.compile(r"[-+]?(?:\d{1,18}(?:[.,]\d{0,6})?|[.,]\d{1,6})")
DAY = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\d{0,6}(?:\.\d{3})?)?(?:\[.*\])?")
ENCODING = re.compile(r"\bENCODING\s*:\s*([\w-]+)", re.IGNORECASE)
WESTERN = re.compile(r"\bCHARSET\s*:\s*1252|encoding=.(?:iso-8859-1|windows-1252)", re.IGNORECASE)
TAG = re.compile(r"(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9._]{0,63})\s*(?P<empty>/?)>")
"""A tag behind its <. OFX has no attributes."""
CDATA = "![CDATA["
APART_ENDS = {"!--": "-->", CDATA: "]]>"}
APART = re.compile("|".join(map(re.escape, APART_ENDS)))
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
    """Return how it is written: as stated, by its mark, or as its own head says.

    In OFX 1 CHARSET is a code page of ENCODING:USASCII alone (OFX 1.6, 2.2).
    """
    head = file.head.decode("latin-1").partition("<OFX>")[0]
    said = ENCODING.search(head)
    marked = any(file.head.startswith(mark) for mark, _ in MARKS)
    if file.how.encoding or marked or (said and said[1].upper() != "USASCII") or not WESTERN.search(head):
        return file.encoding()
    return "cp1252"


class _Tags:
    """Keeps what stands behind each tag; a tag without an end of its own ends with the next."""

    def __init__(self, *, xml: bool, line: int) -> None:
        """Begin behind the head; OFX 1 is no XML, and has text where that has comments."""
        self.xml, self.line = xml, line
        self.made: list[_Told] = []
        self.open: list[_Told] = []
        self.tag = self.around = self.text = ""

    def take(self, part: str) -> None:
        """Take what stands from one < to before the next, without it; ValueError where it is no OFX."""
        if tag := TAG.match(part):
            name = tag["name"].lower()
            if not tag["end"]:
                self._begin(name)
            if tag["end"] or tag["empty"]:
                self._end(name)
            self._read(unescape(part[tag.end() :][:VALUE_MAX]))
        elif apart := APART.match(part):
            self._aside(apart[0], *part[apart.end() :].partition(APART_ENDS[apart[0]]))
        else:
            self._read("<" + unescape(part[:VALUE_MAX]))
        self.line += part.count("\n")

    def _aside(self, sign: str, inside: str, ended: str, rest: str) -> None:
        """Read what XML sets apart: a section as the text that it is, a comment not at all."""
        if not self.xml:
            self._read(unescape(f"<{sign}{inside[:VALUE_MAX]}{ended}"))
        elif not ended:
            raise ValueError(f"within <{sign} stands a tag, and whether it counts cannot be told")
        elif sign == CDATA:
            self._read(inside)
        self._read(unescape(rest[:VALUE_MAX]))

    def _read(self, data: str) -> None:
        if self.tag and len(self.text) < VALUE_MAX:
            self.text += data[:VALUE_MAX]

    def _begin(self, tag: str) -> None:
        self._keep()
        self.tag = tag
        if tag in WHOLE:
            if any(told.name == tag for told in self.open):
                raise ValueError(f"{tag.upper()} begins within another")
            self.open.append(_Told(tag, {}))
        elif tag in ("currency", "origcurrency"):
            self.around = tag

    def _end(self, tag: str) -> None:
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
    with file.text(encoding) as text:
        parts = _parts(text)
        head = next(parts)
        tags = _Tags(xml="OFXHEADER" not in head.upper(), line=1 + head.count("\n"))
        try:
            for part in parts:
                tags.take(part)
                yield from tags.made
                tags.made.clear()
        except ValueError as error:
            raise FileRefused(f"Line {tags.line} of {file.name} is no OFX: {error}.") from None
    if tags.open:
        raise FileRefused(f"{file.name} ends within {tags.open[-1].name.upper()}: it is not whole.")


def _parts(text: IO[str]) -> Iterator[str]:
    """Split a text at each <, as it is read."""
    held: list[str] = []
    while piece := text.read(PIECE):
        first, *others = piece.split("<")
        held.append(first)
        for other in others:
            yield "".join(held)
            held = [other]
    yield "".join(held)


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
