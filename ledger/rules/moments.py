"""Instants and days as a destination writes them: read exactly, or not placed at all.

A day that tells no time stays a day. A time without an offset counts in the stated zone; one that the clocks
there showed twice or never, when they were put back or forward, cannot be placed, as without a zone.
"""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

NAMED = ("rfc3339", "epoch", "epoch_ms")
"""The formats of a time that have a name; any other is text with directives such as "%d.%m.%Y"."""

_DAY = "%Y-%m-%d"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS_FROM = 10**11
"""Epoch numbers from here on are milliseconds: as seconds they would lie beyond the year 5000."""
_EPOCH_MAX = 10**14
_DIRECTIVES = frozenset("aAbBdmyYHIpMSfzjTF%")
_TIME = frozenset("HIT")
_EXAMPLE = 'write "rfc3339", "epoch", "epoch_ms", or a form such as "%d.%m.%Y %H:%M:%S"'


class NoMoment(ValueError):
    """A value is not a time in the form that the rules state."""


def check_format(form: str) -> str:
    """Return a form of a time unchanged; ValueError where it is neither named nor tells a whole date."""
    if form in NAMED:
        return form
    used = set(re.findall(r"%(.?)", form))
    if strange := sorted(used - _DIRECTIVES):
        raise ValueError(f"%{strange[0]} cannot be used in a form of a time; {_EXAMPLE}")
    dated = "F" in used or (used & {"Y", "y"} and ("j" in used or ("d" in used and used & {"m", "b", "B"})))
    if not dated:
        raise ValueError(f'"{form}" does not tell year, month and day; {_EXAMPLE}')
    return form


def check_zone(zone: str) -> str:
    """Return a zone's name unchanged; ValueError where the IANA list has none of that name."""
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):
        raise ValueError(
            f'there is no time zone "{zone}"; write a name of the IANA list, such as Europe/Berlin or UTC'
        ) from None
    return zone


def read(
    value: object, *, form: str | None = None, zone: str | None = None
) -> tuple[datetime | None, date | None]:
    """Read a time: an instant, or the day of what tells no time, or neither where it cannot be placed.

    Without a form, RFC 3339 and seconds or milliseconds since 1970 are told apart, and anything else is
    neither. Raises NoMoment where a form is stated, and the value does not have it.
    """
    if value is None or value == "":
        return None, None
    if form is None:
        return _guessed(value, zone)
    try:
        if form in ("epoch", "epoch_ms"):
            return _since_1970(value, milliseconds=form == "epoch_ms"), None
        if not isinstance(value, str):
            raise NoMoment
        if form == "rfc3339":
            day = read_day(value)
            return (None, day) if day else (_placed(datetime.fromisoformat(value), zone), None)
        moment = datetime.strptime(value, form.replace("%F", _DAY).replace("%T", "%H:%M:%S"))  # noqa: DTZ007
    except (ValueError, OverflowError):
        raise NoMoment(f'it has not the form "{form}"') from None
    if not _TIME & set(re.findall(r"%(.)", form)):
        return None, moment.date()
    return _placed(moment, zone), None


def read_instant(value: object) -> datetime | None:
    """Read RFC 3339 with an offset, or (milli)seconds since 1970; None for what cannot be placed exactly."""
    return _guessed(value, None)[0]


def read_day(value: object) -> date | None:
    """Read a date that tells no time, such as 2026-11-10; it stays a day, and None is anything else."""
    if not isinstance(value, str) or len(value) != len("2026-11-10"):
        return None
    try:
        return date.fromisoformat(value)
    except ValueError:
        return None


def write(instant: datetime, *, form: str | None = None, zone: str | None = None) -> str | int:
    """Write an instant for a destination, never later than it is: text, or a number where that is the form.

    `form`: those of `check_format`, or "date". Without one it is RFC 3339, in UTC where no zone is stated.
    """
    local = instant.astimezone(ZoneInfo(zone) if zone else UTC)
    if form == "epoch":
        return (instant - _EPOCH) // timedelta(seconds=1)
    if form == "epoch_ms":
        return (instant - _EPOCH) // timedelta(milliseconds=1)
    if form == "date":
        return local.strftime(_DAY)
    if form is None or form == "rfc3339":
        text = local.isoformat(timespec="seconds")
        return text if zone else text.replace("+00:00", "Z")
    return local.strftime(form)


def _guessed(value: object, zone: str | None) -> tuple[datetime | None, date | None]:
    day = read_day(value)
    if day is not None:
        return None, day
    try:
        if isinstance(value, str):
            return _placed(datetime.fromisoformat(value), None if _is_date(value) else zone), None
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return _since_1970(value, milliseconds=value >= _MILLISECONDS_FROM), None
    except (ValueError, OverflowError):
        pass
    return None, None


def _is_date(value: str) -> bool:
    """Say whether a text is one of ISO 8601's other ways to write a day, which name no midnight."""
    try:
        date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _since_1970(value: object, *, milliseconds: bool) -> datetime:
    """Read a number, or its digits; raises ValueError for anything else, and for what lies far off."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,20}(?:\.[0-9]{1,9})?", value):
        value = Decimal(value)
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        raise NoMoment
    if not 0 < value < (_EPOCH_MAX if milliseconds else _MILLISECONDS_FROM):
        raise NoMoment
    return _EPOCH + timedelta(microseconds=int(Decimal(value) * (1000 if milliseconds else 1_000_000)))


def _placed(moment: datetime, zone: str | None) -> datetime | None:
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    if zone is None:
        return None
    earlier, later = (moment.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for fold in (0, 1))
    return earlier if earlier == later else None
