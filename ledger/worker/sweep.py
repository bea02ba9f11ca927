"""The sweep: finds in the ledger what is due, expired or settled; it needs no task that was kept."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial

from django.db import connection
from django.db.models import Q, QuerySet
from django.utils.module_loading import import_string

from ledger import actions, audit
from ledger.models import Approval, Operation, OperationType, Permit, database_now
from ledger.rules.decisions import Next
from ledger.rules.states import State
from ledger.worker import nudging
from ledger.worker.nudging import Taken
from ledger.worker.rooms import Room, rooms
from ledger.worker.words import in_words

BATCH = 100
PART_S = 3.0
"""How long one part of a sweep may go on taking batches, so that the supervisor's other duties come round."""
WAITING_MAX = 80
"""Tasks that wait in the queue: few, so that what a person has allowed does not stand behind thousands."""
SENDS_MAX = 60

log = logging.getLogger(__name__)
Due = Callable[[datetime], "QuerySet[Operation]"]


class Sweep:
    """One pass over what is due, and the other floors' hooks after it."""

    def __init__(self, hooks: Sequence[str] = ()) -> None:
        self._hooks: list[Callable[[], object]] = [import_string(path) for path in hooks]

    def run(self) -> bool:
        """Make one pass; True where it left something for which there was no room or no time.

        What cannot be done for one operation is said, and tried again half a minute later; only the loss of
        the database ends a pass.
        """
        all_done = [_alone(part, name) is not False for name, part in PARTS.items()]
        for hook in self._hooks:
            _alone(hook, f"{hook.__module__}.{hook.__name__}")
        return not all(all_done)


def _take_up(due: Due, act: Callable[[Taken], None], *, oldest: str) -> bool:
    """Act on each operation that is due, the oldest first; False where time ran out."""
    until = time.monotonic() + PART_S
    while time.monotonic() < until:
        if _taken(due(database_now()), act, oldest=oldest, limit=BATCH) < BATCH:
            return True
    return False


def _taken(due: "QuerySet[Operation]", act: Callable[[Taken], None], *, oldest: str, limit: int) -> int:
    taken = nudging.take(due, oldest=oldest, limit=limit)
    for one in taken:
        _alone(partial(act, one), f"Operation {one.pk}")
    return len(taken)


def _look_up(due: Due, act: Callable[[Taken], None], *, oldest: str) -> bool:
    """Act on what a destination is to be asked about, of those with a rate only on what it has room for."""
    narrow = rooms()
    done = _spread(narrow, due, lambda part, limit: _taken(part, act, oldest=oldest, limit=limit))
    return _take_up(lambda now: _elsewhere(due(now), narrow), act, oldest=oldest) and done


def _spread(narrow: list[Room], due: Due, take: Callable[["QuerySet[Operation]", int], int]) -> bool:
    """Take up what there is room for at each destination with a rate; False where that was not all."""
    done = True
    for room in narrow:
        for kind, limit in room.shares():
            taken = take(due(database_now()).filter(operation_type=kind), limit)
            done = done and taken < limit
        if room.tasks == 0 and not room.rests:
            done = done and not due(database_now()).filter(operation_type__in=room.types).exists()
    return done


def _elsewhere(due: "QuerySet[Operation]", narrow: list[Room]) -> "QuerySet[Operation]":
    return due.exclude(operation_type__destination__in=[room.destination_id for room in narrow])


def _nudge_sends(due: Due, *, oldest: str, most: int) -> bool:
    """Nudge what the queue has room for; False where that was not all."""
    room = min(most - nudging.waiting(), BATCH)
    if room <= 0:
        return not due(database_now()).exists()
    narrow = rooms()
    done = _spread(
        narrow, due, lambda part, limit: nudging.nudge_sends(part, oldest=oldest, limit=min(limit, room))
    )
    others = _elsewhere(due(database_now()), narrow)
    return nudging.nudge_sends(others, oldest=oldest, limit=room) < room and done


def _remove_payloads() -> bool:
    """Remove payloads whose time is over, a batch in a pass; the others can wait for the next."""
    due = Operation.objects.past_keeping(database_now())
    for one in nudging.take(due, oldest="finished_at", limit=BATCH):
        _alone(partial(actions.remove_payload, one.pk, actor="policy"), f"Operation {one.pk}")
    return True


def _seal_trail() -> bool:
    """Seal what the trail has grown by; what is still being written waits for the next pass."""
    return audit.seal_in_time(within_s=PART_S)


def _out_of_lease(now: datetime) -> "QuerySet[Operation]":
    return Operation.objects.out_of_lease(now)


def _lapsed(now: datetime) -> "QuerySet[Operation]":
    lapsed = Permit.objects.open().filter(lapses_at__lte=now)
    return Operation.objects.filter(state__in=[State.UNCERTAIN, State.FAILED], permits__in=lapsed)


def _unanswered(now: datetime) -> "QuerySet[Operation]":
    return Operation.objects.filter(approvals__in=Approval.objects.open().filter(expires_at__lte=now))


def _asked_overdue(now: datetime) -> "QuerySet[Operation]":
    return Operation.objects.filter(approvals__in=actions.overdue_asks(now))


def _escalate() -> bool:
    """Let go to their next level what nobody has answered in time; False where time ran out."""
    until = time.monotonic() + PART_S
    while time.monotonic() < until:
        overdue = actions.overdue()
        for uid in overdue:
            _alone(partial(actions.escalate, uid), f"Case {uid}")
        if len(overdue) < BATCH:
            return True
    return False


def _pause_unreadable() -> bool:
    """Pause a destination where the rules of one of its types cannot be read: nobody can act by them."""
    for kind in OperationType.objects.select_related("destination"):
        if kind.trouble:
            _alone(partial(actions.pause, kind.destination_id, why=kind.trouble), f"The rules of {kind.name}")
    return True


def _beyond_limits(now: datetime) -> "QuerySet[Operation]":
    """Waiting operations whose time is over: tried by either performer, or left by a caller before a try."""
    types: dict[float, list[int]] = defaultdict(list)
    for kind in OperationType.objects.only("name", "retry"):
        elapsed_s = _alone(partial(_elapsed_s, kind), f"The rules of {kind.name}")
        if isinstance(elapsed_s, float):
            types[elapsed_s].append(kind.pk)
    over = Q(pk__in=[])
    for elapsed_s, kinds in types.items():
        over |= Q(operation_type__in=kinds, accepted_at__lte=now - timedelta(seconds=elapsed_s))
    # While its destination is paused, no time runs out.
    begun = Q(attempt_count__gt=0) | Q(operation_type__performed_by="caller")
    return Operation.objects.due(now).filter(begun, over)


def _elapsed_s(kind: OperationType) -> float:
    return kind.policy.elapsed_s


def _corrections(now: datetime) -> "QuerySet[Operation]":
    """Corrections that wait for their callers: what they correct may have moved, as a claim asks, too."""
    waiting = Operation.objects.filter(state=State.PENDING, held_at=None, corrects__isnull=False)
    return waiting.filter(operation_type__performed_by="caller")


def _following(now: datetime) -> "QuerySet[Operation]":
    return Operation.objects.to_follow()


def _permitted(now: datetime) -> "QuerySet[Operation]":
    return Operation.objects.by_tieout().permitted(now)


def _to_resolve(now: datetime) -> "QuerySet[Operation]":
    return Operation.objects.to_look_up(now)


def _told_of(now: datetime) -> "QuerySet[Operation]":
    return Operation.objects.told_of(now)


def _due(now: datetime) -> "QuerySet[Operation]":
    return Operation.objects.by_tieout().due(now)


def _expire(one: Taken) -> None:
    actions.expire(one.pk, actor="worker")


def _lapse_asked(one: Taken) -> None:
    actions.lapse_asked(one.pk)


def _escalate_ask(one: Taken) -> None:
    actions.escalate_ask(one.pk)


def _settle(one: Taken) -> None:
    actions.settle(one.pk, actor="worker")


def _resolve(one: Taken) -> None:
    """Settle what needs no network; where a look is left and there is room, have a worker make it."""
    step = actions.settle(one.pk, actor="worker")
    if step.due(Next.LOOK, database_now()) and nudging.waiting() < WAITING_MAX:
        nudging.nudge_look(one)


def _heed(one: Taken) -> None:
    """Where there is room, have a worker look up what its destination spoke of."""
    if nudging.waiting() < WAITING_MAX:
        nudging.nudge_look(one, task=nudging.HEED)


def _alone(act: Callable[[], object], what: str) -> object:
    """Let nothing that goes wrong here keep the rest waiting, except the loss of the database."""
    try:
        return act()
    except Exception as error:
        if not connection.is_usable():
            raise
        log.error("%s could not be taken up: %s", what, in_words(error))  # noqa: TRY400 - text may carry values
        return None


# What a person has just allowed goes before what software has to look at, and that before new work.
PARTS: dict[str, Callable[[], bool]] = {
    "Rules that cannot be read": _pause_unreadable,
    "Leases that ran out": partial(_take_up, _out_of_lease, _expire, oldest="lease_until"),
    "Permits that lapsed": partial(_take_up, _lapsed, _settle, oldest="id"),
    "Requests that lapsed": partial(_take_up, _unanswered, _lapse_asked, oldest="id"),
    "Requests past their due time": partial(_take_up, _asked_overdue, _escalate_ask, oldest="id"),
    "Cases past their due time": _escalate,
    "Limits that were reached": partial(_take_up, _beyond_limits, _settle, oldest="accepted_at"),
    "Corrections that wait": partial(_take_up, _corrections, _settle, oldest="id"),
    "What comes after another": partial(_take_up, _following, _settle, oldest="id"),
    "Permits in effect": partial(_nudge_sends, _permitted, oldest="id", most=WAITING_MAX),
    "Doubts to resolve": partial(_look_up, _to_resolve, _resolve, oldest="look_at"),
    "What destinations spoke of": partial(_look_up, _told_of, _heed, oldest="told_look_at"),
    "Sends that are due": partial(_nudge_sends, _due, oldest="next_try_at", most=SENDS_MAX),
    "Payloads past their time": _remove_payloads,
    "The trail's seals": _seal_trail,
}
