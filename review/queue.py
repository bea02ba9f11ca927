"""The queue: what stands in it, page by page, under any filter, in any order; always by the same few queries.

First stand the items (`review.models.Item`): operations that need a person or are in doubt, and differences
that no operation carries. After them, where everything open is asked for, what only waits for its turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db.models import BooleanField, QuerySet, Value, When
from django.db.models import Case as Choice
from django.urls import reverse

from ledger.models import Operation, OperationType
from reconcile.models import Display
from review import narrowing, routes, scaling
from review.built import built
from review.cursors import Cursor, seconds
from review.filters import Filter
from review.models import Item
from review.ranked import FEW, STORED, Order, Scale, estimate
from review.told import among, read

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
        return _types()

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
        return next(iter(_displays()), None)

    @cached_property
    def order(self) -> Order:
        """The order of the items."""
        name, chosen = self.chosen.order, self.chosen
        # Where next to nothing is left out, what is first is read first, however much there is.
        left_out = chosen.narrowed or chosen.view != "open"
        few = name in STORED or (left_out and estimate(self.items, counts=bool(chosen.text)) <= FEW)
        return Order(name, seconds(self.at), self.scale, few, self.chosen.currency)

    @cached_property
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
            last = found[-1] if found else before
            return Page(entries(found, self.types), earlier, last, keys.further is not None)
        keys = self.keys(after, length=SHOWN + 1)
        found = keys.found[:SHOWN]
        further = found[-1] if len(keys.found) > SHOWN else keys.further
        first = found[0] if found else after
        return Page(entries(found, self.types), first if after else None, further, keys.further is not None)

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

    def beside(self, key: Cursor | None) -> tuple[list[Cursor], list[Cursor]]:
        """Return the key right before one and the one right after it; without one, the first is after it."""
        if key is None:
            return [], self.keys(None, length=1).found
        item = key.part == "i" and self.chosen.view != "latest"
        near = self.order.beside(self.items, key) if item else None
        if near is None:
            return self.keys(key, backwards=True, length=1).found, self.keys(key, length=1).found
        before, after = near
        if not after and narrowing.with_waiting(self.chosen):
            after = self._walked(None, backwards=False, length=1).found
        return before, after

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
            return Keys([Cursor("o", 0.0, pk, pk) for pk in walked.values_list("pk", flat=True)[:length]])
        met = Choice(When(wanted, then=Value(True)), default=Value(False), output_field=BooleanField())
        looked = list(walked.annotate(met=met).values_list("pk", "met")[:LOOKED_THROUGH])
        found = [Cursor("o", 0.0, pk, pk) for pk, is_met in looked if is_met][:length]
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
        here = walked.filter(wanted, pk=operation.pk).exists()
        return Cursor("o", 0.0, operation.pk, operation.pk) if here else None


@built
def _types() -> QuerySet[OperationType]:
    return OperationType.objects.select_related("destination").order_by("label")


@built
def _displays() -> QuerySet[Display]:
    return Display.objects.order_by("pk")[:1]


def addresses(keys: Sequence[Cursor]) -> dict[Cursor, str]:
    """Return where rows lead, without what is carried along; what has gone meanwhile is left out."""
    own = [key.pk for key in keys if key.part == "i"]
    items = {pk: where for pk, *where in _leading(own)} if own else {}
    walked = [key.pk for key in keys if key.part == "o"]
    uids = dict(Operation.objects.filter(pk__in=walked).values_list("pk", "uid")) if walked else {}
    known: dict[tuple[str, int], list[Any]] = {("o", pk): [uid, None, None] for pk, uid in uids.items()}
    known |= {("i", pk): where for pk, where in items.items()}
    return {key: address(*known[key.part, key.pk]) for key in keys if (key.part, key.pk) in known}


@built
def _leading(pks: list[int]) -> QuerySet[Item, tuple[int, UUID | None, int | None, UUID | None]]:
    names = "pk", "operation__uid", "finding_id", "finding__run__uid"
    return Item.objects.filter(among(pks)).values_list(*names)


def address(operation: UUID | None, finding: int | None, run: UUID | None) -> str:
    """Return where an operation stands, or a difference."""
    if operation is not None:
        return routes.of("operation", operation)
    return reverse("difference", args=[run, finding])


def entries(keys: Sequence[Cursor], types: Iterable[OperationType] | None = None) -> list[Entry]:
    """Return the rows of keys that were just read, in their order; what has gone meanwhile is left out.

    One query where the types are given, two without, and one more where differences are among them.
    """
    known = {row.pk: row for row in read({key.operation for key in keys if key.operation}, types)}
    loose = [key.pk for key in keys if key.operation is None]
    rows = Item.objects.filter(pk__in=loose).defer("words")
    rows = rows.select_related("finding__run", "case", "operation_type__destination")
    differences = {item.pk: item for item in rows} if loose else {}
    found = [
        Entry(key, known.get(key.operation), None if key.operation else differences.get(key.pk))
        for key in keys
    ]
    return [entry for entry in found if entry.operation is not None or entry.item is not None]
