"""A file of runs as rows: its form and its encoding are decided once for all of it, and never guessed by row.

It is read as it is needed: no more of it stands in memory than one row and what surrounds it.
"""

import codecs
import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO

from ledger.destinations.connectors.base import regular
from ledger.rules.errors import Malformed
from reconcile.histories.json_rows import items

BYTES_MAX = 100 * 2**20
ROWS_MAX = 1_000_000
LINE_MAX = 2**16
FIELD_MAX = 2**20
SEPARATORS = (",", ";", "\t")
ENCODINGS = ("utf-8", "utf-16", "utf-16-le", "utf-16-be", "cp1252")
MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class FileRefused(Malformed):
    """The file cannot be read, and nothing of it was taken in."""

    type = "file-refused"
    title = "The file cannot be read"


@dataclass(frozen=True)
class Row:
    """One row of the file, and where it stands there in words; a wrong number of fields is said in `why`."""

    place: str
    cells: Mapping[str, object]
    why: str = ""


@dataclass(frozen=True)
class Opened:
    """A file that is read: its form, its encoding, and the names of its columns where it has a header."""

    form: str
    encoding: str
    header: tuple[str, ...] | None
    rows: Iterator[Row]


def fingerprint(path: Path) -> str:
    """Return a file's SHA-256; FileRefused where it is not there, no file, empty or over 100 MiB."""
    try:
        with open(path, "rb", opener=regular) as file:
            size = file.seek(0, 2)
            file.seek(0)
            if size > BYTES_MAX:
                raise FileRefused(f"{path.name} is larger than 100 MiB. Export fewer days at a time.")
            if not size:
                raise FileRefused(f"{path.name} is empty.")
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileRefused(f"{path.name} cannot be opened: {error.strerror}.") from None


@contextmanager
def opened(path: Path, *, encoding: str = "") -> Iterator[Opened]:
    """Open a file of runs; FileRefused says why it, or one of its rows, cannot be read.

    Without a mark at its beginning and without a stated encoding it is UTF-8.
    """
    csv.field_size_limit(FIELD_MAX)
    try:
        with open(path, "rb", opener=regular) as raw:
            used = encoding_of(raw, path.name, stated=encoding)
            with TextIOWrapper(raw, encoding=used, errors="strict", newline="") as text:
                yield _read(text, used, path.name)
    except OSError as error:
        raise FileRefused(f"{path.name} cannot be opened: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise FileRefused(
            f"{path.name} is not {used.upper()} throughout ({error.reason}). Say how it is written with"
            " --encoding, such as cp1252; it is decided once for the whole file."
        ) from None


def encoding_of(raw: BinaryIO, name: str, *, stated: str, option: str = "--encoding") -> str:
    """Return a file's encoding: by its mark, as stated, else UTF-8; FileRefused where they disagree."""
    head = raw.read(4)
    raw.seek(0)
    marked = next((used for mark, used in MARKS if head.startswith(mark)), "")
    if marked and stated and not marked.startswith(stated[:6]):
        raise FileRefused(f"{name} begins with the mark of {marked.upper()}, and {option} says {stated}.")
    if not (marked or stated) and b"\0" in head:
        raise FileRefused(f"{name} has NUL characters. If it is UTF-16, say {option} utf-16-le.")
    return marked or stated or "utf-8"


def _read(text: TextIO, encoding: str, name: str) -> Opened:
    number, first = 0, ""
    while not first.strip():
        first = text.readline(LINE_MAX)
        number += 1
        if not first:
            raise FileRefused(f"{name} holds nothing.")
    if first.lstrip()[0] in "[{":
        return Opened("JSON", encoding, None, _json(first, text, name))
    if len(first) == LINE_MAX:
        raise FileRefused(f"The first line of {name} has {LINE_MAX} characters or more: that is no header.")
    separator, header = _header(first, name)
    return Opened(
        f"CSV ({'tab' if separator == chr(9) else separator})",
        encoding,
        header,
        _csv(text, separator, header=header, name=name, above=number),
    )


def _header(line: str, name: str) -> tuple[str, tuple[str, ...]]:
    """Read the header by the one separator that makes columns of it; FileRefused where two of them do."""
    read: dict[str, list[str]] = {}
    for separator in SEPARATORS:
        try:
            cells = next(csv.reader([line], delimiter=separator, strict=True), [])
        except csv.Error:
            continue
        if len(cells) > 1:
            read[separator] = [cell.strip() for cell in cells]
    if not read:
        raise FileRefused(
            f"The first line of {name} is no header: it has no columns apart by comma, semicolon or tab."
        )
    if len(read) > 1:
        raise FileRefused(
            f"The header of {name} can be taken apart by more than one of comma, semicolon and tab. Put its"
            " names in quotes, or export it with another separator."
        )
    separator, header = next(iter(read.items()))
    doubled = sorted({cell for cell in header if cell and header.count(cell) > 1})
    if doubled:
        raise FileRefused(f'{name} has two columns "{doubled[0]}": which is meant cannot be told.')
    return separator, tuple(header)


def _csv(text: TextIO, separator: str, *, header: Sequence[str], name: str, above: int) -> Iterator[Row]:
    lines = csv.reader(text, delimiter=separator, strict=True)
    begun = above
    try:
        for cells in lines:
            line, begun = begun + 1, above + lines.line_num
            if not cells:
                continue
            why = ""
            if len(cells) != len(header):
                why = f"it has {len(cells)} fields, and the header {len(header)}"
            yield Row(f"line {line}", dict(zip(header, cells, strict=False)), why)
    except csv.Error as error:
        raise FileRefused(f"Line {begun + 1} of {name} is no CSV: {error}.") from None


def _json(first: str, text: TextIO, name: str) -> Iterator[Row]:
    try:
        for number, item in enumerate(items(first, text), 1):
            why = "" if isinstance(item, dict) else "it is no object with members"
            yield Row(f"item {number}", item if isinstance(item, dict) else {}, why)
    except ValueError as error:
        raise FileRefused(f"{name} is no JSON that can be read: {error}.") from None
