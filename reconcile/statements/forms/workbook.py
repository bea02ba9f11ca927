"""XLSX: the first sheet or the one that is stated, cell by cell as it was kept, within limits.

Numbers are read to the fifteen digits that a spreadsheet keeps.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import Any

from reconcile.histories.files import FileRefused
from reconcile.statements import columns
from reconcile.statements.columns import Columns, HeaderUntold
from reconcile.statements.forms import headers, markup, packages, typed
from reconcile.statements.forms.headers import HEADER_WITHIN
from reconcile.statements.forms.packages import Package
from reconcile.statements.forms.sheets import MERGED_KEPT, Kept, Rows, SheetRow
from reconcile.statements.forms.typed import Flawed
from reconcile.statements.layouts import Cell, Layout, Row
from reconcile.statements.opening import File

EXACT = 10**15 - 1
TOLD_MAX = MERGED_KEPT


@dataclass
class _Sheet:
    """One sheet of an open workbook, and what was seen of it once all its rows were asked for."""

    package: Package
    name: str
    seen: Rows = field(default_factory=Rows)
    hidden: list[int] = field(default_factory=list)
    padded: dict[int, int] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[int, list[Cell]]]:
        """Yield the rows that hold anything, each with its number."""
        with self.package.source(self.name) as source:
            for row in markup.made(self.seen, source):
                cells = self._cells(row)
                if any(cells):
                    if row.hidden:
                        self.hidden.append(row.number)
                    yield row.number, cells

    def _cells(self, row: SheetRow) -> list[Cell]:
        made: list[Cell] = [""] * max((cell.column for cell in row.cells), default=0)
        for cell in row.cells:
            made[cell.column - 1] = self._cell(cell)
        return made

    def _cell(self, cell: Kept) -> Cell:
        text = cell.text
        if not text:
            return Flawed("formula", "is a formula that was not worked out: save it in a spreadsheet first")
        match cell.kind:
            case "n":
                return self._number(text, cell.style)
            case "s":
                return self.package.texts[int(text)]
            case "e":
                return Flawed(text, f"is an error in the sheet, {text}")
            case "b":
                return "true" if text == "1" else "false"
        return text

    def _number(self, text: str, style: int) -> Cell:
        value = float(text)
        try:
            if day := self.package.day(value, style):
                return day
        except (OverflowError, ValueError):
            return Flawed(text, f"is shown as a day, and there is no day {text}")
        number = Decimal(text) if text.isdigit() else Decimal(f"{value:.15g}")
        if style not in self.padded:
            self.padded[style] = self.package.zeros(style)
        zeros = self.padded[style]
        return f"{number:0{zeros}.0f}" if zeros and number == number.to_integral_value() else number

    def notes(self) -> Iterator[str]:
        """Say what whoever reads the result has to know of the sheet."""
        if self.hidden:
            hidden = _some(self.hidden, len(self.hidden))
            yield f"Hidden rows of sheet {self.name} are read like the others: {hidden}."
        if self.seen.merged:
            merged = _some(self.seen.merged, self.seen.merged_count)
            yield f"Merged cells of sheet {self.name} hold a value in the first one: {merged}."
        if self.seen.formulas:
            yield f"Formulas in sheet {self.name}: {self.seen.formulas}, read as they were last worked out."


def look(file: File) -> Layout:
    """Find the header of the sheet; FileRefused where there is none, or more in it than a workbook holds."""
    with _opened(file) as sheet:
        names = tuple(sheet.package.sheets)
        first = list(islice(sheet.rows(), HEADER_WITHIN))
        chosen = sheet.name
    try:
        number, header = _header(file, first)
        found = columns.find(header, file.how.named, name=file.name, naming=file.how.naming)
    except HeaderUntold as refusal:
        refusal.sheets = names
        raise
    others = ", ".join(name for name in names if name != chosen)
    notes = [f"Only sheet {chosen} of {file.name} is read, not: {others}."] if others else []
    read = partial(_rows, file, found, notes, above=number)
    form = f"XLSX, sheet {chosen}"
    return Layout(
        file.path,
        file.checksum,
        form,
        found,
        read,
        header_line=number,
        notes=notes,
        sheets=names,
        settled=typed.SETTLED | {"encoding"},
    )


def _header(file: File, first: Sequence[tuple[int, list[Cell]]]) -> tuple[int, list[str]]:
    rows = [(number, [typed.shown(cell) for cell in cells]) for number, cells in first]
    for number, cells in rows:
        if file.how.header in (0, number) and columns.is_header(cells, file.how.named):
            return number, cells
    stated = [cells for number, cells in rows if number == file.how.header]
    likely = stated[0] if stated else headers.likely([cells for _, cells in rows])[1]
    raise headers.untold(file.name, file.how, [] if file.how.header and not stated else likely)


def _rows(file: File, found: Columns, notes: list[str], *, above: int) -> Iterator[Row]:
    width = len(found.header)
    with _opened(file) as sheet:
        for number, held in sheet.rows():
            if number > above:
                cells, why = typed.settled((held + [""] * width)[:width], found, exact=EXACT)
                yield number, cells, why
        notes.extend(note for note in sheet.notes() if note not in notes)


@contextmanager
def _opened(file: File) -> Iterator[_Sheet]:
    stated = file.how.sheet
    with packages.opened(file) as package:
        if stated and stated not in package.sheets:
            raise FileRefused(f"{file.name} has no sheet “{stated}”. It has: {', '.join(package.sheets)}.")
        if not stated and not package.visible:
            raise FileRefused(f"{file.name} has no sheet that can be seen. {file.how.naming_sheet}")
        yield _Sheet(package, stated or package.visible[0])


def _some(held: Sequence[Any], count: int) -> str:
    more = count - TOLD_MAX
    return ", ".join(map(str, held[:TOLD_MAX])) + (f" and {more} more" if more > 0 else "")
