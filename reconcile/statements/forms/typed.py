"""Cells that a form itself has given a kind: what is compared as text becomes text, exactly or not at all."""

from collections.abc import Sequence
from datetime import date

from reconcile.statements.columns import PARTS, Columns
from reconcile.statements.layouts import Cell

TEXTS = {"reference": "reference", "currency": "currency", "id": "number"}
"""The parts that are text, and what words call them."""
SHOWN_MAX = 200
SETTLED = frozenset(("decimal", "days"))
"""What such a form settles of how a cell is read; whether amounts are in cents it does not say."""


class Flawed(str):
    """What stands in a cell that cannot be relied on; `why` says what is wrong with it."""

    __slots__ = ("why",)
    why: str

    def __new__(cls, text: str, why: str) -> "Flawed":
        """Keep why."""
        made = super().__new__(cls, text)
        made.why = why
        return made


def settled(cells: Sequence[Cell], columns: Columns, *, exact: int) -> tuple[list[Cell], str]:
    """Return cells whose reference, currency and number are text, and what is wrong with one of them.

    Beyond `exact` a form does not keep the digits of a whole number.
    """
    made, why = list(cells), ""
    for part in PARTS:
        place = columns.places.get(part, -1)
        if place < 0:
            continue
        if part in TEXTS:
            made[place] = as_text(made[place], exact=exact)
        if isinstance(cell := made[place], Flawed):
            why = why or f"its {TEXTS.get(part, part)} {cell.why}"
    return made, why


def as_text(cell: Cell, *, exact: int) -> str:
    """Return a cell as the text that it stands for; flawed where it may be another than it was."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, date):
        return Flawed(cell.isoformat(), f"is a day, {cell.isoformat()}: export it as text")
    if cell != cell.to_integral_value():
        return Flawed(shown(cell), f"{shown(cell)} is a number with decimals, no text")
    if abs(cell) > exact:
        return Flawed(
            shown(cell), f"{shown(cell)} is a number of more digits than are kept: export it as text"
        )
    return f"{cell:.0f}"


def shown(cell: Cell) -> str:
    """Write a cell for people."""
    return str(cell)[:SHOWN_MAX]
