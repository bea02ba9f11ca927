"""Operations with all that their rows say: the case, the latest try and check, the permit, and any pause."""

from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    BigIntegerField,
    BooleanField,
    Exists,
    F,
    FilteredRelation,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models import Case as Choice
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce, JSONObject, NullIf

from ledger import sight
from ledger.models import Approval, Attempt, Lookup, Operation, OperationType, Pause, Permit
from ledger.rules.states import Verdict
from review.built import built
from review.models import Item


class _OneOf(Func):
    """Whether a column is one of an array's elements: one text, however many they are."""

    template = "%(expressions)s)"
    arg_joiner = " = ANY("
    output_field = BooleanField()
    conditional = True


def among(pks: list[int]) -> _OneOf:
    """Ask for the rows of these ids."""
    return _OneOf(F("pk"), Value(pks, ArrayField(BigIntegerField())))


_SHOWN = (
    *("uid", "operation_type", "key", "state", "description", "subject", "amount", "currency"),
    *("source_system", "source_reference", "accepted_at", "settles_at", "taken_at", "held_at"),
    *("cancelled_at", "next_try_at", "look_at", "lease_until", "destination_reference"),
    *("reverses", "corrects"),
)
"""The columns that rows are written from; any other is read when it is asked for."""


def read(pks: Collection[int], types: Iterable[OperationType] | None = None) -> list[Any]:
    """Return told operations, in no order, which share their types: the rules of each are read once.

    Two queries; one where the types are given, or where there are no ids.
    """
    if not pks:
        return []
    with sight.whole():  # one statement for everybody; who asks is told what they see
        rows = _shown(list(pks))
    if (here := sight.present()) is not None:
        rows = [row for row in rows if row.operation_type_id in here.types]
    if types is None:
        wanted = {row.operation_type_id for row in rows}
        types = OperationType.objects.select_related("destination").filter(pk__in=wanted)
    known = {kind.pk: kind for kind in types}
    for row in rows:
        row.operation_type = known[row.operation_type_id]
    return rows


@built
def _shown(pks: list[int]) -> QuerySet[Any]:
    return told(Operation.objects.filter(among(pks))).only(*_SHOWN)


def with_case_kind(operations: QuerySet[Operation]) -> QuerySet[Operation]:
    """Add the kind of the open case, None without one."""
    return operations.alias(open_case=_open_case()).annotate(case_kind=F("open_case__kind"))


def _open_case() -> FilteredRelation:
    return FilteredRelation("cases", condition=Q(cases__closed_at__isnull=True))


def judged(operations: QuerySet[Any]) -> QuerySet[Any]:
    """Add what an operation without an item can be filtered by: its case, and what the check found."""
    found = operations.alias(open_case=_open_case()).alias(
        case_kind=F("open_case__kind"),
        case_owner=F("open_case__owner"),
        case_assignee=F("open_case__assignee"),
        seen=Subquery(_seen()),
    )
    with_verdict: QuerySet[Any] = found.alias(verdict=KT("seen__verdict"))
    return with_verdict


def told(operations: QuerySet[Any]) -> QuerySet[Any]:
    """Return operations with all that their rows say, in no order."""
    found = operations.alias(open_case=_open_case()).annotate(
        case_kind=F("open_case__kind"),
        case_owner=F("open_case__owner"),
        case_uid=F("open_case__uid"),
        case_escalated_to=F("open_case__escalated_to"),
        case_assignee=F("open_case__assignee"),
        case_snoozed=Choice(
            When(open_case__snoozed_revision=F("revision"), then=F("open_case__snoozed_until")), default=None
        ),
        due_at=F("open_case__due_at"),
        at_risk=Subquery(Item.objects.filter(operation=OuterRef("pk")).values("at_risk")[:1]),
        waits_for=Coalesce(NullIf(F("after__description"), Value("")), F("after__key")),
    )
    # What is large, and in no row.
    return _told(found).defer("payload_sealed", "leaf_digests")


def _told(operations: QuerySet[Any]) -> QuerySet[Any]:
    """Add the latest try, the latest check that saw its end and the open permit as JSON, and any pause."""
    own = OuterRef("pk")
    last = Attempt.objects.filter(operation=own).order_by("-number")
    permits = Permit.objects.open().filter(operation=own)
    tried = JSONObject(
        number="number",
        outcome="outcome",
        http_status="http_status",
        started_at="started_at",
        message="message",
    )
    permit = JSONObject(source="source", actor="actor", effective_at="effective_at")
    told_too: QuerySet[Any] = operations.annotate(
        seen=Subquery(_seen()),
        tried=Subquery(last.annotate(found=tried).values("found")[:1]),
        permit=Subquery(permits.annotate(found=permit).values("found")[:1]),
        paused=Exists(Pause.objects.open().stopping(OuterRef("operation_type"))),
        asked=Exists(Approval.objects.open().filter(operation=own)),
    )
    return told_too


def _seen() -> QuerySet[Any]:
    """Return the latest check of an operation that saw its end, as JSON; with the last that could look."""
    blind = Q(verdict=Verdict.COULD_NOT_LOOK)
    looked = Lookup.objects.filter(~blind, ~Exists(_unseen()), operation=OuterRef("operation"))
    before = Choice(When(blind, then=Subquery(_first(looked))), default=None)
    return _first(Lookup.objects.filter(~Exists(_unseen()), operation=OuterRef("pk")), before=before)


def _first(lookups: QuerySet[Lookup], **more: Choice) -> QuerySet[Any]:
    """Return the latest of some checks, as JSON."""
    columns = ("verdict", "proof", "complete", "records", "asked_at", "why")
    seen = JSONObject(**{name: name for name in columns}, **more)
    return lookups.order_by("-asked_at", "-id").annotate(found=seen).values("found")[:1]


def _unseen() -> QuerySet[Attempt]:
    """Return the tries whose end a check did not see, by the rule of `actions.latest_lookup`."""
    asked_at = OuterRef("asked_at")
    never_sent, still_at_it = Q(started_at=None), Q(closed_at=None)
    unseen = Q(never_sent, claimed_at__gt=asked_at) | Q(~never_sent, still_at_it | Q(closed_at__gt=asked_at))
    return Attempt.objects.filter(unseen, operation=OuterRef("operation"))
