"""Differences live from run to run: they age from first seen, are gone in the end, and may come back."""

from datetime import timedelta
from typing import Any

from ledger.models import Case
from ledger.rules.states import Outcome
from reconcile import reports
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
    assert "1 gone since the last run" in reports.table(third, found)
    assert "gone" not in reports.table(second, [still])
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
    HELD.pages = [[record(1, key="nobody-s"), record(2, key="nobody-s"), record(3, key="other")]]
    for _ in range(3):
        listed.run()
    assert Case.objects.count() == 2
    HELD.pages = [[record(1, key="nobody-s"), record(2, key="nobody-s", status="void")]]
    listed.run()
    assert Case.objects.open().count() == 1, "of two differences under one reference one is left"
    HELD.pages = []
    run, found = listed.run()
    assert (found, run.gone.count(), run.settled) == ([], 1, {"closed": 1})
    closed = Case.objects.order_by("pk").first()
    assert closed is not None
    assert closed.closed_by == f"reconciliation {run.pk}"
    HELD.pages = [[record(3, key="other")]]
    _, (back,) = listed.run()
    assert back.came_back
    assert back.case is not None
    assert back.case.closed_at is None
    assert Case.objects.count() == 3


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
