"""What is measured, beside what: each cell is one kind of work by so many callers."""

from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from tests.bench.callers import Callers
from tests.bench.place import Place

TITLES = {
    "beside": "six plain statements",
    "within": "six plain statements, into the ledger's own tables",
    "product": "Tieout in process",
    "http": "Tieout over HTTP",
    "batches": "Tieout over HTTP, 500 at once",
    "peer": "DBOS, a workflow",
    "peer with a step": "DBOS, a workflow with a step",
}
MIXES = {
    "new": "Each operation new",
    "duplicates": "Nine of ten are duplicates",
    "snapshot": "Beside a snapshot held open, with ten thousand dead rows",
}
FLOOR = "beside"


@dataclass(frozen=True)
class Cell:
    """One figure of the table."""

    work: str
    callers: int
    mix: str = "new"


def chosen(callers: tuple[int, ...], *, http: bool, peer: bool) -> list[Cell]:
    """Return the cells of a run; the variations are measured with eight callers, or the most there are."""
    several = [count for count in callers if count > 1] or list(callers)
    most = min(8, max(callers))
    cells = [Cell(work, count) for count in callers for work in (FLOOR, "product")]
    cells += [Cell("within", most)]
    cells += [Cell(work, count) for count in several for work in ("http", "batches") if http]
    cells += [Cell(work, count) for count in callers for work in ("peer", "peer with a step") if peer]
    varied = [FLOOR, "product", *(["http"] if http else [])]
    cells += [Cell(work, most, "duplicates") for work in (*varied, *(["peer"] if peer else []))]
    cells += [Cell(work, most, "snapshot") for work in varied]
    return cells


def measured(
    cells: list[Cell], place: Place, callers: dict[str, Callers], *, rounds: int, seconds: float
) -> dict[Cell, list[float]]:
    """Measure every cell once a round, each round from another one on; a first round only warms up."""
    rates: dict[Cell, list[float]] = {cell: [] for cell in cells}
    for number in range(rounds + 1):
        lasting = seconds if number else seconds / 4
        for mix, group in groupby(turned(cells, number), key=lambda cell: cell.mix):
            with place.snapshot_held() if mix == "snapshot" else nullcontext():
                for cell in group:
                    able = callers["peer" if cell.work.startswith("peer") else "own"]
                    duplicates = mix == "duplicates"
                    rate = able.rate(cell.work, cell.callers, seconds=lasting, duplicates=duplicates)
                    rates[cell] += [rate] if number else []
    return rates


def turned(cells: list[Cell], number: int) -> list[Cell]:
    """Return the cells from another one on, the variations still together."""
    at = number * len(cells) // 3 % len(cells)
    return sorted(cells[at:] + cells[:at], key=lambda cell: list(MIXES).index(cell.mix))


def ratio(rates: dict[Cell, list[float]], cell: Cell) -> float | None:
    """Return the median over the rounds of a cell's rate by its floor's in the same round."""
    floor = rates.get(Cell(FLOOR, cell.callers, cell.mix))
    if floor is None or cell.work == FLOOR:
        return None
    return median(own / plain for own, plain in zip(rates[cell], floor, strict=True))
