"""Where the items of a bulk action stand, and how counts are written."""

from dataclasses import dataclass

from django.db.models import Count, Q

from ledger.rules.states import Verdict
from review.models import Bulk, BulkItem
from review.models.bulk import Outcome

WRONG = (Verdict.DIFFERS, Verdict.SEVERAL, Verdict.COULD_NOT_LOOK)
"""What a check can find that is left to a person; foreseen, it stops nobody else."""
KNOWN = Q(may=True, foreseen__in=WRONG)
"""Open to the action, though the latest check had found that: they come last."""


@dataclass(frozen=True)
class Counts:
    """Where the items stand: every one in exactly one place, read off the rows in one question.

    They add up in every moment: a list is written whole, loses none and gains none, by the database's guards.
    """

    frozen: int
    unread: int
    open: int
    could_not_look: int
    """Of those that are open: what the latest check had found that is left to a person, as are these two."""
    differs: int
    several: int
    closed: int
    verified: int
    held: int
    refused: int
    unseen: int
    left: int
    under_way: int

    @property
    def known(self) -> int:
        """How many these are together."""
        return self.could_not_look + self.differs + self.several

    @property
    def ties(self) -> bool:
        """Say whether they add up to what was frozen."""
        return self.verified + self.unseen + self.held + self.refused + self.left == self.frozen


def counts(bulk: Bulk) -> Counts:
    """Count the items of a bulk action by where they stand."""
    found = BulkItem.objects.filter(bulk=bulk).aggregate(
        unread=Count("pk", filter=Q(may=None)),
        open=Count("pk", filter=Q(may=True)),
        closed=Count("pk", filter=Q(may=False)),
        left=Count("pk", filter=Q(outcome="")),
        under_way=Count("pk", filter=Q(outcome="", acted_at__isnull=False)),
        **{str(one): Count("pk", filter=KNOWN & Q(foreseen=one)) for one in WRONG},
        **{str(one): Count("pk", filter=Q(outcome=one)) for one in Outcome.values},
    )
    return Counts(frozen=bulk.frozen, **found)


def mark(bulk: Bulk, at: Counts) -> str:
    """Tell two readings apart that a person would see as different."""
    parts = (bulk.status, at.unread, at.verified, at.unseen, at.held, at.refused, at.under_way)
    return "-".join(map(str, parts))


def spaced(count: int) -> str:
    """Write a count with its thousands apart."""
    return f"{count:,}".replace(",", " ")
