"""The rows of one operation that its page shows; each statement is built once in a process.

To build one with Django's words takes longer than to run it. What belongs to an operation is seen by whoever
sees the operation: it is not asked for again.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from ledger import actions, sight
from ledger.models import Approval, Attempt, Case, Event, Lookup, Operation, Permit
from ledger.rules.leaves import SITTING

Row = TypeVar("Row", bound=Model)
LOOKUPS_SHOWN = 40
EVENTS_SHOWN = 60
_THIS = -(1 << 40)
"""Stands in a compiled statement for the operation's number; no row has it."""


def attempts(pk: int) -> QuerySet[Attempt]:
    """Ask for its tries in their order."""
    return Attempt.objects.filter(operation=pk).order_by("number")


def lookups(pk: int) -> QuerySet[Lookup]:
    """Ask for its latest checks, the last asked first."""
    return Lookup.objects.filter(operation=pk).order_by("-asked_at", "-id")[:LOOKUPS_SHOWN]


def cases(pk: int) -> QuerySet[Case]:
    """Ask for its open case."""
    return Case.objects.open().filter(operation=pk).order_by("pk")[:1]


def events(pk: int) -> QuerySet[Event]:
    """Ask for its latest events, the last first.

    Heartbeats are on record; here they would crowd out what happened, and a try says its lease's end.
    """
    return Event.objects.filter(operation=pk).exclude(kind=actions.EXTENDED).order_by("-id")[:EVENTS_SHOWN]


def permits(pk: int) -> QuerySet[Permit]:
    """Ask for its permits in their order."""
    return Permit.objects.filter(operation=pk).order_by("id")


def approvals(pk: int) -> QuerySet[Approval]:
    """Ask for its requests for a second person in their order."""
    return Approval.objects.filter(operation=pk).defer("meant_sealed").order_by("id")


def rows(operation: Operation, kind: type[Row], asked: Callable[[int], QuerySet[Row]]) -> list[Row]:
    """Return what one of the questions above finds of an operation; one query."""
    statement, given = _compiled(asked)
    values = [operation.pk if one == _THIS else one for one in given]
    found = list(kind._base_manager.raw(statement, values))
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


@cache
def _compiled(asked: Callable[[int], QuerySet[Any]]) -> tuple[str, tuple[Any, ...]]:
    with sight.whole():  # it is everybody's
        statement: tuple[str, tuple[Any, ...]] = asked(_THIS).query.sql_with_params()
    return statement
