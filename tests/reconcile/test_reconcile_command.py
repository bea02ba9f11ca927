"""`manage.py reconcile` through the outside: what it prints, and its exit status."""

import json
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from subprocess import CompletedProcess
from typing import Any

import pytest
from django.core.management import call_command

from reconcile.actions import start
from reconcile.models import Plan, Run
from reconcile.running import window
from tests.processes import Manage, Spawn
from tests.reconcile.books import Books, key_of
from tests.workers import until


@dataclass(frozen=True)
class Done:
    """What the command left: its exit status and its words."""

    returncode: int
    stdout: str
    stderr: str


def here(*arguments: str) -> Done:
    """Run the command in this process, where a process of its own would show nothing more."""
    out, err = StringIO(), StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("reconcile", *arguments, stdout=out, stderr=err)
    assert isinstance(ended.value.code, int)
    return Done(ended.value.code, out.getvalue(), err.getvalue())


def test_nothing_found_is_0_findings_are_1(books: Books, run_manage: Manage) -> None:
    books.sent("1")
    clean = run_manage("reconcile", "invoices")
    assert clean.returncode == 0, clean.stderr
    assert clean.stdout.startswith("Explained; nothing is open\n")
    books.outside("2", total="1860.00")
    found = here("invoices")
    assert found.returncode == 1, found.stderr
    lines = [line.replace("\u00a0", " ") for line in found.stdout.splitlines()]
    assert lines[0] == "Explained; 1 open difference, ZAR 1 860.00"
    assert any(line.split() == ["Matched", "1", "100.00", "100.00"] for line in lines)
    assert any(
        line.split() == ["Unexpected", "at", "Durban", "Books", "1", "–", "1", "860.00"] for line in lines
    )
    assert "Unexplained ZAR 0.00" in lines
    (difference,) = [line for line in lines if key_of("2") in line]
    assert "No operation of this type carries its reference." in difference


def test_json_is_as_documented(books: Books, run_manage: Manage) -> None:
    operation = books.sent("1")
    books.outside("1")
    done = run_manage("reconcile", "invoices", "--json", check=False)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    told = {"classes", "totals", "residual", "digest", "tie_out", "findings", "reversed", "matched"}
    assert set(document) == {"provenance", *told}
    assert len(document["classes"]) == 15
    assert document["classes"]["matched"] == {"count": 1, "amounts": {"ZAR": "100.00"}}
    assert document["classes"]["duplicate_at_destination"] == {"count": 1, "amounts": {"ZAR": "100.00"}}
    assert document["classes"]["ambiguous"] == {"count": 0, "amounts": {}}
    assert document["residual"] == {"ZAR": "0.00"}
    assert document["totals"]["destination"] == {"count": 2, "amounts": {"ZAR": "200.00"}}
    (finding,) = document["findings"]
    assert set(finding) == {
        "class",
        "reference",
        "ledger",
        "source",
        "destination",
        "amount",
        "currency",
        "why",
        "elsewhere",
    }
    assert finding["class"] == "duplicate_at_destination"
    assert finding["reference"] == key_of("1")
    assert finding["ledger"] == {"id": str(operation.uid), "key": key_of("1"), "state": "completed"}
    assert finding["source"] is None
    assert len(finding["destination"]) == 2
    assert (finding["amount"], finding["currency"]) == ("100.00", "ZAR")
    run = Run.objects.get()
    assert document["digest"] == run.digest
    assert run.actor == "command line"


def came_to(printed: str) -> dict[str, Any]:
    """What a run came to, without which run it was, when, and for whom."""
    return {name: told for name, told in json.loads(printed).items() if name != "provenance"}


def test_a_dry_run_prints_the_same_and_leaves_nothing(books: Books) -> None:
    books.outside("1")
    dry = here("invoices", "--dry-run", "--json")
    assert dry.returncode == 1, dry.stderr
    assert not Run.objects.exists()
    real = here("invoices", "--json")
    assert came_to(dry.stdout) == came_to(real.stdout)


def test_the_last_day_is_included(books: Books) -> None:
    operation = books.sent("1")
    today = operation.accepted_at.astimezone(books.plan.zone).date()
    before = str(today - timedelta(days=1))
    done = here("invoices", "--from", str(today), "--to", str(today), "--json")
    assert json.loads(done.stdout)["classes"]["matched"]["count"] == 1
    done = here("invoices", "--from", before, "--to", before, "--json")
    assert json.loads(done.stdout)["classes"]["matched"]["count"] == 0


def refusal(done: Done | CompletedProcess[str]) -> str:
    """Return the plain words with which the command said that nothing counts."""
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_what_keeps_it_from_running_is_2_and_plain_words(books: Books, run_manage: Manage) -> None:
    assert books.sandbox is not None
    assert 'There is no plan "invoice". Known plans: invoices.' in refusal(here("invoice"))
    asked = run_manage("reconcile", "invoices", "--to", "10.11.2026", check=False)
    assert "is not a day" in refusal(asked)
    assert "window is empty" in refusal(here("invoices", "--from", "2026-11-11", "--to", "2026-11-10"))
    books.sandbox.faults("error_before", "GET /invoices", arg=503)
    assert "Durban Books answered with status 503." in refusal(here("invoices"))
    books.sandbox.faults("truncate", "GET /invoices")
    assert refusal(here("invoices"))
    books.sandbox.faults("garble", "GET /invoices")
    assert "not JSON" in refusal(here("invoices"))
    books.sandbox.stop()
    assert "refused" in refusal(here("invoices")).lower()
    assert {run.state for run in Run.objects.all()} == {"failed"}
    assert all(run.why_failed for run in Run.objects.all())


@pytest.mark.parametrize(
    "days",
    [
        ("--from", "0001-01-01", "--to", "9999-12-31"),
        ("--to", "0001-01-01"),
        ("--from", "0001-01-01"),
        ("--to", "9999-12-31"),
    ],
)
def test_a_day_that_no_window_can_have_is_2_in_words(listed: Books, days: tuple[str, ...]) -> None:
    said = "The days of a window lie between 1970-01-01 and 9998-12-31."
    assert refusal(here("invoices", *days)).strip() == said
    assert not Run.objects.exists()


def test_the_first_and_the_last_day_of_all_are_a_window(listed: Books) -> None:
    for zone in ("Pacific/Kiritimati", "Etc/GMT+12"):
        Plan.objects.update(timezone=zone)
        assert here("invoices", "--from", "1970-01-01", "--to", "9998-12-31").returncode == 0


def test_a_window_longer_than_time_begins_with_it(listed: Books) -> None:
    Plan.objects.update(window_s=1e15)
    assert here("invoices").returncode == 0
    assert Run.objects.get().window_from.year == 1970


@pytest.mark.parametrize("zone", ["Durban/Gone", "../etc/passwd", "Africa"])
def test_a_zone_that_is_not_known_here_is_2_in_words(listed: Books, zone: str) -> None:
    Plan.objects.update(timezone=zone)
    for days in ((), ("--from", "2026-11-01")):
        said = f'The time zone "{zone}" of invoices is not known here.'
        assert refusal(here("invoices", *days)).strip() == said


def test_it_is_ended_in_order_when_it_is_told_to_stop(books: Books, spawn: Spawn) -> None:
    sandbox = books.sandbox
    assert sandbox is not None
    sandbox.faults("delay_before", "GET /invoices", arg=2.5)
    process = spawn("reconcile", "manage.py", "reconcile", "invoices")
    until(lambda: not sandbox.pending_faults(), seconds=30, what="The run's first question")
    process.terminate()
    assert process.wait(20) == 2
    assert Run.objects.get().state == "failed"


def test_another_run_at_work_is_2(books: Books) -> None:
    start_at, to = window(books.plan, None, None)
    start(books.plan, window_from=start_at, window_to=to, actor="ann")
    for other in (("--dry-run",), ("--from", "2026-11-01"), ("--to", "2026-11-01")):
        said = refusal(here("invoices", *other))
        assert said.startswith("Another run of invoices is at work: run 1, started by ann on 20")
    assert Run.objects.count() == 1


def test_a_database_that_is_down_is_2(books: Books, run_manage: Manage) -> None:
    nowhere = "postgresql://tieout:x@127.0.0.1:9/none?connect_timeout=2"
    done = run_manage("reconcile", "invoices", check=False, DATABASE_URL=nowhere)
    assert "database" in refusal(done)
