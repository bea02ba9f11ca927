"""Known failure 56: half-open windows in the plan's zone; the last day belongs, and nothing falls between."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from ledger.models import Operation
from ledger.rules.errors import Malformed
from ledger.rules.states import Outcome
from reconcile.actions import start
from reconcile.models import Finding, Run
from reconcile.running import execute, window
from tests.databases import Clock, Database
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record

LAST_MOMENT = datetime(2026, 11, 10, 21, 59, 59, 999999, UTC)  # in Johannesburg: two hours later
MIDNIGHT = datetime(2026, 11, 10, 22, 0, tzinfo=UTC)
TENTH, ELEVENTH = date(2026, 11, 10), date(2026, 11, 11)


def run_of(books: Books, first: date | None, last: date | None) -> tuple[Run, list[Finding]]:
    start_at, to = window(books.plan, first, last)
    run = start(books.plan, window_from=start_at, window_to=to, actor="ann")
    return run, execute(run)


def accepted(books: Books, clock: Clock, order: str, moment: datetime) -> Operation:
    clock.set(moment)
    return books.claimed(order, Outcome.SUCCEEDED, reference=f"INV-{order}")


def test_56_each_day_has_its_own_items_to_the_last_microsecond(listed: Books, clock: Clock) -> None:
    accepted(listed, clock, "1", LAST_MOMENT)
    accepted(listed, clock, "2", MIDNIGHT)
    clock.set(datetime(2026, 11, 20, tzinfo=UTC))
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("2"))]]
    tenth, _ = run_of(listed, TENTH, TENTH)
    eleventh, _ = run_of(listed, ELEVENTH, ELEVENTH)
    assert tenth.window_to == eleventh.window_from == MIDNIGHT
    for run in (tenth, eleventh):
        assert counts(run) == {"matched": 1, "out_of_scope": 1}
        assert run.totals["ledger"]["count"] == 1
        adds_up(run)
    both, _ = run_of(listed, TENTH, ELEVENTH)
    assert counts(both) == {"matched": 2}


def test_56_a_record_that_tells_only_its_day_keeps_it(listed: Books, clock: Clock) -> None:
    """Made an instant, the tenth would lie in the ninth west of Greenwich, and in the tenth east of it."""
    clock.set(datetime(2026, 11, 20, tzinfo=UTC))
    HELD.pages = [[record(1, key="one", created_at="2026-11-10")]]
    for zone in ("Pacific/Kiritimati", "Africa/Johannesburg", "Pacific/Pago_Pago"):
        listed.plan.timezone = zone
        listed.plan.save(update_fields=["timezone"])
        ninth, _ = run_of(listed, date(2026, 11, 9), date(2026, 11, 9))
        tenth, (finding,) = run_of(listed, TENTH, TENTH)
        eleventh, _ = run_of(listed, ELEVENTH, ELEVENTH)
        assert [counts(run) for run in (ninth, eleventh)] == [{"out_of_scope": 1}] * 2
        assert counts(tenth) == {"unexpected_at_destination": 1}
        assert finding.destination[0]["occurred_at"] == "2026-11-10"
        assert tenth.gone.count() == eleventh.gone.count() == 0
        adds_up(tenth)


def test_matching_ignores_the_window(listed: Books, clock: Clock) -> None:
    """Accepted on the tenth, made on the eleventh: compared in the tenth's run, unexpected in neither."""
    accepted(listed, clock, "1", LAST_MOMENT)
    clock.set(datetime(2026, 11, 20, tzinfo=UTC))
    HELD.pages = [[record(1, key=key_of("1"), created_at="2026-11-11T08:00:00Z")]]
    tenth, _ = run_of(listed, TENTH, TENTH)
    eleventh, found = run_of(listed, ELEVENTH, ELEVENTH)
    assert counts(tenth) == {"matched": 1}
    assert counts(eleventh) == {"out_of_scope": 1}
    assert found == []
    adds_up(tenth)
    adds_up(eleventh)


def test_a_surplus_belongs_to_the_window_in_which_it_was_made(listed: Books, clock: Clock) -> None:
    accepted(listed, clock, "1", LAST_MOMENT)
    clock.set(datetime(2026, 11, 20, tzinfo=UTC))
    HELD.pages = [
        [
            record(1, key=key_of("1"), created_at="2026-11-10T10:00:00Z"),
            record(2, key=key_of("1"), created_at="2026-11-15T10:00:00Z"),
        ]
    ]
    of_the_operation, _ = run_of(listed, TENTH, TENTH)
    of_the_surplus, _ = run_of(listed, date(2026, 11, 15), date(2026, 11, 15))
    of_neither, _ = run_of(listed, date(2026, 11, 12), date(2026, 11, 12))
    assert counts(of_the_operation) == {"matched": 1, "duplicate_at_destination": 1}
    assert counts(of_the_surplus) == {"duplicate_at_destination": 1, "out_of_scope": 1}
    assert counts(of_neither) == {"out_of_scope": 2}
    for run in (of_the_operation, of_the_surplus, of_neither):
        adds_up(run)


def test_an_older_operation_that_did_not_happen_and_is_there_now_is_unexpected(
    listed: Books, clock: Clock
) -> None:
    clock.set(LAST_MOMENT)
    listed.claimed("1", Outcome.REJECTED)
    clock.set(datetime(2026, 11, 20, tzinfo=UTC))
    HELD.pages = [[record(1, key=key_of("1"), created_at="2026-11-15T10:00:00Z")]]
    run, (finding,) = run_of(listed, date(2026, 11, 15), date(2026, 11, 15))
    assert counts(run) == {"unexpected_at_destination": 1}
    assert finding.case is not None
    assert finding.case.kind == "there_after_all"
    adds_up(run)


def test_a_record_of_nobody_s_from_outside_the_window_is_out_of_scope(listed: Books, clock: Clock) -> None:
    clock.set(datetime(2026, 11, 20, tzinfo=UTC))
    HELD.pages = [
        [
            record(1, key=key_of("1"), created_at="2026-11-09T21:59:59Z"),
            record(2, key=None, created_at="2026-11-10T22:00:00Z"),
            record(3, key=key_of("3"), created_at="2026-11-09T22:00:00Z"),
            record(4, key=None, created_at="2026-11-10T21:59:59Z"),
            record(5, key=key_of("5"), created_at="2026-11-10T12:00:00"),
        ]
    ]
    run, _ = run_of(listed, TENTH, TENTH)
    assert counts(run) == {"out_of_scope": 2, "unexpected_at_destination": 2, "unreadable": 1}
    adds_up(run)


def test_without_days_the_window_ends_now_and_is_as_long_as_the_plan_says(
    listed: Books, clock: Clock
) -> None:
    clock.set(datetime(2026, 11, 20, 5, 2, tzinfo=UTC))
    assert window(listed.plan, None, None) == (
        datetime(2026, 10, 16, 5, 2, tzinfo=UTC),
        datetime(2026, 11, 20, 5, 2, tzinfo=UTC),
    )
    assert window(listed.plan, TENTH, None)[1] == datetime(2026, 11, 20, 5, 2, tzinfo=UTC)
    with pytest.raises(Malformed):
        window(listed.plan, ELEVENTH, TENTH)


def test_a_day_of_twenty_five_hours_is_a_whole_day(database: Database, tmp_path: Path) -> None:
    books = Books.configured(tmp_path, performed_by="caller")
    books.plan.timezone = "Europe/Berlin"
    start_at, to = window(books.plan, date(2026, 10, 25), date(2026, 10, 25))
    assert (to - start_at).total_seconds() == 25 * 3600
