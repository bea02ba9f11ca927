"""The one writer of expected runs: written ahead, gone with a schedule that changes, told once where red."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef

from ledger.models import Event, database_now
from reconcile.expected import times
from reconcile.expected.models import ExpectedRun, ExpectedRunQuerySet
from reconcile.expected.standing import RED, Standing, standing
from reconcile.expected.times import UNKNOWN_ZONE, Unscheduled
from reconcile.models import Plan, Run

MOST = 1000
"""Of times that passed while nothing wrote them down, the latest so many of a plan are written."""
ACTOR = "schedule"
INSTANT = timedelta(microseconds=1)


def unforeseen(now: datetime) -> Iterable[Plan]:
    """Return the scheduled plans whose next time has no row yet."""
    ahead = ExpectedRun.objects.filter(plan=OuterRef("pk"), due_at__gt=now)
    return Plan.objects.scheduled().filter(~Exists(ahead))


def foresee(plan_id: int) -> int:
    """Write down a plan's next time, and those that passed unwritten; returns how many. Raises Unscheduled.

    However many do it at once, each time has one row.
    """
    with transaction.atomic():
        plan = Plan.objects.select_for_update(no_key=True).get(pk=plan_id)
        now = database_now()
        last = plan.expected.order_by("-due_at").values_list("due_at", flat=True).first()
        if not plan.schedule or (last is not None and last > now):
            return 0
        after = _beginning(plan, now) if last is None else last
        return _write(plan, [*times.between(plan, after, now, most=MOST), times.next_run(plan, now)])


def _beginning(plan: Plan, now: datetime) -> datetime:
    """Return after which instant a plan is expected; one from before that was kept, at its latest time."""
    return max(plan.changed_at, times.last_due(plan, now) - INSTANT)


def _write(plan: Plan, due: list[datetime]) -> int:
    rows = [ExpectedRun(plan=plan, due_at=at, report_by=times.report_by(plan, at)) for at in due]
    return len(ExpectedRun.objects.bulk_create(rows))


def before_change(plan_id: int) -> None:
    """Write down what passed by the schedule that a plan still has; its next time goes with that."""
    with suppress(Unscheduled):
        foresee(plan_id)
    ExpectedRun.objects.filter(plan=plan_id, due_at__gt=database_now()).delete()


def after_change(plan_id: int) -> None:
    """Write down when a plan runs next by its new schedule: nothing of it was missed before."""
    plan = Plan.objects.get(pk=plan_id)
    if plan.schedule:
        with suppress(Unscheduled):
            at = times.next_run(plan, database_now())
            _write(plan, [at])
            Plan.objects.filter(pk=plan_id, next_run_at=None).update(next_run_at=at)


def tell(now: datetime, *, busy: bool) -> None:
    """Put on record, once, what has not reported in time: one event for all of a plan that went alike."""
    rows: list[Any] = list(_unsettled(now).order_by("due_at")[:MOST])
    if not rows:
        return
    runs = Run.objects.in_bulk({pk for row in rows for pk in (row.first, row.last) if pk})
    plans = Plan.objects.in_bulk({row.plan_id for row in rows})
    red: dict[tuple[int, Standing], list[Any]] = defaultdict(list)
    for row in rows:
        how = stands(row, runs, now, busy=busy)
        if how is Standing.REPORTED and _came_late(row, runs):
            red[row.plan_id, Standing.LATE].append(row)
        elif how is Standing.REPORTED:
            _settle([row], now)
        elif how in RED:
            red[row.plan_id, how].append(row)
    for (plan_id, how), of in red.items():
        _say(plans[plan_id], how, of, now)


def _came_late(row: Any, runs: dict[int, Run]) -> bool:
    """Say whether it reported after its time, which no sweep may have seen go by."""
    done_at = runs[row.first].finished_at
    return done_at is not None and done_at > row.report_by


def _unsettled(now: datetime) -> ExpectedRunQuerySet:
    return ExpectedRun.objects.due(now).filter(settled_at=None).answered()


def stands(row: Any, runs: dict[int, Run], now: datetime, *, busy: bool = False) -> Standing:
    """Say how a row stands that was read with what answers it."""
    return standing(
        runs.get(row.last),
        reported=row.first is not None,
        due_at=row.due_at,
        report_by=row.report_by,
        over=row.next_due_at is not None and row.next_due_at <= now,
        now=now,
        busy=busy,
    )


def _say(plan: Plan, how: Standing, rows: list[Any], now: datetime) -> None:
    with transaction.atomic():
        count = _settle(rows, now)
        if count:
            data = {
                "plan": plan.name,
                "name": plan.name,
                "standing": how,
                "count": count,
                "first_due_at": rows[0].due_at.isoformat(),
                "due_at": rows[-1].due_at.isoformat(),
            }
            Event.objects.create(kind=f"run_{how}", actor=ACTOR, reason=_reason(plan, how, rows), data=data)


SAID = {
    Standing.NOT_STARTED: "not started",
    Standing.INCOMPLETE: "it did not come to its end",
    Standing.LATE: "not done in time",
}


def _reason(plan: Plan, how: Standing, rows: list[Any]) -> str:
    try:
        zone: tzinfo = plan.zone
    except UNKNOWN_ZONE:  # other plans do not wait for this one to be configured anew
        zone = UTC
    due = [row.due_at.astimezone(zone) for row in (rows[0], rows[-1])]
    first, last = (f"{at:%Y-%m-%d %H:%M %Z}" for at in due)
    times_ = first if len(rows) == 1 else f"{len(rows)} times from {first} to {last}"
    return f"{plan.name}, due {times_}: {SAID[how]}."


def _settle(rows: list[Any], now: datetime) -> int:
    ours = ExpectedRun.objects.filter(pk__in=[row.pk for row in rows], settled_at=None)
    return ours.update(settled_at=now)
