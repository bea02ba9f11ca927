"""The outbox: what is told, to whom, and how often, a round of the worker's work at a time."""

import socket
import threading
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection, transaction

from ledger import actions
from ledger.models import Delivery, Event, Operation, OperationType, Webhook
from ledger.rules.following import Earlier
from ledger.rules.states import State
from ledger.rules.webhooks import PAUSES_S, public
from ledger.webhooks import messages, outbox, sweeping
from tests import stories
from tests.receivers import ALL, Receiver, hooked, receiving
from tests.sandboxes import Sandbox
from tests.workers import one_round, until

WAITING, DELIVERED, GIVEN_UP, DROPPED = "waiting", "delivered", "given_up", "dropped"


@pytest.fixture
def shop() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


DAY_S = 86400.0


def deliver() -> None:
    """One round: the sweep, and the turns that it began."""
    sweeping.sweep()
    ended()


def everything() -> bool:
    """One round of all that a worker does; turns go on beside it."""
    sweeping.sweep()
    one_round()
    return True


def ended() -> None:
    """Wait for the end of every turn."""
    for thread in threading.enumerate():
        if thread.name.startswith("webhook "):
            thread.join()


def done(durban: stories.Durban, order: int) -> Operation:
    return durban.tried(durban.invoiced(order), stories.done(f"INV-{order}"))


def states(**asked: Any) -> list[tuple[str, int, str]]:
    """State, tries and words of deliveries in their order."""
    rows = Delivery.objects.filter(**asked).order_by("pk")
    return [(row.state, row.tries, row.words) for row in rows]


# --- what is told


def test_what_happened_is_told_once_with_the_operation_and_without_its_payload(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url)
    operation = done(durban, 483)
    deliver()
    deliver()
    (message,) = shop.got
    told = message.told
    assert told["type"] == "operation.completed"
    assert told["timestamp"] == operation.events.get(state_to=State.COMPLETED).at.isoformat()
    assert told["data"]["id"] == str(operation.uid)
    assert told["data"]["page"] == f"http://localhost:8000/operations/{operation.uid}/"
    assert (told["data"]["state"], told["data"]["amount"]) == ("completed", "1240.00")
    assert "payload" not in told["data"] and b"total" not in message.body
    assert message.name == f"msg_{Delivery.objects.get().uid.hex}"
    assert states() == [(DELIVERED, 1, "It answered 204.")]


def test_what_comes_first_is_told_to_none_who_is_told_of_its_followers_type_alone(
    durban: stories.Durban, shop: Receiver
) -> None:
    OperationType.objects.update(destination=durban.invoice.destination)
    key = done(durban, 1).key
    hooked(shop.url, "all")
    hooked(shop.url, "both", types=["reminder.send", "invoice.create"])
    hooked(shop.url, "reminders", types=["reminder.send"])
    after = Earlier("invoice.create", key)
    follower = actions.Submission("reminder.send", {"order": "1"}, key="reminder/1/1", after=after)
    reply = actions.claim(follower, actor="api:webshop")
    assert reply.attempt is not None and reply.token is not None
    actions.record(reply.attempt.uid, token=reply.token, report=stories.done("MAIL-1"), actor="api:webshop")
    deliver()
    told = [one.told["data"]["after"] for one in shop.got]
    assert sorted(first["key"] if first else "" for first in told) == ["", key, key]
    assert sum(key.encode() in one.body for one in shop.got) == 2


def test_each_kind_is_told_to_who_wants_it_and_of_its_types_only(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url, "all")
    for name, events, types in (
        ("held", ["operation.held"], []),
        ("reminders", ["operation.held", "operation.completed", "permit.open"], ["reminder.send"]),
        ("none", [], []),
    ):
        hooked(shop.url, name, events=events, types=types)
    done(durban, 1)
    refused = durban.tried(durban.invoiced(2), stories.REFUSED)
    meant = actions.Correction({"order": "2", "total": "10.00"}, "10.00", "ZAR", None, None)
    actions.correct(
        refused.pk,
        meant,
        actor="api:webshop",
        reason="Two figures were swapped.",
        who="Thandi",
        command_id=None,
    )
    durban.expired(3)
    told = Delivery.objects.order_by("webhook__name", "kind").values_list("webhook__name", "kind")
    assert list(told) == [
        ("all", "operation.completed"),
        ("all", "operation.corrected"),
        ("all", "operation.held"),
        ("all", "operation.held"),
        ("held", "operation.held"),
        ("held", "operation.held"),
        ("reminders", "operation.held"),
    ]
    deliver()
    assert sorted(shop.kinds) == sorted(kind for _, kind in told)


def test_nothing_is_told_of_what_did_not_happen(durban: stories.Durban, shop: Receiver) -> None:
    hooked(shop.url)
    with transaction.atomic():
        done(durban, 483)
        assert Delivery.objects.count() == 1
        transaction.set_rollback(True)
    assert not Delivery.objects.exists()
    Webhook.objects.all().delete()
    done(durban, 484)
    assert not Delivery.objects.exists(), "nobody wants to know"


def permitted(durban: stories.Durban, order: int) -> Operation:
    """A reminder that did not happen, as its automation says, and ann allows another try."""
    operation, attempt, token = durban.reminded(order)
    actions.record(attempt.uid, token=token, report=stories.REFUSED, actor="api:webshop")
    click = uuid.uuid4()
    actions.permit(operation.pk, actor="ann", reason="They wait for it.", command_id=click)
    return durban.again(operation)


def test_a_permit_is_told_when_it_can_be_used_and_not_when_it_was_taken_back(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url, events=["permit.open"])
    durban.allowed(durban.absent(3))
    allowed, undone = permitted(durban, 1), permitted(durban, 2)
    assert Delivery.objects.count() == 2, "what Tieout sends itself is nobody's to try"
    deliver()
    assert shop.got == []
    actions.withdraw(undone.pk, actor="ann", reason="Undone.", command_id=uuid.uuid4())
    durban.clock.advance(11)
    deliver()
    assert [one.told["data"]["id"] for one in shop.got] == [str(allowed.uid)]
    assert states(operation=undone) == [(DROPPED, 0, outbox.NOTHING_LEFT)]
    assert states(operation=allowed)[0][0] == DELIVERED


def test_a_permit_whose_destination_is_paused_is_told_when_it_is_resumed(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url, events=["permit.open"])
    permitted(durban, 1)
    actions.pause(durban.reminder.destination_id, why="It is not set up.")
    durban.clock.advance(11)
    deliver()
    assert (shop.got, states()) == ([], [(WAITING, 0, "")])
    pause = durban.reminder.destination.pauses.get()
    actions.resume(pause.uid, actor="ada", reason="It is, now.", command_id=uuid.uuid4())
    durban.clock.advance(61)
    deliver()
    assert shop.kinds == ["permit.open"]


def test_while_a_secret_is_replaced_each_of_them_verifies(
    durban: stories.Durban, shop: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEXT_WEBHOOK", "whsec_bmV4dCBzZWNyZXQsIGp1c3QgYXMgbG9uZw==")
    hooked(shop.url, secrets=["env:NEXT_WEBHOOK", "env:TIEOUT_WEBHOOK"])
    done(durban, 483)
    deliver()
    assert shop.got[0].told["type"] == "operation.completed"
    assert shop.got[0].headers["webhook-signature"].count("v1,") == 2


# --- how often


def test_only_a_2xx_is_delivered_and_each_try_has_the_same_id(durban: stories.Durban, shop: Receiver) -> None:
    hooked(shop.url)
    done(durban, 483)
    with receiving() as elsewhere:
        for shop.status in (302, 500, 400):
            shop.headers = {"Location": elsewhere.url}
            deliver()
            durban.clock.advance(2 * 3600)
        assert elsewhere.got == [], "redirects are not followed"
    assert states() == [(WAITING, 3, "It answered 400.")]
    shop.status = 200
    deliver()
    assert states() == [(DELIVERED, 4, "It answered 200.")]
    assert len({one.name for one in shop.got}) == 1


def test_it_is_tried_for_about_three_days_and_then_given_up(durban: stories.Durban, shop: Receiver) -> None:
    hooked(shop.url)
    done(durban, 483)
    shop.status = 503
    deliver()
    for pause_s in PAUSES_S:
        durban.clock.advance(pause_s - 1)
        before = len(shop.got)
        deliver()
        assert len(shop.got) == before
        durban.clock.advance(2)
        deliver()
        assert len(shop.got) == before + 1
    assert 3 <= sum(PAUSES_S) / 86400 < 3.5
    assert states() == [(GIVEN_UP, 10, "It answered 503.")]
    durban.clock.advance(10 * 86400)
    deliver()
    assert len(shop.got) == 10


def test_410_gives_up_that_one_and_the_next_still_comes(durban: stories.Durban, shop: Receiver) -> None:
    hooked(shop.url)
    done(durban, 1)
    shop.status = 410
    deliver()
    assert states() == [(GIVEN_UP, 1, "It answered 410: nobody is there any more.")]
    shop.status = 204
    done(durban, 2)
    durban.clock.advance(60)
    deliver()
    assert states()[1][0] == DELIVERED


def test_a_receiver_that_fails_is_left_alone_and_gets_all_when_it_answers(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url)
    for order in range(5):
        done(durban, order)
    shop.status = 500
    deliver()
    assert len(shop.got) == 1, "the others would fail as well"
    deliver()
    assert len(shop.got) == 1
    shop.status = 204
    durban.clock.advance(6)
    deliver()
    assert {state for state, _, _ in states()} == {DELIVERED}
    assert Webhook.objects.get().failures == 0


def test_what_waited_longer_than_any_back_off_for_a_dead_receiver_is_given_up_untried(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url)
    shop.status = 500
    for order in range(3):
        done(durban, order)
    deliver()
    durban.clock.advance(81 * 3600)
    deliver()
    assert [state for state, _, _ in states()] == [GIVEN_UP] * 3
    assert states()[2] == (GIVEN_UP, 0, outbox.TOO_OLD)
    done(durban, 9)
    shop.status = 204
    durban.clock.advance(301)
    deliver()
    assert states()[3][0] == DELIVERED


def test_what_is_sent_again_after_a_long_outage_is_tried_and_has_three_days_anew(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url)
    shop.status = 500
    for order in range(2):
        done(durban, order)
    deliver()
    durban.clock.advance(81 * 3600)
    deliver()
    first, second = Delivery.objects.order_by("pk")
    for uid, status in ((first.uid, 500), (second.uid, 204)):
        assert actions.send_again(uid, actor="ada")
        shop.status = status
        deliver()
    assert [state for state, _, _ in states()] == [WAITING, DELIVERED]
    shop.status = 500
    done(durban, 2)
    deliver()
    durban.clock.advance(79 * 3600)
    deliver()
    assert GIVEN_UP not in [state for state, _, _ in states()]
    durban.clock.advance(2 * 3600)
    sweeping.sweep()
    assert states()[0][0] == states()[2][0] == GIVEN_UP


def test_what_a_webhook_no_longer_takes_is_given_up_in_words_and_not_sent(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url)
    lost = done(durban, 1)
    durban.expired(3)
    for order, (events, types) in enumerate(
        ((["operation.held"], []), (ALL, ["reminder.send"]), ([], [])), start=10
    ):
        Webhook.objects.update(events=ALL, types=[])
        done(durban, order)
        Webhook.objects.update(events=events, types=types)
        deliver()
    assert shop.kinds == ["operation.held"]
    assert states(kind="operation.completed") == [(GIVEN_UP, 0, outbox.NOT_WANTED)] * 4
    Webhook.objects.update(events=ALL, types=[])
    assert actions.send_again(Delivery.objects.get(operation=lost).uid, actor="ada")
    deliver()
    assert shop.kinds[-1] == "operation.completed"
    assert states(operation=lost)[0][0] == DELIVERED


def test_a_message_that_cannot_be_put_together_keeps_no_other_one_waiting(
    durban: stories.Durban, shop: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked(shop.url)
    broken, whole = done(durban, 1), done(durban, 2)
    body = messages.body

    def breaking(delivery: Delivery) -> bytes:
        """Build it, but for the first one."""
        return body(delivery) if delivery.operation_id != broken.pk else bytes("\ud800", "utf-8")

    monkeypatch.setattr(messages, "body", breaking)
    deliver()
    assert states(operation=whole)[0][0] == DELIVERED
    assert states(operation=broken) == [(WAITING, 1, outbox.NOT_BUILT)]
    assert Webhook.objects.get().rests_until is None, "the receiver has done nothing wrong"
    monkeypatch.undo()
    durban.clock.advance(6)
    deliver()
    assert states(operation=broken)[0][:2] == (DELIVERED, 2)


def test_a_dead_receiver_keeps_no_other_one_waiting(durban: stories.Durban, shop: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as dead:
        refusing = f"http://127.0.0.1:{dead.getsockname()[1]}/"
    hooked(refusing, "dead")
    hooked(shop.url, "shop")
    for order in range(3):
        done(durban, order)
    deliver()
    assert len(shop.got) == 3
    assert states(webhook__name="dead")[0] == (WAITING, 1, "The connection was refused.")
    assert Delivery.objects.filter(webhook__name="dead", tries=0).count() == 2


def test_receivers_that_are_slow_keep_neither_a_send_nor_another_receiver_waiting(
    durban: stories.Durban, shop: Receiver, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the test ends the wait of the slow ones, which answer 2xx in the end."""
    monkeypatch.setattr("ledger.webhooks.posting.TIMEOUT_S", 60)
    slow = [f"slow-{number}" for number in range(3)]
    type(durban.invoice.destination).objects.update(connection={"base_url": sandbox.url, "timeout": 3})
    with receiving() as held:
        held.open.clear()
        for name in slow:
            hooked(f"{held.url}/{name}", name)
        hooked(shop.url)
        done(durban, 1)
        sent = durban.invoiced(2)
        until(lambda: everything() and durban.again(sent).state == State.COMPLETED)
        until(lambda: everything() and len(shop.got) == 2 and len(held.got) == len(slow))
        assert {one.path for one in held.got} == {f"/hook/{name}" for name in slow}
        assert states(webhook__name__in=slow) == [(WAITING, 0, "")] * 6
        held.open.set()
        until(lambda: everything() and len(held.got) == 6)
        ended()
    assert states(webhook__name__in=slow) == [(DELIVERED, 1, "It answered 204.")] * 6


def test_who_has_waited_longest_for_a_turn_has_the_next_one(
    durban: stories.Durban, shop: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver for which there is always more to tell, and one that comes last by its name and age."""
    monkeypatch.setattr(sweeping, "MOST", 1)
    monkeypatch.setattr(outbox, "WORK_S", 0.0)
    for name in ("busy", "quiet"):
        hooked(f"{shop.url}/{name}", name)
    for order in range(2):
        done(durban, order)
    told = []
    for _ in range(4):
        deliver()
        told.append(shop.got[-1].path)
        durban.clock.advance(1)
    assert told == ["/hook/busy", "/hook/quiet"] * 2


def test_two_workers_never_deliver_to_one_receiver_at_once_and_a_killed_one_leaves_it(
    durban: stories.Durban, shop: Receiver
) -> None:
    webhook = hooked(shop.url)
    done(durban, 483)
    Webhook.objects.update(busy_until=durban.clock.now() + timedelta(seconds=outbox.BUSY_S))
    assert outbox.deliver(webhook.pk) == 0
    assert sweeping.sweep() == 0
    durban.clock.advance(outbox.BUSY_S + 1)
    deliver()
    assert len(shop.got) == 1
    assert Webhook.objects.free().count() == 1


def test_a_secret_that_is_not_there_is_said_and_tried_again(
    durban: stories.Durban, shop: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked(shop.url, secrets=["env:NEVER_SET"])
    done(durban, 483)
    deliver()
    assert states()[0][:2] == (WAITING, 1)
    assert "NEVER_SET is not set" in states()[0][2]
    monkeypatch.setenv("NEVER_SET", "p$$word")
    durban.clock.advance(10)
    deliver()
    assert "p$$word" not in states()[0][2] and "cannot sign: it is not base64." in states()[0][2]
    assert shop.got == []


def test_it_is_sent_again_under_the_same_id_when_an_administrator_asks(
    durban: stories.Durban, shop: Receiver
) -> None:
    hooked(shop.url)
    done(durban, 483)
    deliver()
    delivered = Delivery.objects.get()
    assert delivered.delivered_at is not None
    uid = delivered.uid
    assert actions.send_again(uid, actor="ada")
    assert not actions.send_again(uid, actor="ada"), "it is due already"
    deliver()
    assert len({one.name for one in shop.got}) == 1 and len(shop.got) == 2
    event = Event.objects.get(kind="told_again")
    assert (event.actor, event.data["delivery"]) == ("ada", str(uid))
    assert event.data["before"] == {
        "state": DELIVERED,
        "tries": 1,
        "http_status": 204,
        "delivered_at": delivered.delivered_at.isoformat(),
    }
    assert Delivery.objects.get().state == DELIVERED


# --- where to


PRIVATE = """
127.0.0.1 127.8.8.8 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 239.1.1.1
255.255.255.255 240.0.0.1 192.0.2.1 198.18.0.1 :: ::1 fe80::1 fe80::1%eth0 fc00::1 fd00:ec2::254 ff02::1
::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:a00:1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1
2002:7f00:1:: 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 ::127.0.0.1 nonsense
""".split()
PUBLIC = "1.1.1.1 8.8.8.8 2606:4700:4700::1111 ::ffff:1.1.1.1 64:ff9b::101:101".split()


def test_only_addresses_of_the_open_internet_are_public() -> None:
    assert [address for address in PRIVATE if public(address)] == []
    assert [address for address in PUBLIC if not public(address)] == []


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_a_private_network_is_not_reached_under_any_name(
    durban: stories.Durban, shop: Receiver, host: str
) -> None:
    hooked(f"http://{host}:{shop.port}/", allow_private=False)
    done(durban, 483)
    deliver()
    assert shop.got == []
    assert states() == [(WAITING, 1, "The name leads into a private network, which is not allowed.")]


def test_the_address_that_was_checked_is_the_one_that_is_connected_to(
    durban: stories.Durban, shop: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is public when it is asked for first, and private from then on (DNS rebinding)."""
    asked, told = [], []

    def resolved(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        asked.append(host)
        address = "192.88.99.77" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connected(address: tuple[str, int], *_: object, **__: object) -> socket.socket:
        told.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.getaddrinfo", resolved)
    monkeypatch.setattr("socket.create_connection", connected)
    monkeypatch.setattr("ledger.webhooks.posting.public", lambda address: address != "127.0.0.1")
    hooked("http://rebinding.example.com/", allow_private=False)
    done(durban, 483)
    deliver()
    assert (asked, told) == (["rebinding.example.com"], ["192.88.99.77"])


def test_an_address_that_cannot_be_read_is_said_and_blocks_nothing(
    durban: stories.Durban, shop: Receiver
) -> None:
    webhook = hooked("https://☃.example.com/")
    done(durban, 483)
    deliver()
    assert states() == [(WAITING, 1, "Its address cannot be read: correct the configuration file.")]
    Webhook.objects.filter(pk=webhook.pk).update(url=shop.url)
    durban.clock.advance(10)
    deliver()
    assert states()[0][0] == DELIVERED


# --- what the database keeps


def test_what_was_told_is_kept_for_its_time_and_what_is_owed_for_ever(
    durban: stories.Durban, shop: Receiver, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(outbox, "LATEST", 2)
    settings.DELIVERIES_DAYS = 10
    hooked(shop.url, "shop")
    hooked("http://127.0.0.1:1/", "dead")
    dead, told = Delivery.objects.filter(webhook__name="dead"), Delivery.objects.filter(webhook__name="shop")
    first = done(durban, 1)
    deliver()
    durban.clock.advance(6 * DAY_S)
    deliver()
    assert [one.state for one in (dead.get(), told.get())] == [GIVEN_UP, DELIVERED]
    with pytest.raises(DatabaseError, match="for its time"):
        told.all().delete()
    durban.clock.advance(3.9 * DAY_S)
    second = done(durban, 2)
    deliver()
    assert [one.operation for one in told.order_by("pk")] == [first, second], "its time is not over"
    durban.clock.advance(DAY_S)
    deliver()
    assert [one.operation for one in told.all()] == [second]
    durban.clock.advance(100 * DAY_S)
    assert outbox.forget_old() == 0, "it is among the latest"
    done(durban, 3)
    assert outbox.forget_old() == 1
    assert [one.state for one in told.all()] == [WAITING]
    with pytest.raises(DatabaseError, match="until it is told"):
        dead.filter(state=GIVEN_UP).delete()
    assert [one.state for one in dead.order_by("pk")] == [GIVEN_UP, WAITING, WAITING]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ledger_delivery",
        "TRUNCATE ledger_delivery",
        "UPDATE ledger_delivery SET kind = 'permit.open'",
        "UPDATE ledger_delivery SET uid = gen_random_uuid()",
        "UPDATE ledger_delivery SET state = 'delivered'",
        "UPDATE ledger_delivery SET due_at = NULL",
    ],
)
def test_what_was_to_be_told_stays(durban: stories.Durban, statement: str) -> None:
    hooked("http://127.0.0.1:1/")
    done(durban, 483)
    with pytest.raises((DatabaseError, psycopg.Error)), connection.cursor() as cursor:
        cursor.execute(statement)
