"""Expected runs: each time has a row before it comes; what did not report is red, told once, and stays.

| what happens                                       | how the time stands       |
|----------------------------------------------------|---------------------------|
| it has not come                                    | to come                   |
| it has come, nothing has begun for minutes         | not started               |
| a run that is at work, past the time to report by  | late                      |
| a run that broke off                               | incomplete                |
| a run that is done, whatever came before           | reported                  |
| nothing ran, and the next time has come            | not started, for ever     |
"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError

from ledger.models import Destination, Event, database_now
from reconcile import leasing, scheduling, tasks
from reconcile.actions import start
from reconcile.configuration import configure as take_in
from reconcile.expected import actions, times
from reconcile.models import ExpectedRun, Plan, Run
from reconcile.running import NotWhole, execute, window
from reconcile.statements import keeping
from reconcile.statements.models import Comparison
from review.doctor.configured import schedules
from tests.databases import Clock
from tests.people import browser_of, limited, person
from tests.reconcile.books import HELD, Books

FRIDAY = datetime(2026, 11, 27, 4, 15, tzinfo=UTC)
"""06:15 in Johannesburg, when the plan is due on working days."""
DAY = timedelta(days=1)


@pytest.fixture
def listed(clock: Clock, tmp_path: Path) -> Books:
    clock.set(FRIDAY - timedelta(hours=1))
    return Books.configured(tmp_path, performed_by="caller")


def rows() -> list[str]:
    """Each expected run, as its day and hour, and how it stands."""
    found = list(ExpectedRun.objects.answered().order_by("due_at"))
    runs, now = Run.objects.in_bulk(), database_now()
    return [f"{row.due_at:%a %H:%M} {actions.stands(row, runs, now)}" for row in found]


def told() -> list[tuple[str, int]]:
    events = Event.objects.filter(kind__in=["run_not_started", "run_incomplete", "run_late"]).order_by("pk")
    return [(event.kind, event.data["count"]) for event in events]


def carried_out() -> None:
    """Let a worker take up the one run that waits."""
    assert tasks.carry_out(Run.objects.running().get().pk) is not None


def test_each_time_has_its_row_before_it_comes_and_the_run_that_answers_it(
    listed: Books, clock: Clock
) -> None:
    assert rows() == ["Fri 04:15 to_come"], "written with the plan itself"
    (row,) = ExpectedRun.objects.all()
    assert row.report_by == FRIDAY + timedelta(hours=2), "where the plan says nothing"
    clock.set(FRIDAY)
    assert rows() == ["Fri 04:15 waits"]
    scheduling.sweep()
    assert rows() == ["Fri 04:15 running", "Mon 04:15 to_come"]
    carried_out()
    scheduling.sweep()
    assert rows() == ["Fri 04:15 reported", "Mon 04:15 to_come"]
    clock.set(FRIDAY + timedelta(hours=5))
    scheduling.sweep()
    assert told() == []


def test_a_worker_that_was_down_writes_each_missed_time_and_makes_up_for_the_latest_alone(
    listed: Books, clock: Clock
) -> None:
    clock.set(FRIDAY + 6 * DAY + timedelta(hours=3))
    scheduling.sweep()
    missed = [
        "Fri 04:15 not_started",
        "Mon 04:15 not_started",
        "Tue 04:15 not_started",
        "Wed 04:15 not_started",
    ]
    assert rows() == [*missed, "Thu 04:15 late", "Fri 04:15 to_come"], "at work past its time to report"
    assert told() == [("run_not_started", 5)], "before it began; one event for all"
    carried_out()
    assert rows() == [*missed, "Thu 04:15 reported", "Fri 04:15 to_come"]
    page = browser_of("vic").get("/runs/").content.decode().replace("\u00a0", " ")
    assert page.count("Nothing ran before the next.") == 4
    assert '<span class="wrong">4 red</span>' in page
    for _ in range(3):
        listed.run()
        scheduling.sweep()
    assert rows() == [*missed, "Thu 04:15 reported", "Fri 04:15 to_come"], "no later run undoes it"
    assert "Four earlier due times of the last 7 days: not started." in today()


def today(name: str = "vic") -> str:
    return browser_of(name).get("/").content.decode().replace("\u00a0", " ")


def test_what_is_late_incomplete_or_not_started_is_red_wherever_it_is_told(
    listed: Books, clock: Clock
) -> None:
    clock.set(FRIDAY)
    scheduling.sweep()
    run = leasing.take(Run.objects.get().pk)
    assert run is not None
    clock.set(FRIDAY + timedelta(hours=2, seconds=1))
    Run.objects.filter(pk=run.pk).update(lease_until=database_now() + DAY)
    assert "<h1>0 of 1 reconciliation ran, 1 did not</h1>" in today()
    assert "Running since 06:15; it was to report by 08:15." in today()
    scheduling.sweep()
    assert told() == [("run_late", 1)]
    leasing.stop(run, "Stopped.")
    assert rows()[0] == "Fri 04:15 incomplete"
    scheduling.sweep()
    assert told() == [("run_late", 1)], "a time is told of once"
    listed.run()
    assert rows()[0] == "Fri 04:15 reported"
    assert "<h1>1 of 1 reconciliation ran</h1>" in today()
    assert "It was to report by 08:15, and did at 08:15." in today()
    HELD.pages = [None]
    clock.set(FRIDAY + 3 * DAY)
    scheduling.sweep()
    carried_out()
    scheduling.sweep()
    assert rows()[1] == "Mon 04:15 incomplete"
    assert told()[1:] == [("run_incomplete", 1)]
    assert "The list broke off." in today()
    reason = Event.objects.get(kind="run_incomplete").reason
    assert reason == "invoices, due 2026-11-30 06:15 SAST: it did not come to its end."
    page = browser_of("vic").get("/trail/?by=software").content.decode()
    assert "found that a run which was due did not come to its end: invoices." in page


def test_what_is_not_over_the_plan_s_own_window_answers_nothing(listed: Books, clock: Clock) -> None:
    clock.set(FRIDAY + timedelta(hours=3))
    start_at, to = window(listed.plan, None, None)
    execute(start(listed.plan, window_from=start_at, window_to=to, actor="bob", dry_run=True))
    days = (start_at.date(), to.date())
    execute(start(listed.plan, window_from=start_at, window_to=to, days=days, actor="bob"))
    assert rows()[0] == "Fri 04:15 not_started"
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        listed.run()
    assert rows()[0] == "Fri 04:15 incomplete"
    HELD.pages = []
    listed.run()
    assert rows()[0] == "Fri 04:15 reported"


def other_plan(listed: Books) -> Plan:
    """A plan without a schedule, of another legal entity's destination."""
    kind = listed.plan.operation_type
    there = Destination.objects.get(pk=kind.destination_id)
    there.pk, there.uid, there.name, there.entity = None, uuid4(), "cape", "Cape Trading (Pty) Ltd"
    there.save()
    kind = type(kind).objects.get(pk=kind.pk)
    kind.pk, kind.name, kind.destination = None, "bill.make", there
    kind.save()
    return Plan.objects.create(name="cape", operation_type=kind, timezone="UTC", window_s=86400, grace_s=0)


@pytest.mark.parametrize("what", ["dry run", "another entity's", "comparison"])
def test_what_is_at_work_keeps_a_due_run_waiting_alike_on_every_page_and_in_events(
    listed: Books, clock: Clock, what: str
) -> None:
    clock.set(FRIDAY - timedelta(minutes=1))
    limited("kim", listed.plan.operation_type.destination.entity)
    if what == "comparison":
        gone, size = FRIDAY + DAY / 48, keeping.LARGE + 1
        files = {"owner": person("ann"), "size": size, "sealed": b"", "forget_at": gone}
        Comparison.objects.create(**files, nudged_at=FRIDAY)
    else:
        plan = other_plan(listed) if what == "another entity's" else listed.plan
        start_at, to = window(plan, None, None)
        start(plan, window_from=start_at, window_to=to, actor="bob", dry_run=what == "dry run")
    Run.objects.update(lease_until=FRIDAY + DAY)
    clock.set(FRIDAY + timedelta(minutes=20))
    scheduling.sweep()
    assert told() == []
    for name in ("vic", "kim"):
        assert "One runs at a time." in today(name) and "Not started" not in today(name)
        page = browser_of(name).get("/runs/").content.decode()
        assert "Waits" in page and "Not started" not in page
    assert "Not started" not in " ".join(line.words for line in schedules())


def test_a_new_installation_is_told_of_the_first_run_that_nothing_began(listed: Books, clock: Clock) -> None:
    assert "Nothing here yet" in today()
    clock.set(FRIDAY + timedelta(hours=1))
    assert "<h1>0 of 1 reconciliation ran, 1 did not</h1>" in today()


def test_a_run_that_was_late_while_no_sweep_came_by_is_told_all_the_same(listed: Books, clock: Clock) -> None:
    clock.set(FRIDAY + timedelta(hours=3))
    listed.run()
    scheduling.sweep()
    scheduling.sweep()
    assert (rows()[0], told()) == ("Fri 04:15 reported", [("run_late", 1)])


def configure(listed: Books, tmp_path: Path, **lines: str) -> None:
    file = tmp_path / "books.toml"
    text = file.read_text()
    for name, value in lines.items():
        plan = text.partition("[plans.invoices]")[2]
        line = f'{name} = "{value}"'
        changed = re.sub(rf"(?m)^{name} = .*$", line, plan)
        text = text.replace(plan, changed if line in changed else f"\n{line}{plan}")
    file.write_text(text)
    take_in(file, check=False)


def test_with_another_schedule_the_times_to_come_go_and_those_that_passed_stay(
    listed: Books, clock: Clock, tmp_path: Path
) -> None:
    clock.set(FRIDAY + 4 * DAY + timedelta(hours=1))
    configure(listed, tmp_path, schedule="0 20 * * *")
    assert rows() == [
        "Fri 04:15 not_started",
        "Mon 04:15 not_started",
        "Tue 04:15 not_started",
        "Tue 18:00 to_come",
    ], "also what passed while no worker wrote it down, and nothing that the new one would have been before"
    configure(listed, tmp_path, report_by="21:30")
    assert ExpectedRun.objects.latest("due_at").report_by == datetime(2026, 12, 1, 19, 30, tzinfo=UTC)
    configure(listed, tmp_path, schedule="")
    assert len(rows()) == 3
    scheduling.sweep()
    assert len(rows()) == 3


def test_the_database_keeps_what_was_expected(listed: Books, clock: Clock) -> None:
    clock.set(FRIDAY)
    refused = [
        "DELETE FROM reconcile_expectedrun",
        "TRUNCATE reconcile_expectedrun",
        "UPDATE reconcile_expectedrun SET due_at = due_at + interval '1 day'",
        "UPDATE reconcile_expectedrun SET report_by = report_by + interval '1 day'",
        "INSERT INTO reconcile_expectedrun (plan_id, due_at, report_by) SELECT plan_id, due_at, report_by"
        " FROM reconcile_expectedrun",
        "INSERT INTO reconcile_expectedrun (plan_id, due_at, report_by) SELECT plan_id, now(), now()"
        " FROM reconcile_expectedrun",
    ]
    once = "UPDATE reconcile_expectedrun SET settled_at = tieout_now()"
    with connection.cursor() as cursor:
        cursor.execute(once)
        for statement in [*refused, once]:
            with pytest.raises(DatabaseError), transaction.atomic():
                cursor.execute(statement)


def test_a_plan_whose_zone_is_not_known_is_told_of_in_utc_and_holds_up_no_other(
    listed: Books, clock: Clock
) -> None:
    Plan.objects.update(timezone="Nowhere/City")
    clock.set(FRIDAY + timedelta(hours=4))
    scheduling.sweep()
    (event,) = Event.objects.filter(kind="run_not_started")
    assert event.reason == "invoices, due 2026-11-27 04:15 UTC: not started."


def test_nobody_silences_what_is_expected_by_writing_it_down_otherwise(listed: Books, clock: Clock) -> None:
    """Settled ahead, a run would never be missed; behind one of the year 9998, none would be written."""
    settle = "UPDATE reconcile_expectedrun SET settled_at = {}"
    insert = (
        "INSERT INTO reconcile_expectedrun (plan_id, due_at, report_by, settled_at)"
        " SELECT id, {at}, {at} + interval '1 hour', {settled} FROM reconcile_plan"
    )

    def refused(statement: str, words: str, *first: str) -> None:
        with connection.cursor() as cursor, pytest.raises(DatabaseError, match=words), transaction.atomic():
            cursor.execute("; ".join((*first, statement)))

    def inserted(at: str, *first: str, settled: str = "NULL") -> None:
        refused(insert.format(at=at, settled=settled), "in their turn, one of them ahead", *first)

    gone = "DELETE FROM reconcile_expectedrun"
    for at in ("tieout_now()", "timestamptz '2000-01-01'"):
        refused(settle.format(at), "settled once its time has come")
    for at in ("tieout_now() + interval '2 days'", "tieout_now() - interval '2 days'"):
        inserted(at)
    inserted("timestamptz '9998-01-01'", gone)
    inserted("(SELECT changed_at FROM reconcile_plan)", gone)
    clock.set(FRIDAY)
    for at in ("tieout_now() + interval '1 s'", "due_at - interval '1 s'"):
        refused(settle.format(at), "settled once its time has come")
    inserted("tieout_now() - interval '1 hour'")
    inserted("tieout_now() + interval '1 day'", settled="tieout_now()")
    with connection.cursor() as cursor:
        cursor.execute(insert.format(at="tieout_now() + interval '1 day'", settled="NULL"))
        cursor.execute(settle.format("tieout_now()") + " WHERE due_at <= tieout_now()")


def test_many_that_sweep_at_once_write_each_time_once_and_tell_of_it_once(
    listed: Books, clock: Clock
) -> None:
    clock.set(FRIDAY + 6 * DAY + timedelta(hours=1))

    written: list[int] = []

    def sweep() -> None:
        written.append(actions.foresee(listed.plan.pk))
        actions.tell(database_now(), busy=False)
        connection.close()

    threads = [Thread(target=sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(written) == [0, 0, 0, 5], "and nobody meets another's row"
    assert (ExpectedRun.objects.count(), told()) == (6, [("run_not_started", 5)])


def test_of_a_long_silence_the_latest_thousand_times_are_written(listed: Books, clock: Clock) -> None:
    ExpectedRun.objects.all().delete()
    Plan.objects.update(schedule="* * * * *", changed_at=FRIDAY - DAY)
    scheduling.sweep()
    clock.set(FRIDAY + DAY)
    scheduling.sweep()
    due = list(ExpectedRun.objects.order_by("due_at").values_list("due_at", flat=True))
    assert len(due) == 2 + actions.MOST + 1
    assert due[-1] == FRIDAY + DAY + timedelta(minutes=1)
    assert due[2] == due[-1] - timedelta(minutes=actions.MOST)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "America/Havana"])
@pytest.mark.parametrize("schedule", ["30 2 * * *", "*/20 * * * *", "15 0-3 * * *"])
def test_the_missed_times_are_those_that_would_have_come_also_where_clocks_change(
    zone: str, schedule: str
) -> None:
    plan = Plan(schedule=schedule, timezone=zone)
    for begin in (datetime(2026, 3, 27, tzinfo=UTC), datetime(2026, 10, 23, 7, tzinfo=UTC)):
        end, came, at = begin + 15 * DAY, [], begin
        while (at := times.next_run(plan, at)) <= end:
            came.append(at)
        assert times.between(plan, begin, end, most=5000) == came


def test_a_time_to_report_by_is_the_next_of_the_plan_s_zone_or_a_length_after() -> None:
    def by(said: str, zone: str, due: str) -> str:
        plan = Plan(report_by=said, timezone=zone)
        return times.report_by(plan, datetime.fromisoformat(due)).isoformat(timespec="minutes")

    assert by("90m", "Europe/Berlin", "2026-11-27T04:15+00:00") == "2026-11-27T05:45+00:00"
    assert by("08:00", "Europe/Berlin", "2026-11-27T04:15+00:00") == "2026-11-27T07:00+00:00"
    assert by("08:00", "Europe/Berlin", "2026-11-27T07:00+00:00") == "2026-11-28T07:00+00:00"
    assert by("08:00", "Europe/Berlin", "2026-10-24T23:30+00:00") == "2026-10-25T07:00+00:00"
    assert by("02:30", "Europe/Berlin", "2026-03-28T23:30+00:00") == "2026-03-29T01:30+00:00"


@pytest.mark.parametrize("said", ["8:00", "24:00", "soon", "90", "30s", "-1h", ""])
def test_a_time_to_report_by_that_is_none_is_refused_with_a_remedy(
    listed: Books, tmp_path: Path, said: str
) -> None:
    with pytest.raises(Exception, match=r"(?s)This is no time to report by.*Write a time of day") as refused:
        configure(listed, tmp_path, report_by=said)
    assert "plans.invoices.report_by" in str(refused.value)
