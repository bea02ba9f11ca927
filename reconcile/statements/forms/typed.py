"""Cells that a form itself has given a kind: what is compared as text becomes text, exactly or not at all."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from reconcile.statements.columns import Columns
from reconcile.statements.layouts import Cell

NAMES = {"reference": "reference", "currency": "currency", "id": "number"}
EXACT = 2**53 - 1
"""Beyond it, many programs round a whole number that is no text (RFC 8259, section 6)."""


class Damaged(ValueError):
    """A number cannot be taken for text; the words say why."""


def settled(cells: Sequence[Cell], columns: Columns) -> tuple[list[Cell], str]:
    """Return cells whose reference, currency and number are text, and what is wrong with one of them."""
    made, why = list(cells), ""
    for part, name in NAMES.items():
        place = columns.places.get(part, -1)
        if place < 0 or isinstance(made[place], str):
            continue
        try:
            made[place] = as_text(made[place])
        except Damaged as error:
            made[place] = shown(made[place])
            why = why or f"its {name} {error}"
    return made, why


def as_text(cell: Cell) -> str:
    """Return a cell as the text that it stands for; Damaged where its digits may be others than they were."""
    if isinstance(cell, Decimal):
        if cell != cell.to_integral_value():
            raise Damaged(f"{shown(cell)} is a number with decimals, no text")
        if abs(cell) > EXACT:
            raise Damaged(f"{shown(cell)} is a number of more digits than programs keep: export it as text")
        return f"{cell:.0f}"
    return shown(cell)


def shown(cell: Cell) -> str:
    """Write a cell for people."""
    if isinstance(cell, date):
        return cell.isoformat()
    return f"{cell}"[:200]
