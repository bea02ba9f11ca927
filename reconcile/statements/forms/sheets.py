"""The parts of a workbook that are long: its texts and the cells of a sheet, as they are kept.

After ECMA-376, part 1, 18.3 and 18.4. The library's own way takes ten times as long.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple
from xml.sax.xmlreader import AttributesImpl

from openpyxl.utils import column_index_from_string

from reconcile.statements.forms.markup import Maker, NoXml

ROWS_MAX = 2**20


class Kept(NamedTuple):
    """A cell as it is kept: its column from 1, its type, its style, its text, and whether it is a formula."""

    column: int
    kind: str
    style: int
    text: str | None
    formula: bool


class SheetRow(NamedTuple):
    """A row as it is kept."""

    number: int
    hidden: bool
    cells: list[Kept]


class Texts(Maker[str]):
    """Makes the texts that cells share; how a word is spoken is left out."""

    def __init__(self) -> None:
        """Begin with no text."""
        super().__init__()
        self.held: list[str] = []
        self.spoken = False

    def begin(self, name: str, attrs: AttributesImpl) -> None:
        """Begin an item."""
        match name:
            case "si":
                self.held = []
            case "t" if not self.spoken:
                self.text = self.held
            case "rPh":
                self.spoken = True

    def end(self, name: str) -> None:
        """Keep an item."""
        match name:
            case "si":
                self.made.append("".join(self.held))
            case "t":
                self.text = None
            case "rPh":
                self.spoken = False


class Rows(Maker[SheetRow]):
    """Makes the rows of a sheet; counts its formulas, and keeps which of its cells are merged."""

    def __init__(self) -> None:
        """Begin above the first row."""
        super().__init__()
        self.number, self.column = 0, 0
        self.hidden = self.formula = self.spoken = False
        self.kind, self.style = "n", 0
        self.cells: list[Kept] = []
        self.held: list[str] | None = None
        self.formulas = 0
        self.merged: list[str] = []

    def begin(self, name: str, attrs: AttributesImpl) -> None:
        """Begin a row or a cell, or read its text."""
        if begin := BEGIN.get(name):
            begin(self, attrs)

    def end(self, name: str) -> None:
        """Keep a row or a cell."""
        match name:
            case "c":
                text = None if self.held is None else "".join(self.held)
                self.cells.append(Kept(self.column, self.kind, self.style, text, self.formula))
            case "v" | "t":
                self.text = None
            case "row":
                self.made.append(SheetRow(self.number, self.hidden, self.cells))
            case "rPh":
                self.spoken = False

    def row(self, attrs: AttributesImpl) -> None:
        """Begin a row."""
        self.number = int(attrs["r"]) if "r" in attrs else self.number + 1
        if not 1 <= self.number <= ROWS_MAX:
            raise NoXml(f"it has a row {self.number}, and a sheet has {ROWS_MAX} at most")
        self.hidden = attrs.get("hidden") in ("1", "true")
        self.cells, self.column = [], 0

    def cell(self, attrs: AttributesImpl) -> None:
        """Begin a cell."""
        place = attrs.get("r", "")
        self.column = _column(place.rstrip("0123456789")) if place else self.column + 1
        self.kind, self.style = attrs.get("t", "n"), int(attrs.get("s", "0"))
        self.formula, self.held = False, None

    def value(self, attrs: AttributesImpl) -> None:
        """Begin a value, or a part of a text."""
        if not self.spoken:
            self.held = self.text = self.held or []

    def function(self, attrs: AttributesImpl) -> None:
        """Begin a formula, which is counted and never worked out."""
        self.formula = True
        self.formulas += 1

    def phonetic(self, attrs: AttributesImpl) -> None:
        """Begin how a word is spoken."""
        self.spoken = True

    def merge(self, attrs: AttributesImpl) -> None:
        """Keep which cells are merged."""
        self.merged.append(attrs.get("ref", ""))


BEGIN: dict[str, Callable[[Rows, AttributesImpl], None]] = {
    "row": Rows.row,
    "c": Rows.cell,
    "v": Rows.value,
    "t": Rows.value,
    "f": Rows.function,
    "rPh": Rows.phonetic,
    "mergeCell": Rows.merge,
}
_column = lru_cache(maxsize=2**14)(column_index_from_string)
