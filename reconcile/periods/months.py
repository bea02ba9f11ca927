"""Months of a plan's zone: where they begin and end, and their cut-off in business days; pure."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

import holidays

DAY = timedelta(days=1)
GRACE_MAX = 31
"""Business days that a cut-off may lie behind its month."""
WEEKEND = (5, 6)


def first_of(day: date) -> date:
    """Return the first day of its month."""
    return day.replace(day=1)


def after(first: date) -> date:
    """Return the first day of the month after one that begins on this day."""
    return first_of(first + timedelta(days=31))


def last_of(first: date) -> date:
    """Return the last day of a month that begins on this day."""
    return after(first) - DAY


def begins(day: date, zone: tzinfo) -> datetime:
    """Return the first moment of a day in a zone, in UTC: of a midnight that comes twice, the first one."""
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)


def touched(start: datetime, end: datetime, zone: tzinfo) -> Iterator[date]:
    """Yield the first day of each month that a half-open window touches, in order."""
    first = first_of(start.astimezone(zone).date())
    while begins(first, zone) < end:
        yield first
        first = after(first)


def cut_off(first: date, *, grace: int, calendar: str) -> date:
    """Return the day before whose first moment a record has to be made to count for a month.

    It is the day after so many business days that follow the month; with none, the day after the month.
    Saturdays, Sundays and the holidays of `calendar` ("ZA", "DE-BE"; "" for none) are no business days.
    """
    off = holidays_of(calendar)
    day = after(first)
    for _ in range(grace):
        while day.weekday() in WEEKEND or day in off:
            day += DAY
        day += DAY
    return day


def holidays_of(calendar: str) -> holidays.HolidayBase | frozenset[date]:
    """Return the public holidays of a country or a part of one; ValueError where none are known by it."""
    if not calendar:
        return frozenset()
    country, dash, part = calendar.partition("-")
    known = holidays.list_supported_countries(include_aliases=False)
    if country not in known or (dash and part not in known[country]):
        raise ValueError(
            f'no holidays are known of "{calendar}"; write a country such as "ZA",'
            ' or a part of one such as "DE-BE"'
        )
    return holidays.country_holidays(country, subdiv=part or None)


def check_first(said: str) -> str:
    """Return the month as the file says it, "2026-11"; ValueError with a remedy for anything else."""
    if said:
        first(said)
    return said


def first(said: str) -> date:
    """Return the first day of a month that is written as "2026-11"; ValueError where it is none."""
    try:
        return date.fromisoformat(f"{said}-01")
    except ValueError:
        raise ValueError('this is no month; write a year and a month such as "2026-11"') from None


def check_calendar(said: str) -> str:
    """Return the calendar as the file says it; ValueError with a remedy where it is not known."""
    holidays_of(said)
    return said
