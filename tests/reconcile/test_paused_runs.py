"""While a destination is paused no run asks it for anything: what is due waits, all else is refused."""

import uuid
from datetime import UTC, datetime

import pytest

from ledger import actions
from ledger.destinations import listing
from ledger.destinations.connectors.base import IncompletePull
from ledger.models import Pause
from ledger.rules.states import Outcome
from reconcile import pulling, scheduling
from reconcile.actions import start
from reconcile.models import Plan, Run
from reconcile.running import execute, window
from tests import factories as make
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.test_reconcile_command import here

WHY = "Durban Books is paused: an administrator resumes it first."


def pause(books: Books) -> None:
    actions.pause(books.plan.operation_type.destination_id, why="Its token is wrong.")


def resume() -> None:
    actions.resume(
        Pause.objects.open().get().uid, actor="ada", reason="The new one.", command_id=uuid.uuid4()
    )


def test_what_is_due_waits_for_the_resuming_and_is_made_up_for_once(listed: Books) -> None:
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    pause(listed)
    assert scheduling.sweep() == 0
    assert not Run.objects.exists()
    resume()
    assert [scheduling.sweep(), scheduling.sweep()] == [1, 0]


def test_an_automation_s_own_credentials_stop_no_run(listed: Books) -> None:
    _, attempt, token = make.held(actions.claim(listed.submission("9"), actor="api:shop"))
    refused = actions.Report(Outcome.REJECTED, http_status=401)
    actions.record(attempt.uid, token=token, report=refused, actor="api:shop")
    assert Pause.objects.open().get().callers_only
    Plan.objects.update(next_run_at=datetime(2026, 11, 1, tzinfo=UTC))
    assert scheduling.sweep() == 1
    here("invoices")
    assert Run.objects.get().state == "done"


def test_what_is_asked_for_is_refused_in_words(listed: Books) -> None:
    pause(listed)
    for asked in (["invoices"], ["invoices", "--dry-run"]):
        done = here(*asked)
        assert (done.returncode, done.stderr.strip()) == (2, WHY)
    assert [(run.state, run.why_failed) for run in Run.objects.all()] == [("failed", WHY)]
    resume()
    assert here("invoices").returncode == 0


def test_what_is_at_work_asks_for_nothing_more(listed: Books) -> None:
    """The list breaks off; where it was read before, what is absent stays uncertain."""
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(2, key=key_of("2"), status="void")], [record(3, key=key_of("3"), status="void")]]
    start_at, to = window(listed.plan, None, None)
    pages = listing.pages(listed.plan.operation_type, since=start_at)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    pulling.pull(run)
    pulling.stage_ledger(run)
    next(pages)
    pause(listed)
    with pytest.raises(IncompletePull, match=WHY):
        next(pages)
    (uncertain,) = execute(run)
    assert (run.state, uncertain.item_class, HELD.looks) == ("done", "uncertain", 0)
    assert "or a pause began" in uncertain.why
