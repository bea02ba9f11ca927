"""Differences live from run to run: they age from first seen, are gone in the end, and may come back."""

from datetime import timedelta
from typing import Any

from ledger.models import Case, database_now
from ledger.rules.states import Outcome
from reconcile import reports
from reconcile.running import window
from tests.databases import Clock
from tests.reconcile.books import HELD, Books, key_of, record, refreshed

Pages = list[list[dict[str, Any]] | None]
NIGHT = timedelta(days=1)


def test_a_difference_that_is_gone_is_said_once_and_has_a_new_age_when_it_is_back(
    listed: Books, clock: Clock
) -> None:
    operation = listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    doubled: Pages = [[record(1, key=key_of("1")), record(2, key=key_of("1"))]]
    reversed_: Pages = [[record(1, key=key_of("1")), record(2, key=key_of("1"), status="void")]]
    HELD.pages = doubled
    first, _ = listed.run()
    clock.advance(NIGHT)
    second, (still,) = listed.run()
    assert (still.first_seen_at, still.came_back) == (first.started_at, False)
    HELD.pages = reversed_
    clock.advance(NIGHT)
    third, found = listed.run()
    assert [gone.pk for gone in third.gone.all()] == [still.pk]
    assert "1 gone since the last run" in reports.table(third, found, now=clock.now())
    assert "gone" not in reports.table(second, [still], now=clock.now())
    assert refreshed(operation).held_at is None
    clock.advance(NIGHT)
    fourth, _ = listed.run()
    assert fourth.gone.count() == 0, "it was said before"
    HELD.pages = doubled
    clock.advance(NIGHT)
    fifth, (back,) = listed.run()
    assert (back.first_seen_at, back.came_back) == (fifth.started_at, True)
    assert back.case is not None
    assert (back.case.closed_at, back.is_open) == (None, True)
    assert refreshed(operation).held_at is not None
    assert Case.objects.count() == 2, "one for each time, not for each night"


def test_what_nobody_submitted_has_one_case_and_it_ends_when_the_record_does(listed: Books) -> None:
    made_at = (database_now() - NIGHT).isoformat()
    surplus = record(2, key="nobody-s", created_at=made_at)
    first, other = (record(1, key="nobody-s", created_at=made_at), record(3, key="other", created_at=made_at))
    HELD.pages = [[first, surplus, other]]
    for _ in range(3):
        listed.run()
    assert Case.objects.count() == 2
    HELD.pages = [[first, surplus | {"status": "void"}]]
    run, _ = listed.run()
    assert run.gone.count() == 2, "the surplus, and the other one"
    assert Case.objects.open().count() == 1, "of two differences under one reference one is left"
    HELD.pages = []
    run, found = listed.run()
    assert (found, run.gone.count(), run.settled) == ([], 1, {"closed": 1})
    closed = Case.objects.order_by("pk").first()
    assert closed is not None
    assert closed.closed_by == f"reconciliation {run.pk}"
    HELD.pages = [[other]]
    _, (back,) = listed.run()
    assert back.came_back
    assert back.case is not None
    assert back.case.closed_at is None
    assert Case.objects.count() == 3


def test_a_record_without_a_time_is_gone_only_where_the_list_goes_back_as_far(
    listed: Books, clock: Clock
) -> None:
    """The list is asked for what changed of late: what is older stays there, and is not on it."""
    HELD.pages = [[record(1, key="nobody-s")]]
    first, _ = listed.run()
    day = first.days[0]
    clock.advance(40 * NIGHT)
    HELD.pages = []
    for days in ((None, None), (day + NIGHT, day + 3 * NIGHT)):
        later, found = listed.run(*days)
        assert (found, later.gone.count(), later.settled) == ([], 0, {})
    assert Case.objects.open().count() == 1
    as_far, _ = listed.run(day, day)
    assert (as_far.gone.count(), as_far.settled) == (1, {"closed": 1})


def test_a_difference_is_gone_only_where_its_own_record_was_looked_at(listed: Books, clock: Clock) -> None:
    """Of two under one reference the older one leaves the window first; it is still there."""
    start_at, _ = window(listed.plan, None, None)
    older = record(1, key="nobody-s", created_at=(start_at + NIGHT).isoformat())
    surplus = record(2, key="nobody-s", created_at=(start_at + 9 * NIGHT).isoformat())
    HELD.pages = [[older, surplus]]
    listed.run()
    clock.advance(2 * NIGHT)
    run, (still,) = listed.run()
    assert (still.item_class, run.gone.count()) == ("duplicate_at_destination", 0)
    HELD.pages = [[older, surplus | {"status": "void"}]]
    run, _ = listed.run()
    assert [gone.item_class for gone in run.gone.all()] == ["duplicate_at_destination"]
    assert Case.objects.open().count() == 1


def test_a_difference_ends_while_another_one_stands_under_the_same_reference(
    listed: Books, clock: Clock
) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    less = record(1, key=key_of("1"), total="90.00")
    doubled: Pages = [[less, record(2, key=key_of("1"))]]
    HELD.pages = doubled
    listed.run()
    clock.advance(NIGHT)
    HELD.pages = [[less, record(2, key=key_of("1"), status="void")]]
    run, (left,) = listed.run()
    assert [gone.item_class for gone in run.gone.all()] == ["duplicate_at_destination"]
    clock.advance(NIGHT)
    HELD.pages = doubled
    _, found = listed.run()
    assert {one.item_class: one.came_back for one in found} == {
        "duplicate_at_destination": True,
        left.item_class: False,
    }


def test_what_is_in_flight_again_is_not_gone(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.blind = True
    _, (uncertain,) = listed.run()
    listed.plan.grace_s = 900
    run, found = listed.run()
    assert (found, run.classes["in_flight"]["count"], run.gone.count()) == ([], 1, 0)
    uncertain.refresh_from_db()
    assert uncertain.lives


def test_absence_has_one_age_with_and_without_its_proof(listed: Books, clock: Clock) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    first, (uncertain,) = listed.run()
    clock.advance(NIGHT)
    HELD.pages = [[record(9, key=key_of("9"), status="void")]]
    listed.claimed("9", Outcome.SUCCEEDED, reference="INV-9")
    HELD.pages = [[record(9, key=key_of("9"))]]
    run, (missing,) = listed.run()
    assert (uncertain.item_class, missing.item_class) == ("uncertain", "missing_at_destination")
    assert (missing.first_seen_at, missing.came_back) == (first.started_at, False)
    assert run.gone.count() == 0
