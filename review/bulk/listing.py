"""The list of bulk actions, and those that wait for a second person."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Count, Q

from ledger.models import TieoutNow
from review import wording
from review.bulk.counting import Counts
from review.bulk.reading import SHOWN, badge, name
from review.models import Bulk, BulkItem
from review.models.bulk import Outcome, Status
from review.wording import Badge

LISTED = 20


@dataclass(frozen=True)
class Line:
    """One bulk action of the list."""

    bulk: Bulk
    badge: Badge
    name: str
    counts: Counts


def lately(person: User, *, before: int = 0) -> tuple[list[Line], int]:
    """Return the latest bulk actions, of previews one's own, and before which number older ones stand."""
    seen = Bulk.objects.exclude(~Q(maker=person.get_username()), status=Status.PREVIEW)
    seen = seen.filter(pk__lt=before) if before else seen
    found = list(seen.order_by("-pk")[: LISTED + 1])
    older = found[LISTED - 1].pk if len(found) > LISTED else 0
    found = found[:LISTED]
    rows = BulkItem.objects.filter(bulk__in=found).values_list("bulk", "outcome").annotate(count=Count("pk"))
    by: dict[int, dict[str, int]] = {}
    for pk, outcome, count in rows.order_by():
        by.setdefault(pk, {})[outcome] = count
    return [_line(bulk, by.get(bulk.pk, {})) for bulk in found], older


def _line(bulk: Bulk, by: dict[str, int]) -> Line:
    at = Counts(
        frozen=bulk.frozen,
        unread=0,
        open=0,
        closed=0,
        under_way=0,
        left=by.get("", 0),
        **{str(one): by.get(one, 0) for one in Outcome.values},
    )
    return Line(bulk, badge(bulk), wording.first_up(name(bulk)), at)


def asked() -> list[Bulk]:
    """Return the bulk actions that wait for a second person."""
    return list(Bulk.objects.waiting(TieoutNow()).order_by("asked_at")[:SHOWN])
