"""Reading a spreadsheet of differences that comes back: number, version, owner and comment, as text.

It is opened as statements are: weighed before anything expands, no macro, no entity, no formula worked out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reconcile.differences.sheets import COMMENT, NUMBER, OWNER, VERSION
from reconcile.histories.files import FileRefused
from reconcile.statements import opening
from reconcile.statements.forms import markup, packages
from reconcile.statements.forms.packages import Package
from reconcile.statements.forms.sheets import Kept, Rows, SheetRow
from reconcile.statements.stating import How
from reconcile.statements.unlinked import Unlinked
from reconcile.workbooks import ROWS as NAMED

BYTES_MAX = 20 * 2**20
ROWS_MAX = 200_000
WANTED = (NUMBER, OWNER, COMMENT, VERSION)
HEADER_WITHIN = 20


@dataclass(frozen=True)
class Line:
    """One row as it came back; `formula` names a cell of those four that is one."""

    row: int
    number: str
    owner: str
    comment: str
    version: str
    formula: str


def lines(file: Unlinked) -> Iterator[Line]:
    """Yield the rows of a workbook that was sent out; raises FileRefused where it is none."""
    found = opening.opened(file, How("returned", on_page=True))
    if found.size > BYTES_MAX:
        raise FileRefused(f"{file.name} is larger than 20 MB. Send fewer differences at a time.")
    if not found.head.startswith(b"PK\x03\x04"):
        raise FileRefused(f"{file.name} is no XLSX workbook. Save what was sent out as XLSX.")
    count = 0
    with packages.opened(found) as package:
        sheets = [name for name in package.sheets if name == NAMED or name.startswith(f"{NAMED} ")]
        if not sheets:
            raise FileRefused(f"{file.name} has no sheet “{NAMED}”: it is none that was sent out from here.")
        for sheet in sheets:
            for line in _lines(package, sheet, file.name):
                count += 1
                if count > ROWS_MAX:
                    raise FileRefused(f"{file.name} has more than 200 000 rows. Send fewer at a time.")
                yield line


def _lines(package: Package, sheet: str, name: str) -> Iterator[Line]:
    places: Mapping[str, int] = {}
    with package.source(sheet) as source:
        for row in markup.made(Rows(), source):
            if not places:
                places = _places(package, row)
                if not places and row.number > HEADER_WITHIN:
                    break
                continue
            held = {cell.column: cell for cell in row.cells}
            four = {what: held.get(place) for what, place in places.items()}
            if any(cell is not None for cell in four.values()):
                yield _line(package, row.number, four)
    if not places:
        heads = ", ".join(WANTED)
        raise FileRefused(f"Sheet “{sheet}” of {name} lacks one of the columns {heads}.")


def _places(package: Package, row: SheetRow) -> Mapping[str, int]:
    heads = {_text(package, cell).strip(): cell.column for cell in reversed(row.cells)}
    return {what: heads[what] for what in WANTED} if heads.keys() >= set(WANTED) else {}


def _line(package: Package, row: int, four: Mapping[str, Kept | None]) -> Line:
    texts = {what: "" if cell is None else _text(package, cell).strip() for what, cell in four.items()}
    formula = next((what for what, cell in four.items() if cell is not None and cell.formula), "")
    return Line(row, texts[NUMBER], texts[OWNER], _plain(texts[COMMENT]), texts[VERSION], formula)


def _text(package: Package, cell: Kept) -> str:
    if cell.kind == "s" and cell.text:
        return package.texts[int(cell.text)]
    if cell.kind == "n" and cell.text:
        return cell.text.removesuffix(".0")
    return cell.text


def _plain(text: str) -> str:
    """Return text with the line ends that spreadsheets write in their own ways as one."""
    return text.replace("_x000D_", "").replace("\r\n", "\n").replace("\r", "\n")
