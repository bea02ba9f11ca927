"""Months by the clock of a zone, and their cut-off in business days; instants in UTC, computed by hand."""

from datetime import UTC, date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from ledger.models import database_now
from ledger.rules.states import Outcome
from reconcile.configuration import configure
from reconcile.configuration.wrongs import Refused
from reconcile.models import Period, Plan
from reconcile.periods import drifting, months
from reconcile.signing.actions import take_back
from tests.databases import Clock, Database
from tests.people import person
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.closing import last_month, prepared
from tests.reconcile.test_signing import of_days


@pytest.mark.parametrize(
    ("zone", "first", "bounds"),
    [
        # Summer time begins on 28 March 2027: the month is 743 hours long; it ends on 31 October: 745.
        ("Europe/Berlin", "2027-03-01", "2027-02-28T23:00 2027-03-31T22:00"),
        ("Europe/Berlin", "2027-10-01", "2027-09-30T22:00 2027-10-31T23:00"),
        # Half an hour, the other way round: back on 4 April, on again on 3 October.
        ("Australia/Lord_Howe", "2027-03-01", "2027-02-28T13:00 2027-03-31T13:00"),
        ("Australia/Lord_Howe", "2027-10-01", "2027-09-30T13:30 2027-10-31T13:00"),
        # Midnight of 1 November 2026 comes twice: the first one counts, and the hour after it is November's.
        ("America/Havana", "2026-10-01", "2026-10-01T04:00 2026-11-01T04:00"),
        ("America/Havana", "2026-11-01", "2026-11-01T04:00 2026-12-01T05:00"),
        ("Africa/Johannesburg", "2028-02-01", "2028-01-31T22:00 2028-02-29T22:00"),
        ("UTC", "2026-12-01", "2026-12-01T00:00 2027-01-01T00:00"),
    ],
)
def test_a_month_begins_and_ends_by_the_clock_of_its_zone_and_the_database_agrees(
    listed: Books, zone: str, first: str, bounds: str
) -> None:
    Plan.objects.update(timezone=zone)
    listed.plan.refresh_from_db()
    day = date.fromisoformat(first)
    period = Period.objects.create(plan=listed.plan, first_day=day, **drifting.bounds(listed.plan, day))
    of = [datetime.fromisoformat(f"{text}+00:00") for text in bounds.split()]
    assert [period.starts_at, period.ends_at] == of
    following = months.after(day)
    Period.objects.create(plan=listed.plan, first_day=following, **drifting.bounds(listed.plan, following))
    assert list(months.touched(of[0], of[1], ZoneInfo(zone))) == [day]


@pytest.mark.parametrize(
    ("first", "grace", "calendar", "cut_off"),
    [
        ("2026-11-01", 0, "", "2026-12-01"),
        ("2026-11-01", 1, "", "2026-12-02"),
        ("2026-11-01", 4, "", "2026-12-05"),  # a Saturday begins when Friday is over
        ("2026-11-01", 5, "", "2026-12-08"),
        ("2026-12-01", 1, "", "2027-01-02"),
        ("2026-12-01", 1, "ZA", "2027-01-05"),  # New Year is a Friday: Monday is the first business day
        ("2027-03-01", 2, "ZA", "2027-04-03"),
        ("2026-03-01", 3, "ZA", "2026-04-08"),  # Good Friday on 3 April, Family Day on the 6th
        ("2026-10-01", 1, "DE-BY", "2026-11-03"),
        ("2025-10-01", 1, "DE-BY", "2025-11-04"),
        ("2024-10-01", 1, "DE-BY", "2024-11-05"),  # All Saints' is a holiday in Bavaria, a Friday
        ("2024-10-01", 1, "DE-BE", "2024-11-02"),
    ],
)
def test_the_cut_off_lies_so_many_business_days_after_the_month(
    first: str, grace: int, calendar: str, cut_off: str
) -> None:
    found = months.cut_off(date.fromisoformat(first), grace=grace, calendar=calendar)
    assert found == date.fromisoformat(cut_off)


@pytest.mark.parametrize("said", ["XX", "za", "South Africa", "DE-XX", "DE-", "-BY"])
def test_holidays_that_nobody_knows_are_refused(said: str) -> None:
    with pytest.raises(ValueError, match="write a country such as"):
        months.check_calendar(said)


@pytest.mark.parametrize("said", ["2026", "2026-13", "11/2026", "2026-11-01", "26-11"])
def test_what_is_no_month_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match='such as "2026-11"'):
        months.check_first(said)


@pytest.mark.parametrize(
    ("zone", "moment"),
    [
        ("Europe/Berlin", "2027-03-31T21:59:59.999999 in 2027-03-01"),
        ("Europe/Berlin", "2027-03-31T22:00:00 in 2027-04-01"),
        ("Europe/Berlin", "2027-10-31T22:59:59.999999 in 2027-10-01"),
        ("Europe/Berlin", "2027-10-31T23:00:00 in 2027-11-01"),
        ("Australia/Lord_Howe", "2027-10-31T12:59:59.999999 in 2027-10-01"),
        ("Australia/Lord_Howe", "2027-10-31T13:00:00 in 2027-11-01"),
        ("Australia/Lord_Howe", "2027-03-31T13:00:00 in 2027-04-01"),
    ],
)
def test_an_item_belongs_to_the_month_that_its_own_moment_has_there(
    listed: Books, clock: Clock, zone: str, moment: str
) -> None:
    Plan.objects.update(timezone=zone)
    listed.plan.refresh_from_db()
    of, _, first = moment.partition(" in ")
    at = datetime.fromisoformat(of).replace(tzinfo=UTC)
    clock.set(at)
    listed.claimed("401", Outcome.SUCCEEDED, reference="INV-1")
    clock.advance(3600)
    listed.run()
    assert [period.first_day.isoformat() for period in Period.objects.all()] == [first]


def test_days_that_a_record_tells_without_a_time_belong_to_their_month(listed: Books, clock: Clock) -> None:
    clock.set(datetime.fromisoformat("2027-02-10T10:00+02:00"))
    HELD.pages = [[record(1, key="other", created_at="2027-01-31"), record(2, key="another")]]
    listed.run()
    assert [period.title for period in Period.objects.all()] == ["January 2027"]


def test_no_month_before_the_first_one_that_is_closed_here_has_a_period(listed: Books, clock: Clock) -> None:
    Plan.objects.update(period={"first": "2027-02"})
    listed.plan.refresh_from_db()
    clock.set(datetime.fromisoformat("2027-01-31T10:00+02:00"))
    listed.claimed("401", Outcome.SUCCEEDED, reference="INV-1")
    clock.set(datetime.fromisoformat("2027-02-01T10:00+02:00"))
    listed.claimed("402", Outcome.SUCCEEDED, reference="INV-2")
    clock.advance(60)
    listed.run()
    assert [period.title for period in Period.objects.all()] == ["February 2027"]
    person("ann")
    HELD.pages = [[record(1, key=key_of("401"))]]
    of_days(listed, date(2027, 1, 1), date(2027, 1, 31))
    assert Period.objects.count() == 1 and database_now() > Period.objects.get().starts_at


def test_how_months_are_closed_is_configured_and_told(database: Database, tmp_path: Path) -> None:
    said = '\n[plans.invoices.period]\ngrace_business_days = 3\nholidays = "ZA"\nfirst = "2026-11"\n'
    books = Books.configured(tmp_path, performed_by="caller", source=said)
    assert books.plan.period == {"grace_business_days": 3, "holidays": "ZA", "first": "2026-11"}
    assert not configure(tmp_path / "books.toml").changes, "the same file changes nothing"
    for wrong, words in (
        ('holidays = "Atlantis"', 'No holidays are known of "Atlantis"'),
        ('first = "November"', "This is no month"),
        ("grace_business_days = 32", "31"),
        ("grace_days = 1", "grace_business_days"),
    ):
        with pytest.raises(Refused) as refused:
            Books.configured(tmp_path, performed_by="caller", source=f"\n[plans.invoices.period]\n{wrong}\n")
        assert words in str(refused.value), refused.value
    Books.configured(tmp_path, performed_by="caller")
    assert Plan.objects.get().period == {}


def test_a_plan_may_move_to_another_zone_while_its_months_are_open(listed: Books, clock: Clock) -> None:
    for month in (1, 2, 3):
        clock.set(datetime.fromisoformat(f"2027-0{month}-20T10:00+02:00"))
        listed.claimed(f"40{month}", Outcome.SUCCEEDED, reference=f"INV-{month}")
    clock.advance(60)
    Plan.objects.update(window_s=90 * 86400)
    for zone in ("Africa/Johannesburg", "America/New_York", "Pacific/Auckland"):
        Plan.objects.update(timezone=zone)
        listed.plan.refresh_from_db()
        listed.run()
        periods = Period.objects.order_by("first_day")
        assert [(one.title[:3], one.timezone) for one in periods] == [
            (month, zone) for month in ("Jan", "Feb", "Mar")
        ]


def test_a_plan_keeps_its_zone_once_a_month_is_prepared_by_it(database: Database, tmp_path: Path) -> None:
    books = Books.configured(tmp_path, performed_by="caller")
    other = (tmp_path / "books.toml").read_text().replace("Africa/Johannesburg", "Pacific/Auckland")
    assert "Pacific/Auckland" in other
    (tmp_path / "other.toml").write_text(other)
    person("ann")
    one = prepared(last_month(books))
    with pytest.raises(Refused, match='timezone cannot change from "Africa/Johannesburg"'):
        configure(tmp_path / "other.toml")
    take_back(one.uid, actor="ann", reason="Not yet.")
    configure(tmp_path / "other.toml")
    assert Plan.objects.get().timezone == "Pacific/Auckland"
