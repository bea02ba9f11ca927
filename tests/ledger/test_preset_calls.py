"""What a preset asks and reads, against a server with canned answers in the words of its documents.

For each operation: the request that makes the effect (method, path, headers, body), the one that looks it up,
the one that lists, and that a record as documented is read: reference, amount, currency, status. What the
presets after the first four ask is in `test_preset_examples.py`.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ledger.destinations import listing, lookups
from ledger.models import OperationType
from ledger.rules.records import read_record
from tests.ledger.canned import KEY, OWN_TOKEN, Record, canned, sent
from tests.ledger.canned import configured as configured

# --- Stripe, by https://docs.stripe.com/api (2026-01-28.clover)


def of_stripe(records: list[Record]) -> Any:
    return {"object": "list", "url": "/v1/x", "has_more": False, "data": records}


BY_STRIPE: dict[str, Any] = {"created": 1_795_000_000, "livemode": False, "metadata": {"operation": KEY}}
PAID: dict[str, Any] = {"amount": 1240, "currency": "eur", **BY_STRIPE}
STRIPE = {
    "payment_intent": ("payment_intents", {"id": "pi_1", "status": "requires_payment_method", **PAID}),
    "payment": ("payment_intents", {"id": "pi_1", "status": "succeeded", **PAID}),
    "charge": ("charges", {"id": "ch_1", "status": "succeeded", **PAID}),
    "refund": ("refunds", {"id": "re_1", "status": "succeeded", **PAID}),
    "customer": ("customers", {"id": "cus_1", "name": "Acme", **BY_STRIPE}),
}
STRIPES_FIELDS = {
    "payment_intent": {"amount": "1240", "currency": "eur"},
    "payment": {"amount": "1240", "currency": "eur", "confirm": "true"},
    "charge": {"amount": "1240", "currency": "eur"},
    "refund": {"amount": "1240"},
    "customer": {},
}


@pytest.mark.parametrize("operation", STRIPE)
def test_stripe_is_asked_as_its_reference_says(
    operation: str, configured: Callable[..., OperationType]
) -> None:
    resource, record = STRIPE[operation]
    money = (None, None) if operation == "customer" else ("12.40", "EUR")
    with canned(record, of_stripe) as server:
        kind = configured("stripe-v1", operation, server.url, STRIPE_SECRET_KEY="sk_test_0815")
        done = sent(*money, shipping={"name": "Acme"}, tags=["a", "b"])
        assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "one_match"
        listed = [item for page in listing.pages(kind, since=done.accepted_at) for item in page.items]
    making, looking, reading = server.asked
    assert (making.method, making.path) == ("POST", f"/v1/{resource}")
    assert making.headers["authorization"] == "Bearer sk_test_0815"
    assert making.headers["stripe-version"] == "2026-01-28.clover"
    assert making.headers["content-type"] == "application/x-www-form-urlencoded"
    assert making.headers["idempotency-key"] == done.idempotency_key
    assert making.form == {
        **STRIPES_FIELDS[operation],
        "metadata[operation]": KEY,
        "shipping[name]": "Acme",
        "tags[0]": "a",
        "tags[1]": "b",
    }
    day_before = int((done.accepted_at - timedelta(days=1)).timestamp())
    assert looking.path == f"/v1/{resource}?limit=100&created[gte]={day_before}"
    assert reading.path == f"/v1/{resource}?limit=100&created[gte]={int(done.accepted_at.timestamp())}"
    assert looking.headers["stripe-version"] == reading.headers["stripe-version"] == "2026-01-28.clover"
    assert kind.how.record is not None
    [seen] = [read_record(kind.how.record, item) for item in listed]
    assert (seen.reference, seen.occurred_at is not None, seen.differs) == (KEY, True, ())
    assert f"{seen.amount} {seen.currency}" == ("None " if operation == "customer" else "12.40 EUR")


def test_stripes_v2_is_asked_as_its_reference_says(configured: Callable[..., OperationType]) -> None:
    """JSON both ways; a list goes on at the address that it names, and ends where it names none."""

    def listed(records: list[Record]) -> Any:
        first = "page=" not in server.asked[-1].target
        return {
            "data": [] if first else records,
            "next_page_url": "/v2/core/accounts?page=p2" if first else None,
        }

    account = {"id": "acct_1", "created": "2026-11-30T08:00:00.000Z", "metadata": {"operation": KEY}}
    with canned(account, listed) as server:
        configured("stripe-v2", "account", server.url, STRIPE_SECRET_KEY="sk_test_0815")
        done = sent(None, None, contact_email="acme@example.com")
        assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "one_match"
    making, looking, next_page = server.asked
    assert (making.method, making.path) == ("POST", "/v2/core/accounts")
    assert making.headers["content-type"] == "application/json"
    assert making.headers["idempotency-key"] == done.idempotency_key
    assert json.loads(making.body) == {"contact_email": "acme@example.com", "metadata": {"operation": KEY}}
    assert (looking.path, next_page.path) == ("/v2/core/accounts", "/v2/core/accounts?page=p2")


# --- Xero, by its OpenAPI document

OF_XERO = {"Type": "ACCREC", "Reference": KEY, "Total": 12.40, "CurrencyCode": "EUR", "Status": "AUTHORISED"}
XERO: dict[str, tuple[str, Record, str, dict[str, Any]]] = {
    "invoice": (
        "Invoices",
        {"InvoiceID": "243216c5", "DateString": "2026-11-30T00:00:00", **OF_XERO},
        'Type=="ACCREC"',
        {"Type": "ACCREC"},
    ),
    "credit_note": (
        "CreditNotes",
        {"CreditNoteID": "aea95d78", "DateString": "2026-11-30T00:00:00", **OF_XERO, "Type": "ACCRECCREDIT"},
        'Type=="ACCRECCREDIT"',
        {"Type": "ACCRECCREDIT"},
    ),
    "payment": (
        "Payments",
        {"PaymentID": "99ea7f6b", "Reference": KEY, "Amount": 12.40, "Status": "AUTHORISED"},
        "",
        {},
    ),
}


@pytest.mark.parametrize("operation", XERO)
def test_xero_is_asked_as_its_reference_says(
    operation: str, configured: Callable[..., OperationType]
) -> None:
    """Its pages are counted, so the end is an empty one."""
    resource, record, kinds, written = XERO[operation]

    def listed(records: list[Record]) -> Any:
        first = server.asked[-1].path.endswith("page=1")
        return {"Id": "1", "Status": "OK", resource: records if first else []}

    with canned(record, listed, made=lambda one: {"Status": "OK", resource: [one]}) as server:
        own = ('account = "tenant-7"', OWN_TOKEN)
        kind = configured("xero", operation, server.url, *own, OWN_TOKEN="t")
        done = sent("12.40", "EUR", Contact={"ContactID": "c1"})
        assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "one_match"
        listed_items = [item for page in listing.pages(kind, since=done.accepted_at) for item in page.items]
    making, looking, _, reading, _ = server.asked
    assert (making.method, making.path) == ("PUT", f"/api.xro/2.0/{resource}")
    assert {request.headers["xero-tenant-id"] for request in server.asked} == {"tenant-7"}
    assert making.headers["idempotency-key"] == done.idempotency_key
    assert json.loads(making.body) == {
        resource: [{**written, "Reference": KEY, "Contact": {"ContactID": "c1"}}]
    }
    also = f"{kinds} AND " if kinds else ""
    assert looking.path == f'/api.xro/2.0/{resource}?where={also}Reference=="{KEY}"&page=1'
    assert reading.path == f"/api.xro/2.0/{resource}?{f'where={kinds}&' if kinds else ''}page=1"
    assert reading.headers["if-modified-since"] == f"{done.accepted_at:%Y-%m-%dT%H:%M:%S}"
    assert kind.how.record is not None
    [seen] = [read_record(kind.how.record, item, assumed_currency="EUR") for item in listed_items]
    assert (seen.reference, f"{seen.amount} {seen.currency}", seen.differs) == (KEY, "12.40 EUR", ())


# --- QuickBooks Online, by its reference

OF_INTUIT = {
    "Id": "239",
    "PrivateNote": KEY,
    "TotalAmt": 12.40,
    "CurrencyRef": {"value": "EUR"},
    "MetaData": {"CreateTime": "2026-11-30T01:02:03-08:00"},
}


@pytest.mark.parametrize(
    ("operation", "entity"),
    [("invoice", "Invoice"), ("sales_receipt", "SalesReceipt"), ("payment", "Payment")],
)
def test_quickbooks_is_asked_as_its_reference_says(
    operation: str, entity: str, configured: Callable[..., OperationType]
) -> None:
    """Nothing rests on its requestid, so it is looked at first. An empty answer names no records at all."""

    def listed(records: list[Record]) -> Any:
        there = records and "STARTPOSITION 1 " in server.asked[-1].path
        return {"QueryResponse": {entity: records, "maxResults": 1} if there else {}, "time": "t"}

    with canned(OF_INTUIT, listed, made=lambda one: {entity: one, "time": "t"}) as server:
        own = ('account = "4620816"', OWN_TOKEN)
        kind = configured("quickbooks-online", operation, server.url, *own, OWN_TOKEN="t")
        done = sent("12.40", "EUR", CustomerRef={"value": "58"})
        assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "one_match"
        fault = {"Fault": {"Error": [{"Message": "busy"}]}}
        for answer in (fault | {"QueryResponse": {}}, {"QueryResponse": fault}, {"time": "t"}):
            server.listed = lambda records, answer=answer: answer  # type: ignore[misc]
            assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "could_not_look"
        server.listed = lambda records: {"QueryResponse": {}, "time": "t"}
        assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "absent"
    first_look, making, looking, next_page, *_ = server.asked
    path = f"/v3/company/4620816/{entity.lower()}?requestid={done.idempotency_key}"
    assert (making.method, making.path) == ("POST", path)
    assert json.loads(making.body) == {"PrivateNote": KEY, "CustomerRef": {"value": "58"}}
    day_before = done.accepted_at - timedelta(days=1)
    query = (
        f"SELECT * FROM {entity} WHERE MetaData.CreateTime >= '{day_before:%Y-%m-%dT%H:%M:%S}+00:00' "
        "ORDERBY MetaData.CreateTime STARTPOSITION {} MAXRESULTS 500"
    )
    assert first_look.path == looking.path == f"/v3/company/4620816/query?query={query.format(1)}"
    assert next_page.path == looking.path  # pages share a record
    assert kind.promises.window_closes_at(done.accepted_at) is None
