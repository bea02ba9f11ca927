"""When an entity works, and what is due so many working hours after an instant; pure."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator

from ledger.rules import moments
from ledger.rules.contracts import Section

DayName = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[DayName, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d|24:00")
_FAR = 10 * 366
"""Days that are looked through: as long as the longest duration."""


def _clock(text: str) -> str:
    if not _CLOCK.fullmatch(text):
        raise ValueError(f'"{text}" is no time of day; write one such as "08:00", or "24:00" for its end')
    return text


def _day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError(f'"{text}" is no date; write it such as "2026-12-16"') from None
    return text


Clock = Annotated[str, AfterValidator(_clock)]
Day = Annotated[str, AfterValidator(_day)]


class WorkingHours(Section):
    """When a destination's entity works: times of day in its zone, days of the week, and days off."""

    timezone: Annotated[str, AfterValidator(moments.check_zone)]
    opens: Clock = "08:00"
    closes: Clock = "17:00"
    days: tuple[DayName, ...] = Field(DAYS[:5], min_length=1)
    holidays: tuple[Day, ...] = ()

    @model_validator(mode="after")
    def _forward(self) -> "WorkingHours":
        if self.closes <= self.opens:
            raise ValueError("it closes before it opens; hours over midnight cannot be written")
        return self

    def after(self, start: datetime, work_s: float) -> datetime:
        """Return the instant by which so many seconds of working time have passed since `start`."""
        left, end = timedelta(seconds=work_s), start
        if not left:
            return start
        for opens_at, end in self._spells(start):
            begin = max(opens_at, start)
            if end - begin >= left:
                return begin + left
            left -= end - begin
        return end

    def is_open(self, now: datetime) -> bool:
        """Say whether an instant lies in working time."""
        opens_at, closes_at = next(self._spells(now), (datetime.max.replace(tzinfo=UTC),) * 2)
        return opens_at <= now < closes_at

    def _spells(self, start: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Walk through the working days that end after an instant: when each opens and closes."""
        zone, off = ZoneInfo(self.timezone), {date.fromisoformat(day) for day in self.holidays}
        first = start.astimezone(zone).date()
        for number in range(_FAR):
            day = first + timedelta(days=number)
            if DAYS[day.weekday()] not in self.days or day in off:
                continue
            spell = _at(day, self.opens, zone), _at(day, self.closes, zone)
            if spell[1] > start:
                yield spell


def _at(day: date, clock: str, zone: ZoneInfo) -> datetime:
    if clock == "24:00":
        day, clock = day + timedelta(days=1), "00:00"
    return datetime.combine(day, time.fromisoformat(clock), zone).astimezone(UTC)


def is_within(at: time, begin: time, end: time) -> bool:
    """Say whether a time of day lies between two others; over midnight where the end is the earlier one."""
    return begin <= at < end if begin < end else at >= begin or at < end
