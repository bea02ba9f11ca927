"""The parts of a workbook that are long: its texts and the cells of a sheet, as they are kept.

After ECMA-376, part 1, 18.3 and 18.4. The library's own way takes ten times as long.
"""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NamedTuple
from xml.sax.xmlreader import AttributesImpl

from openpyxl.utils import column_index_from_string

from reconcile.statements.forms.markup import Maker, NoXml

ROWS_MAX = 2**20
COLUMNS_MAX = 2**14
WIDTH_MAX = 1000
"""What stands in further columns is not read."""
TEXT_MAX = 2**16
"""A cell's text has half as many characters at most."""
MERGED_KEPT = 5


class Kept(NamedTuple):
    """A cell as it is kept: its column from 1, its type, its style, its text, and whether it is a formula."""

    column: int
    kind: str
    style: int
    text: str
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

    def weigh(self) -> None:
        """Refuse a text that no cell holds."""
        _weighed(self.held)

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
                self.weigh()
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
        self.number, self.column, self.count = 0, 0, 0
        self.hidden = self.formula = self.spoken = False
        self.kind, self.style = "n", 0
        self.cells: list[Kept] = []
        self.held: list[str] | None = None
        self.formulas = 0
        self.merged: list[str] = []
        """The first of the merged ranges."""
        self.merged_count = 0

    def weigh(self) -> None:
        """Refuse a row, or a text, that no sheet holds."""
        _weighed(self.held or ())
        if self.count > COLUMNS_MAX:
            raise NoXml(
                f"its row {self.number} has more than {COLUMNS_MAX} cells, and a sheet has no more columns"
            )

    def begin(self, name: str, attrs: AttributesImpl) -> None:
        """Begin a row or a cell, or read its text."""
        if begin := BEGIN.get(name):
            begin(self, attrs)

    def end(self, name: str) -> None:
        """Keep a row or a cell."""
        match name:
            case "c":
                self.count += 1
                if self.column <= WIDTH_MAX and (self.held or self.formula):
                    text = "".join(self.held or ())
                    if len(text) > TEXT_MAX:
                        _weighed((text,))
                    self.cells.append(Kept(self.column, self.kind, self.style, text, self.formula))
            case "v" | "t":
                self.text = None
            case "row":
                self.weigh()
                self.made.append(SheetRow(self.number, self.hidden, self.cells))
            case "rPh":
                self.spoken = False

    def row(self, attrs: AttributesImpl) -> None:
        """Begin a row."""
        self.number = int(attrs["r"]) if "r" in attrs else self.number + 1
        if not 1 <= self.number <= ROWS_MAX:
            raise NoXml(f"it has a row {self.number}, and a sheet has {ROWS_MAX} at most")
        self.hidden = attrs.get("hidden") in ("1", "true")
        self.cells, self.column, self.count = [], 0, 0

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
        """Count which cells are merged, and keep the first."""
        self.merged_count += 1
        if len(self.merged) < MERGED_KEPT:
            self.merged.append(attrs.get("ref", "")[:40])


def _weighed(text: Collection[str]) -> None:
    if sum(map(len, text)) > TEXT_MAX:
        raise NoXml(f"it has a text of more than {TEXT_MAX} characters, and a cell holds no such")


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
