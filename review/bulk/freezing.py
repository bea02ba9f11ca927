"""Freeze a list and read, one by one, what of it is open to the action; nothing joins it afterwards."""

import time
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import parse_qsl

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Value
from django.db.models.functions import Least

from ledger import actions
from ledger.models import Operation, database_now
from ledger.rules import actors
from ledger.rules.errors import Malformed, NotNow, RulesUnreadable
from ledger.rules.facts import Facts, LookupFact
from ledger.rules.leaves import Action, Leave, leaves, no
from ledger.rules.states import Verdict
from review import access
from review.cursors import Cursor
from review.filters import Filter, Reader
from review.instants import say
from review.models import Bulk, BulkItem, Item
from review.models.bulk import ACTIONS, MOST, Status
from review.queue import Queue
from review.reading import RIGHT

READ_S = 2.0
"""How long freezing reads within the request; the worker reads the rest."""
CHUNK = 50
LENGTH, WALKED = 1000, 100
"""Rows that are read at once, and how often at most."""
KEPT = timedelta(days=1)
"""How long a list that nobody confirmed is kept."""
CALLERS = "Its automation sends it: allow it another try on its own page."
ASKS = "Asks a second person, as it would alone."

INSERT = """
INSERT INTO review_bulkitem (bulk_id, number, operation_id, foreseen, turn, canary, outcome, why)
SELECT %s, number, operation, '', 0, false, '', ''
FROM unnest(%s::bigint[]) WITH ORDINALITY AS picked (operation, number)
"""


def freeze(
    action: Action, *, person: User, chosen: Filter, picked: Sequence[uuid.UUID] | None = None
) -> Bulk:
    """Freeze what is ticked, or all of an address of the queue, and begin to read it.

    Raises Malformed where nothing is selected, NotNow where it is too much, NotAllowed.
    """
    if action not in ACTIONS:
        raise Malformed("That is decided one by one, on each operation’s page.")
    access.require(person, RIGHT[action])
    pks = selected(chosen, picked)
    with transaction.atomic():
        bulk = Bulk.objects.create(
            action=action,
            maker=actors.person(person.get_username()),
            picked=picked is not None,
            source=chosen.address,
            frozen=len(pks),
        )
        with connection.cursor() as cursor:
            cursor.execute(INSERT, [bulk.pk, pks])
    until = time.monotonic() + READ_S
    while time.monotonic() < until and read_more(bulk):
        pass
    return bulk


def selected(chosen: Filter, picked: Sequence[uuid.UUID] | None, *, most: int = MOST) -> list[int]:
    """Return the operations that are ticked, or all that an address of the queue finds.

    Raises Malformed where there are none, NotNow where there are more than may be taken at once.
    """
    pks = _ticked(picked) if picked is not None else _found(chosen)
    if not pks:
        raise Malformed("Nothing is selected: tick rows, or take all that the filter finds.")
    if len(pks) > most:
        raise NotNow(f"These are more than {most:,} operations: narrow the filter first.".replace(",", " "))
    return pks


def _ticked(picked: Sequence[uuid.UUID]) -> list[int]:
    known = dict(Operation.objects.filter(uid__in=picked).values_list("uid", "pk"))
    return list(dict.fromkeys(known[uid] for uid in picked if uid in known))


def _found(chosen: Filter) -> list[int]:
    """Return the operations that an address finds, in its order; one more than may be, at most."""
    if chosen.view == "latest":
        raise NotNow("Take all of what is open; of what is done, tick rows.")
    listed, found, beyond = Queue(chosen, database_now()), [], None
    for _ in range(WALKED):
        keys = listed.keys(beyond, length=LENGTH)
        found += _operations(keys.found)
        beyond = keys.further or (keys.found[-1] if len(keys.found) == LENGTH else None)
        if beyond is None or len(found) > MOST:
            return found[: MOST + 1]
    raise NotNow("Too many are looked through for so few: choose another filter.")


def _operations(keys: list[Cursor]) -> list[int]:
    """Return the operations of some rows; a difference has none."""
    own = [key.pk for key in keys if key.part == "i"]
    items = dict(Item.objects.filter(pk__in=own, operation__isnull=False).values_list("pk", "operation_id"))
    rows = (items.get(key.pk) if key.part == "i" else key.pk for key in keys)
    return [pk for pk in rows if pk is not None]


def new_since(bulk: Bulk, reader: Reader) -> int:
    """Count what the same address finds by now and the list does not hold."""
    if bulk.picked:
        return 0
    try:
        found = _found(Filter.read(dict(parse_qsl(bulk.source)), reader))
    except NotNow:
        return 0
    return len(set(found) - set(bulk.items.values_list("operation", flat=True)))


def read_more(bulk: Bulk, *, most: int = CHUNK) -> bool:
    """Read whether the next items of a preview are open to the action; False where all are read.

    Nobody confirms the list between what is read of an item and until when its key protects it.
    """
    with transaction.atomic():
        if not Bulk.objects.select_for_update(no_key=True).filter(pk=bulk.pk, status=Status.PREVIEW):
            return False
        unread = bulk.items.filter(may=None)
        items = list(unread.select_related("operation__operation_type__destination")[:most])
        keys = [key for item in items if (key := _read(item, bulk)) is not None]
        if items:
            BulkItem.objects.bulk_update(items, ["may", "why", "foreseen"])
        if keys:
            Bulk.objects.filter(pk=bulk.pk).update(key_until=Least("key_until", Value(min(keys))))
    return bool(items)


def _read(item: BulkItem, bulk: Bulk) -> datetime | None:
    """Read one item; return until when a key protects it, where it is open to the action and one does."""
    operation, now = item.operation, database_now()
    try:
        known = actions.facts(operation)
        leave = hoped(known, Action(bulk.action), bulk.maker, now)
    except RulesUnreadable as error:
        item.may, item.why, item.foreseen = False, error.detail[:500], ""
        return None
    why = "" if leave.allowed else say(leave.why, now)
    if (
        leave.allowed
        and bulk.action == Action.DID_NOT_HAPPEN
        and actions.together(operation, bulk.maker).takes_two
    ):
        why = ASKS
    item.may, item.why = leave.allowed, why[:500]
    item.foreseen = str(known.lookup.verdict) if known.lookup else ""
    return known.same_key_until(now) if leave.allowed else None


def hoped(known: Facts, action: Action, maker: str, now: datetime) -> Leave:
    """Say whether an action is open, provided that the maker's own check, made first, proves absence."""
    if action is Action.SEND_AGAIN and not known.by_tieout:
        return no(CALLERS)
    hope = LookupFact(Verdict.ABSENT, now, maker, complete=True, proof=True)
    return leaves(known, now, sitting=hope if known.has_lookup else None)[action]


def forget_old() -> None:
    """Remove lists that nobody confirmed within a day: nothing was done by them."""
    old = Bulk.objects.filter(status=Status.PREVIEW, frozen_at__lt=database_now() - KEPT)
    for bulk in old[:10]:
        with transaction.atomic():
            # The list first: its items may go with it, and never by themselves.
            Bulk.objects.filter(pk=bulk.pk)._raw_delete(bulk.items.db)
            bulk.items.all()._raw_delete(bulk.items.db)
