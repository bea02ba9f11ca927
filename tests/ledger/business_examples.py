"""What presets for shops, books and tickets ask and what comes back, as documented; all data is made up."""

from collections.abc import Iterator
from typing import Any

from tests.ledger.canned import AT, KEY, Example, Record


def by_offset(records: list[Record], first: bool) -> list[Record]:
    """The records on the first page, and none after it."""
    return records if first else []


# --- Shopify, by its GraphQL Admin API 2026-10

MONEY = "{ shopMoney { amount currencyCode } }"
ORDER = f"{{ id sourceIdentifier createdAt cancelledAt totalPriceSet {MONEY} }}"
OF_SHOPIFY = {"shopMoney": {"amount": "12.40", "currencyCode": "EUR"}}
ORDERS = (
    "query ($query: String!, $after: String) { orders(first: 100, query: $query, after: $after) "
    f"{{ nodes {ORDER} pageInfo {{ hasNextPage endCursor }} }} }}"
)
BY_SHOPIFY: dict[str, Any] = {
    "preset": "shopify",
    "questions": ('"query":"query ',),
    "headers": {"x-shopify-access-token": "s-0815"},
    "secrets": ("SHOPIFY_ACCESS_TOKEN",),
}


def shopify() -> Iterator[Example]:
    """An order that was placed elsewhere, and a refund of one."""
    graphql = "POST /admin/api/2026-10/graphql.json"
    yield Example(
        operation="order",
        payload={"currency": "EUR", "lineItems": [{"title": "Tent", "quantity": 1}]},
        record={
            "id": "gid://shopify/Order/1",
            "sourceIdentifier": KEY,
            "createdAt": AT,
            "cancelledAt": None,
            "totalPriceSet": OF_SHOPIFY,
        },
        makes=(
            graphql,
            {
                "query": "mutation ($order: OrderCreateOrderInput!) { orderCreate(order: $order) "
                f"{{ order {ORDER} userErrors {{ field message }} }} }}",
                "variables": {
                    "order": {
                        "currency": "EUR",
                        "lineItems": [{"title": "Tent", "quantity": 1}],
                        "sourceIdentifier": KEY,
                    }
                },
            },
        ),
        looks=(graphql, {"query": ORDERS, "variables": {"query": f"source_identifier:'{KEY}'"}}),
        lists=(graphql, {"query": ORDERS, "variables": {"query": "created_at:>='{since}'"}}),
        made=lambda record: {"data": {"orderCreate": {"order": record, "userErrors": []}}},
        found=lambda records, asked: {
            "data": {"orders": {"nodes": records, "pageInfo": {"hasNextPage": False, "endCursor": None}}}
        },
        looks_first=True,
        **BY_SHOPIFY,
    )
    fields = f"id note createdAt totalRefundedSet {MONEY}"
    yield Example(
        operation="refund",
        payload={"transactions": []},
        source={"reference": "gid://shopify/Order/1"},
        record={"id": "gid://shopify/Refund/1", "note": KEY, "createdAt": AT, "totalRefundedSet": OF_SHOPIFY},
        makes=(
            graphql,
            {
                "query": "mutation ($input: RefundInput!, $key: String!) { refundCreate(input: $input) "
                f"@idempotent(key: $key) {{ refund {{ {fields} }} userErrors {{ field message }} }} }}",
                "variables": {"input": {"transactions": [], "orderId": "gid://shopify/Order/1", "note": KEY}},
            },
        ),
        looks=(
            graphql,
            {
                "query": f"query ($id: ID!) {{ order(id: $id) {{ id refunds {{ {fields} }} }} }}",
                "variables": {"id": "gid://shopify/Order/1"},
            },
        ),
        made=lambda record: {"data": {"refundCreate": {"refund": record, "userErrors": []}}},
        found=lambda records, asked: {"data": {"order": {"id": "gid://shopify/Order/1", "refunds": records}}},
        key="body.variables.key",
        **BY_SHOPIFY,
    )


# --- Odoo, by its JSON-2 API

BY_ODOO: dict[str, Any] = {
    "preset": "odoo",
    "lines": ('account = "mycompany"',),
    "made": lambda record: [record["id"]],
    "found": lambda records, asked: by_offset(records, '"offset":0' in asked.body),
    "questions": ("search_read",),
    "pages": 2,
    "looks_first": True,
    "since": "%Y-%m-%d %H:%M:%S",
    "headers": {"authorization": "Bearer s-0815", "x-odoo-database": "mycompany"},
    "secrets": ("ODOO_API_KEY",),
}


def odoo() -> Iterator[Example]:
    """An invoice and a sales order; what is made is told by its number alone."""
    kind = ["move_type", "=", "out_invoice"]
    for operation, model, reference, kinds in (
        ("invoice", "account.move", "ref", [kind]),
        ("order", "sale.order", "client_order_ref", []),
    ):
        asked = {
            "fields": [reference, "amount_total", "currency_id", "state", "create_date"],
            "order": "id",
            "offset": 0,
        }
        yield Example(
            operation=operation,
            payload={"partner_id": 7},
            record={
                "id": 25,
                reference: KEY,
                "amount_total": 12.4,
                "currency_id": [1, "EUR"],
                "state": "draft",
                "create_date": "2026-11-30 08:00:00",
            },
            makes=(
                f"POST /json/2/{model}/create",
                {
                    "vals_list": [
                        {"partner_id": 7, reference: KEY} | ({"move_type": "out_invoice"} if kinds else {})
                    ]
                },
            ),
            looks=(
                f"POST /json/2/{model}/search_read",
                {"domain": [[reference, "=", KEY], *kinds], "limit": 100, **asked},
            ),
            lists=(
                f"POST /json/2/{model}/search_read",
                {"domain": [["create_date", ">=", "{since}"], *kinds], "limit": 500, **asked},
            ),
            **BY_ODOO,
        )


# --- ERPNext, by the REST API of the Frappe Framework

BY_ERPNEXT: dict[str, Any] = {
    "preset": "erpnext",
    "made": lambda record: {"data": record},
    "found": lambda records, asked: {"data": by_offset(records, asked.path.endswith("limit_start=0"))},
    "pages": 2,
    "looks_first": True,
    "since": "%Y-%m-%d %H:%M:%S",
    "headers": {"authorization": "s-0815"},
    "secrets": ("ERPNEXT_AUTHORIZATION",),
}


def erpnext() -> Iterator[Example]:
    """An invoice, a sales order and a payment."""
    for operation, doctype, reference, amount, currency in (
        ("invoice", "Sales Invoice", "po_no", "grand_total", "currency"),
        ("order", "Sales Order", "po_no", "grand_total", "currency"),
        ("payment", "Payment Entry", "reference_no", "paid_amount", "paid_from_account_currency"),
    ):
        path = f"/api/resource/{doctype}"
        fields = f'fields=["name","{reference}","{amount}","{currency}","docstatus"]&order_by=creation asc'
        ours, young = f'["{reference}","=","{KEY}"]', '["creation",">=","{since}"]'
        yield Example(
            operation=operation,
            payload={"company": "Acme"},
            record={"name": "ACC-0001", reference: KEY, amount: 12.4, currency: "EUR", "docstatus": 0},
            makes=(f"POST {path}", {"company": "Acme", reference: KEY}),
            looks=(f"GET {path}?filters=[{ours}]&{fields}&limit_page_length=100&limit_start=0", None),
            lists=(f"GET {path}?filters=[{young}]&{fields}&limit_page_length=500&limit_start=0", None),
            **BY_ERPNEXT,
        )


# --- Zendesk, by its ticketing API


def zendesk() -> Iterator[Example]:
    """A ticket, which has no amount."""
    yield Example(
        preset="zendesk",
        operation="ticket",
        payload={"subject": "My printer is on fire", "comment": {"body": "The smoke is very colorful."}},
        record={"id": 35436, "external_id": KEY, "status": "new", "created_at": AT},
        makes=(
            "POST /api/v2/tickets",
            {
                "ticket": {
                    "subject": "My printer is on fire",
                    "comment": {"body": "The smoke is very colorful."},
                    "external_id": KEY,
                }
            },
        ),
        looks=(f"GET /api/v2/tickets?external_id={KEY}", None),
        lists=("GET /api/v2/incremental/tickets/cursor?start_time={since}", None),
        made=lambda record: {"ticket": record},
        found=lambda records, asked: (
            {"tickets": records, "after_cursor": "MTU3", "end_of_stream": True}
            if "incremental" in asked.path
            else {"tickets": records, "next_page": None, "count": len(records)}
        ),
        key="idempotency-key",
        window_h=2,
        since="epoch",
        headers={"authorization": "Bearer s-0815"},
        secrets=("ZENDESK_ACCESS_TOKEN",),
        money=(None, None),
    )
