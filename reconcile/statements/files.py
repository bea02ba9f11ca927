"""A statement's file as rows of text: encoding, separator and header are decided once for all of it.

It is read twice, line by line: once to decide how it is written, once for what it holds.
"""

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import TextIO

from ledger.destinations.connectors.base import regular
from reconcile.histories.files import FileRefused, encoding_of
from reconcile.statements import columns
from reconcile.statements.columns import Columns, HeaderUntold
from reconcile.statements.unlinked import Unlinked

BYTES_MAX = 200 * 2**20
LINE_MAX = 2**16
HEADER_WITHIN = 40
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
OTHER_FORMS = {
    b"PK\x03\x04": "a workbook or a zip",
    b"\xd0\xcf\x11\xe0": "an old workbook",
    b"%PDF": "a PDF",
    b"<": "XML or HTML",
    b"{": "JSON",
    b"[": "JSON",
    b"\x1f\x8b": "compressed",
    b":20:": "MT940",
}

BOXES = {"encoding": "Encoding", "decimal": "Decimal mark", "days": "Days", "columns": "Columns"}
"""What states something on a page."""

Row = tuple[int, list[str]]
"""The line on which a row begins, and its cells."""


@dataclass(frozen=True)
class How:
    """How a file is to be read, as far as it was stated; what is empty is decided by the file itself."""

    side: str
    """`source` or `destination`: what the options that state it begin with."""
    named: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    decimal: str = ""
    """`point` or `comma`."""
    days: str = ""
    """`dmy` or `mdy`."""

    on_page: bool = False
    """It is stated in the boxes of a page, not by options of the command."""

    def option(self, what: str) -> str:
        """Return the option, or the box, that states something of this side's file."""
        return f"“{BOXES[what]}”" if self.on_page else f"--{self.side}-{what}"

    def remedy(self, what: str, *values: str) -> str:
        """Say how to state something that has these values."""
        option = self.option(what)
        if self.on_page:
            return f"Say which it is under {option}."
        return f"Say which it is: {' or '.join(f'{option} {value}' for value in values)}."

    def naming(self, part: str) -> str:
        """Say how to name the column of a part."""
        if self.on_page:
            return "choose it" + (" or write the one that all of it is in" if part == "currency" else "")
        also = ", such as currency=ZAR where all of it is in one" if part == "currency" else ""
        return f"name it with {self.option('columns')} {part}=…{also}"


@dataclass(frozen=True)
class Layout:
    """A file as it is written: its checksum (SHA-256), encoding, separator, and where its columns stand."""

    path: Path | Unlinked
    checksum: str
    encoding: str
    separator: str
    header_line: int
    first_line: int
    """The physical line after the header."""
    columns: Columns

    def rows(self) -> Iterator[Row]:
        """Yield the rows under the header that hold anything; FileRefused says which one is no CSV."""
        with text_of(self.path, self.encoding) as text:
            lines = _lines(text, self.path.name)
            for _ in range(self.first_line - 1):
                next(lines, "")
            yield from _rows(lines, self.separator, name=self.path.name, above=self.first_line - 1)


def look(path: Path | Unlinked, how: How) -> Layout:
    """Decide how a file is written; FileRefused where it cannot be told, or it is none that can be read."""
    csv.field_size_limit(LINE_MAX)
    try:
        with _opened(path) as raw:
            size = raw.seek(0, 2)
            raw.seek(0)
            _refuse_other(path.name, size, raw.read(4))
            raw.seek(0)
            checksum = hashlib.file_digest(raw, "sha256").hexdigest()
            raw.seek(0)
            encoding = encoding_of(raw, path.name, stated=how.encoding, option=how.option("encoding"))
    except OSError as error:
        raise FileRefused(f"{path.name} cannot be opened: {error.strerror}.") from None
    with text_of(path, encoding, how) as text:
        head = [line for line, _ in zip(_lines(text, path.name), range(HEADER_WITHIN), strict=False)]
    separator, header_line, first_line, cells = _header(head, path.name, how)
    found = columns.find(cells, how.named, name=path.name, naming=how.naming)
    return Layout(path, checksum, encoding, separator, header_line, first_line, found)


def _opened(path: Path | Unlinked) -> BufferedReader:
    return path.opened() if isinstance(path, Unlinked) else open(path, "rb", opener=regular)


@contextmanager
def text_of(path: Path | Unlinked, encoding: str, how: How | None = None) -> Iterator[TextIO]:
    """Open a file as text; FileRefused where some of it is not in the encoding."""
    try:
        with (
            _opened(path) as raw,
            TextIOWrapper(raw, encoding=encoding, errors="strict", newline="") as text,
        ):
            yield text
    except OSError as error:
        raise FileRefused(f"{path.name} cannot be opened: {error.strerror}.") from None
    except UnicodeError as error:
        why = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
        raise FileRefused(
            f"{path.name} is not {encoding.upper()} throughout ({why}). Say how it is written with"
            f" {how.option('encoding') if how else '--source-encoding or --destination-encoding'}, such as"
            " cp1252; it is decided once for the whole file."
        ) from None


def _refuse_other(name: str, size: int, head: bytes) -> None:
    if not size:
        raise FileRefused(f"{name} is empty.")
    if size > BYTES_MAX:
        raise FileRefused(f"{name} is larger than 200 MB. Export fewer days at a time.")
    for mark, what in OTHER_FORMS.items():
        if head.startswith(mark):
            raise FileRefused(
                f"{name} is {what}, which is not read here yet. Save or export it as CSV (UTF-8)."
            )


def _lines(text: TextIO, name: str) -> Iterator[str]:
    number = 0
    while line := text.readline(LINE_MAX):
        number += 1
        if len(line) == LINE_MAX:
            raise FileRefused(
                f"Line {number} of {name} has {LINE_MAX} characters or more: that is no export."
            )
        yield line


def _rows(lines: Iterator[str], separator: str, *, name: str, above: int) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=separator, strict=True)
    begun = above + 1
    try:
        for cells in reader:
            if any(cells):
                yield begun, cells
            begun = above + reader.line_num + 1
    except csv.Error as error:
        raise FileRefused(f"Line {begun} of {name} is no CSV: {error}.") from None


def _header(head: Sequence[str], name: str, how: How) -> tuple[str, int, int, list[str]]:
    """Find the header by the one separator that makes columns of it; FileRefused where none or two do."""
    found = []
    for separator in SEPARATORS:
        reader = csv.reader(head, delimiter=separator)
        begun = 1
        for cells in reader:
            if columns.is_header(cells, how.named):
                found.append((separator, begun, reader.line_num + 1, cells))
                break
            begun = reader.line_num + 1
    if len(found) > 1:
        by = " and by ".join(SEPARATORS[separator] for separator, *_ in found)
        raise FileRefused(
            f"The header of {name} can be taken apart by {by}. Export it with another separator."
        )
    if not found:
        option = how.option("columns")
        options = f"Name the columns: {option} reference=…,amount=…,currency=…."
        name_them = "Choose the columns." if how.on_page else options
        likely = _likely(head)
        raise HeaderUntold(
            f"None of the first {HEADER_WITHIN} lines of {name} is a header with a reference and an amount"
            f" ({columns.wanted()}). {name_them} One line has: {columns.shown(likely)}.",
            likely,
        )
    return found[0]


def _likely(head: Sequence[str]) -> list[str]:
    """Return what is most like a header: the first of the most lines that one separator makes alike."""
    best: tuple[int, list[str]] = (0, [])
    for separator in SEPARATORS:
        rows = [cells for cells in csv.reader(head, delimiter=separator) if cells]
        width, lines = max(Counter(map(len, rows)).items(), key=lambda one: one[0] * one[1], default=(0, 0))
        likely = next((cells for cells in rows if len(cells) == width), [])
        best = max(best, (width * lines, likely), key=lambda one: one[0])
    return best[1]
