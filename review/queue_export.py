"""The queue as it was filtered, to keep: as a table, with where it comes from in front."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from ledger.rules import money
from reconcile import tables
from review.choices import Chip
from review.queue import Queue
from review.row import Row, listed

MOST = 2000
"""Rows in one file, in the order of the page; where there are more, it says so."""
WALKED = 100
"""Pages that are read at most, each of which may look through many rows for few."""
TOTALS = "the money at risk of what stands in the queue; what only waits for its turn has none"
COLUMNS = (
    "state",
    "name",
    "what",
    "key",
    "amount",
    "at_risk",
    "currency",
    "found",
    "age",
    "due",
    "late",
    "owner",
    "next",
    "id",
    "snoozed_until",
)


@dataclass(frozen=True)
class Kept:
    """The rows of an address as of an instant, for somebody."""

    rows: list[Row]
    more: bool
    about: tables.About

    @property
    def table(self) -> tables.Table:
        """Return it as a table."""
        return tables.Table(self.about, COLUMNS, self._told())

    def _told(self) -> Iterator[tuple[object, ...]]:
        for row in self.rows:
            one = row.operation
            key, uid = (one.key, str(one.uid)) if one is not None else ("", "")
            told = (row.badge.words, row.name, row.noun, key, *_exact(row), row.currency, row.found, row.age)
            yield (*told, row.due_at, row.late, row.owner, row.next, uid, row.rests_until)


def kept(queue: Queue, now: datetime, *, author: str, chips: list[Chip]) -> Kept:
    """Read the rows of an address page by page, with what is snoozed, and the money at risk of them all."""
    queue = replace(queue, chosen=queue.chosen.whole)
    rows: list[Row] = []
    after, more = None, True
    for _ in range(WALKED):
        page = queue.page(after=after)
        rows += listed(page.entries, now)
        after, more = page.after, page.after is not None
        if not more or len(rows) >= MOST:
            break
    totals: dict[str, Decimal] = {}
    for row in rows[:MOST]:
        _, at_risk = _exact(row)
        if at_risk is not None:
            totals[row.currency] = totals.get(row.currency, Decimal(0)) + at_risk
    more = more or len(rows) > MOST
    return Kept(
        rows[:MOST],
        more,
        tables.About(
            what="Queue",
            asked="; ".join([queue.chosen.words, *(chip.words for chip in chips)]),
            as_of=queue.at,
            author=author,
            count=len(rows[:MOST]),
            totals={currency: f"{total:f}" for currency, total in sorted(totals.items())},
            more={
                "totals_are": TOTALS,
                "snoozed": _resting(rows[:MOST]),
                "complete": _complete(len(rows)) if more else "yes",
            },
        ),
    )


def _resting(rows: list[Row]) -> str:
    count = sum(row.rests_until is not None for row in rows)
    return f"{count} of these rows; they stand in every total" if count else "none"


def _complete(count: int) -> str:
    if count >= MOST:
        return f"no: the first {MOST} in this order"
    return "no: too many were looked through for so few; there may be more"


def _exact(row: Row) -> tuple[Decimal | None, Decimal | None]:
    """Return a row's amount, and the money at risk, in its currency's decimals."""
    amount, at_risk = (
        None if one is None or not row.currency else Decimal(money.written(one, row.currency))
        for one in (row.amount, row.at_risk)
    )
    return amount, at_risk
