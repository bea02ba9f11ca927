"""A batch: each item is answered, and leaves behind, exactly what it would have alone, one after the other.

Each scene is set twice under other names. Once its items go in one batch, once one by one; answers and rows
must not differ in anything but ids, secrets and times.
"""

import json
import re
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from ledger.models import Destination, Operation, OperationType
from tests.doors import PAYLOAD, Api, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.ledger.promises import Snapshot

CHANGING = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"tieout_[\w-]{43}", "TOKEN"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00|Z)", "INSTANT"),
    (r"\d{4}-\d\d-\d\d [\d:]{8} SAST", "INSTANT"),
    (r"-g(\d)-[a-z2-7]{26}", r"-g\1-KEY"),
    ("The item must be a JSON object", "The body must be a JSON object"),
    # A payload that carries the operation's key has another digest.
    (r"k1:[0-9a-f]{64}", "DIGEST"),
    (r'"metadata.operation": "[\w-]{22}"', '"metadata.operation": "LEAF"'),
]
ROW_ONLY = {
    "id",
    "operation_id",
    "attempt_id",
    "corrects_id",
    "after_id",
    "payload_sealed",
    "tx",
    "token_hash",
}
OUTCOMES = ("succeeded", "retryable", "rejected", "uncertain", "accepted")
TYPES = ("reminder.send", "ticket.open", "invoice.create", "fax.send", "nothing.known")
Names = dict[str, str]
"""What a scene calls by a word: attempts' ids, and tokens."""


@pytest.fixture
def shop(api: Api) -> Api:
    """An automation whose token does not cover refunds; where faxes go, everything is paused."""
    reminder = OperationType.objects.get(name="reminder.send")
    fax = Destination.objects.filter(name="fax").first()
    if fax is None:
        fax = Destination.objects.get(name="books")
        fax.pk, fax.uid, fax.name = None, uuid.uuid4(), "fax"
        fax.save()
        reminder.pk, reminder.name, reminder.destination = None, "fax.send", fax
        reminder.save()
        api.outcome(api.claimed("fax/1", type="fax.send"), "rejected", http_status=401)
    return api.other(*TYPES)


def item(name: str, **members: Any) -> bytes:
    return json.dumps({"type": "reminder.send", "key": name, "payload": PAYLOAD, **members}).encode()


def before_claims(shop: Api, scene: str) -> Names:
    """Let there be operations in every state."""
    report = shop.outcome
    report(shop.claimed(f"{scene}/done"), "succeeded", destination_reference="INV-1")
    report(shop.claimed(f"{scene}/refused"), "rejected", http_status=422)
    report(shop.claimed(f"{scene}/silent"), "uncertain")
    report(shop.claimed(f"{scene}/waits"), "retryable", retry_after_s=40)
    report(shop.claimed(f"{scene}/due"), "retryable", retry_after_s=0)
    shop.claimed(f"{scene}/runs")
    kept = str(uuid.uuid4())
    shop.claimed(f"{scene}/unstarted", attempt_id=kept)
    changed = str(uuid.uuid4())
    shop.claimed(f"{scene}/changed", attempt_id=changed)
    shop.claimed(f"{scene}/lapsed", lease_s=1)
    lapsed = str(uuid.uuid4())
    shop.claimed(f"{scene}/lapsed-unstarted", attempt_id=lapsed, lease_s=1)
    started, its_start = str(uuid.uuid4()), str(uuid.uuid4())
    attempt = shop.claimed(f"{scene}/started", attempt_id=started)
    start = {"token": attempt["token"], "start_id": its_start}
    assert shop.post(f"attempts/{attempt['id']}/start", start).status_code == 200
    refused = shop.claimed(f"{scene}/corrected")
    told = report(refused, "rejected").json()["operation"]
    right = {"payload": {"order": "484"}, "who": "ann", "why": "It was another order."}
    assert shop.post(f"operations/{told['id']}/correction", right).status_code == 201
    shop.clock.advance(60)
    corrected = shop.claimed(f"{scene}/put-right")
    told = report(corrected, "rejected").json()["operation"]
    assert shop.post(f"operations/{told['id']}/correction", right).status_code == 201
    put_right = shop.claim(f"{scene}/put-right/c1", payload={"order": "484"})
    report(put_right.json()["attempt"], "succeeded", destination_reference="INV-2")
    return {"kept": kept, "changed": changed, "lapsed": lapsed, "started": started, "new": str(uuid.uuid4())}


def claims(scene: str, names: Names) -> list[bytes]:
    """Every kind of claim; some are not JSON that a single call would take."""
    money = {"amount": "1240.00", "currency": "ZAR"}
    source = {"system": "webshop", "reference": "483", "version": "1", "run": "token=abcdef0123456789"}
    whole = {"source": source, "description": "Order 483 for ann@example.com", "subject": "Acme", **money}
    raw = b'{"type": "reminder.send", "key": "%b/raw", "payload": {%b}}'
    return [
        item(f"{scene}/first", **whole),
        item(f"{scene}/first", **whole),
        item(f"{scene}/first", payload={"order": "485"}),
        *(
            item(f"{scene}/{known}")
            for known in (
                "done",
                "refused",
                "silent",
                "waits",
                "due",
                "runs",
                "corrected",
                "put-right",
                "lapsed",
            )
        ),
        item(f"{scene}/runs", payload={"order": "485"}),
        item(f"{scene}/lapsed-unstarted", attempt_id=names["lapsed"]),
        item(f"{scene}/lapsed-unstarted", attempt_id=names["lapsed"]),
        item(f"{scene}/started", attempt_id=names["started"]),
        item(f"{scene}/started", attempt_id=names["started"], payload={"order": "485"}),
        item(f"{scene}/runs", attempt_id=names["kept"]),
        item(f"{scene}/changed", attempt_id=names["changed"], payload={"order": "485"}),
        item(f"{scene}/done", payload={"order": "483", "lines": [1]}),
        item(f"{scene}/done", attempt_id=names["kept"]),
        item(f"{scene}/unstarted", attempt_id=names["kept"]),
        item(f"{scene}/unstarted", attempt_id=names["new"]),
        item(f"{scene}/with-id", attempt_id=names["new"], lease_s=5),
        item(f"{scene}/with-id", attempt_id=names["new"]),
        item(f"{scene}/elsewhere", attempt_id=names["new"]),
        item(f"{scene}/elsewhere", attempt_id=names["kept"]),
        b'{"type": "reminder.send", "key": "%b/corrected/c1"}' % scene.encode(),
        item(f"{scene}/corrected/c1", payload={"order": "485"}),
        *after_others(scene),
        b'{"type": "reminder.send", "key": "%b/nothing-kept"}' % scene.encode(),
        item(f"{scene}/Caf\u00e9"),
        item(f"{scene}/Cafe\u0301"),
        item(f"{scene}/ticket", type="ticket.open", payload={"metadata": {"operation": f"{scene}/ticket"}}),
        item(f"{scene}/ticket-without", type="ticket.open"),
        item(f"{scene}/fax-2", type="fax.send"),
        item(f"{scene}/invoice", type="invoice.create"),
        item(f"{scene}/refund", type="refund.pay"),
        item(f"{scene}/nothing", type="nothing.known"),
        item(f"{scene}/wrong", amount=1240, currency="ZAR"),
        item(f"{scene}/wrong", amount="1240.001", currency="ZAR"),
        item(f"{scene}/wrong", amount="1240.00"),
        item(f"{scene}/wrong", atempt_id="x", lease_s=0),
        item(f"{scene}/wrong", attempt_id="x", payload=[]),
        item(" "),
        item("x" * 201),
        item(f"{scene}/many", payload={str(n): n for n in range(10_001)}),
        raw % (scene.encode(), b'"a": 1, "a": 2'),
        raw % (scene.encode(), b'"a": 9007199254740993'),
        raw % (scene.encode(), b'"a": NaN'),
        raw % (scene.encode(), rb'"a": "\u0000"'),
        raw % (scene.encode(), b'"a": ' + b"[" * 65 + b"]" * 65),
        b"483",
        b"{}",
    ]


def after_others(scene: str) -> list[bytes]:
    """Claims that go one by one, each before or between others of the same key, or of what it comes after."""

    def after(key: str) -> dict[str, Any]:
        return {"after": {"type": "reminder.send", "key": f"{scene}/{key}"}}

    return [
        item(f"{scene}/follows", **after("runs")),
        item(f"{scene}/follows"),
        item(f"{scene}/follows", **after("runs")),
        item(f"{scene}/too-early", **after("later")),
        item(f"{scene}/later"),
        item(f"{scene}/too-early", **after("later")),
        item(f"{scene}/too-early"),
        item(f"{scene}/sooner"),
        item(f"{scene}/in-time", **after("sooner")),
        item(f"{scene}/Th\u00e9", **after("done")),
        item(f"{scene}/The\u0301"),
        b'{"type": "reminder.send", "key": "%b/kept-not"}' % scene.encode(),
        item(f"{scene}/kept-not"),
    ]


def test_15_claims_are_answered_and_kept_as_they_would_be_alone(shop: Api) -> None:
    together = claims("a", before_claims(shop, "a"))
    batch = in_one_batch(shop, "operations/claim-batch", together)
    alone = [one_by_one(shop, "operations/claim", body) for body in claims("b", before_claims(shop, "b"))]
    same(batch, alone)
    assert {one["status"] for one in batch} == {200, 201, 400, 403, 404, 409, 413, 422}
    assert {one["decision"] for one in batch} == {"proceed", "wait", "hold", "skip", "refuse", None}
    same(stored("a"), stored("b"))
    assert "abcdef0123456789" not in str(stored("a"))


def before_outcomes(shop: Api, other: Api, scene: str) -> Names:
    """Let there be attempts of every kind."""
    names: Names = {}

    def held(word: str, attempt: dict[str, Any]) -> None:
        names[word], names[f"{word} token"] = attempt["id"], attempt["token"]

    for word in ("done", "retryable", "rejected", "uncertain", "accepted", "void", "twice", "coded", "wrong"):
        held(word, shop.claimed(f"{scene}/{word}"))
    held("unstarted", shop.claimed(f"{scene}/unstarted", attempt_id=str(uuid.uuid4())))
    held("first", shop.claimed(f"{scene}/second"))
    held("expired", shop.claimed(f"{scene}/expired", lease_s=1))
    shop.outcome({"id": names["first"], "token": names["first token"]}, "retryable", retry_after_s=0)
    for word, outcome, more in (
        ("before", "succeeded", {"destination_reference": "INV-1", "http_status": 201}),
        ("before refused", "rejected", {"http_status": 422}),
    ):
        held(word, shop.claimed(f"{scene}/{word.replace(' ', '-')}"))
        shop.outcome({"id": names[word], "token": names[f"{word} token"]}, outcome, **more)
    shop.clock.advance(30)
    held("second", shop.claimed(f"{scene}/second"))
    shop.claim(f"{scene}/expired")
    held("foreign", other.claimed(f"{scene}/refund", type="refund.pay"))
    return names


def outcomes(names: Names) -> list[tuple[str, dict[str, Any]]]:
    """Every kind of report, each with the id in its address."""

    def of(word: str, outcome: str, **members: Any) -> tuple[str, dict[str, Any]]:
        return names[word], {"token": names[f"{word} token"], "outcome": outcome, **members}

    done = {"destination_reference": "INV-1", "http_status": 201}
    return [
        of("done", "succeeded", **done),
        of("done", "succeeded", **done),
        of("done", "succeeded", destination_reference="INV-2"),
        of("done", "rejected"),
        of("retryable", "retryable", retry_after_s=5),
        of("rejected", "rejected", http_status=422, message="The customer ann@example.com is blocked."),
        of("uncertain", "uncertain"),
        of("uncertain", "succeeded", **done),
        of("accepted", "accepted"),
        of("twice", "retryable"),
        of("twice", "succeeded", **done),
        of("coded", "succeeded", error_code="password=hunter2hunter2", **done),
        of("void", "succeeded", token="tieout_" + "x" * 43),
        of("void", "succeeded", **done),
        of("unstarted", "succeeded", **done),
        of("first", "retryable", retry_after_s=0),
        of("first", "succeeded", destination_reference="INV-0"),
        of("second", "succeeded", **done),
        of("first", "retryable", retry_after_s=0),
        of("second", "succeeded", **done),
        of("before", "succeeded", **done),
        of("before refused", "rejected", http_status=422),
        of("before refused", "rejected", http_status=400),
        of("expired", "succeeded", **done),
        of("foreign", "succeeded", **done),
        of("wrong", "done"),
        of("wrong", "succeeded", destination_reference=1, tokn="x"),
        (str(uuid.uuid4()), {"token": "x", "outcome": "succeeded"}),
    ]


def test_outcomes_are_answered_and_kept_as_they_would_be_alone(shop: Api, api: Api) -> None:
    together = outcomes(before_outcomes(shop, api, "c"))
    bodies = [json.dumps({"attempt": attempt, **body}).encode() for attempt, body in together]
    batch = in_one_batch(shop, "attempts/outcome-batch", bodies)
    alone = [
        one_by_one(shop, f"attempts/{attempt}/outcome", json.dumps(body).encode())
        for attempt, body in outcomes(before_outcomes(shop, api, "d"))
    ]
    same(batch, alone)
    assert {one["status"] for one in batch} == {200, 400, 403, 404, 409}
    same(stored("c"), stored("d"))
    assert "hunter2" not in str(stored("c"))


def in_one_batch(shop: Api, path: str, items: Sequence[bytes]) -> list[dict[str, Any]]:
    answer = shop.post(path, b'{"items": [%b]}' % b",".join(items))
    assert answer.status_code == 200, answer.text
    answered: list[dict[str, Any]] = answer.json()["items"]
    assert [one.pop("index") for one in answered] == list(range(len(items)))
    return answered


def one_by_one(shop: Api, path: str, body: bytes) -> dict[str, Any]:
    answer = shop.post(path, body)
    return {"status": answer.status_code, **answer.json()}


def same(batch: list[dict[str, Any]], alone: list[dict[str, Any]]) -> None:
    for number, (one, other) in enumerate(zip(batch, alone, strict=True)):
        assert plain(one) == plain(other), number


def plain(value: object) -> Any:
    """A value without what is another one each time, and without the scene's name."""
    text = json.dumps(value, sort_keys=True)
    for pattern, word in CHANGING:
        text = re.sub(pattern, word, text)
    return json.loads(re.sub(r"\b[a-d]/", "scene/", text))


def stored(scene: str) -> list[dict[str, Any]]:
    """Every row of a scene's operations, in the order of their keys."""
    operations = Operation.objects.filter(key__startswith=f"{scene}/").order_by("key")
    found = [Snapshot.of(operation.pk) for operation in operations]
    return [{name: rows(part) for name, part in vars(one).items()} for one in found]


def rows(part: Any) -> Any:
    if isinstance(part, tuple):
        return [rows(row) for row in part]
    return {
        name: str(value) if hasattr(value, "year") else value
        for name, value in vars(part).items()
        if name not in ROW_ONLY and not hasattr(value, "year")
    } | {"instants": sorted(name for name, value in vars(part).items() if hasattr(value, "year"))}


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "items is missing."),
        ({"items": []}, "items has no item."),
        ({"items": [{}] * 501}, "items has more than 500 items."),
        ({"items": {}}, "items must be a list, as […]."),
        ({"items": [{}], "type": "reminder.send"}, "type does not belong here; leave it out."),
        ([{}], "The body must be a JSON object, as {…}."),
        (b'{"items": [{}]', "The text is not JSON: Expecting ',' delimiter (line 1, column 15)."),
        (b'{"items": [{}], "items": [{}]}', "$ names items twice."),
    ],
)
@pytest.mark.parametrize("path", ["operations/claim-batch", "attempts/outcome-batch"])
def test_a_broken_envelope_is_refused_whole(shop: Api, path: str, sent: object, words: str) -> None:
    answer = shop.post(path, sent)
    assert (answer.status_code, answer.json()["detail"]) == (400, words)


def test_a_header_could_be_the_key_of_any_item_so_it_is_refused(shop: Api) -> None:
    answer = shop.post("operations/claim-batch", {"items": [json.loads(item("e/1"))]}, Idempotency_Key="e/1")
    assert problem(answer, 400, "malformed")["detail"].startswith("A batch takes no Idempotency-Key header")
    assert shop.find(key="e/1")["items"] == []


def test_a_batch_whose_answer_was_lost_is_answered_again_item_by_item(shop: Api) -> None:
    bodies = [item(f"lost/{number}", attempt_id=str(uuid.uuid4())) for number in range(5)]
    lost = in_one_batch(shop, "operations/claim-batch", bodies)
    again = in_one_batch(shop, "operations/claim-batch", bodies)
    assert [(one["status"], one["decision"]) for one in lost + again] == [(201, "proceed")] * 5 + [
        (200, "proceed")
    ] * 5
    reports = [
        json.dumps({"attempt": one["attempt"]["id"], "token": one["attempt"]["token"], "outcome": outcome})
        for one, outcome in zip(again, OUTCOMES, strict=True)
    ]
    told = [in_one_batch(shop, "attempts/outcome-batch", [one.encode() for one in reports]) for _ in range(2)]
    assert [one["decision"] for one in told[0]] == ["skip", "wait", "hold", "hold", "wait"]
    assert [(one["status"], one["decision"]) for one in told[1]] == [
        (one["status"], one["decision"]) for one in told[0]
    ]
    void = json.loads(reports[0]) | {"token": lost[0]["attempt"]["token"]}
    assert in_one_batch(shop, "attempts/outcome-batch", [json.dumps(void).encode()])[0]["status"] == 409


DIES = """
CREATE FUNCTION dies() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END';
CREATE TRIGGER dies BEFORE {when} ON ledger_operation
    FOR EACH ROW WHEN (NEW.key = '{key}') EXECUTE FUNCTION dies()
"""


@pytest.mark.parametrize(("when", "answered"), [("INSERT", None), ("UPDATE", [201, 503, 503])])
def test_a_database_that_is_lost_on_the_way_is_told_and_the_batch_may_come_again(
    shop: Api, when: str, answered: list[int] | None
) -> None:
    """In the statement for all nothing was done; in one that goes alone, the items before it were."""
    keys = [f"dies/{when}/{number}" for number in range(3)]
    shop.outcome(shop.claimed(keys[2]), "succeeded", destination_reference="INV-1")
    if when == "UPDATE":
        shop.outcome(shop.claimed(keys[1]), "retryable", retry_after_s=0)
        shop.clock.advance(30)
    bodies = [item(key, attempt_id=str(uuid.uuid4())) for key in keys]
    shop.clock.database.as_owner(DIES.format(when=when, key=keys[1]))
    try:
        answer = shop.post("operations/claim-batch", b'{"items": [%b]}' % b",".join(bodies))
    finally:
        shop.clock.database.as_owner("DROP TRIGGER dies ON ledger_operation", "DROP FUNCTION dies()")
    if answered is None:
        assert problem(answer, 503, "unavailable")["retry"] == "wait"
    else:
        assert [one["status"] for one in answer.json()["items"]] == answered
    again = in_one_batch(shop, "operations/claim-batch", bodies)
    assert [one["decision"] for one in again] == ["proceed", "proceed", "skip"]
