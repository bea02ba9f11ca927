"""What came late is told beside its class, and no total asks for it.

| the record                                             | came late                            |
|--------------------------------------------------------|--------------------------------------|
| its time lies in the run before, which did not list it | by that run, as long as it is listed |
| it is younger than that run, or within its grace       | no                                   |
| it was listed before, under the same id                | no                                   |
| it tells only its day, which was over                  | by that run                          |
| it was made long after its operation's last try        | by the grace                         |
| by a first run, or other rules than the run before     | nothing is said                      |
"""

import csv
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest

from ledger.models import Destination, OperationType
from ledger.rules.states import Outcome
from reconcile.models import Plan, Record, Run
from tests.databases import Clock
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, loaded, record
from tests.reconcile.worlds import NOW

HOURS = timedelta(hours=1)
NOTHING: dict[str, Any] = {"records": 0, "amounts": {}}


@pytest.fixture
def books(listed: Books, clock: Clock) -> Books:
    """An hour of grace, and two orders that are done since yesterday, of which one is listed."""
    clock.set(NOW - 24 * HOURS)
    for rows in (Plan.objects, OperationType.objects, Destination.objects):
        rows.update(changed_at=NOW - 48 * HOURS)
    Plan.objects.update(grace_s=3600.0)
    listed = Books(Plan.objects.select_related("operation_type__destination").get())
    for order in "12":
        listed.claimed(order, Outcome.SUCCEEDED, reference=f"INV-{order}")
    HELD.pages = [[at(1, key_of("1"), NOW - 24 * HOURS)]]
    clock.set(NOW)
    return listed


def at(number: int, key: str | None, made: object, **more: Any) -> dict[str, Any]:
    return record(number, key=key, created_at=str(made).replace(" ", "T"), **more)


def marked(run: Run) -> dict[str, tuple[str, int | None]]:
    lines = Record.objects.filter(run=run, side="destination").exclude(came_late="")
    return {one.external_id: (one.came_late, one.missed_by) for one in lines}


def test_what_the_run_before_should_have_had_came_late_as_long_as_it_is_listed(
    books: Books, clock: Clock
) -> None:
    first, _ = books.run()
    assert marked(first) == {} and first.made_with["came_late"] == NOTHING
    HELD.pages += [
        [at(2, key_of("2"), NOW - 23 * HOURS, total="90.00"), at(3, "nobody", NOW - 2 * HOURS)],
        [at(4, "young", NOW - HOURS / 2), at(5, "new", NOW + HOURS), record(6, key="timeless")],
        [at(7, "a day", NOW.date() - timedelta(days=1)), at(8, "today", NOW.date())],
    ]
    for passed in (3, 6):
        clock.set(NOW + passed * HOURS)
        run, found = books.run()
        by_first = ("run", first.pk)
        assert marked(run) == {"INV-2": by_first, "INV-3": by_first, "INV-7": by_first}
        assert run.made_with["came_late"] == {"records": 3, "amounts": {"ZAR": "290.00"}}
        adds_up(run)
        told = {one.reference: one.came_late for one in found if one.came_late}
        assert told[key_of("2")] == (
            f"Came late: it is of 2026-11-19 13:00 SAST, and run {first.pk} did not have it."
        )
        assert told.keys() == {key_of("2"), "nobody", "a day"}


def test_each_form_says_it_and_no_digest_does(books: Books, clock: Clock) -> None:
    books.run()
    HELD.pages += [[at(2, key_of("2"), NOW - 23 * HOURS, total="90.00")]]
    clock.set(NOW + 3 * HOURS)
    run, (found,) = books.run()
    ann = browser_of("ann")
    page = ann.get(f"/runs/{run.uid}/").content.decode()
    assert "Came late: 1 record; 90.00" in page and found.came_late in page
    assert found.came_late in ann.get(f"/runs/{run.uid}/differences/{found.pk}/").content.decode()
    text = ann.get(f"/runs/{run.uid}.csv").getvalue().decode("utf-8-sig")
    (row,) = csv.DictReader(StringIO(text.partition("\r\n\r\n")[2], newline=""))
    assert row["came_late"] == found.came_late and '"came_late records",1' in text
    document = loaded(ann.get(f"/runs/{run.uid}.json").getvalue().decode())
    assert document["findings"][0]["came_late"] == found.came_late
    assert document["provenance"]["came_late"] == {"records": 1, "amounts": {"ZAR": "90.00"}}
    OperationType.objects.update(changed_at=NOW + 4 * HOURS)  # so that nothing is known of the run before
    clock.set(NOW + 5 * HOURS)
    again, (now,) = Books(Plan.objects.select_related("operation_type__destination").get()).run()
    assert (now.came_late, again.digest) == ("", run.digest)


def test_what_was_made_long_after_its_last_try_came_late(books: Books, clock: Clock) -> None:
    HELD.pages = [[at(1, key_of("1"), NOW - 23 * HOURS), at(2, key_of("2"), NOW - 22 * HOURS)]]
    run, _ = books.run()
    assert marked(run) == {"INV-2": ("grace", None)} and counts(run) == {"matched": 2}


def test_by_other_rules_than_the_run_before_nothing_is_said(books: Books, clock: Clock) -> None:
    books.run()
    OperationType.objects.update(changed_at=NOW + HOURS)
    HELD.pages += [[at(2, key_of("2"), NOW - 23 * HOURS)]]
    clock.set(NOW + 3 * HOURS)
    books = Books(Plan.objects.select_related("operation_type__destination").get())
    run, _ = books.run()
    assert marked(run) == {}
