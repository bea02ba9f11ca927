"""The rows of one operation that its page shows.

What belongs to an operation is seen by whoever sees the operation: it is not asked for again.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from django.db.models import Model, QuerySet

from ledger import actions, sight
from ledger.models import Approval, Attempt, Case, Event, Lookup, Operation, Permit
from ledger.rules.leaves import SITTING
from review.built import built

Row = TypeVar("Row", bound=Model)
LOOKUPS_SHOWN = 40
EVENTS_SHOWN = 60


@built
def attempts(pk: int) -> QuerySet[Attempt]:
    """Ask for its tries in their order."""
    return Attempt.objects.filter(operation=pk).order_by("number")


@built
def lookups(pk: int) -> QuerySet[Lookup]:
    """Ask for its latest checks, the last asked first."""
    return Lookup.objects.filter(operation=pk).order_by("-asked_at", "-id")[:LOOKUPS_SHOWN]


@built
def cases(pk: int) -> QuerySet[Case]:
    """Ask for its open case."""
    return Case.objects.open().filter(operation=pk).order_by("pk")[:1]


@built
def events(pk: int) -> QuerySet[Event]:
    """Ask for its latest events, the last first.

    Heartbeats are on record; here they would crowd out what happened, and a try says its lease's end.
    """
    return Event.objects.filter(operation=pk).exclude(kind=actions.EXTENDED).order_by("-id")[:EVENTS_SHOWN]


@built
def permits(pk: int) -> QuerySet[Permit]:
    """Ask for its permits in their order."""
    return Permit.objects.filter(operation=pk).order_by("id")


@built
def approvals(pk: int) -> QuerySet[Approval]:
    """Ask for its requests for a second person in their order."""
    return Approval.objects.filter(operation=pk).defer("meant_sealed").order_by("id")


def rows(operation: Operation, asked: Callable[[int], list[Row]]) -> list[Row]:
    """Return what one of the questions above finds of an operation; one query."""
    with sight.whole():  # it is everybody's
        found = asked(operation.pk)
    for row in found:
        row.operation = operation  # type: ignore[attr-defined]  # each kind here has one
    return found


def sitting(
    operation: Operation, actor: str, known: list[Lookup], tries: list[Attempt], *, now: datetime
) -> Lookup | None:
    """Return the person's own check that counts; asked for where more were made than are read."""
    if len(known) == LOOKUPS_SHOWN and known[-1].asked_at >= now - SITTING:
        return actions.sitting(operation, actor, now=now)
    return actions.sitting_of(operation, actor, known, tries, now=now)
