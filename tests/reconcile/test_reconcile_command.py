"""`manage.py reconcile` through the outside: what it prints, and its exit status."""

import json
from datetime import timedelta

from ledger.models import TieoutNow
from reconcile.actions import start
from reconcile.models import Run
from reconcile.running import window
from tests.processes import Manage
from tests.reconcile.books import Books, key_of


def test_nothing_found_is_0_findings_are_1(books: Books, run_manage: Manage) -> None:
    books.sent("1")
    clean = run_manage("reconcile", "invoices", check=False)
    assert clean.returncode == 0, clean.stderr
    assert clean.stdout.startswith("Explained; nothing is open\n")
    books.outside("2", total="1860.00")
    found = run_manage("reconcile", "invoices", check=False)
    assert found.returncode == 1, found.stderr
    lines = [line.replace("\u00a0", " ") for line in found.stdout.splitlines()]
    assert lines[0] == "Explained; 1 open difference, ZAR 1 860.00"
    assert any(line.split() == ["Matched", "1", "100.00", "100.00"] for line in lines)
    assert any(
        line.split() == ["Unexpected", "at", "Durban", "Books", "1", "–", "1", "860.00"] for line in lines
    )
    assert "Unexplained ZAR 0.00" in lines
    (difference,) = [line for line in lines if key_of("2") in line]
    assert "No operation carries its reference." in difference


def test_json_is_as_documented(books: Books, run_manage: Manage) -> None:
    operation = books.sent("1")
    books.outside("1")
    done = run_manage("reconcile", "invoices", "--json", check=False)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {"classes", "totals", "residual", "digest", "findings"}
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


def test_a_dry_run_prints_the_same_and_leaves_nothing(books: Books, run_manage: Manage) -> None:
    books.outside("1")
    dry = run_manage("reconcile", "invoices", "--dry-run", "--json", check=False)
    assert dry.returncode == 1, dry.stderr
    assert not Run.objects.exists()
    real = run_manage("reconcile", "invoices", "--json", check=False)
    assert json.loads(dry.stdout) == json.loads(real.stdout)


def test_the_last_day_is_included(books: Books, run_manage: Manage) -> None:
    operation = books.sent("1")
    today = operation.accepted_at.astimezone(books.plan.zone).date()
    before = str(today - timedelta(days=1))
    done = run_manage("reconcile", "invoices", "--from", str(today), "--to", str(today), "--json")
    assert json.loads(done.stdout)["classes"]["matched"]["count"] == 1
    done = run_manage("reconcile", "invoices", "--from", before, "--to", before, "--json")
    assert json.loads(done.stdout)["classes"]["matched"]["count"] == 0


def refused(run_manage: Manage, *arguments: str, **environ: str) -> str:
    done = run_manage("reconcile", *arguments, check=False, **environ)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def test_what_keeps_it_from_running_is_2_and_plain_words(books: Books, run_manage: Manage) -> None:
    assert books.sandbox is not None
    assert 'There is no plan "invoice". Known plans: invoices.' in refused(run_manage, "invoice")
    assert "is not a day" in refused(run_manage, "invoices", "--to", "10.11.2026")
    assert "window is empty" in refused(run_manage, "invoices", "--from", "2026-11-11", "--to", "2026-11-10")
    books.sandbox.faults("error_before", "GET /invoices", arg=503)
    assert "Durban Books answered with status 503." in refused(run_manage, "invoices")
    books.sandbox.faults("truncate", "GET /invoices")
    refused(run_manage, "invoices")
    books.sandbox.faults("garble", "GET /invoices")
    refused(run_manage, "invoices")
    books.sandbox.stop()
    assert "refused" in refused(run_manage, "invoices").lower()
    assert {run.state for run in Run.objects.all()} == {"failed"}
    assert all(run.why_failed for run in Run.objects.all())


def test_another_run_at_work_is_2(books: Books, run_manage: Manage) -> None:
    start_at, to = window(books.plan, None, None)
    start(books.plan, window_from=start_at, window_to=to, actor="ann")
    assert "Another run of invoices is at work" in refused(run_manage, "invoices")


def test_a_database_that_is_down_is_2(books: Books, run_manage: Manage) -> None:
    nowhere = "postgresql://tieout:x@127.0.0.1:9/none?connect_timeout=2"
    words = refused(run_manage, "invoices", DATABASE_URL=nowhere)
    assert "database" in words


def test_61_a_run_whose_process_stopped_is_failed_and_the_next_gives_the_same(
    books: Books, run_manage: Manage
) -> None:
    books.outside("1")
    start_at, to = window(books.plan, None, None)
    dead = start(books.plan, window_from=start_at, window_to=to, actor="ann")
    Run.objects.filter(pk=dead.pk).update(lease_until=TieoutNow())
    first = json.loads(run_manage("reconcile", "invoices", "--json", check=False).stdout)
    dead.refresh_from_db()
    assert (dead.state, dead.why_failed) == ("failed", "Its process stopped before it was done.")
    second = json.loads(run_manage("reconcile", "invoices", "--json", check=False).stdout)
    assert first["digest"] == second["digest"]
