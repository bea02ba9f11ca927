"""What presets for payments ask and what comes back, in their documents' names; all data is made up."""

from collections.abc import Iterator
from typing import Any

from tests.ledger.canned import AT, KEY, Example

# --- Adyen, by its OpenAPI document

OF_ADYEN = {"value": 1240, "currency": "EUR"}
BY_ADYEN: dict[str, Any] = {
    "preset": "adyen",
    "key": "idempotency-key",
    "window_h": 7 * 24,
    "headers": {"x-api-key": "s-0815"},
    "secrets": ("ADYEN_API_KEY",),
}


def adyen() -> Iterator[Example]:
    """A payment, a refund of one, and a link."""
    mine = {"merchantAccount": "AcmeCOM", "amount": OF_ADYEN, "reference": KEY}
    yield Example(
        operation="payment",
        payload={"merchantAccount": "AcmeCOM", "paymentMethod": {"storedPaymentMethodId": "M5N7"}},
        record={
            "pspReference": "NC6HT9CRT65ZGN82",
            "resultCode": "Authorised",
            "amount": OF_ADYEN,
            "merchantReference": KEY,
        },
        makes=("POST /v71/payments", {**mine, "paymentMethod": {"storedPaymentMethodId": "M5N7"}}),
        **BY_ADYEN,
    )
    yield Example(
        operation="refund",
        payload={"merchantAccount": "AcmeCOM"},
        source={"reference": "NC6HT9CRT65ZGN82"},
        record={
            "pspReference": "ZDSHT9CRT65ZGN83",
            "paymentPspReference": "NC6HT9CRT65ZGN82",
            "status": "received",
            "amount": OF_ADYEN,
            "reference": KEY,
        },
        makes=("POST /v71/payments/NC6HT9CRT65ZGN82/refunds", mine),
        **BY_ADYEN,
    )
    yield Example(
        operation="payment_link",
        payload={"merchantAccount": "AcmeCOM"},
        record={
            "id": "PL1",
            "url": "https://there.example.com/PL1",
            "status": "active",
            "amount": OF_ADYEN,
            "reference": KEY,
        },
        makes=("POST /v71/paymentLinks", mine),
        **BY_ADYEN,
    )


# --- PayPal, by its OpenAPI documents

BY_PAYPAL: dict[str, Any] = {
    "preset": "paypal",
    "lines": ('auth = { kind = "bearer", token = "env:OWN_TOKEN" }',),
    "headers": {"authorization": "Bearer s-0815"},
    "secrets": ("OWN_TOKEN",),
}


def paypal() -> Iterator[Example]:
    """A draft invoice, and a refund, which can be looked up by its own id alone."""
    detail = {"currency_code": "EUR", "reference": KEY}
    yield Example(
        operation="invoice",
        payload={"detail": {"currency_code": "EUR"}, "items": [{"name": "Tent", "quantity": "1"}]},
        record={
            "id": "INV2-1",
            "status": "DRAFT",
            "detail": {**detail, "metadata": {"create_time": AT}},
            "amount": {"currency_code": "EUR", "value": "12.40"},
        },
        makes=(
            "POST /v2/invoicing/invoices",
            {"detail": detail, "items": [{"name": "Tent", "quantity": "1"}]},
        ),
        looks=(
            "POST /v2/invoicing/search-invoices?page_size=100&total_required=true&page=1",
            {"reference": KEY},
        ),
        lists=("GET /v2/invoicing/invoices?page_size=100&total_required=true&page=1", None),
        found=lambda records, asked: {
            "total_items": len(records),
            "total_pages": len(records),
            "items": records,
        },
        questions=("GET ", "search-invoices"),
        looks_first=True,
        **BY_PAYPAL,
    )
    amount = {"currency_code": "EUR", "value": "12.40"}
    yield Example(
        operation="refund",
        payload={"note_to_payer": "Sorry"},
        source={"reference": "2GG279541U471931P"},
        record={
            "id": "1JU08902781691411",
            "status": "COMPLETED",
            "amount": amount,
            "custom_id": KEY,
            "create_time": AT,
        },
        makes=(
            "POST /v2/payments/captures/2GG279541U471931P/refund",
            {"note_to_payer": "Sorry", "amount": amount, "custom_id": KEY},
        ),
        looks=("GET /v2/payments/refunds/1JU08902781691411", None),
        found=lambda records, asked: records[0] if records else [],
        key="paypal-request-id",
        window_h=45 * 24,
        **BY_PAYPAL,
    )


# --- Square, by its reference

OF_SQUARE = {"amount": 1240, "currency": "EUR"}
BY_SQUARE: dict[str, Any] = {
    "preset": "square",
    "lines": ('account = "L88917"',),
    "key": "body.idempotency_key",
    "headers": {"authorization": "Bearer s-0815"},
    "secrets": ("SQUARE_ACCESS_TOKEN",),
}


def square() -> Iterator[Example]:
    """A payment from a card on file, and a refund: an empty list has no member at all."""
    yield Example(
        operation="payment",
        payload={"source_id": "ccof:1", "customer_id": "C1"},
        record={
            "id": "GQTFp1ZlXdpoW4o6eGiZhbjosiDFf",
            "created_at": "2026-11-30T08:00:00.123Z",
            "status": "COMPLETED",
            "amount_money": OF_SQUARE,
            "reference_id": KEY,
            "location_id": "L88917",
        },
        makes=(
            "POST /v2/payments",
            {
                "source_id": "ccof:1",
                "customer_id": "C1",
                "location_id": "L88917",
                "reference_id": KEY,
                "amount_money": OF_SQUARE,
            },
        ),
        looks=("GET /v2/payments?location_id=L88917&begin_time={since}&sort_order=ASC", None),
        lists=("GET /v2/payments?location_id=L88917&begin_time={since}&sort_order=ASC", None),
        made=lambda record: {"payment": record},
        found=lambda records, asked: {"payments": records} if records else {},
        of_type='send = { set = { location_id = "L88917" } }',
        **BY_SQUARE,
    )
    yield Example(
        operation="refund",
        payload={"payment_id": "GQTFp1Zl"},
        record={
            "id": "R1",
            "status": "COMPLETED",
            "amount_money": OF_SQUARE,
            "reason": KEY,
            "created_at": "2026-11-30T08:00:00.123Z",
        },
        makes=("POST /v2/refunds", {"payment_id": "GQTFp1Zl", "reason": KEY, "amount_money": OF_SQUARE}),
        looks=("GET /v2/refunds?begin_time={since}&sort_order=ASC", None),
        lists=("GET /v2/refunds?begin_time={since}&sort_order=ASC", None),
        made=lambda record: {"refund": record},
        found=lambda records, asked: {"refunds": records} if records else {},
        **BY_SQUARE,
    )
