"""Each operation of a preset, by its example: sent, looked up, listed and read as its documents say.

| asked for        | so                                                                           |
|------------------|------------------------------------------------------------------------------|
| making it        | method, path, headers, body; the key where it takes one, and its window      |
| looking it up    | the one match; nothing there is absent, an error in place of it is no answer |
| listing it       | the record with its reference, amount, currency and time                     |
"""

import base64
import hmac
import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from ledger.destinations import listing, lookups
from ledger.destinations.connectors import presets
from ledger.models import Operation, OperationType, database_now
from ledger.rules import hearing
from ledger.rules.errors import NotSigned
from ledger.rules.records import read_record
from tests.factories import again
from tests.ledger.business_examples import erpnext, odoo, shopify, zendesk
from tests.ledger.canned import AT, KEY, Asked, Canned, Configured, Example, Record, canned, handed_over, sent
from tests.ledger.canned import configured as configured
from tests.ledger.payment_examples import adyen, paypal, square
from tests.workers import one_round

EXAMPLES = [
    *(*adyen(), *paypal(), *square()),
    *(*shopify(), *odoo(), *erpnext(), *zendesk()),
]
BEFORE = {"stripe-v1", "stripe-v2", "xero", "quickbooks-online", "rest"}
"""Presets with tests of their own."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: f"{one.preset} {one.operation}")
def test_it_is_asked_as_its_documents_say(example: Example, configured: Configured) -> None:
    with canned(
        example.record,
        lambda records: example.found(records, server.asked[-1]),
        made=example.made,
        questions=example.questions,
    ) as server:
        kind = configured(
            example.preset,
            example.operation,
            server.url,
            *example.lines,
            of_type=example.of_type,
            **dict.fromkeys(example.secrets, "s-0815"),
        )
        done = sent(*example.money, example.source, **example.payload)
        made(example, server, done)
        looked_up(example, server, done)
        listed(example, server, kind, done)
        for one in server.asked:
            assert example.headers.items() <= one.headers.items()


def made(example: Example, server: Canned, done: Operation) -> None:
    """It went out once, as its documents say, after a look where no key protects it."""
    first, making = server.asked[:-1], server.asked[-1]
    assert bool(first) == example.looks_first, [one.path for one in server.asked]
    body = json.loads(making.body)
    *path, name = example.key.removeprefix("body.").split(".")
    if example.key.startswith("body."):
        place: Any = body
        for step in path:
            place = place[step]
        assert place.pop(name) == done.idempotency_key
    elif example.key:
        assert making.headers[example.key] == done.idempotency_key
    promises = done.operation_type.promises
    assert len(done.idempotency_key) <= promises.key_max
    closes_at, hours = promises.window_closes_at(done.accepted_at), timedelta(hours=example.window_h or 0)
    margin = timedelta(minutes=10)
    assert closes_at == (done.accepted_at + hours - margin if example.window_h else None)
    assert (f"{making.method} {making.path}", body) == example.makes
    server.asked[:] = [making]


def looked_up(example: Example, server: Canned, done: Operation) -> None:
    """Its one record is found, what is not there is absent, and an error is neither."""
    if example.looks is None:
        assert done.operation_type.how.lookup is None
        return
    found = lookups.look(done, actor="ann", reason="Is it there?")
    assert found.verdict == "one_match", found.why
    asked_for(example.looks, server.asked[1], example, done.accepted_at - timedelta(days=1))
    assert len(server.asked) - 1 == example.pages
    there = server.listed
    for body in ({"errors": [{"message": "busy"}]}, {"error": "busy"}, {}):
        server.listed = lambda records, body=body: body  # type: ignore[misc]
        empty = body == {} and example.found([], server.asked[-1]) == {}
        verdict = lookups.look(done, actor="ann", reason="Is it there?").verdict
        assert verdict == ("absent" if empty else "could_not_look"), body
    server.listed = lambda records: there([])
    assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "absent"
    server.listed = there


def listed(example: Example, server: Canned, kind: OperationType, done: Operation) -> None:
    """It is in the list, and read as it is."""
    record = kind.how.record
    assert record is not None
    if example.lists is None:
        assert kind.how.list is None
        items: list[object] = [example.record]
    else:
        before = len(server.asked)
        items = [item for page in listing.pages(kind, since=done.accepted_at) for item in page.items]
        asked_for(example.lists, server.asked[before], example, done.accepted_at)
        assert len(server.asked) - before == example.pages
    [seen] = [read_record(record, item) for item in items]
    assert (seen.reference, seen.standing, seen.differs) == (KEY, "done", ())
    assert (None if seen.amount is None else f"{seen.amount:f}", seen.currency or None) == example.money
    assert (seen.occurred_at is not None) == (record.occurred_at is not None)
    assert done.destination_reference == seen.id


def asked_for(
    expected: tuple[str, dict[str, Any] | None], asked: Asked, example: Example, since: datetime
) -> None:
    """The question is as the example says, its instant written in the example's form."""
    at = str(int(since.timestamp())) if example.since == "epoch" else f"{since:{example.since}}"
    assert f"{asked.method} {asked.path}" == expected[0].replace("{since}", at)
    body = json.loads(asked.body) if asked.body else None
    assert body == json.loads(json.dumps(expected[1]).replace("{since}", at))


def test_each_operation_of_each_preset_has_its_example() -> None:
    shown = {(one.preset, one.operation) for one in EXAMPLES}
    there = {
        (name, operation)
        for name in presets.names()
        if name not in BEFORE and (preset := presets.read(name)) is not None
        for operation, calls in preset.operations.items()
        if "{after." not in str(calls)
    }
    assert shown == there


def of(preset: str, operation: str) -> Example:
    return next(one for one in EXAMPLES if (one.preset, one.operation) == (preset, operation))


def test_a_refund_that_paypal_has_accepted_is_done_once_it_says_so(configured: Configured) -> None:
    """By the id in its answer. Without an id nothing can be asked; that it is not there is no proof."""
    example = of("paypal", "refund")
    with canned({**example.record, "status": "PENDING"}, lambda records: records[0]) as server:
        configured("paypal", "refund", server.url, *example.lines, OWN_TOKEN="s-0815")
        operation = handed_over(*example.money, example.source)
        assert lookups.look(operation, actor="ann", reason="Is it there?").verdict == "could_not_look"
        assert server.asked == []
        one_round()
        server.listed = lambda records: []
        assert lookups.look(again(operation), actor="ann", reason="?").verdict == "could_not_look"
        assert again(operation).state == "uncertain"
        server.listed = lambda records: example.record
        assert lookups.look(again(operation), actor="ann", reason="Is it final?").verdict == "one_match"
        assert again(operation).state == "completed"
        assert server.asked[-1].path == f"/v2/payments/refunds/{example.record['id']}"


def test_a_refund_of_shopifys_is_told_from_others_of_its_order(configured: Configured) -> None:
    """All of them come at once, so another one beside it does not leave the end unknown."""
    example = of("shopify", "refund")
    other = {**example.record, "id": "gid://shopify/Refund/2", "note": "by hand"}

    def listed(records: list[Record]) -> object:
        return example.found([other, *records], server.asked[-1])

    with canned(example.record, listed, made=example.made, questions=example.questions) as server:
        configured("shopify", "refund", server.url, SHOPIFY_ACCESS_TOKEN="s-0815")
        done = sent(*example.money, example.source, **example.payload)
        assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "one_match"


def test_what_shopify_signs_is_heard(configured: Configured) -> None:
    """By the whole body in base64; an order's id and its last change make each message another one."""
    example = of("shopify", "order")
    with canned(
        example.record, lambda records: None, made=example.made, questions=example.questions
    ) as server:
        kind = configured(
            "shopify",
            "order",
            server.url,
            "[destinations.there.events]",
            SHOPIFY_ACCESS_TOKEN="s-0815",
            SHOPIFY_WEBHOOK_SECRET="hush",
        )
    body = json.dumps({"id": 450789469, "source_identifier": KEY, "updated_at": AT}).encode()
    mark = base64.b64encode(hmac.digest(b"hush", body, "sha256")).decode()
    rules = kind.destination.reach.events
    assert rules is not None
    headers = {"x-shopify-hmac-sha256": mark}
    hearing.signed(rules, secrets=["hush"], headers=headers, body=body, now=database_now())
    told = hearing.read(rules, headers=headers, body=body)
    assert (told.reference, told.id) == (KEY, f"450789469/{AT}")
    with pytest.raises(NotSigned):
        hearing.signed(rules, secrets=["hush"], headers=headers, body=body + b" ", now=database_now())
