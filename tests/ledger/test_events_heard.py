"""A destination's own webhooks: signed, they are a reason to look; the look-up alone decides.

| what comes                              | answer      | what follows                               |
|-----------------------------------------|-------------|--------------------------------------------|
| not signed, stale, by another secret    | 401         | a count                                    |
| signed, of an operation in any state    | 202 new     | one event on the trail, one look-up        |
| the same event again                    | 200 known   | nothing                                    |
| of a reference or account not ours      | 202 nothing | nothing                                    |
| of what is finished, and as it is known | 202 new     | nothing                                    |
| a flood about one operation             | 202         | looks further apart, the last word heard   |
"""

import base64
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import psycopg
import pytest
from django.db import DatabaseError, connection
from standardwebhooks import Webhook

from ledger import actions
from ledger.models import Destination, Event, Heard, Lookup, Operation, OperationType, Unsigned, database_now
from ledger.rules.hearing import AT_ONCE
from ledger.rules.records import Found
from ledger.rules.states import CaseKind, State, Verdict
from tests.databases import Clock
from tests.doors import Api, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.people import browser_of
from tests.sandboxes import Sandbox, running_sandbox
from tests.workers import one_round

OLD, NEW = ("whsec_" + base64.b64encode(bytes(range(start, start + 24))).decode() for start in (1, 31))
OTHER = "whsec_" + base64.b64encode(b"somebody else's secret..").decode()
READS = {"reference": "data.metadata.operation"}
SCHEMES: dict[str, dict[str, Any]] = {
    "standard": {"scheme": "standard"},
    "stripe": {"scheme": "stripe"},
    "hmac": {"scheme": "hmac", "signature_header": "X-Hub-Signature-256", "prefix": "sha256=", "id": "id"},
    "hmac with a time": {
        "scheme": "hmac",
        "signature_header": "X-Signature",
        "timestamp_header": "X-Time",
        "encoding": "base64",
        "id": "id",
    },
}
Headers = dict[str, str]


def signed(scheme: str, body: bytes, *, secret: str = NEW, at: float | None = None) -> Headers:
    """The headers by which a destination signs a body."""
    seconds = int(at or time.time())
    with_time = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).digest()
    match scheme:
        case "standard":
            name = json.loads(body)["id"] if body.startswith(b'{"id"') else "evt"
            mark = Webhook(secret).sign(name, datetime.fromtimestamp(seconds, UTC), body.decode())
            return {
                "webhook-id": name,
                "webhook-timestamp": str(seconds),
                "webhook-signature": f"v1a,eA== {mark}",
            }
        case "stripe":
            return {"Stripe-Signature": f"t={seconds},v1={'0' * 64},v0=abc,v1={with_time.hex()}"}
        case "hmac":
            plain = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
            return {"X-Hub-Signature-256": f"sha256={plain}"}
        case _:
            return {"X-Signature": base64.b64encode(with_time).decode(), "X-Time": str(seconds)}


def event(name: str, key: str, **members: Any) -> bytes:
    """An event as Durban Books writes it; each operation's have names of their own."""
    name = f"{name}/{key}"
    record = {"id": "INV-1", "metadata": {"operation": key}, **members}
    return json.dumps({"id": name, "type": "invoice.updated", "data": record}).encode()


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Where the two secrets are, of which one is on its way out."""
    places = []
    for name, value in (("new", NEW), ("old", OLD)):
        file = tmp_path_factory.mktemp("secrets") / name
        file.write_text(value)
        places.append(f"file:{file}")
    return places


@pytest.fixture(scope="module")
def books(serving: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Durban Books itself, which the destination leads to."""
    kind = OperationType.objects.get(name="ticket.open")
    kind.calls["record"] |= {"status": "status", "void_statuses": ["void"]}
    kind.save(update_fields=["calls"])
    with running_sandbox(tmp_path_factory.mktemp("books")) as sandbox:
        yield sandbox


Tell = Callable[..., httpx.Response]


@pytest.fixture
def tell(api: Api, books: Sandbox, secrets: list[str]) -> Tell:
    """Post an event to the door as the destination does; `scheme` is what is configured."""

    def post(
        body: bytes, *, scheme: str = "stripe", headers: Headers | None = None, **rules: Any
    ) -> httpx.Response:
        events = {**SCHEMES[scheme], **READS, "secret": secrets, **rules}
        reach = {"base_url": books.url, "timeout": 3, "events": events}
        Destination.objects.filter(name="books").update(connection=reach)
        given = signed(scheme, body, at=now()) if headers is None else headers
        return api.http.post("/api/v1/destinations/books/events", content=body, headers=given)

    return post


def now() -> float:
    return database_now().timestamp()


def heard(answer: httpx.Response, status: int) -> str:
    """What became of an event."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"heard"}
    word: str = answer.json()["heard"]
    return word


def in_doubt(api: Api, kind: str = "ticket.open") -> Operation:
    """An operation whose caller got no answer."""
    key = new_key()
    answer = api.post(
        "operations/claim", {"type": kind, "key": key, "payload": {"metadata": {"operation": key}}}
    )
    api.outcome(answer.json()["attempt"], "uncertain")
    return Operation.objects.get(key=key)


def done(api: Api, books: Sandbox, api_key: str | None = None) -> Operation:
    """An operation that is done, and whose record stands at Durban Books."""
    key = api_key or new_key()
    answer = api.post(
        "operations/claim", {"type": "ticket.open", "key": key, "payload": {"metadata": {"operation": key}}}
    )
    number = made(books, key)
    api.outcome(answer.json()["attempt"], "succeeded", destination_reference=number)
    return Operation.objects.get(key=key)


def made(books: Sandbox, key: str) -> str:
    """Make the record that the destination holds for a key; gives its number."""
    body = {"order": "1", "total": "1240.00", "currency": "ZAR", "metadata": {"operation": key}}
    reply = books.call("POST", "/invoices", body=body, headers={"Content-Type": "application/json"})
    assert reply.status == 201, reply.body
    number: str = reply.json["id"]
    return number


def again(operation: Operation) -> Operation:
    return Operation.objects.select_related("operation_type__destination").get(pk=operation.pk)


def refused_so_far() -> int:
    return Unsigned.objects.values_list("count", flat=True).first() or 0


def told_events(operation: Operation) -> list[Event]:
    return list(operation.events.filter(kind="heard"))


# --- who signs


@pytest.mark.parametrize("scheme", SCHEMES)
def test_only_who_signs_with_a_secret_of_ours_is_heard(api: Api, tell: Tell, scheme: str) -> None:
    operation = in_doubt(api)
    told, before = f"evt_{new_key('a')}", refused_so_far()
    body = event(told, operation.key)
    stale, early = now() - 301, now() + 320
    refused = [
        {},
        signed(scheme, body, secret=OTHER, at=now()),
        signed(scheme, body + b" ", at=now()),
        {name: value[:-1] for name, value in signed(scheme, body, at=now()).items()},
        dict.fromkeys(signed(scheme, body), ""),
        dict.fromkeys(signed(scheme, body), "é,="),
    ]
    if scheme != "hmac":
        refused += [signed(scheme, body, at=stale), signed(scheme, body, at=early)]
    for headers in refused:
        sent = {name: value.encode() for name, value in headers.items()}
        answer = problem(tell(body, scheme=scheme, headers=sent), 401, "not-signed")
        assert answer["retry"] == "never"
    assert refused_so_far() == before + len(refused), "a count is all that is kept"
    assert not told_events(operation)
    assert not Heard.objects.filter(event_id=told).exists()
    old = signed(scheme, body, secret=OLD, at=now())
    assert heard(tell(body, scheme=scheme, headers=old), 202) == "new", "while it is replaced, both count"
    assert heard(tell(body, scheme=scheme), 200) == "known"
    assert refused_so_far() == before + len(refused)


def test_signatures_of_another_scheme_or_version_count_for_nothing(api: Api, tell: Tell) -> None:
    body = event("evt_scheme", in_doubt(api).key)
    mark = signed("stripe", body, at=now())["Stripe-Signature"]
    for wrong in (
        mark.replace("v1=", "v0="),
        mark.replace("t=", "x="),
        f"{mark},t={int(now())}",
        mark.replace("t=", "t=0"),
        "t=1,v1=" + "0" * 64 + ",v1=0" * 30,
    ):
        problem(tell(body, headers={"Stripe-Signature": wrong}), 401, "not-signed")
    standard = signed("standard", body, at=now())
    for name, value in (
        ("webhook-id", "evt_other"),
        ("webhook-signature", standard["webhook-signature"].replace("v1,", "v2,")),
        ("webhook-timestamp", f"0{standard['webhook-timestamp']}"),
    ):
        problem(tell(body, scheme="standard", headers={**standard, name: value}), 401, "not-signed")
    assert heard(tell(body, scheme="standard", headers=standard), 202) == "new"


def test_no_destination_without_events_is_there_and_no_secret_is_a_reason_to_come_again(
    api: Api, tell: Tell
) -> None:
    body = event("evt_1", "order/1")
    assert heard(tell(body), 202) == "nothing"
    for name in ("nobody", "books/x"):
        assert api.http.post(f"/api/v1/destinations/{name}/events", content=body).status_code == 404
    answer = tell(body, secret=["file:/nonexistent/secret"])
    assert problem(answer, 503, "unavailable")["retry"] == "wait"
    assert "nonexistent" not in answer.text
    Destination.objects.filter(name="books").update(connection={"base_url": "http://127.0.0.1:1"})
    assert api.http.post("/api/v1/destinations/books/events", content=body).status_code == 404


def test_an_event_that_is_too_large_or_cannot_be_read_is_refused(api: Api, tell: Tell) -> None:
    assert tell(b"x" * (1024 * 1024 + 1), headers={}).status_code == 413
    twice = b'{"id": 1, "id": 2}'
    problem(tell(twice), 400, "duplicate-member")
    for body in (b"{", b"[1]", b'{"id": ""}', b'{"id": "a b"}', b'{"id": "' + b"x" * 201 + b'"}'):
        problem(tell(body), 400, "malformed")


# --- what follows


def test_what_its_destination_tells_of_is_looked_up_and_the_look_decides(
    api: Api, tell: Tell, books: Sandbox, clock: Clock
) -> None:
    operation = in_doubt(api)
    clock.advance(60)
    actions.hold(operation.pk, kind=CaseKind.COULD_NOT_LOOK, actor="policy", reason="Nobody could look.")
    number = made(books, operation.key)
    assert heard(tell(event("evt_made", operation.key, note="card 4111 1111 1111 1111")), 202) == "new"
    known = again(operation)
    assert (known.state, known.held_at is None) == (State.UNCERTAIN, False), "an event moves nothing"
    trail = told_events(operation)
    assert [(one.actor, one.data) for one in trail] == [
        ("destination:books", {"event": f"evt_made/{operation.key}", "event_type": "invoice.updated"})
    ]
    page = browser_of("vic").get(f"/operations/{operation.uid}/").content.decode()
    assert f"<b>Durban Books</b> told of it: invoice.updated evt_made/{operation.key}." in page
    one_round()
    known = again(operation)
    assert (known.state, known.destination_reference) == (State.COMPLETED, number)
    assert known.told_look_at is None
    looks = Lookup.objects.filter(operation=operation).count()
    assert heard(tell(event("evt_made", operation.key)), 200) == "known"
    one_round()
    assert Lookup.objects.filter(operation=operation).count() == looks
    assert len(told_events(operation)) == 1


def test_the_trail_calls_an_event_as_its_destination_does(api: Api, tell: Tell) -> None:
    for rules, word in ({}, "invoice.updated"), ({"type": "data.action"}, "finalised"):
        operation = in_doubt(api)
        assert heard(tell(event("evt_called", operation.key, action="finalised"), **rules), 202) == "new"
        assert [one.data["event_type"] for one in told_events(operation)] == [word]


def test_what_was_done_and_is_reversed_there_is_in_doubt_again_once_it_was_looked_up(
    api: Api, tell: Tell, books: Sandbox
) -> None:
    operation = done(api, books)
    books.call("POST", f"/invoices/{operation.destination_reference}/void")
    Operation.objects.filter(pk=operation.pk).update(told_at=None)
    assert heard(tell(event("evt_void", operation.key, status="void")), 202) == "new"
    assert again(operation).state == State.COMPLETED
    one_round()
    known = again(operation)
    assert known.state == State.UNCERTAIN
    assert known.cases.get(closed_at=None).kind == CaseKind.MISSING


def test_what_had_failed_and_is_there_after_all_is_in_doubt_again(
    api: Api, tell: Tell, books: Sandbox
) -> None:
    key = new_key()
    answer = api.post(
        "operations/claim", {"type": "ticket.open", "key": key, "payload": {"metadata": {"operation": key}}}
    )
    api.outcome(answer.json()["attempt"], "rejected", http_status=422)
    operation = Operation.objects.get(key=key)
    assert operation.state == State.FAILED
    made(books, key)
    assert heard(tell(event("evt_there", key)), 202) == "new"
    one_round()
    known = again(operation)
    assert known.state == State.UNCERTAIN
    assert known.cases.get(closed_at=None).kind == CaseKind.THERE_AFTER_ALL


def test_an_event_that_says_what_is_known_leads_to_nothing(api: Api, tell: Tell, books: Sandbox) -> None:
    operation = done(api, books)
    number = operation.destination_reference
    rules = {"record": "data"}
    same = event("evt_same", operation.key, id=number, total="1240.00", currency="ZAR", status="open")
    assert heard(tell(same, **rules), 202) == "new"
    assert not told_events(operation)
    assert again(operation).told_look_at is None
    second = event("evt_second", operation.key, id=f"{number}9", total="1240.00", currency="ZAR")
    assert heard(tell(second, **rules), 202) == "new"
    assert len(told_events(operation)) == 1, "a second record speaks against it"


def test_what_is_not_about_ours_is_not_kept(api: Api, tell: Tell) -> None:
    operation = in_doubt(api)
    rows = Event.objects.count(), Heard.objects.count()
    assert heard(tell(event("evt_a", "order/of/somebody/else")), 202) == "nothing"
    assert heard(tell(b'{"id": "evt_b", "type": "ping"}'), 202) == "nothing"
    for account in ("other", None):
        body = json.dumps(
            {"id": "evt_c", "account": account, "data": {"metadata": {"operation": operation.key}}}
        )
        assert heard(tell(body.encode(), account="account"), 202) == "nothing"
    assert (Event.objects.count(), Heard.objects.count()) == rows
    body = json.dumps({"id": "evt_d", "account": "main", "data": {"metadata": {"operation": operation.key}}})
    assert heard(tell(body.encode(), account="account"), 202) == "new"
    Operation.objects.filter(pk=operation.pk).update(told_look_at=None)


def test_a_flood_leads_to_few_looks_and_the_last_word_is_never_missed(
    api: Api, tell: Tell, books: Sandbox, clock: Clock
) -> None:
    operation = done(api, books)
    looks = Lookup.objects.filter(operation=operation)
    for number in range(12):
        assert heard(tell(event(f"evt_{number}", operation.key)), 202) == "new"
        if number % 4 == 0:
            one_round()
    assert looks.count() == AT_ONCE
    for number in range(12):
        clock.advance(600)
        assert heard(tell(event(f"evt_later_{number}", operation.key)), 202) == "new"
        one_round()
    assert AT_ONCE + 4 <= looks.count() <= AT_ONCE + 8, "in two hours"
    assert len(told_events(operation)) <= looks.count() + 1
    books.call("POST", f"/invoices/{operation.destination_reference}/void")
    tell(event("evt_last", operation.key))
    clock.advance(3600)
    one_round()
    assert again(operation).state == State.UNCERTAIN


def test_what_is_told_while_a_look_is_on_its_way_is_looked_up_again(
    api: Api, tell: Tell, books: Sandbox
) -> None:
    operation = done(api, books)
    absent = Found(Verdict.COULD_NOT_LOOK, complete=False, why="It took long.")
    assert heard(tell(event("evt_first", operation.key)), 202) == "new"
    asked_at = database_now()
    assert heard(tell(event("evt_second", operation.key)), 202) == "new"
    actions.keep_lookup(operation.pk, found=absent, asked_at=asked_at, actor="worker", reason="A look.")
    assert again(operation).told_look_at is not None
    one_round()
    assert again(operation).told_look_at is None
    assert Lookup.objects.filter(operation=operation).count() == 2


def test_a_look_that_could_not_look_is_repeated_twice(
    api: Api, tell: Tell, books: Sandbox, clock: Clock
) -> None:
    operation = done(api, books)
    assert heard(tell(event("evt_blind", operation.key)), 202) == "new"
    books.faults("error_before", operation.key, count=None, arg=503)
    for _ in range(6):
        one_round()
        clock.advance(60)
    books.clear_faults()
    assert Lookup.objects.filter(operation=operation).count() == 3
    assert again(operation).state == State.COMPLETED


def test_what_is_told_while_a_try_runs_or_a_destination_is_paused_is_looked_up_after_that(
    api: Api, tell: Tell, books: Sandbox, clock: Clock
) -> None:
    key = new_key()
    payload = {"metadata": {"operation": key}}
    attempt = api.post("operations/claim", {"type": "ticket.open", "key": key, "payload": payload}).json()
    operation, looks = Operation.objects.get(key=key), Lookup.objects.filter(operation__key=key)
    assert heard(tell(event("evt_early", key)), 202) == "new"
    one_round()
    assert not looks.exists(), "its own outcome decides"
    number = made(books, key)
    api.outcome(attempt["attempt"], "succeeded", destination_reference=number)
    destination = operation.operation_type.destination
    actions.pause(destination.pk, why="It is not set up.")
    one_round()
    assert not looks.exists()
    actions.resume(
        destination.pauses.get(resumed_at=None).uid, actor="ada", reason="It is.", command_id=uuid.uuid4()
    )
    one_round()
    assert looks.count() == 1
    assert again(operation).told_look_at is None


def test_where_nothing_can_be_looked_up_it_stands_on_the_trail_and_no_more(
    api: Api, tell: Tell, clock: Clock
) -> None:
    operation = in_doubt(api, "reminder.send")
    for number in range(25):
        assert heard(tell(event(f"evt_blind_{number}", operation.key)), 202) == "new"
    assert len(told_events(operation)) == 20
    assert again(operation).told_look_at is None
    clock.advance(timedelta(days=1))
    tell(event("evt_next_day", operation.key))
    assert len(told_events(operation)) == 21


def test_a_look_up_that_was_taken_out_of_the_file_is_due_no_more(
    api: Api, tell: Tell, books: Sandbox
) -> None:
    operation = done(api, books)
    assert heard(tell(event("evt_gone", operation.key)), 202) == "new"
    kind = OperationType.objects.filter(name="ticket.open")
    calls = kind.get().calls
    kind.update(calls={})
    one_round()
    kind.update(calls=calls)
    assert again(operation).told_look_at is None
    assert not Lookup.objects.filter(operation=operation).exists()


def test_what_was_heard_cannot_be_forgotten(api: Api, tell: Tell) -> None:
    operation = in_doubt(api)
    assert heard(tell(event("evt_kept", operation.key)), 202) == "new"
    Operation.objects.filter(pk=operation.pk).update(told_look_at=None)
    for statement in (
        "DELETE FROM ledger_heard",
        "UPDATE ledger_heard SET event_id = 'x'",
        "TRUNCATE ledger_heard",
    ):
        with pytest.raises((DatabaseError, psycopg.Error)), connection.cursor() as cursor:
            cursor.execute(statement)
