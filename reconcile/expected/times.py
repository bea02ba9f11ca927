"""When a plan runs, and until when it has to have reported, by the clock of its own zone; pure."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta
from itertools import islice
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from ledger.rules.contracts import seconds

if TYPE_CHECKING:
    from reconcile.models import Plan

CLOCKS_CHANGE = timedelta(hours=3)
"""By more than this no zone's clocks were ever set back at once; so far ahead one looks back from."""
UNKNOWN_ZONE = (ZoneInfoNotFoundError, ValueError, OSError)
"""What a zone raises that this machine does not know, whatever its name is like."""
REPORT_BY = "2h"
"""How long after its time a run has to have reported, where the plan says nothing."""
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


class Unscheduled(Exception):
    """A plan's schedule or zone that cannot be read, or never comes."""


def in_words(schedule: str) -> str:
    """Say a schedule in words, with itself behind them: "At 06:15 every day (15 6 * * *)"; else as it is."""
    cron = schedule.strip('"')
    try:
        return f"{CronSim(cron, datetime.now(UTC)).explain()} ({cron})"
    except CronSimError:
        return schedule


def next_run(plan: "Plan", after: datetime) -> datetime:
    """Return when a scheduled plan runs next, in UTC; raises Unscheduled.

    A time of day comes once a day: of two the first counts, and one that is left out comes after the gap.
    """
    with _readable(plan):
        times = CronSim(plan.schedule, after.astimezone(plan.zone))
        # Within the hour that comes twice it also names times of the first round, which are over.
        return next(at for at in (time.astimezone(UTC) for time in times) if at > after)


def last_due(plan: "Plan", now: datetime) -> datetime:
    """Return when a scheduled plan was due last, in UTC, this instant included; raises Unscheduled."""
    with _readable(plan):
        return next(_backwards(plan, now))


def between(plan: "Plan", after: datetime, until: datetime, *, most: int) -> list[datetime]:
    """Return its times after an instant, up to and with another, at most the latest so many, in their order.

    Raises Unscheduled.
    """
    with _readable(plan):
        found = set(islice((at for at in _down_to(plan, until, after) if at > after), most))
    return sorted(found)


def _down_to(plan: "Plan", until: datetime, after: datetime) -> Iterator[datetime]:
    for at in _backwards(plan, until):
        if at <= after - CLOCKS_CHANGE:
            return
        yield at


def _backwards(plan: "Plan", now: datetime) -> Iterator[datetime]:
    times = CronSim(plan.schedule, (now + CLOCKS_CHANGE).astimezone(plan.zone), reverse=True)
    return (at for at in (time.astimezone(UTC) for time in times) if at <= now)


def report_by(plan: "Plan", due_at: datetime) -> datetime:
    """Return until when a run that is due then has to have reported, in UTC; raises Unscheduled.

    A time of day is the next one after it in the plan's zone.
    """
    with _readable(plan):
        clock = _CLOCK.fullmatch(plan.report_by)
        if clock is None:
            return due_at + timedelta(seconds=seconds(plan.report_by))
        here = due_at.astimezone(plan.zone)
        days = (here.date() + timedelta(days=number) for number in range(3))
        at_clock = time(int(clock[1]), int(clock[2]), tzinfo=plan.zone)
        return next(
            at for at in (datetime.combine(day, at_clock).astimezone(UTC) for day in days) if at > due_at
        )


def check_report_by(said: str) -> str:
    """Return a time of day, or a length, as the file says it; ValueError with a remedy for anything else."""
    if _CLOCK.fullmatch(said):
        return said
    try:
        length_s = seconds(said)
    except ValueError:
        length_s = 0
    if length_s < 60 or said.isdecimal():
        raise ValueError(
            'this is no time to report by; write a time of day in the plan\'s zone such as "08:00",'
            ' or a length after its time such as "2h", a minute at the least'
        )
    return said


@contextmanager
def _readable(plan: "Plan") -> Iterator[None]:
    """Say of a schedule why it has no times; raises Unscheduled."""
    try:
        yield
    except CronSimError:
        raise Unscheduled(f'its schedule "{plan.schedule}" cannot be read') from None
    except StopIteration:
        raise Unscheduled(f'its schedule "{plan.schedule}" names no day that comes') from None
    except UNKNOWN_ZONE:
        raise Unscheduled(f'its time zone "{plan.timezone}" is not known here') from None
