"""CSV and its kin: encoding, separator and header are decided once for all of it; read line by line."""

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from reconcile.histories.files import FileRefused
from reconcile.statements import columns
from reconcile.statements.forms import headers
from reconcile.statements.forms.headers import HEADER_WITHIN
from reconcile.statements.layouts import Layout, Row
from reconcile.statements.opening import LINE_MAX, File, lines

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def look(file: File) -> Layout:
    """Decide how a file is written; FileRefused where it cannot be told."""
    csv.field_size_limit(LINE_MAX)
    encoding = file.encoding()
    with file.text(encoding) as text:
        head = list(islice(lines(text, file.name), HEADER_WITHIN))
    separator, header_line, first_line, cells = _header(head, file)
    return Layout(
        file.path,
        file.checksum,
        "CSV",
        columns.find(cells, file.how.named, name=file.name, naming=file.how.naming),
        partial(_rows, file, encoding, separator, first_line=first_line),
        encoding,
        SEPARATORS[separator],
        header_line,
    )


def _rows(file: File, encoding: str, separator: str, *, first_line: int) -> Iterator[Row]:
    above = first_line - 1
    with file.text(encoding) as text:
        left = lines(text, file.name)
        for _ in range(above):
            next(left, "")
        reader = csv.reader(left, delimiter=separator, strict=True)
        begun = first_line
        try:
            for cells in reader:
                if any(cells):
                    yield begun, cells, ""
                begun = first_line + reader.line_num
        except csv.Error as error:
            raise FileRefused(f"Line {begun} of {file.name} is no CSV: {error}.") from None


def _header(head: Sequence[str], file: File) -> tuple[str, int, int, list[str]]:
    """Find the header by the one separator that makes columns of it; FileRefused where none or two do."""
    found = []
    stated = file.how.header
    for separator in file.how.separator or SEPARATORS:
        reader = csv.reader(head, delimiter=separator)
        begun = 1
        for cells in reader:
            if stated in (0, begun) and columns.is_header(cells, file.how.named):
                found.append((separator, begun, reader.line_num + 1, cells))
                break
            begun = reader.line_num + 1
    if len(found) > 1:
        by = " and by ".join(SEPARATORS[separator] for separator, *_ in found)
        raise FileRefused(
            f"The header of {file.name} can be taken apart by {by}. Export it with another separator."
        )
    if not found:
        raise headers.untold(file.name, file.how, _likely(head, file))
    return found[0]


def _likely(head: Sequence[str], file: File) -> list[str]:
    """Return what is most like a header: the first of the most lines that one separator makes alike.

    Where a profile says its line, that one.
    """
    if file.how.header:
        line = head[file.how.header - 1 : file.how.header]
        return next(csv.reader(line, delimiter=file.how.separator or ","), [])
    by_separator = (
        headers.likely([cells for cells in csv.reader(head, delimiter=separator) if cells])
        for separator in SEPARATORS
    )
    return max(by_separator, key=lambda one: one[0])[1]
