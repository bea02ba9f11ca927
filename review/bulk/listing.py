"""The list of bulk actions, and those that wait for a second person."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Case, Count, Exists, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce
from django.db.models.lookups import LessThan
from django.urls import reverse

from ledger.models import database_now
from review import wording
from review.asked import due
from review.bulk.commanding import COUNTS_FOR
from review.bulk.counting import Counts
from review.bulk.reading import badge, name
from review.models import Bulk, BulkItem
from review.models.bulk import Outcome, Status
from review.wording import Badge

LISTED, COUNTED = 20, 500
STILL = timedelta(minutes=3)
"""How long nothing may have been done about one with work left, until it is said."""
STANDS = {
    "stopped": "stopped at a surprise",
    "still": "not moved for three minutes",
    "paused": "paused",
    "mine": "yours to confirm",
}
"""What waits for somebody, the first that is true of each."""


@dataclass(frozen=True)
class Part:
    """Lists that stand alike, the latest first."""

    name: str
    why: str
    found: list[UUID]

    @property
    def words(self) -> str:
        """Count them: "2 paused"."""
        return f"{wording.bounded(len(self.found), COUNTED - 1)} {self.why}"

    @property
    def address(self) -> str:
        """Return where they stand; of one alone its own page."""
        if len(self.found) == 1:
            return reverse("bulk", args=[self.found[0]])
        return f"{reverse('bulks')}?show={self.name}"


@dataclass(frozen=True)
class Line:
    """One bulk action of the list."""

    bulk: Bulk
    badge: Badge
    name: str
    counts: Counts


def lately(person: User, *, show: str = "", before: int = 0) -> tuple[list[Line], int]:
    """Return the latest bulk actions, of previews one's own, and before which number older ones stand.

    `show`: only those that stand so, as `STANDS` names it.
    """
    seen = Bulk.objects.exclude(~Q(maker=person.get_username()), status=Status.PREVIEW)
    seen = seen.filter(pk__lt=before) if before else seen
    if show in STANDS:
        seen = seen.alias(stands=_stands(person, database_now())).filter(stands=show)
    found = list(seen.order_by("-pk")[: LISTED + 1])
    older = found[LISTED - 1].pk if len(found) > LISTED else 0
    found = found[:LISTED]
    rows = BulkItem.objects.filter(bulk__in=found).values_list("bulk", "outcome").annotate(count=Count("pk"))
    by: dict[int, dict[str, int]] = {}
    for pk, outcome, count in rows.order_by():
        by.setdefault(pk, {})[outcome] = count
    return [_line(bulk, by.get(bulk.pk, {})) for bulk in found], older


def standing(person: User, now: datetime) -> list[Part]:
    """Count the lists that somebody has to look after, by why; one query."""
    found = Bulk.objects.exclude(status__in=[Status.DONE, Status.CANCELLED]).annotate(
        stands=_stands(person, now)
    )
    by: dict[str, list[UUID]] = {}
    for stands, uid in found.exclude(stands="").order_by("-pk").values_list("stands", "uid")[:COUNTED]:
        by.setdefault(stands, []).append(uid)
    return [Part(name, words, by[name]) for name, words in STANDS.items() if name in by]


def _stands(person: User, now: datetime) -> Case:
    """Say what a bulk action waits for, other than the destination: a name of `STANDS`, or nothing."""
    works = Exists(Bulk.objects.with_work(now).filter(pk=OuterRef("pk")))
    since = Coalesce("stepped_at", "starts_at", "frozen_at")
    mine = Q(status=Status.PREVIEW, maker=person.get_username(), frozen_at__gt=now - COUNTS_FOR)
    return Case(
        When(works & LessThan(since, Value(now - STILL)), then=Value("still")),
        When(status=Status.STOPPED, then=Value("stopped")),
        When(status=Status.PAUSED, then=Value("paused")),
        When(mine, then=Value("mine")),
        default=Value(""),
    )


def _line(bulk: Bulk, by: dict[str, int]) -> Line:
    at = Counts(
        frozen=bulk.frozen,
        unread=0,
        open=0,
        could_not_look=0,
        differs=0,
        several=0,
        closed=0,
        under_way=0,
        left=by.get("", 0),
        **{str(one): by.get(one, 0) for one in Outcome.values},
    )
    return Line(bulk, badge(bulk), wording.first_up(name(bulk)), at)


def waiting(rows: Iterable[Bulk], now: datetime) -> list[tuple[Bulk, str]]:
    """Return those that wait for a second person, each with its due time in words."""
    return [(bulk, until(bulk, now)) for bulk in rows]


def until(bulk: Bulk, now: datetime) -> str:
    """Say when a list that waits for a second person should be answered, and until when it counts."""
    made, due_at, counts_until = bulk.asked_at, bulk.due_at, bulk.counts_until
    assert made is not None and due_at is not None and counts_until is not None  # as it waits
    return due(made, due_at, counts_until, now)
