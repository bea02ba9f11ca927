"""The queue: what stands in it, page by page, under any filter, in any order; always by the same few queries.

First stand the items (`review.models.Item`): operations that need a person or are in doubt, and differences
that no operation carries. After them, where everything open is asked for, what only waits for its turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import (
    BooleanField,
    Exists,
    F,
    FilteredRelation,
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
from django.urls import reverse

from ledger.models import Approval, Attempt, Lookup, Operation, OperationType, Pause, Permit
from reconcile.models import Display
from review import narrowing, scaling
from review.cursors import Cursor, seconds
from review.filters import Filter
from review.models import Item
from review.ranked import FEW, STORED, Order, Scale, estimate

SHOWN = 50
LOOKED_THROUGH = 1000
"""How many operations without an item are looked through for one page of a filter."""


@dataclass(frozen=True)
class Entry:
    """One row of the queue: an annotated operation, or the item of a difference."""

    key: Cursor
    operation: Any
    item: Item | None = None


@dataclass(frozen=True)
class Page:
    """Some rows, and where the list goes on; `sought` where it stopped looking before it had enough."""

    entries: list[Entry]
    before: Cursor | None
    after: Cursor | None
    sought: bool


@dataclass(frozen=True)
class Keys:
    """The keys of some rows, and the one behind which nothing has been looked at; None at the list's end."""

    found: list[Cursor]
    further: Cursor | None = None


@dataclass(frozen=True)
class Queue:
    """What an address asks for, as of an instant, by which ages and products count."""

    chosen: Filter
    at: datetime

    @cached_property
    def types(self) -> list[OperationType]:
        """The operation types, for the filters."""
        return list(OperationType.objects.select_related("destination").order_by("label"))

    @property
    def _kinds(self) -> list[OperationType]:
        """The types, where anything of them is asked for."""
        return self.types if narrowing.by_type(self.chosen) else []

    @cached_property
    def scale(self) -> Scale:
        """What weighs how much where products are compared."""
        return scaling.scale(self.display, self.types) if self.chosen.order == "risk" else Scale()

    @cached_property
    def display(self) -> Display | None:
        """The rates by which amounts of different currencies are compared."""
        return Display.objects.first()

    @cached_property
    def order(self) -> Order:
        """The order of the items."""
        name = self.chosen.order
        few = name in STORED or estimate(self.items, counts=bool(self.chosen.text)) <= FEW
        return Order(name, seconds(self.at), self.scale, few)

    @property
    def items(self) -> QuerySet[Item]:
        """The items that the address asks for."""
        return narrowing.items(self.chosen, self._kinds, self.at)

    def new(self) -> int:
        """Count what has come in since the instant, as far as one page goes; what only waits is not new.

        By the time at which it came: a row that is written down at that very moment may be missed until the
        queue is loaded again.
        """
        return self.items.filter(entered_at__gt=self.at).values("pk")[: SHOWN + 1].count()

    def page(self, *, after: Cursor | None = None, before: Cursor | None = None) -> Page:
        """Return the rows after a key, or before one, or the first ones."""
        if before is not None:
            keys = self.keys(before, backwards=True, length=SHOWN + 1)
            if len(keys.found) <= SHOWN and keys.further is None:
                return self.page()
            found = keys.found[:SHOWN][::-1]
            earlier = found[0] if len(keys.found) > SHOWN else keys.further
            return Page(entries(found), earlier, found[-1] if found else before, keys.further is not None)
        keys = self.keys(after, length=SHOWN + 1)
        found = keys.found[:SHOWN]
        further = found[-1] if len(keys.found) > SHOWN else keys.further
        first = found[0] if found else after
        return Page(entries(found), first if after else None, further, keys.further is not None)

    def keys(self, beyond: Cursor | None, *, backwards: bool = False, length: int) -> Keys:
        """Return the keys next to one, the nearest first; from an end without one."""
        if self.chosen.view == "latest":
            return self._walked(beyond, backwards=backwards, length=length)
        waiting = narrowing.with_waiting(self.chosen)
        if backwards:
            near = Keys([])
            if waiting and (beyond is None or beyond.part == "o"):
                near = self._walked(beyond, backwards=True, length=length)
            return self._completed(near, beyond, backwards=True, length=length)
        if beyond is not None and beyond.part == "o":
            return self._walked(beyond, backwards=False, length=length) if waiting else Keys([])
        found = self.order.page(self.items, beyond, length=length)
        if len(found) == length or not waiting:
            return Keys(found)
        rest = self._walked(None, backwards=False, length=length - len(found))
        return Keys([*found, *rest.found], rest.further)

    def _completed(self, near: Keys, beyond: Cursor | None, *, backwards: bool, length: int) -> Keys:
        """Go on with the items where what waits was left behind."""
        if near.further is not None or len(near.found) == length:
            return near
        start = beyond if beyond is not None and beyond.part == "i" else None
        left = length - len(near.found)
        return Keys([*near.found, *self.order.page(self.items, start, backwards=backwards, length=left)])

    def _walked(self, beyond: Cursor | None, *, backwards: bool, length: int) -> Keys:
        """Walk operations by their ids, as far as one page may look."""
        latest = self.chosen.view == "latest"
        walked, wanted = narrowing.operations(self.chosen, self._kinds, self.at)
        down = latest is not backwards
        if beyond is not None:
            walked = walked.filter(**{"pk__lt" if down else "pk__gt": beyond.pk})
        walked = walked.order_by("-pk" if down else "pk")
        if not wanted:
            return Keys([Cursor("o", 0.0, pk) for pk in walked.values_list("pk", flat=True)[:length]])
        met = Choice(When(wanted, then=Value(True)), default=Value(False), output_field=BooleanField())
        looked = list(_judged(walked).annotate(met=met).values_list("pk", "met")[:LOOKED_THROUGH])
        found = [Cursor("o", 0.0, pk) for pk, is_met in looked if is_met][:length]
        stopped = len(looked) == LOOKED_THROUGH and len(found) < length
        return Keys(found, Cursor("o", 0.0, looked[-1][0]) if stopped else None)

    def key(self, operation: Operation) -> Cursor | None:
        """Return the key of an operation, where it stands in this list."""
        if self.chosen.view != "latest":
            if (key := self.order.key(self.items.filter(operation=operation.pk))) is not None:
                return key
            if not narrowing.with_waiting(self.chosen):
                return None
        walked, wanted = narrowing.operations(self.chosen, self._kinds, self.at)
        here = _judged(walked).filter(wanted, pk=operation.pk).exists()
        return Cursor("o", 0.0, operation.pk) if here else None


def addresses(keys: Sequence[Cursor]) -> dict[Cursor, str]:
    """Return where rows lead, without what is carried along; what has gone meanwhile is left out."""
    own = [key.pk for key in keys if key.part == "i"]
    names = "pk", "operation__uid", "finding_id", "finding__run__uid"
    items = {pk: where for pk, *where in Item.objects.filter(pk__in=own).values_list(*names)} if own else {}
    walked = [key.pk for key in keys if key.part == "o"]
    uids = dict(Operation.objects.filter(pk__in=walked).values_list("pk", "uid")) if walked else {}
    known: dict[tuple[str, int], list[Any]] = {("o", pk): [uid, None, None] for pk, uid in uids.items()}
    known |= {("i", pk): where for pk, where in items.items()}
    return {key: address(*known[key.part, key.pk]) for key in keys if (key.part, key.pk) in known}


def address(operation: UUID | None, finding: int | None, run: UUID | None) -> str:
    """Return where an operation stands, or a difference: in its run, at its line."""
    if operation is not None:
        return reverse("operation", args=[operation])
    return f"{reverse('run', args=[run])}?first={finding}#h-open"


def entries(keys: Sequence[Cursor]) -> list[Entry]:
    """Return the rows of keys in their order; what has gone meanwhile is left out."""
    own = {key.pk for key in keys if key.part == "i"}
    known = dict(Item.objects.filter(pk__in=own).values_list("pk", "operation"))
    pks = {key: known.get(key.pk) if key.part == "i" else key.pk for key in keys}
    operations = {row.pk: row for row in read(Operation.objects.filter(pk__in=set(pks.values()) - {None}))}
    loose = [pk for pk, operation in known.items() if operation is None]
    rows = Item.objects.filter(pk__in=loose).defer("words")
    rows = rows.select_related("finding__run", "case", "operation_type__destination")
    differences = {item.pk: item for item in rows} if loose else {}
    found = [
        Entry(key, operations.get(pk), differences.get(key.pk) if key.part == "i" else None)
        for key, pk in pks.items()
    ]
    return [entry for entry in found if entry.operation is not None or entry.item is not None]


def read(operations: QuerySet[Any]) -> list[Any]:
    """Return told operations, which share their types: the rules of each are read once; two queries."""
    rows = list(told(operations))
    kinds = OperationType.objects.select_related("destination")
    types = kinds.in_bulk({row.operation_type_id for row in rows}) if rows else {}
    for row in rows:
        row.operation_type = types[row.operation_type_id]
    return rows


def _open_case() -> FilteredRelation:
    return FilteredRelation("cases", condition=Q(cases__closed_at__isnull=True))


def _judged(operations: QuerySet[Any]) -> QuerySet[Any]:
    """Add what an operation without an item can be filtered by: its case, and what the check found."""
    found = operations.alias(open_case=_open_case()).alias(
        case_kind=F("open_case__kind"),
        case_owner=F("open_case__owner"),
        case_assignee=F("open_case__assignee"),
        seen=Subquery(_seen()),
    )
    judged: QuerySet[Any] = found.alias(verdict=KT("seen__verdict"))
    return judged


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
    """Return the latest check of an operation that saw its end, as JSON."""
    seen = JSONObject(
        verdict="verdict",
        proof="proof",
        complete="complete",
        records="records",
        asked_at="asked_at",
        why="why",
    )
    lookups = Lookup.objects.filter(~Exists(_unseen()), operation=OuterRef("pk")).order_by("-asked_at", "-id")
    found: QuerySet[Any] = lookups.annotate(found=seen).values("found")[:1]
    return found


def _unseen() -> QuerySet[Attempt]:
    """Return the tries whose end a check did not see, by the rule of `actions.latest_lookup`."""
    asked_at = OuterRef("asked_at")
    never_sent, still_at_it = Q(started_at=None), Q(closed_at=None)
    unseen = Q(never_sent, claimed_at__gt=asked_at) | Q(~never_sent, still_at_it | Q(closed_at__gt=asked_at))
    return Attempt.objects.filter(unseen, operation=OuterRef("operation"))
