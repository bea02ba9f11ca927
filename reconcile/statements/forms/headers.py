"""Where a table's header is: the first row that has a heading for reference and for amount."""

from collections import Counter
from collections.abc import Sequence

from reconcile.statements import columns
from reconcile.statements.columns import HeaderUntold
from reconcile.statements.stating import How

HEADER_WITHIN = 40


def untold(name: str, how: How, likely: Sequence[str]) -> HeaderUntold:
    """Say that no row is a header, and what is most like one."""
    if how.header:
        missing = [f"“{one}”" for one in how.named.values() if one not in [cell.strip() for cell in likely]]
        lacks = f"there is no {', '.join(missing)} there" if missing and likely else "that is no header"
        return HeaderUntold(f"Line {how.header} has: {columns.shown(likely) or 'nothing'}; {lacks}.", likely)
    options = f"Name the columns: {how.option('columns')} reference=…,amount=…,currency=…."
    name_them = "Choose the columns." if how.on_page else options
    return HeaderUntold(
        f"None of the first {HEADER_WITHIN} lines of {name} is a header with a reference and an amount"
        f" ({columns.wanted()}). {name_them} One line has: {columns.shown(likely)}.",
        likely,
    )


def likely(rows: Sequence[Sequence[str]]) -> tuple[int, list[str]]:
    """Return what is most like a header, the first of the most rows that are alike; and how much so."""
    width, count = max(Counter(map(len, rows)).items(), key=lambda one: one[0] * one[1], default=(0, 0))
    return width * count, next((list(cells) for cells in rows if len(cells) == width), [])
