"""What a restore does not prove is asked for by the statement in the README."""

import re
from contextlib import closing

import psycopg

from config.environment import ROOT
from ledger.models import Event
from tests import factories as make
from tests.databases import Database
from tests.stories import UNKNOWN_TO_THEM

ASKED = re.compile(r"```sql\n(SELECT 'attempt'.*?)```", re.S)


def pointing_to_nothing(database: Database) -> set[tuple[str, int]]:
    (statement,) = ASKED.findall((ROOT / "README.md").read_text())
    with closing(psycopg.connect(database.app_url)) as connection:
        return set(connection.execute(statement.encode()).fetchall())


def test_what_the_owner_left_pointing_to_nothing_is_found_and_nothing_else(database: Database) -> None:
    kind = make.reminder_type()
    kept = make.tried(kind, make.SILENCE, key="kept")
    gone = make.tried(kind, make.UNREACHED, key="gone")
    make.tried(kind, UNKNOWN_TO_THEM, key="paused")
    assert Event.objects.filter(operation=None).exclude(attempt=None).exists(), "told of a pause"
    assert pointing_to_nothing(database) == set()
    lost = {("attempt", pk) for pk in gone.attempts.values_list("pk", flat=True)}
    lost |= {("event", pk) for pk in gone.events.values_list("pk", flat=True)}
    assert len(lost) > 2
    database.as_owner(
        "ALTER TABLE ledger_operation DISABLE TRIGGER USER",
        f"DELETE FROM ledger_operation WHERE id = {gone.pk}",
        "ALTER TABLE ledger_operation ENABLE TRIGGER USER",
    )
    assert pointing_to_nothing(database) == lost
    (attempt,) = kept.attempts.all()
    names = set(Event.objects.filter(attempt=attempt).values_list("pk", flat=True))
    database.as_owner(
        "ALTER TABLE ledger_attempt DISABLE TRIGGER USER",
        f"DELETE FROM ledger_attempt WHERE id = {attempt.pk}",
        "ALTER TABLE ledger_attempt ENABLE TRIGGER USER",
    )
    assert pointing_to_nothing(database) == lost | {("event", pk) for pk in names}
