"""Times as destinations write them: with and without a zone, as days, in seconds, in their own forms."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from ledger.rules import moments
from ledger.rules.calls import RecordMap
from ledger.rules.records import Unreadable, read_moment

AT = datetime(2026, 11, 29, 7, 42, tzinfo=UTC)
BERLIN = "Europe/Berlin"
RECORD = RecordMap(id="id", reference="reference", occurred_at="at")


def moment(value: object, **rules: str) -> tuple[datetime | None, date | None]:
    return read_moment(RecordMap.read({**RECORD.stored(), **rules}), {"at": value})


@pytest.mark.parametrize(
    ("value", "rules", "instant"),
    [
        ("2026-11-29T08:42:00", {"timezone": BERLIN}, AT),
        ("2026-11-29T08:42:00+01:00", {"timezone": "Africa/Johannesburg"}, AT),
        ("2026-11-29T08:42:00", {"timezone": BERLIN, "time_format": "rfc3339"}, AT),
        (1795938120, {"time_format": "epoch"}, AT),
        ("1795938120", {"time_format": "epoch"}, AT),
        (Decimal("1795938120.000"), {"time_format": "epoch"}, AT),
        (1795938120000, {"time_format": "epoch_ms"}, AT),
        (1795938, {"time_format": "epoch_ms"}, datetime(1970, 1, 1, 0, 29, 55, 938000, tzinfo=UTC)),
        ("29.11.2026 08:42:00", {"time_format": "%d.%m.%Y %H:%M:%S", "timezone": BERLIN}, AT),
        ("29.11.2026 08:42 +0100", {"time_format": "%d.%m.%Y %H:%M %z"}, AT),
        ("29.11.2026 08:42", {"time_format": "%d.%m.%Y %H:%M"}, None),
        ("", {"time_format": "epoch"}, None),
        (None, {"time_format": "rfc3339"}, None),
    ],
)
def test_a_time_is_placed_as_the_rules_say(
    value: object, rules: dict[str, str], instant: datetime | None
) -> None:
    assert moment(value, **rules) == (instant, None)


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        ("2026-11-29", {"timezone": BERLIN}),
        ("2026-11-29", {"timezone": BERLIN, "time_format": "rfc3339"}),
        ("29.11.2026", {"timezone": BERLIN, "time_format": "%d.%m.%Y"}),
        ("2026-11-29T00:00:00", {"timezone": BERLIN, "time_format": "%Y-%m-%dT00:00:00"}),
    ],
)
def test_what_tells_no_time_stays_a_day(value: str, rules: dict[str, str]) -> None:
    assert moment(value, **rules) == (None, date(2026, 11, 29))


@pytest.mark.parametrize("form", [None, "rfc3339", "%Y-%m-%dT%H:%M:%S"])
@pytest.mark.parametrize(
    "local",
    ["2026-03-29T02:30:00", "2026-10-25T02:30:00"],
    ids=["never, for clocks went forward", "twice, for they went back"],
)
def test_an_hour_that_clocks_showed_twice_or_never_is_not_placed(local: str, form: str | None) -> None:
    rules = {"timezone": BERLIN} | ({"time_format": form} if form else {})
    assert moment(local, **rules) == (None, None)
    assert moment(local.replace("T02", "T04"), **rules)[0] is not None


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("29.11.2026", "rfc3339"),
        (1795938120, "rfc3339"),
        (1795938120000, "epoch"),
        ("yesterday", "epoch"),
        (True, "epoch"),
        (-5, "epoch_ms"),
        ("2026-11-29", "%d.%m.%Y"),
        ({"at": 1}, "%d.%m.%Y"),
    ],
)
def test_a_time_in_another_form_than_stated_is_unreadable_and_not_guessed(value: object, form: str) -> None:
    with pytest.raises(Unreadable, match="occurred_at"):
        moment(value, time_format=form)


@pytest.mark.parametrize(
    ("form", "zone", "written"),
    [
        (None, None, "2026-11-29T07:42:00Z"),
        (None, BERLIN, "2026-11-29T08:42:00+01:00"),
        ("epoch", None, 1795938120),
        ("epoch_ms", BERLIN, 1795938120999),
        ("date", "Pacific/Auckland", "2026-11-29"),
        ("date", "Pacific/Honolulu", "2026-11-28"),
        ("%d.%m.%Y %H:%M", BERLIN, "29.11.2026 08:42"),
    ],
)
def test_an_instant_is_written_in_the_destinations_form_never_later(
    form: str | None, zone: str | None, written: str | int
) -> None:
    assert moments.write(AT.replace(microsecond=999999), form=form, zone=zone) == written


@pytest.mark.parametrize("form", ["iso", "%H:%M", "%d.%m", "%Y-%m", "%Y-%m-%d %Q", "%Y-%m-%d %"])
def test_a_form_that_tells_no_whole_date_is_refused(form: str) -> None:
    with pytest.raises(ValueError, match="write "):
        moments.check_format(form)


@pytest.mark.parametrize("zone", ["", "Berlin", "/etc/passwd", "../UTC", "Europe"])
def test_a_zone_that_nobody_knows_is_refused(zone: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        moments.check_zone(zone)
