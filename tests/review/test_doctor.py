"""`manage.py doctor`: what is broken is named with its remedy, one by one; no secret's value is shown.

| broken                                   | it says                                          |
|------------------------------------------|--------------------------------------------------|
| nothing                                  | no line of the database is wrong                 |
| no worker; a trail that nobody seals     | since when, and to start it                      |
| a secret that is not there; a pause      | which place, and never a value                   |
| the machine's clock                      | by how much                                      |
| a guard switched off; a migration undone | which                                            |
| the database does not answer             | that alone, and what needs no database           |
"""

import io
import json

import pytest
from django.core.management import call_command

from ledger import actions
from ledger.models import Team
from ledger.worker import heart
from tests import stories
from tests.databases import Database
from tests.ledger.test_health import closed
from tests.people import person

NOT_OURS = {"static files"}
"""Which tests do not pack."""


def examined() -> tuple[int, dict[str, tuple[str, str]], str]:
    """The exit status, each line's standing and words by its name, and all of it."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert told["ok"] == (ended.value.code == 0)
    lines = {one["name"]: (one["standing"], one["words"]) for one in told["checks"]}
    assert all(one["remedy"] for one in told["checks"] if one["standing"] != "ok")
    return int(str(ended.value.code)), lines, out.getvalue()


def wrong() -> set[str]:
    return {name for name, (standing, _) in examined()[1].items() if standing == "wrong"} - NOT_OURS


def test_what_is_broken_is_named_with_what_to_do_and_no_secret_is_shown(
    durban: stories.Durban, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOKS_TOKEN", "a-secret-of-books")
    books = durban.invoice.destination
    books.connection |= {"auth": {"kind": "bearer", "token": "env:BOOKS_TOKEN"}}
    books.save(update_fields=["connection"])
    for name in ("ada", "bob"):
        person(name)
    heart.beat()
    assert wrong() == set()
    code, lines, text = examined()
    assert lines["role"] == ("ok", "tieout owns nothing") and "a-secret-of-books" not in text
    assert lines["mail"][0] == "warning"

    monkeypatch.delenv("BOOKS_TOKEN")
    Team.objects.create(name="leads", chat="file:/nowhere/chat", chat_kind="slack")
    actions.pause(durban.reminder.destination.pk, why="It refuses us.")
    assert wrong() == {"destination books", "destination mailroom", "chat leads"}
    code, lines, _ = examined()
    assert code == 1 and "BOOKS_TOKEN is not set" in lines["destination books"][1]

    durban.clock.advance(600)
    assert {"worker", "clock", "seals"} <= wrong()
    assert "behind the database" in examined()[1]["clock"][1]
    database.as_owner(
        "ALTER TABLE ledger_event DISABLE TRIGGER event_noticed",
        "DELETE FROM django_migrations WHERE app = 'review' AND name = '0001_roles'",
    )
    _, lines, _ = examined()
    assert lines["guards"] == ("wrong", "1 switched off: ledger_event.event_noticed.")
    assert lines["migrations"] == ("wrong", "1 to be applied: review 0001_roles.")

    with closed(database):
        code, lines, _ = examined()
    assert code == 1 and lines["database"] == ("wrong", "The database does not answer.")
    assert "worker" not in lines and "mail" in lines
