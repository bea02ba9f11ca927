"""What a run came to is mailed to its plan's recipients: totals and a link, once for each run and recipient.

| given                                       | then                                                         |
|---------------------------------------------|--------------------------------------------------------------|
| a run ends, done or failed, by any hand     | one message for each address, written with that end          |
| a dry run; an end that is taken back        | none                                                         |
| the server refuses an address               | others have theirs; Today and doctor say that one has not    |
| the server took it, and its answer was lost | it comes again, with the same Message-ID                     |
| the worker is killed while it sends         | the same, from the next worker                               |
| there is no mail server                     | nothing waits, and doctor says so                            |
| somebody is taken out of the plan meanwhile | they get nothing of what still waits for them                |
| what was due has not started, or is late    | one message for each address, however often a sweep comes by |
"""

import json
import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.message import Message as Letter
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction

from ledger.models import Event, Team
from ledger.rules.states import Outcome
from reconcile import leasing, scheduling
from reconcile.actions import start
from reconcile.models import Plan, Run
from reconcile.running import NotWhole, window
from review.models import Channel, Message, Notice
from review.notices import attaching, making, outbox
from tests.databases import Clock, Database
from tests.mails import Post
from tests.people import browser_of, limited, person
from tests.processes import Spawn
from tests.receivers import receiving
from tests.reconcile.books import HELD, Books, key_of, record
from tests.review.test_runs import plain
from tests.workers import Worker, until

TOLD = "finance@example.com"
CONFIDENTIAL = ("order/", "402", "INV-", "Acme", "customer", "carry it", "broke off", "Secret")


@pytest.fixture
def listed(database: Database, tmp_path: Path) -> Books:
    books = Books.configured(tmp_path, performed_by="caller")
    books.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    HELD.pages = [[record(n, key=key_of("402"), total="1860.00") for n in (1, 2)]]
    return books


def sweep() -> int:
    """Make what is due and tell it."""
    making.make()
    return sum(outbox.deliver(pk) for pk in Channel.objects.due().values_list("pk", flat=True))


def said(letter: Letter) -> str:
    text = letter.get_payload(decode=True)
    assert isinstance(text, bytes)
    return text.decode()


def begun(plan: Plan) -> Run:
    first, to = window(plan, None, None)
    return start(plan, window_from=first, window_to=to, actor="ann")


def shown(name: str = "bob") -> str:
    return plain(browser_of(name).get("/").content.decode())


def mailed(run: Run | None = None) -> list[str]:
    """What a run's page says of its mails: the latest run's, where none is named."""
    run = run or Run.objects.latest("pk")
    page = plain(browser_of("vic").get(f"/runs/{run.uid}/").content.decode())
    assert "@example.com" not in page
    return re.findall(r">((?:Mailed|Not mailed|It is mailed|No mail about it)[^<]*)<", page)


def test_recipients_get_totals_and_a_link_and_nothing_else(listed: Books, post: Post) -> None:
    Plan.objects.update(recipients=[TOLD, "finance@EXAMPLE.com", "cfo@example.com"])
    run, _ = listed.run()
    assert not post.got and Message.objects.count() == 2, "before any worker, and once for an address"
    assert mailed() == ["Not mailed yet to 2 recipients: it waits for a worker."]
    assert sweep() == 2 and sweep() == 0
    (line,) = mailed()
    assert re.fullmatch(r"Mailed to 2 recipients, \d+ \w{3} \d{4}, \d\d:\d\d\.", line)
    assert sorted(post.to) == ["cfo@example.com", TOLD]
    letter = post.got[0]
    assert letter["Subject"] == "Tieout: invoices: Explained; 1 open difference, ZAR 1 860.00"
    text = said(letter)
    assert f"https://tieout.example.com/runs/{run.uid}/" in text
    assert "2 items in classes; 2 counted without them." in text
    assert (
        "Tieout ZAR 1 860.00 in 1 item, Durban Books ZAR 3 720.00 in 2 items; unexplained ZAR 0.00." in text
    )
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        listed.run()
    stopped = begun(listed.plan)
    leasing.stop(stopped, "Stopped by ann: Secret word.")
    assert sweep() == 4
    assert post.got[2]["Subject"] == "Tieout: invoices did not run whole"
    assert not post.got[2].is_multipart()
    for word in CONFIDENTIAL:
        assert not any(word in said(told) for told in post.got), word
        assert word not in json.dumps(list(Message.objects.values_list("lines", "words")))
    assert len({letter["Message-ID"] for letter in post.got}) == 6


def test_it_is_written_with_the_runs_end_or_not_at_all(listed: Books, post: Post) -> None:
    listed.run(keep=False)
    whole, HELD.pages = HELD.pages, [None]
    with pytest.raises(NotWhole):
        listed.run(keep=False)
    HELD.pages = whole
    assert not Message.objects.exists() and not Run.objects.exists(), "a dry run is nobody else's"
    run = begun(listed.plan)
    with transaction.atomic():
        leasing.stop(run, "Not so.")
        assert Message.objects.count() == 1
        transaction.set_rollback(True)
    assert not Message.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE reconcile_run SET state = 'failed', finished_at = now(), lease_until = NULL,"
            " why_failed = 'By hand.' WHERE id = %s",
            [run.pk],
        )
    (message,) = Message.objects.all()
    assert (message.address, message.run_id, message.state) == (TOLD, run.pk, "waiting")
    for change in ({"address": "thief@example.com"}, {"about": "run 0"}, {"run": None}):
        with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
            Message.objects.update(**change)
    with pytest.raises(IntegrityError, match="message_one_report"), transaction.atomic():
        Message.objects.create(channel=message.channel, address=TOLD, about=message.about, run=run, lines=[])
    with pytest.raises(IntegrityError, match="message_of_somebody"), transaction.atomic():
        Message.objects.create(channel=message.channel, run=run, lines=[])


def test_who_is_refused_holds_nobody_up_and_is_told_of(
    listed: Books, post: Post, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    Plan.objects.update(recipients=["a@example.com", TOLD])
    post.refused = "a@example.com"
    listed.run()
    assert sweep() == 2 and [letter["To"] for letter in post.got] == [TOLD]
    refused, words = mailed(), "The mail server refused their address with 550."
    assert refused[0].startswith("Mailed to 1 of 2 recipients, ")
    assert refused[1:] == [f"Not mailed yet to 1 of 2 recipients: {words} It is tried again."]
    Message.objects.filter(state="waiting").update(state="given_up", due_at=None)
    assert mailed()[1:] == [f"Not mailed to 1 of 2 recipients, and given up: {words}"]
    Message.objects.filter(state="given_up").update(state="waiting", due_at=clock.now())
    late = "A mail about a run has not arrived: the mail server did not take it yet. Each is tried again."
    assert f"Reports. {late}" in re.sub("<[^>]+>", "", shown())
    with suppress(SystemExit):
        call_command("doctor", "--json")
    told = capsys.readouterr().out
    assert "The mail server refused their address with 550." in told and "a@example.com" not in told
    post.refused = ""
    clock.advance(timedelta(minutes=6))
    assert sweep() == 1 and "Reports." not in shown()
    assert not Message.objects.not_mailed().exists()


def test_what_was_taken_without_an_answer_comes_again_and_then_no_more(
    listed: Books, post: Post, clock: Clock
) -> None:
    post.silent = 1
    listed.run()
    assert sweep() == 0 and len(post.got) == 1
    assert "The mail server takes no messages" in shown()
    clock.advance(timedelta(seconds=10))
    assert sweep() == 1 and sweep() == 0
    assert len(post.got) == 2 and len({letter["Message-ID"] for letter in post.got}) == 1
    assert said(post.got[0]) == said(post.got[1])


def test_a_worker_that_is_killed_while_it_sends_loses_no_mail(
    listed: Books, post: Post, clock: Clock, spawn: Spawn
) -> None:
    post.hangs = 1
    listed.run()
    worker = Worker.started(spawn)
    until(lambda: post.got, what="The mail")
    worker.kill()
    assert Message.objects.get().state == "waiting"
    assert sweep() == 0, "it may still be at it"
    clock.advance(outbox.BUSY)
    assert sweep() == 1 and sweep() == 0
    assert [letter["To"] for letter in post.got] == [TOLD] * 2
    assert len({letter["Message-ID"] for letter in post.got}) == 1


def test_where_no_mail_goes_out_nothing_waits(listed: Books, settings: Any) -> None:
    settings.MAIL = False
    listed.run()
    assert sweep() == 1 and sweep() == 0
    (message,) = Message.objects.all()
    assert (message.state, message.words) == ("dropped", "There is no mail server: SMTP_HOST is not set.")
    assert mailed() == ["Not mailed to 1 recipient: There is no mail server: SMTP_HOST is not set."]
    Plan.objects.update(recipients=[])
    listed.run()
    assert mailed() == ["It is mailed to nobody: its plan names no recipients."]
    Plan.objects.update(recipients=[TOLD])
    assert mailed()[0].startswith("No mail about it is on record: ")
    assert "The mail server" not in shown()


def test_recipients_are_mailed_once_of_what_has_not_started_or_is_late(
    clock: Clock, tmp_path: Path, post: Post
) -> None:
    friday = datetime(2026, 11, 27, 4, 15, tzinfo=UTC)
    clock.set(friday - timedelta(hours=1))
    Books.configured(tmp_path, performed_by="caller")
    clock.set(friday + timedelta(days=4))
    for _ in range(3):
        scheduling.sweep()
        sweep()
    assert post.to == [TOLD]
    assert " ".join(post.got[0]["Subject"].split()) == (
        "Tieout: invoices, due 2 times from 2026-11-27 06:15 SAST to 2026-11-30 06:15 SAST: not started"
    )
    assert "https://tieout.example.com/runs/" in said(post.got[0])
    run = leasing.take(Run.objects.get().pk)
    assert run is not None
    clock.set(friday + timedelta(days=4, hours=2, minutes=1))
    Run.objects.update(lease_until=clock.now() + timedelta(days=1))
    for _ in range(3):
        scheduling.sweep()
        sweep()
    assert [" ".join(letter["Subject"].split()) for letter in post.got[1:]] == [
        "Tieout: invoices, due 2026-12-01 06:15 SAST: not done in time"
    ]


def test_who_was_taken_out_of_the_plan_meanwhile_is_mailed_nothing(
    clock: Clock, tmp_path: Path, post: Post
) -> None:
    friday = datetime(2026, 11, 27, 4, 15, tzinfo=UTC)
    clock.set(friday - timedelta(hours=1))
    books = Books.configured(tmp_path, performed_by="caller")
    HELD.pages = [[]]
    left, stays, comes = "left@example.com", "Stays@Example.com", "comes@example.com"
    Plan.objects.update(recipients=[left, stays])
    books.run()
    clock.set(friday + timedelta(days=3))
    scheduling.sweep()
    assert Message.objects.filter(state="waiting").values("address", "run").distinct().count() == 4
    Plan.objects.update(recipients=[stays, comes])
    sweep()
    assert post.to == ["Stays@example.com"] * 2, "its mailbox as it is written"
    gone = Message.objects.filter(address=left).values_list("state", "words")
    assert list(gone) == [("dropped", "Their plan no longer names this address.")] * 2


def files(letter: Letter) -> list[str]:
    return [name for part in letter.walk() if (name := part.get_filename())]


def test_the_workbook_goes_only_to_who_may_see_it_where_the_plan_says_so(
    listed: Books, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of six may see it; not who is nobody, limited, off, or shares an address with one who may not."""
    may = {"ann@example.com", "vic@example.com"}
    others = {TOLD, "kim@example.com", "eve@example.com", "two@example.com"}
    for name in ("ann", "vic", "eve"):
        User.objects.filter(pk=person(name).pk).update(email=f"{name}@Example.com")
    User.objects.filter(pk=limited("kim", "Cape Town Trading").pk).update(email="kim@example.com")
    User.objects.filter(username="eve").update(is_active=False)
    User.objects.filter(pk__in=[person("bob").pk, person("nora").pk]).update(email="two@example.com")
    Plan.objects.update(recipients=sorted(may | others))
    run, _ = listed.run()
    assert sweep() == 6 and not any(map(files, post.got)), "off by default"
    Plan.objects.update(attach=True)
    post.got.clear()
    run, _ = listed.run()
    assert sweep() == 6
    assert {letter["To"] for letter in post.got if files(letter)} == may
    letter = next(letter for letter in post.got if letter["To"] == "ann@example.com")
    assert files(letter) == [f"run-{run.pk}-invoices.xlsx"]
    text, file = (content(part) for part in letter.walk() if not part.is_multipart())
    book = openpyxl.load_workbook(BytesIO(file))
    assert ("Author", "ann") in book["Where this comes from"].iter_rows(values_only=True)
    assert [row[0] for row in book["Rows"].iter_rows(values_only=True)][1:] == ["Duplicate at Durban Books"]
    assert f"/runs/{run.uid}/" in text.decode()
    monkeypatch.setattr(attaching, "MOST", 1000)
    post.got.clear()
    listed.run()
    assert sweep() == 6 and not any(map(files, post.got))
    assert sum(attaching.TOO_LARGE in said(letter) for letter in post.got) == 2


def content(part: Letter) -> bytes:
    found = part.get_payload(decode=True)
    assert isinstance(found, bytes)
    return found


def test_a_workbook_that_is_far_too_large_for_a_mail_is_not_even_made(
    listed: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    Plan.objects.update(attach=True)
    reader = person("vic")
    User.objects.filter(pk=reader.pk).update(email=TOLD)
    run, _ = listed.run()
    run.plan.refresh_from_db()
    assert attaching.of(run, TOLD) is not None
    monkeypatch.setattr(attaching, "MOST_ROWS", 0)
    monkeypatch.setattr("review.notices.attaching.exports.table", None)
    with pytest.raises(OverflowError):
        attaching.of(run, TOLD)


def test_what_did_not_start_stands_under_the_bell_and_in_the_teams_chat_once(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    friday = datetime(2026, 11, 27, 4, 15, tzinfo=UTC)
    clock.set(friday - timedelta(hours=1))
    Books.configured(tmp_path, performed_by="caller")
    for name in ("ann", "ada", "vic", "nora"):
        person(name)
    limited("kim", "Cape Trading (Pty) Ltd")
    with receiving() as chat:
        monkeypatch.setenv("FINANCE_CHAT", chat.url)
        Team.objects.create(name="finance", chat="env:FINANCE_CHAT", chat_kind="slack", allow_private=True)
        sweep()
        clock.set(friday + timedelta(days=3))
        for _ in range(2):
            scheduling.sweep()
            sweep()
        (told,) = [json.loads(one.body)["text"] for one in chat.got]
    red = Event.objects.filter(kind="run_not_started").count()
    assert red and told.startswith(f"{red} reconciliation{'s' * (red != 1)} did not report: http")
    assert not any(word in told for word in (*CONFIDENTIAL, "invoices", "Durban"))
    assert set(Notice.objects.values_list("person__username", flat=True)) == {"ann", "ada", "kim"}
    shown = plain(browser_of("ann").get("/notices/").content.decode())
    assert (
        "A reconciliation that was due has not started" in shown and '<a href="/runs/">invoices</a>' in shown
    )
    for name in ("kim", "vic"):
        assert "has not started" not in plain(browser_of(name).get("/notices/").content.decode()), name
