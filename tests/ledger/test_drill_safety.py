"""A drill makes real records: it must be allowed, is alone, and leaves a trace of what it may have made."""

import json
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from ledger import actions
from ledger.drills import running
from ledger.drills.running import DESTINATION
from ledger.models import Drill, DrillStep, Event, Operation
from ledger.rules.errors import KeyMalformed
from tests import factories as make
from tests.databases import Database
from tests.drilling import Drills, commanded, held
from tests.ledger.asking import Asked, refused
from tests.meters import metering
from tests.processes import Manage
from tests.sandboxes import Sandbox


@pytest.fixture
def drills(database: Database, sandbox: Sandbox, tmp_path: Path) -> Drills:
    made = Drills(tmp_path, sandbox)
    made.set_up()
    return made


def untouched(sandbox: Sandbox) -> bool:
    """Whether nothing was ever sent there."""
    return not sandbox.call("GET", "/invoices").json["data"]


def test_nothing_is_drilled_that_nobody_allowed(database: Database, sandbox: Sandbox, tmp_path: Path) -> None:
    drills = Drills(tmp_path, sandbox)
    drills.set_up({"drills = true\n": ""})
    told = commanded()
    assert told.returncode == 2
    assert "add drills = true to [destinations.books]" in told.stderr
    kind = drills.set_up()
    kind.drill = None
    kind.save(update_fields=["drill"])
    told = commanded("invoice.create", "reminder.send", "reminder.sent")
    assert told.returncode == 2
    assert 'add a section [operation_types."invoice.create".drill]' in told.stderr
    assert "reminder.send is performed by its caller" in told.stderr
    assert 'There is no operation type "reminder.sent".' in told.stderr
    assert untouched(sandbox) and not Drill.objects.exists()


def test_one_drill_of_a_destination_at_a_time(drills: Drills, database: Database) -> None:
    there = drills.kind().destination
    with closing(psycopg.connect(database.app_url)) as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", [DESTINATION, there.pk])
        with pytest.raises(running.NotAllowed, match="being drilled already"):
            drills.run()
        assert untouched(drills.sandbox) and not Drill.objects.exists()
    assert drills.run().results
    assert drills.run().results, "the first one gave it back"


def test_a_paused_destination_is_not_drilled(drills: Drills) -> None:
    actions.pause(drills.kind().destination_id, why="Its address is wrong.")
    with pytest.raises(running.NotAllowed, match="is paused"):
        drills.run()
    assert untouched(drills.sandbox)


def test_what_may_have_been_made_is_on_record_before_it_is_sent(drills: Drills, run_manage: Manage) -> None:
    """Killed at its second send, it has left one record; the next drill finds, voids and names it."""
    there = drills.kind().destination
    there.connector = "tests.drilling:DiesAtTheSecond"
    there.save(update_fields=["connector"])
    died = run_manage("drill", check=False)
    assert died.returncode == -9
    drill = Drill.objects.get()
    assert not drill.steps.filter(kind=DrillStep.Kind.ENDED).exists()
    (reference,) = set(drill.steps.filter(kind=DrillStep.Kind.SENDING).values_list("reference", flat=True))
    assert drills.sandbox.effects(reference) == 1
    there.connector = "http"
    there.save(update_fields=["connector"])
    told = commanded()
    assert told.returncode == 0
    assert f"{drill.stem}, was cut off. Void again: INV-" in told.stderr
    assert drills.sandbox.effects(reference) == 0
    assert not Drill.objects.exclude(steps__kind=DrillStep.Kind.ENDED).exists()


def test_every_record_is_named_and_what_cannot_be_voided_is_left_to_people(
    drills: Drills,
) -> None:
    drills.sandbox.faults("error_before", "/void", count=None, arg=500)
    told = commanded()
    assert told.returncode == 1
    drill = Drill.objects.get()
    made = set(drill.steps.filter(kind=DrillStep.Kind.MADE).values_list("record", "reference"))
    assert len(made) == 4
    assert "Left there, for people to reverse: " in told.stdout
    assert all(f"{record} ({reference})" in told.stdout for record, reference in made)
    assert sum(drills.sandbox.effects(reference) for _, reference in made) == 4


def test_no_operation_has_a_key_of_a_drill(database: Database) -> None:
    kind = make.kind()
    with pytest.raises(KeyMalformed, match="as only those of drills do"):
        make.claimed(kind, "drill/0123456789ab/key")
    make.claimed(kind, "drill/press/483")


def test_a_drill_is_no_operation_and_the_trail_tells_of_it(drills: Drills) -> None:
    done = drills.run()
    assert not Operation.objects.exists()
    begun, ended = Event.objects.filter(kind__in=["drill_begun", "drilled"]).order_by("id")
    assert begun.data["drill"] == ended.data["drill"] == str(done.drill.uid)
    assert ended.data["results"]["same_key"] == "held"
    assert drills.kind().lookup_proved_at is not None, "the look-up has found a known record"


def test_what_a_drill_found_only_grows(drills: Drills, sql: Asked) -> None:
    drills.run()
    for table in ("ledger_drill", "ledger_drillstep"):
        with refused("the ledger only grows"):
            sql.execute(f"DELETE FROM {table}".encode())
    with refused("the ledger only grows"):
        sql.execute("UPDATE ledger_drillstep SET tried = 'broken' WHERE promise = 'same_key'")
    with refused("takes no further step"):
        sql.execute(ADDED, ["result", "same_key", "held"])


def test_a_result_without_its_event_is_refused(drills: Drills, sql: Asked) -> None:
    actions.begin_drill(drills.kind(), actor="a test")
    with refused("ended without an event"):
        sql.execute(ADDED, ["result", "same_key", "held"])


ADDED = (
    "INSERT INTO ledger_drillstep (drill_id, kind, reference, record, promise, tried, hindered, why) "
    "SELECT max(id), %s, '', '', %s, %s, false, '' FROM ledger_drill"
)


def test_a_destination_that_is_down_could_not_be_drilled(drills: Drills) -> None:
    drills.sandbox.stop()
    told = commanded("--json")
    assert told.returncode == 2
    (drill,) = json.loads(told.stdout)["drills"]
    assert {one["tried"] for one in drill["promises"]} == {"not_tried"}
    assert "The connection was refused." in drill["promises"][0]["why"]


def test_a_drill_keeps_to_the_destination_s_rate(drills: Drills) -> None:
    with metering(drills.sandbox.url) as meter:
        there = drills.kind().destination
        there.connection = {**there.connection, "base_url": meter.url, "rate": {"concurrency": 3}}
        there.save(update_fields=["connection"])
        done = drills.run()
    assert 1 < meter.most <= 3
    assert "at_once" in held(done)
    (why,) = [one.why for one in done.results if one.promise == "at_once"]
    assert why.startswith("Ten under one key, as close together as its rate allows, made one record")
