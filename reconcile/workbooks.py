"""Tables as XLSX: where it comes from on the first sheet, then the rows; written to a file, sent in pieces.

Text is text, with its zeros, and no formula, whatever it begins with. A number is one with its own decimals,
where a spreadsheet can hold it exactly: it keeps fifteen digits, so what has more is text. A moment is a true
one, in UTC, and says so. Limits are those of the format: what has more rows goes on on the next sheet, longer
text is cut, with a mark that says so.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain, islice
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from xlsxwriter import Workbook

SHEET_ROWS = 1_048_576
"""Rows of one sheet, the line of heads among them."""
CELL_MAX = 32_767
"""UTF-16 units in one cell."""
CUT = " … [cut: a cell holds no more]"
DIGITS = 15
PIECE = 1 << 16
ABOUT, ROWS = "Where this comes from", "Rows"
MEASURED, NARROW, WIDE = 200, 8, 60
"""How many rows tell how wide a column is, and between which widths, in characters."""
TEXT_FORMAT_MAX = 255
"""Longer text shows as ##### in a cell that is formatted as text."""
NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Sheet:
    """A small table of its own, between where it comes from and the rows."""

    name: str
    columns: Sequence[str]
    rows: Iterable[Sequence[object]]


def written(
    about: Iterable[Sequence[object]],
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    before: Iterable[Sheet] = (),
) -> Iterator[bytes]:
    """Yield a workbook, piece by piece, once all of it lies in a file that has no name; in bounded memory."""
    with TemporaryDirectory(prefix="tieout-") as folder, TemporaryFile() as file:
        book = Workbook(file, {"constant_memory": True, "tmpdir": folder})
        book.use_zip64()
        try:
            sheets = _Sheets(book, about, columns)
            for one in before:
                sheets.small(one)
            sheets.write(rows)
        finally:
            book.close()
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece


class _Sheets:
    """The sheets of one workbook, written row by row."""

    def __init__(self, book: Any, about: Iterable[Sequence[object]], columns: Sequence[str]) -> None:
        """Write where it comes from."""
        self.book, self.columns = book, columns
        self.formats: dict[tuple[tuple[str, object], ...], Any] = {}
        self.head = self.format(bold=True)
        sheet = book.add_worksheet(ABOUT)
        sheet.set_column(0, 0, WIDE // 2, self.head)
        sheet.set_column(1, 1, 2 * WIDE)
        sheet.hide_gridlines(2)
        for number, row in enumerate(about):
            self.reported(sheet, number, row)

    def format(self, **properties: object) -> Any:
        """Return the one format of these properties."""
        known = tuple(properties.items())
        if known not in self.formats:
            self.formats[known] = self.book.add_format(properties)
        return self.formats[known]

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        """Write all rows, on as many sheets as they take."""
        left = iter(rows)
        first = list(islice(left, MEASURED))
        widths = _widths(self.columns, first)
        number, sheet, line = 0, None, SHEET_ROWS
        for row in chain(first, left):
            if sheet is None or line == SHEET_ROWS:
                self.end(sheet, line)
                number, line = number + 1, 1
                sheet = self.begun(ROWS if number == 1 else f"{ROWS} {number}", self.columns, widths)
            self.cells(sheet, line, row)
            line += 1
        self.end(sheet or self.begun(ROWS, self.columns, widths), line if sheet else 1)

    def small(self, one: Sheet) -> None:
        """Write a table that stands on a sheet of its own, and is not filtered."""
        rows = list(one.rows)
        sheet = self.begun(one.name, one.columns, _widths(one.columns, rows))
        for line, row in enumerate(rows, 1):
            self.cells(sheet, line, row)

    def begun(self, name: str, columns: Sequence[str], widths: Sequence[int]) -> Any:
        """Begin a sheet with its heads."""
        sheet = self.book.add_worksheet(name)
        for place, (head, width) in enumerate(zip(columns, widths, strict=True)):
            sheet.set_column(place, place, width + 2)
            sheet.write_string(0, place, head, self.head)
        sheet.freeze_panes(1, 0)
        return sheet

    def end(self, sheet: Any, line: int) -> None:
        """Let what is on it be filtered."""
        if sheet is not None:
            sheet.autofilter(0, 0, line - 1, len(self.columns) - 1)

    def cells(self, sheet: Any, line: int, row: Sequence[object]) -> None:
        """Write one row."""
        for place, value in enumerate(row):
            self.cell(sheet, (line, place), value)

    def reported(self, sheet: Any, line: int, row: Sequence[object]) -> None:
        """Write one line of the report: its title, or a name and what it is, broken where it is long."""
        if not row:
            return
        name, *value = row
        title = self.format(bold=True, font_size=14) if line == 0 else self.format(bold=True, valign="top")
        sheet.write_string(line, 0, fitting(NOT_XML.sub("\ufffd", str(name))), title)
        self.cells(sheet, line, [None, *value])

    def cell(self, sheet: Any, at: tuple[int, int], value: object) -> None:
        """Write one value as what it is."""
        if value is None or value == "":
            return
        if isinstance(value, bool):
            sheet.write_string(*at, "yes" if value else "no")
        elif isinstance(value, int | Decimal) and _fits(value):
            sheet.write_number(*at, value, self.format(num_format=_decimals(value)))
        elif isinstance(value, datetime) and value.year >= 1900:
            moment = value.astimezone(UTC).replace(tzinfo=None, microsecond=0)
            sheet.write_datetime(*at, moment, self.format(num_format='yyyy-mm-dd hh:mm:ss "UTC"'))
        elif isinstance(value, date) and value.year >= 1900:
            sheet.write_datetime(*at, value, self.format(num_format="yyyy-mm-dd"))
        else:
            self.text(sheet, at, str(value))

    def text(self, sheet: Any, at: tuple[int, int], text: str) -> None:
        """Write text that stays text, also where somebody types into its cell."""
        text = fitting(NOT_XML.sub("\ufffd", text))
        how = self.format(num_format="@", quote_prefix=True) if len(text) <= TEXT_FORMAT_MAX else None
        if text.startswith("<r>") and text.endswith("</r>"):
            # The writer takes such text for runs of its own, as they are; so we have it write the runs.
            sheet.write_rich_string(*at, text[0], text[1], text[2:], *([how] if how else []))
        else:
            sheet.write_string(*at, text, how)


def fitting(text: str) -> str:
    """Return text that one cell holds; where it is cut, it says so."""
    if len(text) <= CELL_MAX // 2 or len(text.encode("utf-16-le")) <= 2 * CELL_MAX:
        return text
    room = 2 * (CELL_MAX - len(CUT))
    return text.encode("utf-16-le")[:room].decode("utf-16-le", "ignore") + CUT


def _widths(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> list[int]:
    """Say how wide each column is, in characters."""
    return [
        min(max([NARROW, len(name), *(len(str(row[place])) for row in rows)]), WIDE)
        for place, name in enumerate(columns)
    ]


def _fits(number: int | Decimal) -> bool:
    """Say whether a spreadsheet's number holds it exactly, as it is written."""
    return (
        len(f"{number:f}".lstrip("-").replace(".", "").lstrip("0")) <= DIGITS
        if isinstance(number, Decimal)
        else (abs(number) < 10**DIGITS)
    )


def _decimals(number: int | Decimal) -> str:
    places = max(0, -int(number.as_tuple().exponent)) if isinstance(number, Decimal) else 0
    grouped = "#,##0" if isinstance(number, Decimal) else "0"
    return f"{grouped}.{'0' * places}" if places else grouped
