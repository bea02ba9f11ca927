"""What waits for a second person, kind by kind: counted as a whole, and listed page by page, due first."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from urllib.parse import urlencode

from django.db.models import F, Q, QuerySet, Value
from django.urls import reverse

from ledger.models import HALF_OVER, Approval, TieoutNow
from reconcile.models import Decision, Proposal, SignOff
from review import wording
from review.built import built
from review.cursors import EPOCH, TICK, written
from review.models import Bulk
from review.models.bulk import DUE

SHOWN = 50
"""So many of a kind stand on a page."""
COUNTED = 1000
"""So far each kind is counted."""
_LENGTH = 40


@dataclass(frozen=True)
class _Kind:
    rows: Callable[[datetime | TieoutNow], QuerySet[Any, Any]]
    due: Any
    """When half of its time is over: what is due first stands first."""


def _differences(now: datetime | TieoutNow) -> QuerySet[Decision]:
    found = Decision.objects.waiting(now).filter(approval=None)
    return found.select_related("finding__run__plan__operation_type__destination")


KINDS = {
    "operations": _Kind(lambda now: Approval.objects.waiting(now).defer("meant_sealed"), F("due_at")),
    "signatures": _Kind(lambda now: SignOff.objects.waiting(now).select_related("plan", "run"), HALF_OVER),
    "differences": _Kind(_differences, HALF_OVER),
    "lists": _Kind(lambda now: Bulk.objects.waiting(now), DUE),
    "rules": _Kind(lambda now: Proposal.objects.waiting(now).defer("meant_sealed"), HALF_OVER),
}


@dataclass(frozen=True)
class Counts:
    """How many of each kind wait, each as far as it is counted."""

    by: Counter[str]

    @classmethod
    def read(cls) -> Self:
        """Count all that waits; one query."""
        return cls(Counter(kind for (kind,) in _all()))

    def __str__(self) -> str:
        count = sum(min(count, COUNTED) for count in self.by.values())
        beyond = any(one > COUNTED for one in self.by.values())
        return f"{count:,}+".replace(",", "\u00a0") if beyond else str(count)

    def of(self, kind: str) -> str:
        """Say how many of one kind wait: "73", "1 000+"."""
        return wording.bounded(self.by[kind], COUNTED)


@built
def _all() -> QuerySet[Any, tuple[Any, ...]]:
    asks, *others = (
        kind.rows(TieoutNow())
        .select_related(None)
        .annotate(waits_as=Value(name))
        .values_list("waits_as")[: COUNTED + 1]
        for name, kind in KINDS.items()
    )
    found: QuerySet[Any, tuple[Any, ...]] = asks.union(*others, all=True)
    return found


@dataclass(frozen=True)
class Page:
    """One page of a kind: its rows, how many there are in all, and where the next page begins."""

    kind: str
    rows: list[Any]
    all: str
    begins: bool
    """Whether it is the first page."""
    next: str
    """The address of the next one; empty where this is the last."""

    @property
    def is_cut(self) -> bool:
        """Say whether there are more than stand on it."""
        return bool(self.next) or not self.begins


def page(kind: str, now: datetime, *, counts: Counts, after: str = "") -> Page:
    """Read the page of a kind that follows `after`, as the page before has told it; else the first."""
    found = KINDS[kind].rows(now).annotate(turn=KINDS[kind].due).order_by("turn", "pk")
    if (place := _read(after)) is not None:
        at, pk = place
        found = found.filter(Q(turn__gt=at) | Q(turn=at, pk__gt=pk))
    rows = list(found[: SHOWN + 1])
    more = len(rows) > SHOWN
    rows = rows[:SHOWN]
    where = {"of": kind, "after": f"{written(rows[-1].turn)}~{rows[-1].pk}"} if more else {}
    there = f"{reverse('approvals')}?{urlencode(where)}" if more else ""
    return Page(kind, rows, counts.of(kind), place is None, there)


def _read(after: str) -> tuple[datetime, int] | None:
    """Read where a page ended; None for anything else."""
    at, _, pk = after[:_LENGTH].partition("~")
    if not all(part.isascii() and part.isdecimal() and len(part) < 18 for part in (at, pk)):
        return None
    return EPOCH + int(at) * TICK, int(pk)
