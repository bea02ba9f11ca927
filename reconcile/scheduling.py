"""When plans run by themselves: cron is read in the plan's zone by us, so that no day is missed or doubled.

A time that was missed, because nothing was running, is made up for once. The sweep begins the run, in one
transaction with the plan's next time; the queue only carries the word that it waits for a process, as a run
does whose process has stopped. A lost task costs half a minute, a repeated one nothing. One run at a time is
put there: runs are long, and a worker has to stay free for sends and for the queue's own heartbeat.
"""

import logging
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django_q.tasks import async_task

from ledger import sight
from ledger.models import TieoutNow, database_now
from reconcile import actions, leasing, running
from reconcile.actions import AlreadyRunning
from reconcile.expected import actions as expected
from reconcile.expected.times import Unscheduled, next_run
from reconcile.models import Plan, Run
from reconcile.statements import keeping

ACTOR = "schedule"
TASK = "reconcile.tasks.carry_out"
AGAIN = timedelta(seconds=30)
TASK_TIMEOUT_S = 1000
"""How long the queue lets a run work; retry must be three times as long, see Q_CLUSTER."""

log = logging.getLogger(__name__)
_said: set[tuple[int, str, str]] = set()
"""Schedules that cannot be read, which this process has said: a sweep comes by every two seconds."""


def sweep() -> int:
    """Begin the first run that is due, and have a worker take up what waits; returns how many were told to.

    However many sweep, each run is begun once; nothing is begun while another run is at work or waits.
    """
    leasing.bury()
    now = database_now()
    for plan in expected.unforeseen(now):
        _foresee(plan)
    for plan in Plan.objects.scheduled().filter(next_run_at=None):
        _move_on(plan, now)
    waiting = leasing.abandoned()
    at_work = Run.objects.running().exclude(pk__in=waiting).exists() or keeping.at_long_work()
    expected.tell(now, busy=is_busy())
    if at_work:
        return 0
    if waiting:
        return int(_nudge(waiting[0], now))
    for plan in Plan.objects.due(now).order_by("next_run_at", "pk"):
        run = _begin(plan, now)
        if run is not None:
            return int(_nudge(run.pk, now))
    return 0


def is_busy() -> bool:
    """Say whether a run is at work or waits, of whatever plan and whoever sees it, or a long comparison is.

    No due run is begun before its end.
    """
    with sight.whole():
        running, comparing = Run.objects.running().order_by(), keeping.long_work().order_by()
        return running.values("pk").union(comparing.values("pk")).exists()


def _foresee(plan: Plan) -> None:
    try:
        expected.foresee(plan.pk)
    except Unscheduled as error:
        _say_once(plan, error)


def _begin(plan: Plan, now: datetime) -> Run | None:
    """Begin a due plan's run; None where somebody else was first, or the plan has changed or is wrong."""
    with suppress(AlreadyRunning), transaction.atomic():
        if _move_on(plan, now):
            start, to = running.window(plan, None, None)
            return actions.start(plan, window_from=start, window_to=to, actor=ACTOR, waits=True)
    return None


def _nudge(run_id: int, now: datetime) -> bool:
    """Tell a worker that a run waits for a process; not again for half a minute."""
    free = Run.objects.running().filter(Q(nudged_at=None) | Q(nudged_at__lte=now - AGAIN), pk=run_id)
    with transaction.atomic():
        ours = bool(free.update(nudged_at=TieoutNow()))
        if ours:
            async_task(TASK, run_id, timeout=TASK_TIMEOUT_S)
    return ours


def _say_once(plan: Plan, error: Unscheduled) -> None:
    wrong = plan.pk, plan.schedule, plan.timezone
    if wrong not in _said:
        _said.add(wrong)
        log.error("Plan %s never runs by itself: %s. Correct it and configure again.", plan.name, error)


def _move_on(plan: Plan, now: datetime) -> bool:
    """Note when a plan runs next; False where another sweep was first, the plan has changed or is wrong."""
    try:
        next_run_at = next_run(plan, now)
    except Unscheduled as error:
        _say_once(plan, error)
        return False
    as_read = Plan.objects.filter(
        pk=plan.pk, next_run_at=plan.next_run_at, schedule=plan.schedule, timezone=plan.timezone
    )
    return bool(as_read.update(next_run_at=next_run_at))
