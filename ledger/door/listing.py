"""One page of operations in the order of their last change; nothing is counted, and no table is sorted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q, prefetch_related_objects
from django.db.models.expressions import RawSQL

from ledger.door.schemas import ListIn
from ledger.models import (
    Operation,
    OperationQuerySet,
    OperationType,
    database_now,
    settled_until,
)
from ledger.models.operation import GOES_ON
from ledger.rules import cursors
from ledger.rules.cursors import Place
from ledger.rules.states import State

LEFT_OUT = ("payload_sealed", "leaf_digests", "contract_first")
"""Columns that are large, and in no list."""
WAITS = (State.PENDING,)
_BY_STRETCHES = """
    SELECT page.*
    FROM unnest(%s::bigint[]) AS kind (id)
    CROSS JOIN unnest(%s::text[]) AS standing (state)
    CROSS JOIN LATERAL ({stretch}) AS page
    ORDER BY page.changed_at, page.uid
    LIMIT %s
"""


@dataclass(frozen=True)
class Page:
    """Some operations, with their types and what they correct, and the cursor of the next page, if any."""

    operations: list[Operation]
    next_cursor: str | None


def page(asked: ListIn, kinds: Sequence[OperationType]) -> Page:
    """Return what was asked for of these types, from the cursor on."""
    found = sorted(_found(asked, kinds), key=_place)
    cut = found[: asked.limit]
    prefetch_related_objects(cut, "corrects", "after__operation_type")
    return Page(cut, cursors.write(_place(cut[-1])) if len(found) > len(cut) else None)


def _found(asked: ListIn, kinds: Sequence[OperationType]) -> Iterator[Operation]:
    """Read a page, and one more, of each question that the list is made of."""
    operations = _after(_filtered(asked), asked)
    states = [asked.state] if asked.state else [*State]
    if not asked.claimable:
        yield from _stretches(operations, kinds, states=states, limit=asked.limit + 1)
        return
    now = database_now()
    callers = [kind for kind in kinds if not kind.by_tieout]
    # In the order of a stretch, not of the next try; a stretch says its state itself.
    for claimable, of in ((operations.ready(now), WAITS), (operations.allowed(now), GOES_ON)):
        wanted = [state for state in of if state in states]
        yield from _stretches(claimable, callers, states=wanted, limit=asked.limit + 1)


def _filtered(asked: ListIn) -> OperationQuerySet:
    operations = Operation.objects.all()
    if asked.key is not None:
        operations = operations.filter(key=asked.key)
    if asked.source is not None:
        operations = operations.filter(_of_record(asked.source))
    if asked.updated_since is not None:
        operations = operations.filter(changed_at__lt=settled_until())
    return operations


def _of_record(source: str) -> Q:
    """Return the question for "system/reference", where either may have slashes of its own."""
    parts = source.split("/")
    ways = (
        Q(source_system="/".join(parts[:cut]), source_reference="/".join(parts[cut:]))
        for cut in range(1, len(parts))
    )
    return reduce(or_, ways)


def _after(operations: OperationQuerySet, asked: ListIn) -> OperationQuerySet:
    """Begin where the last page ended, or where the caller last looked."""
    since: datetime | None = asked.updated_since
    if asked.cursor is not None:
        place = cursors.read(asked.cursor)
        operations = operations.exclude(changed_at=place.at, uid__lte=place.uid)
        since = place.at if since is None else max(since, place.at)
    return operations if since is None else operations.filter(changed_at__gte=since)


def _stretches(
    operations: OperationQuerySet, kinds: Sequence[OperationType], *, states: Sequence[State], limit: int
) -> Iterator[Operation]:
    """Read the first ones of each type and state, which is a stretch of one index in the list's own order."""
    named = {kind.pk: kind for kind in kinds}
    stretch, values = (
        operations.filter(operation_type_id=RawSQL("kind.id", ()), state=RawSQL("standing.state", ()))
        .order_by("changed_at", "uid")
        .defer(*LEFT_OUT)[:limit]
        .query.sql_with_params()
    )
    rows = Operation.objects.raw(
        _BY_STRETCHES.replace("{stretch}", stretch), [[*named], [*states], *values, limit]
    )
    for operation in rows:
        operation.operation_type = named[operation.operation_type_id]
        yield operation


def _place(operation: Operation) -> Place:
    return Place(operation.changed_at, operation.uid)
