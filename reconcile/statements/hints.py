"""Which other columns would match, where hardly a reference of one file stands in the other."""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from reconcile.classes import ItemClass
from reconcile.statements.layouts import Layout

LOOKED_AT = 5000
"""So many rows of each file are looked through for it."""
COLUMNS = 40
HARDLY = 0.1
"""Of the first file's lines: where fewer are in the second one, it is asked which other column holds them."""
ENOUGH = 0.5
"""Of the values in a column, so many have to stand in the other file's column."""
_NO_NAME = re.compile(
    r"[-+(]?[\d\s.,'’]*[.,]\d{1,4}\)?|\d{1,4}([-./]\d{1,2}){2}.*|\d{1,2}[-./]\d{1,2}[-./]\d{4}.*|\D{0,3}"
)
"""An amount, a day, or a code of three letters: what is alike in two files by chance."""
Held = Mapping[str, set[str]]


def of(source: Layout, destination: Layout, classes: Mapping[str, Mapping[str, Any]]) -> str:
    """Say which columns hold the same, where those that were compared hardly do; empty where none does."""
    missing, extra = (classes[one]["count"] for one in (ItemClass.MISSING, ItemClass.UNEXPECTED))
    others = sum(held["count"] for held in classes.values()) - missing - extra
    if not missing or not extra or others > HARDLY * missing:
        return ""
    ours, theirs = _held(source), _held(destination)
    read = source.columns.names["reference"], destination.columns.names["reference"]
    found = [
        (len(mine & their), name, there)
        for name, mine in ours.items()
        for there, their in theirs.items()
        if (name, there) != read and len(mine & their) >= max(2, ENOUGH * min(len(mine), len(their)))
    ]
    if not found:
        return ""
    # Of two that hold as many, the one that leaves a column as it was read.
    count, name, there = max(found, key=lambda one: (one[0], (one[1] == read[0]) + (one[2] == read[1])))
    return (
        f"Hardly anything of “{read[0]}” in {source.path.name} stands under “{read[1]}” in"
        f" {destination.path.name}. “{name}” and “{there}” have {count} in common: name these for the"
        " reference, if that is what they are."
    )


def _held(layout: Layout) -> Held:
    """Return what stands in each column that could hold references, in its first rows."""
    header = layout.columns.header[:COLUMNS]
    taken = {place for part, place in layout.columns.places.items() if part not in ("reference", "id")}
    held: dict[str, list[str]] = {
        name: [] for place, name in enumerate(header) if name and place not in taken
    }
    said = [*layout.notes]
    for _, cells, wrong in islice(layout.read(), LOOKED_AT):
        for name, cell in zip(header, cells, strict=False) if not wrong else ():
            if name in held and isinstance(cell, str) and not _NO_NAME.fullmatch(text := cell.strip()):
                held[name].append(text)
    layout.notes[:] = said  # a file that is read again says nothing twice
    return {name: {*values} for name, values in held.items() if 2 <= len(values) <= 2 * len({*values})}
