"""The page of the register: said and seen side by side, for everybody who may look, in so many queries."""

import re
import uuid
from datetime import UTC, datetime
from html import unescape
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.actions import registered as reading
from ledger.models import Operation, OperationType
from ledger.sql import statement
from tests import registers, stories
from tests.databases import Clock
from tests.drilling import Drills
from tests.people import browser_of
from tests.registers import afternoon, claim
from tests.sandboxes import Sandbox


def page(name: str = "vic") -> str:
    """The page's words, without tags."""
    html = browser_of(name).get("/register/").content.decode().replace("\u00a0", " ")
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html.split("<main", 1)[1])))


def entry(title: str) -> str:
    """What it says of one of them."""
    html = browser_of("vic").get("/register/").content.decode().replace("\u00a0", " ")
    found = [part for part in html.split("<div><h3>")[1:] if part.startswith(f"{title}</h3>")]
    assert len(found) == 1, title
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", found[0])))


def test_what_was_said_stands_beside_what_was_seen(durban: stories.Durban, tmp_path: Path) -> None:
    afternoon(durban, tmp_path)
    assert "2 of 5 are in order" in page()
    shop = entry("Web shop connector")
    assert (
        "3 by platform × 2 by connector = up to 6 calls for one event; Tieout makes one of them count" in shop
    )
    assert "Key: stable, as said “order number and version”" in shop
    assert "Last failure: “mail to shop@example.com”, as said" in shop
    html = browser_of("vic").get("/register/").content.decode()
    checks = html.partition("<h3>Web shop connector</h3>")[2].partition("</ul>")[0]
    assert checks.count('data-state="said"><svg class="i" aria-hidden="true"><use href="#unchecked"/>') == 3
    assert "Create invoice: 3 operations handed over of late." in shop
    old = entry("Older connector")
    assert "A lost answer can make up to 4 invoices." in old and "Key: none" in old
    mailer = entry("mailer")
    assert "It is not registered: add [automations.mailer] to the file." in mailer
    assert "Retries: not said ask whoever runs it" in mailer
    assert "Send reminder: 2 claims for 2 operations of late." in mailer
    assert "Send reminder: 1 claim ended without a word; what came of it is not known yet." in mailer
    assert "no claim had an attempt_id" in mailer
    reminder = entry("Send reminder")
    assert "mailer: seen to make it, and not registered for it." in reminder
    assert "Of late 2 operations by mailer." in reminder
    assert "past Tieout, as Older connector does." in entry("Create invoice")
    assert page().count("7 · Which try produced the result") == 5


def test_claims_that_may_be_asked_for_again_are_told_from_those_that_may_not(durban: stories.Durban) -> None:
    mine = uuid.uuid4()
    registers.issue("mailer")
    for _ in range(3):
        claim(1, by="mailer", attempt_id=mine)
    mailer = entry("mailer")
    assert "1 claim for 1 operation of late." in mailer
    assert "asked again 2 times for a claim that it held." in mailer
    assert "attempt_id" not in mailer


def test_one_record_of_the_source_under_two_keys_is_seen(durban: stories.Durban) -> None:
    claim(1, by="mailer", key="reminder/1/a")
    assert "under more than one key" not in page()
    claim(1, by="mailer", key="reminder/1/b")
    assert "Key: is it stable? 1 source record under more than one key" in entry("Send reminder")


def test_only_the_latest_operations_of_each_type_are_read(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LATEST", 2)
    claim(1, by="before")
    durban.clock.advance(1)
    for order in (2, 3):
        claim(order, by="mailer")
    assert "before" not in page() and "Of late 2 operations by mailer." in page()


def test_a_long_history_is_not_read(durban: stories.Durban) -> None:
    """The latest operations are read off an index, and their events and attempts by theirs."""
    claim(1, by="mailer")
    columns = [field.column for field in Operation._meta.fields if field.column != "id"]
    values = {name: name for name in columns} | {"uid": "gen_random_uuid()", "key": "'more/' || n"}
    durban.clock.database.as_superuser(
        "SET session_replication_role = replica",
        f"INSERT INTO ledger_operation ({', '.join(columns)}) "
        f"SELECT {', '.join(values[name] for name in columns)} "
        "FROM ledger_operation, generate_series(1, 3000) AS n",
        "INSERT INTO ledger_event (uid, operation_id, kind, actor, reason, state_from, state_to, data, at) "
        "SELECT gen_random_uuid(), id, 'accepted', 'api:mailer', 'x', '', '', '{}', accepted_at "
        "FROM ledger_operation",
        "ANALYZE ledger_operation, ledger_event",
    )
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {statement('seen')}", {"latest": 10})
        plan = "\n".join(line for (line,) in cursor.fetchall())
    found = re.findall(r"on ledger_(?:operation|event|attempt)\b.*actual rows=([\d.]+) loops=(\d+)", plan)
    read = [float(rows) * int(loops) for rows, loops in found]
    assert len(read) >= 3, plan
    assert max(read) <= 20, plan


def test_a_living_token_without_a_section_stands_there_and_an_ended_one_does_not(
    durban: stories.Durban,
) -> None:
    registers.issue("night-job")
    assert "Nothing has come from it of late." in entry("night-job")
    call_command("revoke_key", "night-job", stdout=StringIO())
    assert "night-job" not in page()


def test_what_can_send_no_more_is_no_automation_to_ask_about_and_is_named_all_the_same(
    durban: stories.Durban, tmp_path: Path
) -> None:
    afternoon(durban, tmp_path)
    assert "mailer: seen to make it" in entry("Send reminder")
    call_command("revoke_key", "mailer", stdout=StringIO())
    assert "<h3>mailer</h3>" not in browser_of("vic").get("/register/").content.decode()
    reminder = entry("Send reminder")
    assert "Of late 2 operations by mailer." in reminder and "seen to make it" not in reminder
    assert "mailer can send no more: no API token of it is valid." in reminder


def test_a_silence_whose_end_is_known_speaks_no_more_against_it(durban: stories.Durban) -> None:
    registers.issue("mailer")
    reply = claim(398, by="mailer", lease_s=1)
    assert reply.attempt is not None and reply.token is not None
    durban.clock.advance(20)
    actions.expire(reply.operation.pk, actor="policy")

    def silence() -> list[tuple[str, bool]]:
        (mailer,) = reading.registered().automations
        return [(one.words, one.flagged) for one in mailer.seen if "without a word" in one.words]

    words = "Send reminder: 1 claim ended without a word; what came of it is"
    assert silence() == [(f"{words} not known yet.", True)]
    actions.record(reply.attempt.uid, token=reply.token, report=stories.done("MAIL-7"), actor="api:mailer")
    assert silence() == [(f"{words} known by now.", False)]


def test_the_worst_stands_first_and_each_says_how_it_stands(durban: stories.Durban, tmp_path: Path) -> None:
    afternoon(durban, tmp_path)
    html = browser_of("vic").get("/register/").content.decode()
    stands = re.findall(r"<h3>([^<]+)</h3>.*?</svg>([^<]+)</span>", html, re.S)
    assert stands == [
        ("Send reminder", "To be asked about"),
        ("Create invoice", "In order"),
        ("Older connector", "Not in order"),
        ("mailer", "To be asked about"),
        ("Web shop connector", "In order"),
    ]


def test_everybody_who_may_look_reads_it_and_it_is_in_the_navigation(durban: stories.Durban) -> None:
    for name in ("vic", "ann", "bob", "ada"):
        response = browser_of(name).get("/register/")
        html = response.content.decode()
        assert response.status_code == 200 and "no-store" in response.headers["Cache-Control"]
        assert '<a href="/register/" aria-current="page">Register</a>' in html
    assert '<a href="/register/">Register</a>' in browser_of("vic").get("/queue/").content.decode()
    assert Client().get("/register/").status_code == 302
    assert browser_of("nora").get("/register/").status_code == 403
    assert browser_of("vic").post("/register/").status_code == 405


def test_an_empty_register_teaches_what_to_ask(clock: Clock) -> None:
    words = page()
    assert "Nothing is registered yet" in words
    assert "Which of its layers repeat a call by themselves?" in words
    assert "[automations.NAME]" in words and "--check" in words


def test_it_asks_as_often_for_many_as_for_few(durban: stories.Durban, tmp_path: Path) -> None:
    afternoon(durban, tmp_path)
    vic = browser_of("vic")
    with CaptureQueriesContext(connection) as few:
        vic.get("/register/")
    for number in range(8):
        kind = OperationType.objects.get(name="reminder.send")
        kind.pk, kind.name = None, f"reminder.more{number}"
        kind.save()
        registers.issue(f"job-{number}")
    registers.say(
        tmp_path, "".join(f'[automations.more{n}]\ntypes = ["reminder.more{n}"]\n' for n in range(8))
    )
    with CaptureQueriesContext(connection) as many:
        assert "of 29 are in order" in vic.get("/register/").content.decode()
    assert len(many) == len(few) <= 12


def test_a_type_whose_rules_cannot_be_read_does_not_take_the_page_with_it(durban: stories.Durban) -> None:
    durban.reminder.contract = {"idempotency": "by pigeon"}
    durban.reminder.save(update_fields=["contract"])
    assert "No promise: its rules cannot be read." in entry("Send reminder")
    assert "Tries reuse the same key" in entry("Create invoice")


def test_the_guarantee_carries_the_day_of_the_drill_or_what_it_refuted(
    clock: Clock, sandbox: Sandbox, tmp_path: Path
) -> None:
    clock.set(datetime(2026, 11, 29, 22, 30, tzinfo=UTC))
    drills = Drills(tmp_path, sandbox)
    drills.set_up()
    label = drills.kind().label
    assert "Promised, not drilled." in entry(label)
    drills.run()
    assert "Drilled 30 November 2026: one key made one record." in entry(label)
    sandbox.faults("ignore_keys", count=None)
    drills.run()
    refuted = entry(label)
    assert "Drilled 30 November 2026: Durban Books made a second record under one key" in refuted
    assert "A drill has refuted what its contract promises." in refuted
    assert "Tries reuse the same key" not in refuted
