"""Times and spans in words, as people in one place read them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.conf import settings

from ledger.rules.facts import Sentence

FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)
"""Between them lies every day that a person may give: what is far off cannot be shown in each zone."""
OUT_OF_RANGE = f"Give a date from {FIRST_DAY.year} to {LAST_DAY.year}."
_reader: ContextVar[Callable[[], ZoneInfo | None]] = ContextVar("reader", default=lambda: None)
"""What tells the zone of whoever reads the page that is being made."""


def zone() -> ZoneInfo:
    """Return the zone that the page's reader has chosen, else the installation's."""
    return _reader.get()() or settings.DISPLAY_ZONE


@contextmanager
def read_in(zone_of: Callable[[], ZoneInfo | None]) -> Iterator[None]:
    """Show times in a reader's zone, asked for only where a time is shown; None: the installation's."""
    before = _reader.set(zone_of)
    try:
        yield
    finally:
        _reader.reset(before)


def day(text: str) -> date | None:
    """Read a day as an address carries it, "2026-11-23"; None where it is none that may be given."""
    try:
        given = date.fromisoformat(text)
    except ValueError:
        return None
    return given if FIRST_DAY <= given <= LAST_DAY else None


def named(at: datetime, there: ZoneInfo) -> str:
    """Name a zone as it is at an instant: "SAST"; "UTC+04" where it has only a number."""
    name = at.astimezone(there).tzname() or there.key
    return f"UTC{name}" if name[:1] in "+-" else name


def instant(at: datetime, now: datetime, *, exact: bool = False, reader: ZoneInfo | None = None) -> str:
    """Say when: "09:42" today, "Tue 09:32" within six days, else with its date; `exact` adds the seconds.

    `reader` is the zone, where it is known already.
    """
    reader = reader or zone()
    there, here = at.astimezone(reader), now.astimezone(reader)
    clock = f"{there:%H:%M:%S}" if exact else f"{there:%H:%M}"
    days = (there.date() - here.date()).days
    if days == 0:
        return clock
    if abs(days) < 7:
        return f"{there:%a}\u00a0{clock}"
    year = "" if there.year == here.year else f" {there.year}"
    return f"{there.day}\u00a0{there:%b}{year} {clock}"


def whole(at: datetime, *, exact: bool = True, reader: ZoneInfo | None = None) -> str:
    """Say when in full, as on paper, where there is no today: "2 Dec 2026 07:02:05 SAST"."""
    reader = reader or zone()
    there = at.astimezone(reader)
    clock = f"{there:%H:%M:%S}" if exact else f"{there:%H:%M}"
    return f"{there.day} {there:%b %Y} {clock} {named(at, reader)}"


def span(length: timedelta) -> str:
    """Say how long, in its two largest units: "2 d 16 h", "23 h 26 min", "40 min", "12 s"."""
    seconds = max(int(length.total_seconds()), 0)
    if seconds < 60:
        return f"{seconds}\u00a0s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if hours == 0:
        return f"{minutes}\u00a0min"
    large, small = (days, hours % 24) if days else (hours, minutes % 60)
    names = ("d", "h") if days else ("h", "min")
    rest = f" {small}\u00a0{names[1]}" if (small and large < 10) or (small and not days) else ""
    return f"{large}\u00a0{names[0]}{rest}"


def say(sentence: Sentence, now: datetime) -> str:
    """Return a sentence with its instants in words."""
    text = sentence.text
    for name, at in (("{at}", sentence.at), ("{until}", sentence.until)):
        text = text.replace(name, instant(at, now, exact=at.astimezone(zone()).second != 0) if at else "")
    return text
