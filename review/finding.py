"""Finding by any reference that a person may hold: exactly it first, then what begins so.

Operations first; what is no operation, `review.also` finds.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, Value
from django.db.models.functions import Lower

from ledger import sight
from ledger.models import REFERENCES, Attempt, Lookup, Operation, folded, record_ids
from reconcile.models import Finding
from review import also, told

SHOWN = 50
LONGEST = 300
"""The most characters that any reference has."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_AMOUNT = re.compile(r"(?:[A-Za-z]{3}\s?)?(\d{1,3}(?:[\s,]\d{3})+|\d+)(\.\d{1,4})?(?:\s?[A-Za-z]{3})?")
_DIGITS = 16
"""More before the point are no amount."""


def read(given: str) -> str:
    """Return what is looked for; what no reference can have, a control character, ends it."""
    return _CONTROL.split(given.strip(), 1)[0].strip()[:LONGEST]


def found(asked: str, now: datetime) -> list[Any]:
    """Return the operations that carry it, at most one more than are shown; two queries.

    Each part is read off an index of its own and stops at what is shown, however many there are.
    """
    if not asked:
        return []
    first, *others = _parts(asked)
    rows = sorted(first.union(*others, all=True), key=lambda row: (row[1] != asked.lower(), row[2]))
    pks = list(dict.fromkeys(pk for pk, *_ in rows))[: SHOWN + 1]
    known = {row.pk: row for row in told.read(pks)}
    return [known[pk] for pk in pks if pk in known]


def besides(asked: str, now: datetime) -> also.Found:
    """Return what carries it and is no operation, at most one more than is shown; five queries at most."""
    return also.found(asked, uid(asked), now) if asked else also.Found((), weak=True)


def _parts(asked: str) -> Iterator[QuerySet[Any]]:
    """Make a question of each way to hold it; each answers with ids, what it found, folded, and its rank."""
    text, end = folded(Value(asked)), folded(Value(asked + also.LAST))
    for rank, name in enumerate(REFERENCES):
        some = Operation.objects.exclude(**{name: ""}).annotate(text=folded(name), rank=Value(rank))
        some = some.filter(text__gte=text, text__lt=end).order_by("text", "-id")
        yield some.values_list("pk", "text", "rank")[: SHOWN + 1]
    exactly, last = Value(asked.lower()), Value(len(REFERENCES))
    for seen, column in ((_of_seen(Lookup), "records"), (Finding.objects.all(), "destination")):
        yield _seen(seen, column, asked).values_list("operation_id", exactly, last)[: SHOWN + 1]
    if (amount := _amount(asked)) is not None:
        some = Operation.objects.filter(amount=amount).order_by("-id").annotate(text=exactly, rank=last)
        yield some.values_list("pk", "text", "rank")[: SHOWN + 1]
    if (one := uid(asked)) is not None:
        yield Operation.objects.filter(uid=one).values_list("pk", exactly, last)
        for name in ("uid", "caller_id"):
            tries = _of_seen(Attempt).filter(**{name: one})
            yield tries.order_by().values_list("operation_id", exactly, last)


def _of_seen(kind: type[Lookup] | type[Attempt]) -> QuerySet[Any]:
    """Begin with what belongs to operations that are seen: what is cut off behind it is no other's."""
    rows: QuerySet[Any] = kind._default_manager.all()
    return rows if sight.present() is None else rows.filter(operation__in=Operation.objects.all())


def _seen(rows: QuerySet[Any], column: str, asked: str) -> QuerySet[Any]:
    """Return what has seen a record of exactly this id there, of an operation."""
    named = rows.exclude(operation=None).annotate(ids=record_ids(column))
    seen: QuerySet[Any] = named.filter(ids__contains=[Lower(Value(asked))]).order_by().distinct()
    return seen


def _amount(asked: str) -> Decimal | None:
    """Read an amount as pages show it, or as people type it; None for anything else."""
    matched = _AMOUNT.fullmatch(asked)
    if matched is None:
        return None
    whole, part = re.sub(r"\D", "", matched[1]), matched[2] or ""
    return Decimal(whole + part) if len(whole) <= _DIGITS else None


def uid(asked: str) -> UUID | None:
    """Read an id as people paste it; None for anything else."""
    try:
        return UUID(asked)
    except ValueError:
        return None
