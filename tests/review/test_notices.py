"""What people are told: under the bell, by mail once a day, and in a team's chat; counts and links only.

| given                                            | then                                                   |
|--------------------------------------------------|--------------------------------------------------------|
| handed over, given, named in a comment           | under the bell, alike ones as one; read when marked    |
| by one's own hand, or to who is switched off     | nothing                                                |
| the time of the digest, something waits          | one mail that day; nothing where nothing waits         |
| software is still busy with it                   | nothing: an early failure is no news                   |
| quiet hours, a weekend                           | not then                                               |
| the server took it, and its answer was lost      | it comes again, with the same Message-ID               |
| the server fails                                 | it rests, a chat does not wait for it, Today says so   |
| switched off before it went out                  | nothing goes out, and Today says what is in their name |
| several were passed on to a team                 | its chat hears once how many, at most each quarter hour|
"""

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Case, Operation, Team
from ledger.rules.states import CaseKind
from review.models import Channel, Message, Notice, Reader
from review.notices import digest, making, outbox
from tests import stories
from tests.mails import Post
from tests.people import browser_of, person
from tests.receivers import Receiver, receiving

MONDAY = datetime(2026, 12, 7, 5, 29, tzinfo=UTC)
"""A minute before half past seven in Johannesburg."""
CONFIDENTIAL = ("Acme", "1240", "1 240", "order/", "Order 4", "INV-", "Secret word", "ZAR", "bob")
DAY = 86400


def of(operation: Operation) -> Case:
    return Case.objects.open().get(operation=operation)


def reached(name: str) -> User:
    """A person with an address."""
    found = person(name)
    found.email = f"{name}@example.com"
    found.save(update_fields=["email"])
    return found


def sweep() -> int:
    """Make what is due and tell it, one way after the other."""
    making.make()
    return sum(outbox.deliver(pk) for pk in Channel.objects.due().values_list("pk", flat=True))


def page(name: str, address: str = "/") -> str:
    answer = browser_of(name).get(address)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_what_is_given_or_names_a_person_stands_under_their_bell_until_it_is_read(
    durban: stories.Durban,
) -> None:
    ann, bob, eve = person("ann"), person("bob"), person("eve")
    held = [durban.absent(number) for number in (483, 484, 485)]
    assert 'class="n">' not in page("ann").split("</header>")[0].split('href="/notices/"')[1]
    for operation in held:
        actions.assign(of(operation).uid, actor="bob", to="bob")
        actions.hand_over(of(operation).uid, actor="bob", reason="Secret word.", of="bob", to="ann")
    actions.comment(held[0].pk, actor="eve", text="@ann, @eve: and mail@bob?", command_id=uuid.uuid4())
    User.objects.filter(pk=bob.pk).update(is_active=False)
    actions.assign(of(held[0]).uid, actor="ann", to="bob")
    assert not Notice.objects.filter(person__in=[bob, eve]), "neither of one's own, nor to who is off"
    assert [(n.kind, n.count) for n in Notice.objects.filter(person=ann).order_by("pk")] == [
        ("given", 3),
        ("named", 1),
    ]
    with CaptureQueriesContext(connection) as few:
        shown = page("ann", "/notices/")
    assert '<a href="/queue/?view=person&amp;who=me">three items</a> “Secret word.”' in shown
    assert "bob handed over to you:" in shown
    assert f'eve named you in a comment on <a href="/operations/{held[0].uid}/">' in shown
    assert 'class="n">2<span class="vh"> unread' in shown and "New for you" in page("ann")
    until = Notice.objects.order_by("-at")[0].at
    for operation in held[1:]:
        actions.comment(operation.pk, actor="bob", text="@ann", command_id=uuid.uuid4())
    with CaptureQueriesContext(connection) as more:
        page("ann", "/notices/")
    assert len(few) == len(more)
    browser_of("ann").post("/notices/read/", {"until": until.isoformat()})
    browser_of("ann").post("/notices/read/", {"until": "tomorrow"})
    shown = page("ann", "/notices/")
    assert 'class="n">2<span class="vh"> unread' in shown, "what has come since stays new"
    assert "bob handed over to you" in shown, "what was read stays to be seen"
    with pytest.raises(IntegrityError, match="follow from events"), transaction.atomic():
        Notice.objects.update(count=9)
    for taken in ({"read_at": None}, {"read_at": until}):
        with pytest.raises(IntegrityError, match="follow from events"), transaction.atomic():
            Notice.objects.exclude(read_at=None).update(**taken)
    with pytest.raises(IntegrityError, match="stays for its time"), transaction.atomic():
        Notice.objects.unread()[0].delete()
    durban.clock.advance(6 * DAY)
    Notice.objects.unread().update(read_at=until - timedelta(days=9))
    with pytest.raises(IntegrityError, match="stays for its time"), transaction.atomic():
        Notice.objects.order_by("-pk")[0].delete()
    durban.clock.advance(100 * DAY)
    outbox.forget_old()
    assert not Notice.objects.exists(), "what was read, after its time"


def test_one_digest_a_day_says_counts_and_links_and_nothing_else(durban: stories.Durban, post: Post) -> None:
    durban.clock.set(MONDAY)
    reached("ann"), reached("vic")
    late = durban.absent(483)
    actions.assign(of(late).uid, actor="bob", to="ann", reason="Secret word.")
    durban.silent(484)
    busy = durban.invoiced(485)
    durban.clock.set(MONDAY)
    assert sweep() == 0 and post.got == []
    durban.clock.advance(61)
    assert sweep() == 1 and sweep() == 0 and post.to == ["ann@example.com"], "and once"
    (letter,) = post.got
    assert letter["Subject"] == "Tieout: 1 waiting for you"
    text = letter.get_payload()
    assert (
        "1 waiting for you: https://tieout.example.com/queue/?view=person&who=me&rests=with&order=due" in text
    )
    assert "https://tieout.example.com/you/" in text
    durban.clock.advance(DAY)
    person("ann").groups.add(*person("bob").groups.all())
    for uid in actions.overdue():
        actions.escalate(uid)
    assert sweep() == 1
    told = post.got[1].get_payload()
    assert "1 late for you" in told and "1 passed on to you" in told
    held = json.dumps([*Message.objects.values_list("lines", flat=True)])
    held += json.dumps([*Notice.objects.values_list("kind", "about")])
    for word in (*CONFIDENTIAL, busy.key):
        assert not any(word in said for said in (str(letter), str(post.got[1]), held)), word
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        Message.objects.update(lines=[])
    assert {one.state for one in Message.objects.all()} == {"delivered"}
    with pytest.raises(IntegrityError, match="stays for its time"), transaction.atomic():
        Message.objects.all().delete()
    durban.clock.advance(100 * DAY)
    outbox.forget_old()
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("now", "at", "weekends", "then"),
    [
        ("2026-11-30 05:00", "07:30", False, "2026-11-30 05:30"),
        ("2026-11-30 05:30", "07:30", False, "2026-12-01 05:30"),
        ("2026-12-04 06:00", "07:30", False, "2026-12-07 05:30"),
        ("2026-12-04 06:00", "07:30", True, "2026-12-05 05:30"),
        ("2026-12-04 23:00", "00:15", True, "2026-12-05 22:15"),
    ],
)
def test_a_digest_comes_by_the_readers_clock(now: str, at: str, weekends: bool, then: str) -> None:
    reader = Reader(digest_at=time.fromisoformat(at), weekends=weekends, zone="Africa/Johannesburg")
    start, due = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (now, then))
    assert digest.next_at(reader, start) == due


@pytest.mark.parametrize(
    ("begin", "end", "now", "until"),
    [
        ("18:00", "07:00", "2026-11-30 16:00", "2026-12-01 05:00"),
        ("18:00", "07:00", "2026-12-01 04:59", "2026-12-01 05:00"),
        ("18:00", "07:00", "2026-12-01 05:00", ""),
        ("12:00", "13:00", "2026-12-01 10:30", "2026-12-01 11:00"),
        ("12:00", "13:00", "2026-12-01 11:00", ""),
    ],
)
def test_nothing_is_sent_in_quiet_hours(begin: str, end: str, now: str, until: str) -> None:
    reader = Reader(quiet_from=time.fromisoformat(begin), quiet_until=time.fromisoformat(end))
    reader.zone = "Africa/Johannesburg"
    found = digest.quiet_until(reader, datetime.fromisoformat(now).replace(tzinfo=UTC))
    assert found == (datetime.fromisoformat(until).replace(tzinfo=UTC) if until else None)


def test_what_was_taken_without_an_answer_comes_again_under_its_key_and_who_is_gone_gets_nothing(
    durban: stories.Durban, post: Post
) -> None:
    """The first letter is taken and not answered; the next days' is not told, for the account is closed."""
    durban.clock.set(MONDAY)
    ann = reached("ann")
    actions.assign(of(durban.absent(483)).uid, actor="bob", to="ann")
    person("bob")
    durban.clock.set(MONDAY)
    making.make()
    durban.clock.set(MONDAY + timedelta(minutes=2))
    post.silent = 1
    assert sweep() == 0 and len(post.got) == 1
    assert "The mail server takes no messages" in page("bob")
    assert sweep() == 0 and len(post.got) == 1, "it is left alone for a while"
    durban.clock.advance(10)
    assert sweep() == 1 and len(post.got) == 2
    assert post.got[0]["Message-ID"] == post.got[1]["Message-ID"]
    assert "The mail server takes no messages" not in page("bob")
    durban.clock.advance(DAY)
    making.make()
    User.objects.filter(pk=ann.pk).update(is_active=False)
    assert sweep() == 1 and len(post.got) == 2
    assert Message.objects.get(state="dropped").words == "Their account is closed."
    assert "1 open in the name of people whose account is closed" in page("bob")


def test_an_address_that_is_refused_holds_nobody_else_up(durban: stories.Durban, post: Post) -> None:
    durban.clock.set(MONDAY)
    for name in ("ann", "eve"):
        reached(name)
    actions.assign(of(durban.absent(483)).uid, actor="bob", to="eve")
    actions.assign(of(durban.absent(484)).uid, actor="bob", to="ann")
    durban.clock.set(MONDAY)
    making.make()
    durban.clock.set(MONDAY + timedelta(minutes=2))
    post.refused = "ann@example.com"
    sweep()
    assert [letter["To"] for letter in post.got] == ["eve@example.com"]
    waiting = Message.objects.get(state="waiting")
    assert waiting.words == "The mail server refused their address with 550."
    durban.clock.advance(DAY)
    making.make()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.words) == ("dropped", "A newer digest has taken its place.")


def test_a_digest_that_breaks_keeps_nobody_waiting_and_what_was_given_up_ends(
    durban: stories.Durban, post: Post, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    durban.clock.set(MONDAY)
    ann, eve = reached("ann"), reached("eve")
    Reader.objects.create(person=ann, digest_due_at=MONDAY)
    Reader.objects.create(person=eve, digest_due_at=MONDAY + timedelta(seconds=1))
    actions.assign(of(durban.absent(483)).uid, actor="bob", to="eve")
    durban.clock.set(MONDAY + timedelta(minutes=2))
    real = digest.lines

    def lines(person: User, now: datetime) -> list[digest.Line]:
        if person == ann:
            raise RuntimeError("a fault")
        return real(person, now)

    monkeypatch.setattr(digest, "lines", lines)
    assert sweep() == 1 and post.to == ["eve@example.com"]
    late = Reader.objects.filter(person=ann, digest_due_at__gt=MONDAY + timedelta(hours=1))
    assert late.exists(), "later, not every time"
    Message.objects.update(state="given_up", due_at=None, delivered_at=None)
    assert "1 message was given up, by mail or chat" in page("vic")
    durban.clock.advance(DAY)
    assert sweep() == 1
    assert "given up, by mail or chat" not in page("vic"), "what came next says all that waits"
    durban.clock.advance(settings.DELIVERIES_DAYS * DAY + DAY)
    outbox.forget_old()
    assert not Message.objects.exists()


def test_who_asked_is_not_told_that_their_own_request_is_overdue(durban: stories.Durban) -> None:
    durban.invoice.review = {"due": "4h", "four_eyes_above": {"ZAR": "10.00"}}
    durban.invoice.save(update_fields=["review"])
    operation = durban.blind(318, "18400.00")
    said: dict[str, Any] = {"reason": "Seen.", "command_id": uuid.uuid4(), "reference": "INV-7"}
    for name in ("bob", "eve"):
        person(name)
    actions.attest(operation.pk, actor="bob", **said)
    durban.clock.set(operation.approvals.get().due_at)
    assert actions.escalate_ask(operation.pk)
    assert [one.person.username for one in Notice.objects.filter(kind="overdue")] == ["eve"]


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving() as found:
        monkeypatch.setenv("LEADS_CHAT", found.url)
        yield found


def test_a_team_s_chat_hears_once_how_much_was_passed_on_to_it(
    durban: stories.Durban, chat: Receiver
) -> None:
    leads = Team.objects.create(
        name="finance-leads", chat="env:LEADS_CHAT", chat_kind="slack", allow_private=True
    )
    Team.objects.create(name="finance", escalate=[{"to": "finance-leads", "after": 0}])
    sweep()
    for number in (483, 484):
        durban.absent(number)
    durban.clock.advance(5 * 3600)
    for uid in actions.overdue():
        actions.escalate(uid)
    sweep(), sweep()
    (told,) = [json.loads(one.body) for one in chat.got]
    assert set(told) == {"text"}
    assert told["text"].startswith("2 items passed on to finance-leads, as nobody had answered in time: http")
    assert not any(word in told["text"] for word in CONFIDENTIAL)
    Team.objects.filter(pk=leads.pk).update(chat_kind="teams")
    loose = actions.open_case(
        kind=CaseKind.PAUSED, owner="finance", due_s=0, actor="policy", reason="It refuses us."
    )
    assert actions.escalate(loose.uid)
    sweep()
    assert len(chat.got) == 1, "not again within a quarter of an hour"
    durban.clock.advance(900)
    sweep()
    card = json.loads(chat.got[1].body)["attachments"][0]["content"]
    assert card["body"][0]["text"].startswith("1 item passed on to finance-leads")
    assert chat.got[0].name != chat.got[1].name
    Team.objects.filter(pk=leads.pk).update(allow_private=False)
    Channel.objects.update(pending=1, spoke_at=None)
    sweep()
    assert len(chat.got) == 2, "no private network is reached"
    assert Message.objects.get(state="waiting").tries == 1
    assert "The chat of finance-leads takes no messages" in page("vic")


def test_a_person_chooses_when_the_digest_comes_and_what_could_never_come_is_refused(
    durban: stories.Durban,
) -> None:
    ann = browser_of("ann")
    form = {
        "email": "ann@example.com",
        "on": "on",
        "at": "08:15",
        "quiet_from": "18:00",
        "quiet_until": "07:00",
    }
    for change, why in (
        ({"at": "06:30"}, "The digest would come in the quiet hours"),
        ({"quiet_until": ""}, "Write both ends of the quiet hours"),
        ({"email": "ann"}, "Write an e-mail address"),
    ):
        answer = ann.post("/you/digest/", form | change)
        assert why in answer.content.decode() and not Reader.objects.exists()
    assert ann.post("/you/digest/", form).status_code == 303
    reader = Reader.objects.get(person__username="ann")
    assert (reader.digest_at, reader.quiet_until, reader.person.email) == (
        time(8, 15),
        time(7),
        "ann@example.com",
    )
    assert 'name="at" required value="08:15"' in ann.get("/you/").content.decode()
    ann.post("/you/digest/", form | {"on": ""})
    assert Reader.objects.get(pk=reader.pk).digest_off


def test_a_chat_or_a_reader_that_breaks_keeps_no_other_waiting(
    durban: stories.Durban, chat: Receiver, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    durban.clock.set(MONDAY)
    ann, eve = reached("ann"), reached("eve")
    for name in ("a-broken", "b-leads"):
        Team.objects.create(name=name, chat="env:LEADS_CHAT", chat_kind="slack", allow_private=True)
        Channel.objects.create(name=f"chat:{name}", pending=1)
    asked, figures = digest.next_at, digest.figures

    def next_at(reader: Reader, now: datetime) -> datetime:
        if reader.person == ann:
            raise RuntimeError("a fault")
        return asked(reader, now)

    monkeypatch.setattr(digest, "next_at", next_at)
    told: list[str] = []

    def broken(count: int, noun: str) -> str:
        told.append(noun)
        if len(told) == 1:
            raise RuntimeError("a fault")
        return figures(count, noun)

    monkeypatch.setattr(digest, "figures", broken)
    assert making.make() == 1, "the second chat has its message, though the first broke"
    due = dict(Reader.objects.values_list("person__username", "digest_due_at"))
    assert due["ann"] == MONDAY + timedelta(hours=1), "later, not every time"
    assert due["eve"] == asked(Reader.objects.get(person=eve), MONDAY)
    assert making.make() == 1, "the first one's comes with the next pass"
    assert Channel.objects.filter(pending=0).count() == 2
