"""What is due in an entity's working hours.

| set                              | due                                            |
|----------------------------------|------------------------------------------------|
| Friday 16:00, four hours         | Monday 11:00: an hour on Friday, three more    |
| Friday evening, or on a Sunday   | counted from Monday 08:00                      |
| the evening before a holiday     | counted from the day after it                  |
| hours in which clocks are changed| the time that really passes                    |
| without working hours            | every hour counts                              |
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pydantic import ValidationError

from ledger import actions
from ledger.models import Case, Destination, database_now
from ledger.rules.hours import WorkingHours
from ledger.rules.states import CaseKind
from reconcile.configuration import configure
from tests import stories

DURBAN = WorkingHours(timezone="Africa/Johannesburg", holidays=("2026-12-16",))
BERLIN = WorkingHours(timezone="Europe/Berlin", opens="00:00", closes="24:00", days=("sat", "sun"))
NIGHTLESS = WorkingHours(timezone="Europe/Berlin", opens="01:00", closes="04:00", days=("sun",))
HOUR = 3600


@pytest.mark.parametrize(
    ("hours", "start", "work_h", "due"),
    [
        (DURBAN, "2026-12-01 09:00", 4, "2026-12-01 13:00"),
        (DURBAN, "2026-12-01 13:00", 4, "2026-12-01 17:00"),
        (DURBAN, "2026-12-04 16:00", 4, "2026-12-07 11:00"),
        (DURBAN, "2026-12-04 20:30", 4, "2026-12-07 12:00"),
        (DURBAN, "2026-12-06 11:00", 4, "2026-12-07 12:00"),
        (DURBAN, "2026-12-01 05:00", 1, "2026-12-01 09:00"),
        (DURBAN, "2026-12-15 16:30", 1, "2026-12-17 08:30"),
        (DURBAN, "2026-12-01 08:00", 45, "2026-12-07 17:00"),
        (DURBAN, "2026-12-04 20:30", 0, "2026-12-04 20:30"),
        (BERLIN, "2026-10-24 12:00", 24, "2026-10-25 11:00"),  # that Sunday has 25 hours
        (BERLIN, "2026-03-28 12:00", 24, "2026-03-29 13:00"),  # and this one 23
        (NIGHTLESS, "2026-03-29 01:00", 2, "2026-03-29 04:00"),
        (NIGHTLESS, "2026-10-25 01:00", 3.5, "2026-10-25 03:30"),
    ],
)
def test_only_working_hours_count(hours: WorkingHours, start: str, work_h: float, due: str) -> None:
    zone = ZoneInfo(hours.timezone)
    begin, end = (datetime.fromisoformat(text).replace(tzinfo=zone) for text in (start, due))
    assert hours.after(begin.astimezone(UTC), work_h * HOUR) == end


@pytest.mark.parametrize(
    ("now", "is_open"),
    [
        ("2026-12-04 07:59", False),
        ("2026-12-04 08:00", True),
        ("2026-12-04 17:00", False),
        ("2026-12-05 10:00", False),
        ("2026-12-16 10:00", False),
    ],
)
def test_who_is_told_in_their_hours_is_left_alone_outside_of_them(now: str, is_open: bool) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=ZoneInfo("Africa/Johannesburg"))
    assert DURBAN.is_open(at) is is_open


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"timezone": "Durban"}, "there is no time zone"),
        ({"opens": "9"}, "no time of day"),
        ({"opens": "17:00", "closes": "08:00"}, "closes before it opens"),
        ({"days": []}, "at least 1"),
        ({"days": ["monday"]}, "'mon', 'tue'"),
        ({"holidays": ["16.12.2026"]}, "no date"),
    ],
)
def test_hours_that_mean_nothing_are_refused(wrong: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        WorkingHours.read({"timezone": "Africa/Johannesburg", **wrong})


def test_a_case_falls_due_in_the_hours_of_its_destinations_entity(durban: stories.Durban) -> None:
    Destination.objects.filter(name="books").update(hours=DURBAN.stored())
    durban.invoice.refresh_from_db()
    held = durban.absent(483).cases.get()
    assert held.due_at == DURBAN.after(held.opened_at, 4 * HOUR)
    reminder = durban.expired(398).cases.get()
    assert reminder.due_at - reminder.opened_at == timedelta(hours=4), "the mailroom works always"
    books = Destination.objects.get(name="books")
    actions.pause(books.pk, why="Its set-up is wrong.")
    paused = Case.objects.get(kind=CaseKind.PAUSED)
    assert paused.due_at == DURBAN.after(paused.opened_at, 4 * HOUR)
    Destination.objects.filter(name="books").update(hours={"opens": "late"})
    broken = Destination.objects.get(name="books")
    now = database_now()
    assert broken.due_at(now, HOUR) == now + timedelta(hours=1), "hours that nobody can read"


FILE = """
[destinations.books]
name = "Durban Books"
entity = "Durban Trading (Pty) Ltd"
base_url = "http://127.0.0.1:8010"

[destinations.books.hours]
{lines}
"""


def test_the_file_says_when_an_entity_works(durban: stories.Durban, tmp_path: Path) -> None:
    """Taken in, said in the file's words when changed, and gone with its lines."""
    file = tmp_path / "books.toml"
    changes = []
    for lines in ('timezone = "Africa/Johannesburg"', 'timezone = "Africa/Johannesburg"\ncloses = "16:00"'):
        file.write_text(FILE.format(lines=lines))
        changes += configure(file).changes
    assert any('hours.closes "17:00" -> "16:00"' in line for line in changes), changes
    working = Destination.objects.get(name="books").working
    assert working is not None and (working.opens, working.closes) == ("08:00", "16:00")
    file.write_text(FILE.partition("[destinations.books.hours]")[0])
    configure(file)
    assert Destination.objects.get(name="books").working is None
