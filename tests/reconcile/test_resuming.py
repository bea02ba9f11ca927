"""Known failure 61: what stopped goes on, at once and where it was; whoever lost a run writes nothing more.

| the process | and then |
|---|---|
| was killed | its database session is gone: the next sweep, or the same command, goes on with its run |
| is silent | the same, once its lease has run out; when it wakes up it is told that it has lost the run |
| is at work | a second start over the same days waits for its end; over other days it is refused |
"""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread
from typing import Any

import pytest
from django.db import OperationalError, connections
from django_q.models import OrmQ

from ledger.models import Case, Lookup, TieoutNow
from ledger.rules.states import Outcome
from reconcile import joining, leasing, running, scheduling, tasks
from reconcile.actions import OWN_WINDOW, AlreadyRunning, start
from reconcile.leasing import LostRun
from reconcile.models import Finding, Record, Run
from reconcile.running import NotWhole, execute, window
from tests.databases import Clock, Database
from tests.ledger.sessions import in_thread, until_somebody_waits
from tests.processes import Spawn
from tests.reconcile.books import HELD, Books, key_of, record, refreshed
from tests.reconcile.test_reconcile_command import came_to, here
from tests.workers import until


@pytest.fixture
def paged(books: Books) -> Books:
    """Seven invoices at a real destination, two on a page."""
    for order in range(7):
        books.outside(str(order))
    kind = books.plan.operation_type
    kind.calls["list"]["path"] = kind.calls["list"]["path"].replace("limit=200", "limit=2")
    kind.save(update_fields=["calls"])
    books.plan.refresh_from_db()
    return books


def begun(books: Books, spawn: Spawn) -> subprocess.Popen[bytes]:
    """A real process that waits for the third page, which does not come."""
    assert books.sandbox is not None
    # The pages of a list are asked for one after the other: two are let through.
    for _ in range(2):
        books.sandbox.faults("delay_before", "GET /invoices?updated_since", arg=0)
    books.sandbox.faults("delay_before", "GET /invoices?updated_since", arg=2.5)
    process = spawn("reconcile", "manage.py", "reconcile", "invoices", "--json")
    until(lambda: Run.objects.running().filter(pages=[2, 2]).exists(), seconds=60, what="Two pages")
    return process


def dies_at(run: Run, point: int, *, written: bool = False) -> int:
    """Take the run over in a process that is killed before its n-th commit; returns how that ended.

    `written`: not only before a commit's writes, but after them as well, with the commit still to come.
    """
    connections.close_all()  # the child has connections of its own
    child = os.fork()
    if child == 0:
        name = "_extend" if written else "keep"
        keep, asked = getattr(leasing, name), 0

        def keep_or_die(run: Run) -> object:
            nonlocal asked
            asked += 1
            if asked == point:
                os.kill(os.getpid(), signal.SIGKILL)
            return keep(run)

        setattr(leasing, name, keep_or_die)
        try:
            taken = leasing.take(run.pk)
            assert taken is not None
            execute(taken)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_after_two_pages(books: Books) -> Run:
    start_at, to = window(books.plan, None, None)
    run = start(books.plan, window_from=start_at, window_to=to, actor="ann")
    Run.objects.update(lease_until=TieoutNow())
    dies_at(run, 4)
    run.refresh_from_db()
    assert run.pages == [2, 2]
    until(leasing.abandoned, seconds=60, what="The end of its session")
    return run


def told(run: Run) -> tuple[str, list[int], int]:
    run.refresh_from_db()
    return run.state, run.pages, Record.objects.filter(run=run, side="destination").count()


def test_61_a_killed_run_goes_on_after_its_last_page_and_gives_the_same(paged: Books, spawn: Spawn) -> None:
    undisturbed = came_to(here("invoices", "--dry-run", "--json").stdout)
    assert paged.sandbox is not None
    process = begun(paged, spawn)
    process.kill()
    process.wait()
    until(leasing.abandoned, seconds=60, what="The end of its session")
    run = Run.objects.running().get()
    paged.sandbox.clear_faults()
    paged.sandbox.faults("error_before", "limit=2 ", count=None, arg=500)  # page one is not given again
    assert [scheduling.sweep(), scheduling.sweep()] == [1, 0], "a worker is told once, not with every sweep"
    assert OrmQ.objects.count() == 1
    assert tasks.carry_out(run.pk) == run.pk
    assert told(run) == ("done", [2, 2, 2, 1], 7)
    assert run.digest == undisturbed["digest"]


def test_61_the_same_command_again_goes_on_with_what_was_killed(paged: Books) -> None:
    undisturbed = came_to(here("invoices", "--dry-run", "--json").stdout)
    assert paged.sandbox is not None
    run = killed_after_two_pages(paged)
    paged.sandbox.faults("error_before", "limit=2 ", count=None, arg=500)
    done = here("invoices", "--json")
    assert done.stderr.strip() == f"Run {run.pk} of invoices was not done and had no process; it goes on now."
    assert came_to(done.stdout) == undisturbed
    assert told(run) == ("done", [2, 2, 2, 1], 7)


def test_61_a_cursor_that_no_longer_holds_is_read_from_the_start(paged: Books) -> None:
    assert paged.sandbox is not None
    run = killed_after_two_pages(paged)
    paged.sandbox.faults("restart_paging", "cursor=")
    assert tasks.carry_out(run.pk) == run.pk
    assert told(run) == ("done", [2, 2, 2, 1], 7)


def test_61_a_process_that_wakes_up_after_its_run_was_taken_over_changes_nothing(
    paged: Books, spawn: Spawn
) -> None:
    assert paged.sandbox is not None
    asleep = begun(paged, spawn)
    asleep.send_signal(signal.SIGSTOP)
    Run.objects.update(lease_until=TieoutNow())
    paged.sandbox.clear_faults()
    assert here("invoices").returncode == 1
    run = Run.objects.get()
    before = told(run), run.digest, list(Finding.objects.values()), list(Case.objects.values())
    asleep.send_signal(signal.SIGCONT)
    assert asleep.wait(30) == 2
    assert (told(run), run.digest, list(Finding.objects.values()), list(Case.objects.values())) == before
    assert run.hold == 2


@pytest.mark.parametrize("written", [False, pytest.param(True, marks=pytest.mark.long)])
def test_61_wherever_a_run_is_killed_it_comes_to_the_same_end(listed: Books, written: bool) -> None:
    """One run, killed again and again, each time a commit further on."""
    doubled = listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    doubt = listed.claimed("2", Outcome.UNCERTAIN)
    lost = listed.claimed("3", Outcome.SUCCEEDED, reference="INV-3")
    HELD.pages = [[record(1, key=key_of("1")), record(4, key=key_of("1"))]]
    HELD.pages.append([record(2, key=key_of("2")), record(5, key="nobody-s")])
    undisturbed, _ = listed.run(keep=False)
    start_at, to = window(listed.plan, None, None)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    Run.objects.update(lease_until=TieoutNow())
    steps: list[str] = []
    while dies_at(run, len(steps) + 1, written=written):
        run.refresh_from_db()
        steps.append(run.step)
        until(leasing.abandoned, seconds=60, what="The end of its session")
    assert set(steps) == set(Run.Step)
    run.refresh_from_db()
    assert (run.state, run.hold, run.digest) == ("done", len(steps) + 2, undisturbed.digest)
    assert run.settled == {"completed": 1, "held": 1, "opened": 1}
    assert [refreshed(one).state for one in (doubled, doubt, lost)] == ["completed", "completed", "uncertain"]
    assert Case.objects.count() == 3
    assert run.findings.count() == 3
    assert Lookup.objects.filter(operation=doubled).count() == 1, "the same evidence is kept once"


def test_61_a_run_is_not_taken_from_a_process_that_is_at_work(listed: Books, clock: Clock) -> None:
    start_at, to = window(listed.plan, None, None)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    assert leasing.take(run.pk) is None
    assert scheduling.sweep() == 0
    clock.advance(5 * 60 + 1)
    assert scheduling.sweep() == 1
    taken = leasing.take(run.pk)
    assert taken is not None
    with pytest.raises(LostRun, match="given up for dead"):
        execute(run)
    Run.objects.update(lease_until=TieoutNow())
    assert scheduling.sweep() == 1, "a worker is told at once when a process that had it is gone as well"
    execute(taken)
    run.refresh_from_db()
    assert run.state == "done"


def test_61_a_step_that_outlasts_the_lease_loses_the_run_to_nobody(
    listed: Books, clock: Clock, database: Database
) -> None:
    start_at, to = window(listed.plan, None, None)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    clock.advance(5 * 60 + 1)
    with ThreadPoolExecutor(2) as pool:
        with leasing.held(run):
            clock.advance(5 * 60 + 1)
            sweeps = in_thread(scheduling.sweep, pool)
            assert sweeps.result(10) == 0, "it waits for nobody's transaction"
            other = in_thread(lambda: leasing.take(run.pk), pool)
            until_somebody_waits(database, other)
        assert other.result(10) is None
    execute(run)
    assert (told(run)[0], run.hold) == ("done", 1)


def test_what_takes_longer_to_store_than_a_lease_is_stored_all_the_same(
    paged: Books, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each piece in less than a lease, all of them in more: each difference is asked for it."""
    start_at, to = window(paged.plan, None, None)
    run, store = (
        start(paged.plan, window_from=start_at, window_to=to, actor="ann"),
        Finding.objects.bulk_create,
    )

    def slowly(found: list[Finding], **more: Any) -> list[Finding]:
        clock.advance(2 * 60)
        return store(found, **more)

    monkeypatch.setattr(running, "STORED", 2)
    monkeypatch.setattr(Finding.objects, "bulk_create", slowly)
    execute(run)
    assert (told(run)[0], run.findings.count()) == ("done", 7)


def test_61_a_run_that_ends_its_process_each_time_is_given_up_in_words(listed: Books) -> None:
    start_at, to = window(listed.plan, None, None)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    Run.objects.update(lease_until=TieoutNow(), hold=leasing.HOLDS_MAX)
    scheduling.sweep()
    run.refresh_from_db()
    assert (run.state, run.why_failed) == ("failed", "Its process stopped before it was done, 10 times.")


def test_61_nobody_goes_on_with_a_dry_run(listed: Books) -> None:
    start_at, to = window(listed.plan, None, None)
    start(listed.plan, window_from=start_at, window_to=to, actor="ann", dry_run=True)
    Run.objects.update(lease_until=TieoutNow())
    assert scheduling.sweep() == 0
    assert not Run.objects.exists()
    start(listed.plan, window_from=start_at, window_to=to, actor="ann", dry_run=True)
    Run.objects.update(lease_until=TieoutNow())
    run, _ = joining.run_now(listed.plan, OWN_WINDOW, actor="bob", dry_run=False, say=print)
    assert list(Run.objects.all()) == [run]


def test_a_dry_run_goes_on_with_nobody_s_run(listed: Books) -> None:
    """It was promised to change nothing."""
    start_at, to = window(listed.plan, None, None)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    Run.objects.update(lease_until=TieoutNow())
    with pytest.raises(AlreadyRunning, match="is not done and no process is at it"):
        joining.run_now(listed.plan, OWN_WINDOW, actor="bob", dry_run=True, say=print)
    assert told(run)[0] == "running"


def test_61_what_was_read_by_other_rules_is_read_again(listed: Books) -> None:
    HELD.pages = [[record(1, key=key_of("1"))], None]
    with pytest.raises(NotWhole):
        listed.run()
    HELD.pages = [[record(2, key=key_of("2"))]]
    start_at, to = window(listed.plan, None, None)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    Run.objects.filter(pk=run.pk).update(lease_until=TieoutNow(), step="comparing", counted={"stale": True})
    type(listed.plan.operation_type).objects.update(changed_at=TieoutNow())
    assert tasks.carry_out(run.pk) == run.pk
    assert told(run) == ("done", [1], 1)


def test_a_second_start_over_the_same_days_waits_and_says_what_the_first_came_to(listed: Books) -> None:
    HELD.pages = [[record(1, key=key_of("1"))]]
    start_at, to = window(listed.plan, None, None)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    said: list[str] = []
    came: list[joining.Outcome] = []

    def second() -> None:
        came.append(joining.run_now(listed.plan, OWN_WINDOW, actor="bob", dry_run=False, say=said.append))
        connections.close_all()

    waiting = Thread(target=second)
    waiting.start()
    until(lambda: said, seconds=30, what="Its word")
    found = execute(run)
    waiting.join()
    assert said == ["Run 1 of invoices is at work on the same; waiting for its end."]
    assert came == [(run, found)]
    assert Run.objects.count() == 1


def test_what_stopped_is_gone_on_with_before_another_window_is_run(listed: Books) -> None:
    start_at, to = window(listed.plan, None, None)
    stopped = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    Run.objects.update(lease_until=TieoutNow())
    days = (to.date(), to.date())
    run, _ = joining.run_now(listed.plan, days, actor="bob", dry_run=False, say=lambda words: None)
    assert (run.first_day, run.last_day) == days
    stopped.refresh_from_db()
    assert (stopped.state, run.state) == ("done", "done")


CHANGED_SINCE = """
CREATE SEQUENCE refusals;
GRANT USAGE ON SEQUENCE refusals TO PUBLIC;
CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('refusals') <= {times} THEN
        RAISE EXCEPTION 'could not serialize access' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER refuses AFTER INSERT ON reconcile_record
    FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') = 'repeatable read')
    EXECUTE FUNCTION refuses()
"""
NO_MORE = ("DROP TRIGGER refuses ON reconcile_record", "DROP FUNCTION refuses()", "DROP SEQUENCE refusals")


@pytest.mark.parametrize(("times", "state"), [(4, "done"), (5, "failed")])
def test_a_row_that_changes_beneath_its_snapshot_has_the_ledger_copied_anew(
    listed: Books, database: Database, times: int, state: str
) -> None:
    """A worker that was told of a run in that very moment ended it for good."""
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    database.as_owner(CHANGED_SINCE.format(times=times))
    try:
        with suppress(OperationalError):
            listed.run()
    finally:
        database.as_owner(*NO_MORE)
    run = Run.objects.get()
    assert run.state == state
    assert run.classes.get("matched", {}).get("count", 0) == (state == "done")
