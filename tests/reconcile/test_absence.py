"""Known failure 57: what is in flight is not missing, and absence is looked up before it is called that."""

from pathlib import Path

import pytest

from ledger.destinations.connectors.base import Looked, LookRequest
from ledger.models import Destination, Lookup
from ledger.rules.states import Outcome
from reconcile import absences
from tests.databases import Clock, Database
from tests.reconcile.books import HELD, Books, Listed, adds_up, counts, key_of, record, refreshed


def test_57_within_the_plan_s_grace_nothing_is_missing(
    database: Database, tmp_path: Path, clock: Clock
) -> None:
    books = Books.configured(tmp_path, performed_by="caller", grace="15m")
    books.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    books.claimed("2", Outcome.UNCERTAIN)
    run, found = books.run()
    assert counts(run) == {"in_flight": 2}
    assert found == []
    assert HELD.looks == 0
    clock.advance(16 * 60)
    run, _ = books.run()
    assert "in_flight" not in counts(run)


def test_what_did_not_happen_is_not_in_flight(database: Database, tmp_path: Path) -> None:
    books = Books.configured(tmp_path, performed_by="caller", grace="15m")
    books.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    books.claimed("2", Outcome.REJECTED)
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, _ = books.run()
    assert counts(run) == {"matched": 1, "missing_at_destination": 1}


def test_57_looked_up_absence_is_missing_whatever_the_state(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    completed = listed.claimed("2", Outcome.SUCCEEDED, reference="INV-2")
    failed = listed.claimed("3", Outcome.REJECTED)
    uncertain = listed.claimed("4", Outcome.UNCERTAIN)
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, found = listed.run()
    assert counts(run) == {"matched": 1, "missing_at_destination": 3}
    assert run.classes["missing_at_destination"]["amounts"] == {"ZAR": "300.00"}
    assert [finding.state for finding in found] == ["completed", "failed", "uncertain"]
    completed, failed, uncertain = (refreshed(operation) for operation in (completed, failed, uncertain))
    assert (completed.state, completed.cases.open().get().kind) == ("uncertain", "missing")
    assert failed.state == "failed"
    assert uncertain.state == "failed", "absence was proved at the limits"
    assert Lookup.objects.filter(proof=True).count() == 3
    adds_up(run)


def test_absence_that_could_not_be_looked_up_is_uncertain(listed: Books) -> None:
    operation = listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.blind = True
    run, (finding,) = listed.run()
    assert counts(run) == {"uncertain": 1}
    assert "closed on Sundays" in finding.why
    assert refreshed(operation).state == "completed"
    adds_up(run)


def test_the_silence_of_a_look_up_that_never_found_anything_proves_nothing(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    run, (finding,) = listed.run()
    assert counts(run) == {"uncertain": 1}
    assert "no proof" in finding.why


def test_57_what_only_the_look_up_finds_is_not_missing(listed: Books) -> None:
    """A record became visible after the cursor that should have caught it."""
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    listed.claimed("2", Outcome.SUCCEEDED, reference="INV-2")
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("2"), total="90.00", unlisted=True)]]
    run, _ = listed.run()
    assert counts(run) == {"matched": 1, "amount_under": 1}
    assert run.totals["destination"] == {"count": 2, "amounts": {"ZAR": "190.00"}}
    assert run.pages == [1]
    adds_up(run)


def test_a_destination_that_answers_no_look_up_is_not_asked_for_ever(listed: Books) -> None:
    for order in range(6):
        listed.claimed(str(order), Outcome.SUCCEEDED, reference=f"INV-{order}")
    HELD.blind = True
    run, found = listed.run()
    assert counts(run) == {"uncertain": 6}
    assert HELD.looks == 3
    assert "not looked up" in found[-1].why
    adds_up(run)


def test_an_operation_that_a_real_destination_lost_is_found_missing(books: Books) -> None:
    """The sandbox has nothing to delete with, so a caller's false report stands for it."""
    assert books.sandbox is not None
    books.sent("1")
    gone = books.sent("2")
    number = gone.destination_reference
    assert books.sandbox.call("POST", f"/invoices/{number}/void").status == 200
    run, (finding,) = books.run()
    assert counts(run) == {"matched": 1, "status_differs": 1}
    assert finding.why == f"{number} is void there: it does not stand."
    assert refreshed(gone).state == "uncertain"
    adds_up(run)


def test_the_largest_are_looked_up_first_and_those_without_an_amount_last(
    listed: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(absences, "LOOKS_MAX", 2)
    for order, amount in (("1", None), ("2", "5.00"), ("3", None), ("4", "900.00")):
        listed.claimed(order, Outcome.UNCERTAIN, amount=amount)
    listed.run()
    looked = Lookup.objects.order_by("id").values_list("operation__key", flat=True)
    assert list(looked) == [key_of("4"), key_of("2")]


@pytest.fixture
def slow(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Each look-up takes four minutes."""
    look_up = Listed.look_up

    def slowly(self: Listed, request: LookRequest) -> Looked:
        clock.advance(4 * 60)
        return look_up(self, request)

    monkeypatch.setattr(Listed, "look_up", slowly)
    return clock


def test_looking_ends_by_the_clock_and_the_rest_says_so(listed: Books, slow: Clock) -> None:
    for order in range(4):
        listed.claimed(str(order), Outcome.UNCERTAIN)
    run, found = listed.run()
    assert HELD.looks == 2
    assert counts(run) == {"uncertain": 4}
    assert "it took too long" in found[-1].why


def test_a_look_up_as_slow_as_its_time_out_loses_no_run(listed: Books, slow: Clock) -> None:
    """Nothing is heard of the run meanwhile: its own look, and that by which it is to prove itself."""
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    listed.claimed("2", Outcome.UNCERTAIN)
    Destination.objects.update(connection={**Destination.objects.get().connection, "timeout": "4m"})
    HELD.pages = [[record(1, key=key_of("1"))]]
    listed.plan.refresh_from_db()
    run, _ = listed.run()
    assert HELD.looks == 2
    assert run.state == "done"
