"""What a run proved is carried to the ledger as evidence, once, and moves there what it proves."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

import reconcile.actions
from ledger import actions
from ledger.models import Case, Event, Lookup, Operation
from ledger.rules.states import Outcome
from reconcile import findings
from reconcile.actions import start
from reconcile.carrying import BY_FINGERPRINT, BY_REFERENCE
from reconcile.models import Finding, Record, Run
from reconcile.running import execute, window
from tests.databases import Database
from tests.reconcile.books import HELD, Books, adds_up, closed, command_id, counts, key_of, record, refreshed


def test_an_uncertain_operation_with_exactly_one_match_is_completed_by_it(books: Books) -> None:
    assert books.sandbox is not None
    books.sandbox.faults("drop_after", "POST /invoices")
    operation = books.sent("483", amount="1240.00")
    assert operation.state == "uncertain"
    run, found = books.run()
    assert counts(run) == {"matched": 1}
    assert found == []
    operation = refreshed(operation)
    (made,) = books.sandbox.records(key_of("483"))
    assert operation.state == "completed"
    assert (operation.evidence, operation.evidence_by) == ("lookup", f"reconciliation {run.pk}")
    assert operation.destination_reference == made["id"]
    assert run.settled == {"completed": 1}
    looked = Event.objects.get(operation=operation, kind="looked")
    assert looked.actor == f"reconciliation {run.pk}"
    assert looked.reason == f"Run {run.pk} of invoices: on the list of Durban Books."
    adds_up(run)


def test_a_record_off_the_list_proves_nothing_of_the_look_up(listed: Books) -> None:
    """Its path may be wrong all the same, and then its silence is no absence."""
    operation = listed.claimed("1", Outcome.UNCERTAIN)
    HELD.pages = [[record(1, key=key_of("1"), unlooked=True)]]
    listed.run()
    operation = refreshed(operation)
    assert operation.state == "completed"
    assert operation.operation_type.lookup_proved_at is None


def test_one_match_that_differs_completes_nothing(listed: Books) -> None:
    operation = listed.claimed("1", Outcome.UNCERTAIN)
    HELD.pages = [[record(1, key=key_of("1"), total="620.00")]]
    _, (finding,) = listed.run()
    operation = refreshed(operation)
    assert operation.state == "uncertain"
    assert finding.case == operation.cases.open().get()
    assert finding.case is not None
    assert finding.case.kind == "differs"


def test_a_completed_operation_that_is_doubled_stands_in_the_queue(listed: Books) -> None:
    operation = listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("1"))]]
    run, _ = listed.run()
    operation = refreshed(operation)
    assert operation.state == "completed"
    assert operation.held_at is not None
    assert operation.cases.open().get().kind == "several"
    assert run.settled == {"held": 1}


def test_what_did_not_happen_and_is_there_is_in_doubt_again(listed: Books) -> None:
    operation = listed.claimed("1", Outcome.REJECTED)
    HELD.pages = [[record(1, key=key_of("1"))]]
    listed.run()
    operation = refreshed(operation)
    assert operation.state == "uncertain"
    assert operation.cases.open().get().kind == "there_after_all"


def test_what_a_person_s_word_stood_for_is_confirmed_by_the_list(listed: Books) -> None:
    operation = listed.claimed("1", Outcome.UNCERTAIN)
    actions.attest(
        operation.pk, reference="INV-1", actor="ann", reason="I saw it there.", command_id=command_id()
    )
    assert refreshed(operation).evidence == "attested"
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, _ = listed.run()
    assert refreshed(operation).evidence == "lookup"
    assert run.settled == {"confirmed": 1}


def test_a_second_run_opens_no_second_case_and_repeats_no_evidence(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    listed.claimed("4", Outcome.SUCCEEDED, reference="INV-4")
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("1")), record(3, key=key_of("3"))]]
    HELD.pages.append([record(5, key=key_of("4"), total="7.00")])
    first, before = listed.run()
    evidence = Lookup.objects.count()
    second, after = listed.run()
    assert Case.objects.count() == 3
    assert Lookup.objects.count() == evidence
    assert second.settled == {}
    assert [finding.case for finding in after] == [finding.case for finding in before]
    assert [finding.first_seen_at for finding in after] == [first.started_at] * 3
    assert first.digest == second.digest, "nothing has changed"


def test_two_of_one_reference_are_told_in_the_list_s_order_wherever_the_table_has_them(
    listed: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    several = ("USD", "ZAR", "EUR")
    HELD.pages = [[record(place, key="nobody/1", currency=code) for place, code in enumerate(several)]]
    first, found = listed.run()
    assert [finding.currency for finding in found] == ["ZAR", "EUR", "USD"], "the surplus first"
    made = findings.found

    def moved(run: Run) -> list[Finding]:
        Record.objects.filter(run=run, currency="ZAR").update(currency="ZAR")  # behind all others now
        with connection.cursor() as cursor:  # as the planner may read it, too
            cursor.execute("SET enable_indexscan = off; SET enable_bitmapscan = off")
            told = made(run)
            cursor.execute("RESET enable_indexscan; RESET enable_bitmapscan")
        return told

    monkeypatch.setattr(findings, "found", moved)
    second, found = listed.run()
    assert [finding.currency for finding in found] == ["ZAR", "EUR", "USD"]
    assert first.digest == second.digest


def test_a_case_that_a_person_closed_is_opened_again_only_by_something_new(listed: Books) -> None:
    HELD.pages = [[record(1, key=key_of("1"))]]
    _, (finding,) = listed.run()
    assert finding.case is not None
    closed(finding, actor="ann", reason="Made by hand; agreed with the customer.")
    _, (again,) = listed.run()
    assert again.case == finding.case
    assert not again.is_open
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("1"))]]
    _, found = listed.run()
    assert {new.case for new in found} & {finding.case} == set()
    assert all(new.is_open for new in found)


def test_a_reversed_surplus_closes_its_case(listed: Books) -> None:
    operation = listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("1"))]]
    listed.run()
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("1"), status="void")]]
    run, found = listed.run()
    assert found == []
    assert refreshed(operation).held_at is None
    assert run.settled == {"closed": 1}


def test_a_dry_run_keeps_nothing_and_moves_nothing(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    listed.claimed("2", Outcome.UNCERTAIN)
    listed.claimed("3", Outcome.REJECTED)
    listed.claimed("4", Outcome.UNCERTAIN)
    before = list(Operation.objects.order_by("pk").values())
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("1")), record(3, key=key_of("3"))]]
    HELD.pages.append([record(4, key=key_of("4")), record(5, key=key_of("5"))])
    events = Event.objects.count()
    run, found = listed.run(keep=False)
    assert found
    assert counts(run)
    assert not listed.plan.runs.exists()
    assert Event.objects.count() == events
    assert not Case.objects.filter(operation=None).exists()
    assert list(Operation.objects.order_by("pk").values()) == before


def reads_of_lines(books: Books) -> int:
    """Run, and count how often the run's lines were read."""
    with CaptureQueriesContext(connection) as queries:
        run, _ = books.run()
    assert run.settled
    asked = [query["sql"] for query in queries]
    return sum(sql.startswith("SELECT") and 'FROM "reconcile_record"' in sql for sql in asked)


def test_a_run_s_lines_are_read_as_often_for_many_findings_as_for_few(listed: Books) -> None:
    """They have no index by reference: to look for each finding by itself would read them all each time."""
    few, many = [1, 2, 3], range(10, 25)
    HELD.pages = [[]]
    listed.run()  # later ones ask what came late since
    counted = []
    for orders in (few, many):
        HELD.pages = []
        for order in orders:
            listed.claimed(f"{order}", Outcome.SUCCEEDED, reference=f"INV-{order}")
            listed.claimed(f"{order}b", Outcome.UNCERTAIN)
            doubled, single = key_of(f"{order}"), key_of(f"{order}b")
            HELD.pages.append([record(order, key=doubled), record(order + 100, key=doubled)])
            HELD.pages.append([record(order + 200, key=single), record(order + 300, key=f"x{order}")])
        HELD.pages += [[record(n, key=key_of(f"{n}")), record(n + 100, key=key_of(f"{n}"))] for n in few]
        HELD.pages += [[record(n + 200, key=key_of(f"{n}b"))] for n in few]
        counted.append(reads_of_lines(listed))
    assert counted[0] == counted[1]
    assert Lookup.objects.filter(verdict="several").count() == 18
    assert Operation.objects.filter(evidence="lookup").count() == 18


def test_a_reference_of_several_findings_is_read_once(listed: Books, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconcile.actions, "CHUNK", 1)
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(n, key=key_of("1"), currency="EUR" if n == 3 else "ZAR") for n in (1, 2, 3)]]
    _, found = listed.run()
    assert len(found) == 2
    assert [kept["id"] for kept in Lookup.objects.get().records] == ["INV-1", "INV-2", "INV-3"]


def test_two_differences_without_an_operation_under_one_reference_are_one_case(listed: Books) -> None:
    HELD.pages = [[record(1, key="older"), record(2, key="older"), record(3, key="other")]]
    run, found = listed.run()
    assert len(found) == 3
    assert Case.objects.count() == 2
    assert run.settled == {"opened": 2}


def days_ago(days: int) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


def test_what_the_last_run_did_not_look_at_is_carried_on_from_the_one_before(listed: Books) -> None:
    """A run over other days opens no case a second time afterwards, and calls nothing of it gone."""
    HELD.pages = [[record(2, key="newer", created_at=days_ago(20).isoformat())]]
    first, before = listed.run()
    HELD.pages = [[]]
    other = window(listed.plan, days_ago(10).date(), None)
    run = start(listed.plan, window_from=other[0], window_to=other[1], actor="ann")
    execute(run)
    assert run.gone.count() == 0
    HELD.pages = [[record(2, key="newer", created_at=days_ago(20).isoformat())]]
    _, after = listed.run()
    assert [finding.case for finding in after] == [finding.case for finding in before]
    assert [finding.first_seen_at for finding in after] == [first.started_at]


def test_the_latest_finding_is_read_without_those_before_it(listed: Books, database: Database) -> None:
    """A difference that is open for years has one finding for each run; only the last is read."""
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=None)]]
    listed.run()
    named, unnamed = Finding.objects.order_by("-reference")
    for finding in (named, unnamed):
        fields = {
            field.name: getattr(finding, field.name) for field in Finding._meta.fields if field.name != "id"
        }
        with database.rewriting("reconcile_finding"):
            Finding.objects.bulk_create([Finding(**fields) for _ in range(500)])
    with connection.cursor() as cursor:
        for statement, finding, name in (
            (BY_REFERENCE, named, named.reference),
            (BY_FINGERPRINT, unnamed, unnamed.fingerprint),
        ):
            latest = Finding.objects.filter(fingerprint=finding.fingerprint).order_by("-id").first()
            asked: dict[str, Any] = {
                "classes": [finding.item_class],
                "names": [name],
                "currencies": [finding.currency],
                "duplicate": "duplicate_at_destination",
                "plan": listed.plan.pk,
                "run": 0,
            }
            cursor.execute(statement, asked)
            assert latest is not None
            assert cursor.fetchall() == [(latest.pk,)]
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF) {statement}", asked)
            plan = "\n".join(row for (row,) in cursor.fetchall())
            assert "finding_latest" in plan, plan
            assert "Sort" not in plan, plan
