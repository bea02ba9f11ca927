"""What is found of a signed period since goes to the next open one; the signed one never changes.

| at the destination, after the signature | it is     |
|-----------------------------------------|-----------|
| another record of a signed day          | new       |
| another amount                          | changed   |
| no longer standing                      | voided    |
| another date                            | moved     |
| no longer there                         | gone      |
| as it was signed again                  | over      |
"""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError

from ledger.models import Event
from reconcile.models import LateItem, Period, PeriodLine, PeriodReport, Plan
from reconcile.periods import drifting
from review.doctor.configured import closed_periods
from tests.databases import Clock
from tests.people import browser_of, limited, person
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.closing import at, january, run_days, signed
from tests.review.signing import text
from tests.review.test_entities import CAPE


@pytest.fixture
def closed(clock: Clock, tmp_path: Path) -> Period:
    """January, signed by bob; it is 3 February."""
    for name in ("ann", "bob", "vic"):
        person(name)
    period = january(clock, tmp_path)
    signed(period)
    return period


def books() -> Books:
    return Books(Plan.objects.select_related("operation_type__destination").get())


def listed(*records: dict[str, Any]) -> None:
    HELD.pages = [list(records)]


def one(number: int = 1, **more: Any) -> dict[str, Any]:
    key = more.pop("key", key_of("401"))
    return record(number, key=key, **{"created_at": "2027-01-20T10:01:00+02:00", **more})


def late() -> list[tuple[str, str]]:
    return list(LateItem.objects.living().order_by("name").values_list("name", "kind"))


def test_what_is_as_it_was_signed_is_no_drift(closed: Period, clock: Clock) -> None:
    lines = PeriodLine.objects.values_list("side", "name", "stands", "day")
    assert list(lines) == [("destination", "INV-1", True, date(2027, 1, 20))]
    clock.advance(3600)
    books().run()
    assert late() == [] and not Event.objects.filter(kind="period_drifted").exists()


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([one(), one(7, key="X-7", total="5.00")], [("INV-7", "new")]),
        ([one(total="99.00")], [("INV-1", "changed")]),
        ([one(currency="EUR")], [("INV-1", "changed")]),
        ([one(status="void")], [("INV-1", "voided")]),
        ([one(created_at="2027-02-01T00:00:00+02:00")], [("INV-1", "moved")]),
        ([], [("INV-1", "gone")]),
        ([one(status="paid")], []),
        ([one(), one(8, key="X-8", created_at="2027-02-01T09:00:00+02:00")], []),
    ],
)
def test_what_is_found_otherwise_goes_to_the_next_open_period_with_a_link_back(
    closed: Period, clock: Clock, records: list[Any], found: list[tuple[str, str]]
) -> None:
    report = PeriodReport.objects.get()
    before = (report.document, report.digest)
    listed(*records)
    clock.advance(3600)
    for _ in range(2):
        books().run()
    assert late() == found
    events = Event.objects.filter(kind="period_drifted")
    assert events.count() == len(found), "told once, however many runs find it"
    report.refresh_from_db()
    assert (report.document, report.digest) == before
    for item in LateItem.objects.all():
        assert item.into.title == "February 2027" and item.report.period == closed
    if found:
        event = events.get()
        assert (event.data["count"], event.data["name"]) == (1, "January 2027 of invoices")
        said = text(browser_of("vic").get(f"/periods/{closed.uid}/"))
        into = Period.objects.get(first_day=date(2027, 2, 1))
        assert (
            "No longer as signed" in said
            and "1 item, " in said
            and f"/periods/{into.uid}/" in said
            and found[0][0] in said
        )
        said = text(browser_of("vic").get(f"/periods/{into.uid}/"))
        assert "Late, of periods that were signed" in said and f"/periods/{closed.uid}/" in said


def test_what_is_as_signed_again_is_over_and_what_changes_once_more_is_told_anew(
    closed: Period, clock: Clock
) -> None:
    for total, found in (("90.00", 1), ("80.00", 2), ("80.00", 2), ("100.00", 2)):
        listed(one(total=total))
        clock.advance(3600)
        books().run()
        assert LateItem.objects.count() == found
        assert late() == ([] if total == "100.00" else [("INV-1", "changed")])
    assert Event.objects.filter(kind="period_drifted").count() == 2


def test_today_and_the_doctor_say_which_signed_period_is_otherwise(closed: Period, clock: Clock) -> None:
    assert "A signed period." not in text(browser_of("vic").get("/"))
    assert [line.name for line in closed_periods()] == ["signed periods"]
    listed(one(total="99.00"), one(7, key="X-7"))
    clock.advance(3600)
    books().run()
    said = text(browser_of("vic").get("/"))
    assert "2 items are no longer as signed in January 2027 of invoices." in said
    assert f"/periods/{closed.uid}/" in said
    (line,) = closed_periods()
    assert (line.name, line.words) == ("period invoices 2027-01", "2 items are not as signed.")
    limited("kim", CAPE)
    assert "no longer as signed" not in text(browser_of("kim").get("/"))


def test_a_run_that_covers_no_day_of_it_says_nothing_of_what_it_did_not_ask_for(
    closed: Period, clock: Clock
) -> None:
    listed()
    clock.set(at("2027-02-25T08:00"))
    Plan.objects.update(window_s=86400 * 30)
    books().run()
    assert late() == [], "INV-1 is of the 20th, and the list was asked for since the 26th"
    clock.set(at("2027-02-18T08:00"))
    books().run()
    assert late() == [("INV-1", "gone")]
    books().run(keep=False)
    assert LateItem.objects.count() == 1


def test_what_is_late_stands_in_the_next_report_and_is_over_with_the_period_opened_again(
    closed: Period, clock: Clock
) -> None:
    listed(one(total="99.00"), record(9, key="X-9", created_at="2027-02-05T09:00:00+02:00"))
    clock.set(at("2027-02-06T08:00"))
    books().run()
    clock.set(at("2027-03-02T08:00"))
    february = Period.objects.get(first_day=date(2027, 2, 1))
    run_days(books(), february)
    report = PeriodReport.objects.get(period=february)
    assert report.document["late"] == [
        {
            "of": "2027-01",
            "side": "destination",
            "id": "INV-1",
            "reference": key_of("401"),
            "kind": "changed",
            "was": "100.00",
            "now": "99.00",
            "currency": "ZAR",
        }
    ]
    assert drifting.next_open(closed) == february
    signed(february)
    assert drifting.next_open(closed).title == "March 2027"


def test_past_the_actions_what_was_signed_and_what_is_late_stay(closed: Period, clock: Clock) -> None:
    listed(one(total="99.00"))
    clock.advance(3600)
    books().run()
    for statement in (
        "UPDATE reconcile_periodline SET amount = 1",
        "DELETE FROM reconcile_periodline",
        "TRUNCATE reconcile_periodline",
        "UPDATE reconcile_lateitem SET kind = 'new'",
        "UPDATE reconcile_lateitem SET over_in_id = found_in_id",
        "DELETE FROM reconcile_lateitem",
        "TRUNCATE reconcile_lateitem",
        "INSERT INTO reconcile_periodline (report_id, side, name, nth, reference, currency, day, stands)"
        " SELECT report_id, side, 'other', nth, reference, currency, day, stands FROM reconcile_periodline",
        "INSERT INTO reconcile_lateitem (report_id, into_id, side, name, nth, reference, kind, currency,"
        " was_currency, day, found_in_id) SELECT report_id, into_id, side, 'other', nth, reference, kind,"
        " currency, was_currency, day, found_in_id FROM reconcile_lateitem",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
