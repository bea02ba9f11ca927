"""The queue: which operations stand in it, in which order, and what each row says; one query for the rows."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

from django.db import models
from django.db.models import Case as Choice
from django.db.models import Count, Exists, F, FilteredRelation, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, Extract, JSONObject, NullIf

from ledger.models import REFERENCES, Approval, Attempt, Case, Lookup, Operation, OperationType, Pause, Permit
from ledger.rules.states import UNFINISHED, CaseKind, State
from review.filters import Filter

SHOWN = 200
COUNTED = 10_000
"""The most that a tab counts; beyond it says "10 000+". The list looks through as many of each kind."""
_WRONG = [CaseKind.SEVERAL, CaseKind.DIFFERS, CaseKind.BOTH_THERE]


@dataclass(frozen=True)
class Counts:
    """How many operations each saved view holds, and in which currencies; capped where `more`."""

    views: dict[str, int]
    currencies: list[str]
    more: bool
    without_operation: int
    repeated: int
    """Triggers that ran more than once, and that nobody has answered."""


def rows(chosen: Filter, now: datetime) -> QuerySet[Any]:
    """Return the operations of an address in its order, each with what its row says."""
    latest = Operation.objects.order_by("-id").values("pk")[:COUNTED]
    every = latest if chosen.view == "latest" else _open()
    return _ordered(_narrowed(told(Operation.objects.filter(pk__in=every)), chosen, now), chosen, now)


def counts(now: datetime) -> Counts:
    """Count the saved views over the open operations."""
    inner = Operation.objects.filter(pk__in=_open()).alias(open_case=_open_case())
    by_currency = list(
        inner.values("currency").annotate(
            open=Count("pk"),
            person=Count("pk", filter=Q(held_at__isnull=False)),
            late=Count("pk", filter=Q(open_case__due_at__lt=now)),
            wrong=Count("pk", filter=Q(open_case__kind__in=_WRONG)),
        )
    )
    loose = list(
        Case.objects.open()
        .filter(operation=None, pause=None)
        .values_list("kind")
        .annotate(count=Count("pk"))
        .order_by()
    )
    found = {view: sum(row[view] for row in by_currency) for view in ("open", "person", "late", "wrong")}
    return Counts(
        views={view: min(count, COUNTED) for view, count in found.items()},
        currencies=sorted(row["currency"] for row in by_currency if row["currency"]),
        more=found["open"] > COUNTED,
        without_operation=sum(count for kind, count in loose if kind != CaseKind.REPEATED),
        repeated=dict(loose).get(CaseKind.REPEATED, 0),
    )


def types() -> list[OperationType]:
    """Return the operation types, for the filters."""
    return list(OperationType.objects.select_related("destination").order_by("label"))


def _open() -> QuerySet[Any]:
    """Return the open operations that are looked through: all of them, unless they are very many.

    What waits for a person and what is in doubt is never crowded out by what only waits for its turn. Each
    part is read off a partial index, so that a million that wait cost no more than the cap.
    """
    parts = (
        Operation.objects.filter(state__in=sorted(UNFINISHED)).order_by("-id"),
        Operation.objects.held().order_by("held_at"),
        Operation.objects.filter(state=State.UNCERTAIN).order_by("look_at"),
    )
    newest, *others = (part.values("pk")[: COUNTED + 1] for part in parts)
    return newest.union(*others)


def _open_case() -> FilteredRelation:
    return FilteredRelation("cases", condition=Q(cases__closed_at__isnull=True))


def told(operations: QuerySet[Any]) -> QuerySet[Any]:
    """Return operations with all that their rows say, in no order."""
    found = operations.alias(open_case=_open_case()).annotate(
        case_kind=F("open_case__kind"),
        case_owner=F("open_case__owner"),
        due_at=F("open_case__due_at"),
        waits_for=Coalesce(NullIf(F("after__description"), Value("")), F("after__key")),
    )
    return _seen(found).select_related("operation_type__destination")


def _seen(operations: QuerySet[Any]) -> QuerySet[Any]:
    """Add the latest try, the latest check that saw its end and the open permit as JSON, and any pause."""
    own = OuterRef("pk")
    last = Attempt.objects.filter(operation=own).order_by("-number")
    lookups = Lookup.objects.filter(~Exists(_unseen()), operation=own).order_by("-asked_at", "-id")
    permits = Permit.objects.open().filter(operation=own)
    seen = JSONObject(
        verdict="verdict",
        proof="proof",
        complete="complete",
        records="records",
        asked_at="asked_at",
        why="why",
    )
    tried = JSONObject(
        number="number",
        outcome="outcome",
        http_status="http_status",
        started_at="started_at",
        message="message",
    )
    permit = JSONObject(source="source", actor="actor", effective_at="effective_at")
    seen_too: QuerySet[Any] = operations.annotate(
        seen=Subquery(lookups.annotate(found=seen).values("found")[:1]),
        tried=Subquery(last.annotate(found=tried).values("found")[:1]),
        permit=Subquery(permits.annotate(found=permit).values("found")[:1]),
        paused=Exists(Pause.objects.open().stopping(OuterRef("operation_type"))),
        asked=Exists(Approval.objects.open().filter(operation=own)),
    )
    return seen_too


def _unseen() -> QuerySet[Attempt]:
    """Return the tries whose end a check did not see, by the rule of `actions.latest_lookup`."""
    asked_at = OuterRef("asked_at")
    never_sent, still_at_it = Q(started_at=None), Q(closed_at=None)
    unseen = Q(never_sent, claimed_at__gt=asked_at) | Q(~never_sent, still_at_it | Q(closed_at__gt=asked_at))
    return Attempt.objects.filter(unseen, operation=OuterRef("operation"))


def _narrowed(operations: QuerySet[Any], chosen: Filter, now: datetime) -> QuerySet[Any]:
    if chosen.view == "person":
        operations = operations.filter(held_at__isnull=False)
    elif chosen.view == "late":
        operations = operations.filter(due_at__lt=now)
    elif chosen.view == "wrong":
        operations = operations.filter(case_kind__in=_WRONG)
    if chosen.found == "unchecked":
        operations = operations.filter(seen__isnull=True)
    elif chosen.found:
        operations = operations.annotate(verdict=KT("seen__verdict")).filter(verdict=chosen.found)
    asked = {
        "state": chosen.state,
        "operation_type__name": chosen.type,
        "operation_type__destination__name": chosen.destination,
        "operation_type__destination__entity": chosen.entity,
        "currency": chosen.currency,
        "case_owner": chosen.owner,
        "case_kind": chosen.reason,
        "amount__gte": chosen.least,
        "amount__lte": chosen.most,
        "accepted_at__lte": chosen.age and now - timedelta(hours=int(chosen.age)),
    }
    operations = operations.filter(**{name: value for name, value in asked.items() if value})
    if chosen.text:
        # Only what is looked through is read for it; the search finds among all.
        operations = operations.filter(
            reduce(or_, (Q(**{f"{name}__icontains": chosen.text}) for name in REFERENCES))
        )
    return operations


def _ordered(operations: QuerySet[Any], chosen: Filter, now: datetime) -> QuerySet[Any]:
    if chosen.view == "latest":
        return operations.order_by("-id")
    match chosen.order:
        case "due":
            return operations.order_by(F("due_at").asc(nulls_last=True), "id")
        case "age":
            return operations.order_by("accepted_at", "id")
        case "amount":
            return operations.order_by(F("amount").desc(nulls_last=True), "id")
    ranked: QuerySet[Any] = operations.annotate(risk=_risk(now))
    return ranked.order_by("-risk", "accepted_at", "id")


def _risk(now: datetime) -> models.expressions.Combinable:
    """Amount times age in seconds. Nothing is at risk where nothing is in doubt and no case is open.

    Amounts of different currencies are ordered by their figures; nothing is added.
    """
    age_s = Cast(
        Extract(Value(now, models.DateTimeField()) - F("accepted_at"), "epoch"),
        models.DecimalField(max_digits=20, decimal_places=4),
    )
    number: models.DecimalField[Any, Any] = models.DecimalField(max_digits=40, decimal_places=4)
    risk = models.ExpressionWrapper(Coalesce(F("amount"), Value(Decimal(0))) * age_s, output_field=number)
    at_risk = Q(held_at__isnull=False) | Q(state=State.UNCERTAIN)
    return Choice(When(at_risk, then=risk), default=Value(Decimal(-1)), output_field=number)
