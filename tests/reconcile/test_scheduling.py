"""Plans run by themselves at the times of their own zone: none is missed, none is doubled."""

from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
from django.db import connection
from django_q.models import OrmQ

from reconcile import leasing, scheduling, tasks
from reconcile.actions import start
from reconcile.expected import times
from reconcile.models import Plan, Run
from reconcile.running import execute, window
from tests.databases import Clock
from tests.reconcile.books import HELD, Books
from tests.workers import Worker, until


def at(plan: Plan, schedule: str, zone: str, *moments: str) -> list[str]:
    plan.schedule, plan.timezone = schedule, zone
    return [
        times.next_run(plan, datetime.fromisoformat(moment)).isoformat(timespec="minutes")
        for moment in moments
    ]


def test_a_time_is_the_plan_s_own(listed: Books) -> None:
    assert at(
        listed.plan,
        "15 6 * * 1-5",
        "Africa/Johannesburg",
        "2026-11-27T04:14:00+00:00",
        "2026-11-27T04:15:00+00:00",
    ) == ["2026-11-27T04:15+00:00", "2026-11-30T04:15+00:00"]


def test_a_night_with_an_hour_twice_runs_once_and_one_without_it_runs_too(listed: Books) -> None:
    assert at(
        listed.plan,
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-25T00:00:00+00:00",
        "2026-10-25T00:30:00+00:00",
        "2026-10-25T01:30:00+00:00",
        "2026-03-28T22:00:00+00:00",
    ) == [
        "2026-10-25T00:30+00:00",
        "2026-10-26T01:30+00:00",
        "2026-10-26T01:30+00:00",
        "2026-03-29T01:00+00:00",
    ]


DAY = timedelta(days=1)
CHANGES = {
    "Europe/Berlin": "at two and three",
    "America/Havana": "at midnight",
    "Australia/Lord_Howe": "by half an hour",
    "Antarctica/Troll": "by two hours",
    "Africa/Johannesburg": "never",
}
"""Zones, and how their clocks change."""


@pytest.mark.parametrize("zone", CHANGES)
def test_a_plan_runs_once_on_each_local_day_however_the_clocks_change(zone: str) -> None:
    """A sweep comes at once or, where the clocks change, at any time of the next two hours."""
    for schedule in ("0 0", "30 0", "59 1", "30 2", "59 2"):
        plan = Plan(schedule=f"{schedule} * * *", timezone=zone)
        due, days = times.next_run(plan, datetime(2026, 12, 31, 12, tzinfo=UTC)), []
        while due.year < 2028:
            days.append(due.astimezone(plan.zone).date())
            after = times.next_run(plan, due)
            for later_s in (0, 60, 10800, (after - due).total_seconds() - 1):
                assert times.last_due(plan, due + timedelta(seconds=later_s)) == due
            if after - due != DAY:
                late = [due + timedelta(minutes=minutes) for minutes in range(10, 130, 10)]
                assert {times.next_run(plan, moment) for moment in late} == {after}
            due = after
        assert days == [days[0] + number * DAY for number in range(len(days))]


def test_a_plan_is_put_into_the_queue_once_when_it_is_due(listed: Books, clock: Clock) -> None:
    clock.set(datetime(2026, 11, 27, 3, 0, tzinfo=UTC))
    Plan.objects.update(next_run_at=None)
    assert scheduling.sweep() == 0
    assert Plan.objects.get().next_run_at == datetime(2026, 11, 27, 4, 15, tzinfo=UTC)
    clock.set(datetime(2026, 11, 27, 4, 14, 59, tzinfo=UTC))
    assert scheduling.sweep() == 0
    clock.set(datetime(2026, 11, 27, 4, 15, tzinfo=UTC))
    assert [scheduling.sweep(), scheduling.sweep()] == [1, 0]
    assert OrmQ.objects.count() == 1
    tasks.carry_out(Run.objects.get().pk)
    clock.set(datetime(2026, 12, 9, 12, 0, tzinfo=UTC))
    assert scheduling.sweep() == 1, "what was missed is made up for once"
    assert Plan.objects.get().next_run_at == datetime(2026, 12, 10, 4, 15, tzinfo=UTC)


def test_two_sweeps_at_once_put_it_there_once(listed: Books) -> None:
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    nudged: list[int] = []

    def sweep() -> None:
        nudged.append(scheduling.sweep())
        connection.close()

    threads = [Thread(target=sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(nudged) == [0, 0, 0, 1]
    assert OrmQ.objects.count() == 1


def test_one_plan_that_cannot_be_read_stops_no_other(listed: Books) -> None:
    good = Plan.objects.get()
    Plan.objects.create(
        name="wrong",
        operation_type=good.operation_type,
        schedule="every morning",
        timezone="Durban",
        window_s=1,
        grace_s=0,
    )
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    assert scheduling.sweep() == 1


@pytest.mark.parametrize(
    ("schedule", "zone", "why"),
    [
        ("every morning", "UTC", 'its schedule "every morning" cannot be read'),
        ("0 0 */31 1 1#2", "UTC", 'its schedule "0 0 */31 1 1#2" names no day that comes'),
        ("0 6 * * *", "Durban", 'its time zone "Durban" is not known here'),
        ("0 6 * * *", "../UTC", 'its time zone "../UTC" is not known here'),
    ],
)
@pytest.mark.parametrize("next_run_at", [None, datetime(2026, 11, 1, tzinfo=UTC)])
def test_a_plan_that_never_runs_is_said_once_and_not_with_every_sweep(
    listed: Books,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    *,
    schedule: str,
    zone: str,
    why: str,
    next_run_at: datetime | None,
) -> None:
    monkeypatch.setattr(scheduling, "_said", set())
    Plan.objects.update(schedule=schedule, timezone=zone, next_run_at=next_run_at)
    for _ in range(3):
        assert scheduling.sweep() == 0
    assert [line.getMessage() for line in caplog.records] == [
        f"Plan invoices never runs by itself: {why}. Correct it and configure again."
    ]


def test_two_plans_that_are_due_at_once_run_one_after_the_other(listed: Books) -> None:
    """Two long runs would take both workers, and the silence of the queue for its death."""
    other = Plan.objects.get()
    other.pk, other.name = None, "again"
    other.save()
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    assert [scheduling.sweep(), scheduling.sweep()] == [1, 0]
    first = Run.objects.get()
    taken = leasing.take(first.pk)
    assert taken is not None
    assert scheduling.sweep() == 0
    execute(taken)
    assert scheduling.sweep() == 1
    second = Run.objects.latest("pk")
    assert tasks.carry_out(second.pk) == second.pk
    assert {first.plan_id, second.plan_id} == set(Plan.objects.values_list("pk", flat=True))


def test_a_schedule_that_comes_faster_than_its_runs_does_not_pile_up(listed: Books, clock: Clock) -> None:
    Plan.objects.update(schedule="* * * * *", next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    assert scheduling.sweep() == 1
    taken = leasing.take(Run.objects.get().pk)
    assert taken is not None
    for _ in range(4):
        clock.advance(60)
        assert scheduling.sweep() == 0
    execute(taken)
    assert [scheduling.sweep(), scheduling.sweep()] == [1, 0]
    assert (Run.objects.count(), OrmQ.objects.count()) == (2, 2)


def test_a_task_that_was_lost_or_comes_twice_costs_no_run_and_adds_none(listed: Books, clock: Clock) -> None:
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    assert scheduling.sweep() == 1
    OrmQ.objects.all().delete()
    clock.advance(29)
    assert scheduling.sweep() == 0
    clock.advance(2)
    assert scheduling.sweep() == 1
    run = Run.objects.get()
    assert [tasks.carry_out(run.pk), tasks.carry_out(run.pk)] == [run.pk, None]
    run.refresh_from_db()
    assert (run.state, run.actor) == ("done", "schedule")


def test_a_worker_runs_a_plan_when_it_is_due(listed: Books, worker: Worker) -> None:
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    until(lambda: Run.objects.exclude(state="running").exists(), seconds=30, what="The run")
    run = Run.objects.get()
    assert (run.state, run.actor) == ("done", "schedule")


def test_a_plan_without_a_schedule_waits_to_be_asked(listed: Books) -> None:
    Plan.objects.update(schedule="", next_run_at=None)
    assert scheduling.sweep() == 0
    assert Plan.objects.get().next_run_at is None


def test_a_scheduled_run_covers_the_plan_s_own_window(listed: Books) -> None:
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    scheduling.sweep()
    run = Run.objects.get()
    assert (run.window_to - run.window_from).days == 35


def test_what_a_person_runs_at_that_moment_is_not_run_twice(listed: Books) -> None:
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    start_at, to = window(listed.plan, None, None)
    start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    assert scheduling.sweep() == 0
    assert Run.objects.count() == 1


def test_a_failure_stands_on_the_run(listed: Books) -> None:
    HELD.pages = [None]
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    scheduling.sweep()
    run = Run.objects.get()
    assert tasks.carry_out(run.pk) == run.pk
    run.refresh_from_db()
    assert (run.state, run.why_failed) == ("failed", "The list broke off.")
