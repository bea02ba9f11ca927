"""Run a bulk action, step by step: settle what is under way, check all, let five go first, then the rest.

All that a step knows it reads from rows, and each thing that it does is one transaction with the row that
says so: whoever is killed, wherever, leaves nothing half done, and the next step goes on from what is there.
An item passes the same door as it would alone (`ledger.actions`), in the name of whoever confirmed.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Case, QuerySet, When

from ledger import actions
from ledger.models import Lookup, TieoutNow, database_now
from ledger.rules.errors import TieoutError
from ledger.rules.leaves import SITTING, Action, leaves
from ledger.rules.states import State, Verdict
from review import access
from review.bulk import commanding, freezing, settling
from review.bulk.counting import KNOWN, WRONG
from review.bulk.items import finish, found, look, told, watched
from review.instants import say
from review.models import Bulk, BulkItem
from review.models.bulk import Outcome, Status
from review.reading import RIGHT

STEP_S = 5.0
"""How long one step goes on before it lets others have the worker."""
AT_ONCE = 10
"""Items that are taken up before what is under way is looked at again."""
CANARY = 5
"""The database keeps the rest waiting until these are known."""
UNDER_WAY_MIN = 20
FRESH = SITTING - timedelta(seconds=30)
"""How old a check may be when the action follows; an older one is made again."""
PLACE = 0x7469650C
"""Our number among PostgreSQL's advisory locks; the second one is the bulk action's."""
LAST = Case(When(KNOWN, then=1), default=0)
RUNS = """
SELECT FROM review_bulk WHERE id = %s AND status = 'running' AND starts_at <= tieout_now() FOR NO KEY UPDATE
"""


def carry_on(bulk_id: int, *, within_s: float = STEP_S) -> bool:
    """Go on with a bulk action for some seconds; False where another process is at it."""
    with _turn(bulk_id) as ours:
        until = time.monotonic() + within_s
        while ours and time.monotonic() < until and _step(bulk_id):
            pass
    return ours


@contextmanager
def _turn(bulk_id: int) -> Iterator[bool]:
    """Hold a bulk action for this database session, with which it ends, however that comes."""
    numbers = [PLACE, bulk_id % 2**31]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", numbers)
        ours = bool(cursor.fetchone()[0])
    try:
        yield ours
    finally:
        if ours:
            with suppress(OperationalError, InterfaceError), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", numbers)


def _step(bulk_id: int) -> bool:
    """Do the next thing; False where there is nothing to do for now."""
    bulk = Bulk.objects.filter(pk=bulk_id).first()
    if bulk is None:
        return False
    if bulk.status == Status.PREVIEW:
        return freezing.read_more(bulk)
    runs = bulk.status == Status.RUNNING and bulk.starts_at is not None and bulk.starts_at <= database_now()
    if settling.settle(bulk) or (runs and _allowed(bulk) and _go_on(bulk)):
        return True
    return commanding.finish(bulk_id)


def _allowed(bulk: Bulk) -> bool:
    """Say whether who confirmed it still may do it; else it stops."""
    person = User.objects.filter(username=bulk.maker).first()
    if (
        person is not None
        and person.pk == bulk.maker_account
        and access.may(person, RIGHT[Action(bulk.action)])
    ):
        return True
    with transaction.atomic():
        commanding.stop(bulk.pk, f"{bulk.maker} may no longer do this.")
    return False


def _go_on(bulk: Bulk) -> bool:
    """Check what is still to be checked, or else act on what comes next."""
    # What is known to be in trouble comes last: the others neither wait for it nor stop because of it.
    items = bulk.items.filter(outcome="", may=True, acted_at=None).order_by(LAST, "number")
    unready = items.filter(ready_at=None)
    if bulk.action != Action.CHECK and unready.exists():
        return _each(unready[: _room(bulk, "looked_at")], _make_ready)
    first, most = _next(bulk)
    if bulk.action == Action.CHECK:
        return _each(items[: min(_room(bulk, "looked_at"), most)], partial(_check, canary=first))
    return _each(items[:most], partial(_decide, canary=first))


def _each(items: QuerySet[BulkItem], do: Callable[[BulkItem, Bulk], None]) -> bool:
    """Do it with each, as it stands now, for as long as all of it runs; says whether there was any."""
    whole = BulkItem.objects.select_related("bulk", "looked", "operation__operation_type__destination")
    done = False
    for pk in list(items.values_list("pk", flat=True)):
        item = whole.get(pk=pk)
        if item.bulk.status != Status.RUNNING:
            break
        with watched(item):
            do(item, item.bulk)
        done = True
    return done


def _room(bulk: Bulk, begun_at: str) -> int:
    """Return how many more may begin now, so that each minute sees no more than was said."""
    parts = 6 if bulk.per_minute >= 6 else 1
    since = database_now() - timedelta(seconds=60 / parts)
    begun = bulk.items.filter(**{f"{begun_at}__gt": since}).count()
    return max(0, min(bulk.per_minute // parts - begun, AT_ONCE))


def _next(bulk: Bulk) -> tuple[bool, int]:
    """Return whether these are of the first five, and how many may be acted on now, as the pace allows."""
    room = _room(bulk, "acted_at")
    canaries = list(bulk.items.filter(canary=True).values_list("outcome", flat=True))
    if len(canaries) < CANARY:
        return True, min(CANARY - len(canaries), room)
    if "" in canaries:
        return False, 0
    under_way = bulk.items.filter(outcome="", acted_at__isnull=False).count()
    return False, max(0, min(max(UNDER_WAY_MIN, bulk.per_minute // 4) - under_way, room))


def _asked(item: BulkItem, bulk: Bulk, **more: uuid.UUID) -> Lookup | None:
    """Check an item, if that is open; None where that was all that came of it."""
    operation = item.operation
    if operation.state == State.RUNNING or not operation.operation_type.has_lookup:  # what the leave hangs on
        now = database_now()
        leave = leaves(actions.facts(operation), now, sitting=None)[Action.CHECK]
        finish(item, Outcome.REFUSED, say(leave.why, now), surprised=True)
        return None
    try:
        return look(item, bulk, **more)
    except TieoutError as error:
        finish(item, Outcome.REFUSED, told(error), surprised=True)
        return None


def _check(item: BulkItem, bulk: Bulk, *, canary: bool) -> None:
    """Check an item where checking is all that was asked for."""
    command_id = _command(item, bulk)
    lookup = _asked(item, bulk, command_id=command_id)
    if lookup is None:
        return
    wrong = lookup.verdict in WRONG
    surprised = wrong and lookup.verdict != item.foreseen
    with transaction.atomic():
        runs = _runs(bulk)
        if not surprised and not runs:
            return
        acted: dict[str, Any] = {"acted_at": TieoutNow(), "canary": canary} if runs else {}
        outcome, why = Outcome.HELD if wrong else Outcome.VERIFIED, found(lookup, item.operation)
        finish(item, outcome, why, seen=lookup, surprised=surprised, command_id=command_id, **acted)


def _make_ready(item: BulkItem, bulk: Bulk) -> None:
    """Check an item before the action, in the maker's name, and say whether it is still open to it."""
    if not item.operation.operation_type.has_lookup:
        _ready(item, None)
        return
    lookup = _asked(item, bulk)
    if lookup is None:
        return
    operation, now = lookup.operation, database_now()  # as its check has left it
    done = operation.state == State.COMPLETED and operation.held_at is None
    if lookup.verdict == Verdict.ONE_MATCH and done and bulk.action == Action.SEND_AGAIN:
        finish(item, Outcome.VERIFIED, "It is there: nothing was sent.", seen=lookup)
    elif lookup.verdict in (*WRONG, Verdict.ONE_MATCH) and not _declined(lookup):
        surprised = lookup.verdict != item.foreseen
        finish(item, Outcome.HELD, found(lookup, operation), seen=lookup, surprised=surprised)
    else:
        leave = leaves(actions.facts(operation), now, sitting=actions.lookup_fact(lookup))[
            Action(bulk.action)
        ]
        if leave.allowed:
            _ready(item, lookup)
        else:
            finish(item, Outcome.REFUSED, say(leave.why, now), surprised=True)


def _declined(lookup: Lookup) -> bool:
    fact = actions.lookup_fact(lookup)
    return fact is not None and fact.standing is not None and fact.standing.value == "failed"


def _ready(item: BulkItem, lookup: Lookup | None) -> None:
    item.looked = lookup
    BulkItem.objects.filter(pk=item.pk, outcome="").update(ready_at=TieoutNow(), looked=lookup)


def _decide(item: BulkItem, bulk: Bulk, *, canary: bool) -> None:
    """Act on an item by the same door as alone; a check that is too old by now is made again."""
    if item.looked is not None and database_now() - item.looked.asked_at > FRESH:
        _make_ready(item, bulk)
        item.refresh_from_db(fields=["outcome"])
        if item.outcome:
            return
    refusal = ""
    with transaction.atomic():
        if not _runs(bulk):
            return
        try:
            ACT[Action(bulk.action)](item, bulk, canary=canary)
        except TieoutError as error:
            refusal = told(error)
    if refusal:
        finish(item, Outcome.REFUSED, refusal, surprised=True)


def _send_again(item: BulkItem, bulk: Bulk, *, canary: bool) -> None:
    command_id = _command(item, bulk)
    actions.permit(item.operation_id, actor=bulk.maker, reason=bulk.said(item), command_id=command_id)
    left = BulkItem.objects.filter(pk=item.pk, outcome="", acted_at=None)
    left.update(acted_at=TieoutNow(), command_id=command_id, canary=canary)


def _end(item: BulkItem, bulk: Bulk, *, canary: bool) -> None:
    command_id = _command(item, bulk)
    asked = actions.end(item.operation_id, actor=bulk.maker, reason=bulk.said(item), command_id=command_id)
    if asked is not None:
        finish(item, Outcome.HELD, "A second person is asked about it.", command_id=command_id)
        return
    acted: dict[str, Any] = {"acted_at": TieoutNow(), "canary": canary, "command_id": command_id}
    if item.looked is None:
        there = item.operation.operation_type.destination.title
        finish(item, Outcome.UNSEEN, f"Closed on {bulk.maker}’s word: {there} cannot be checked.", **acted)
    else:
        finish(item, Outcome.VERIFIED, "It did not happen: closed.", seen=item.looked, **acted)


ACT: dict[Action, Callable[..., None]] = {
    Action.SEND_AGAIN: _send_again,
    Action.DID_NOT_HAPPEN: _end,
}


def _command(item: BulkItem, bulk: Bulk) -> uuid.UUID:
    """Return the command of an item: the same one for whoever takes it up again."""
    return uuid.uuid5(bulk.uid, f"{item.number}/{item.turn}")


def _runs(bulk: Bulk) -> bool:
    """Say whether it runs, and keep it so until this transaction ends: who cancels waits for that."""
    with connection.cursor() as cursor:
        cursor.execute(RUNS, [bulk.pk])
        return cursor.fetchone() is not None
