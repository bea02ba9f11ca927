"""A draft that a preset makes, and what sends or submits it: two operations, each with one effect.

The second one comes after the first, and looks before it goes: a draft that is one still was not submitted.
Where its answer is lost, or names no record, a look finds that it is a draft no longer.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ledger import actions
from ledger.actions import Submission
from ledger.rules.following import Earlier
from ledger.rules.states import State
from tests.databases import Clock
from tests.factories import again
from tests.ledger.business_examples import erpnext
from tests.ledger.canned import KEY, Asked, Configured, Record, canned
from tests.ledger.canned import configured as configured
from tests.ledger.payment_examples import paypal
from tests.workers import one_round

FIRST = '[operation_types."it.first"]\ndestination = "there"\nperformed_by = "tieout"\npreset = "{}"\n'
FRAPPE = {"docstatus": 1}, lambda record: {"data": record}, lambda record: {"data": record}
Shown = Callable[[Record], Any]
SUBMITTED: dict[str, tuple[str, Record, Shown, Shown]] = {
    "paypal invoice_sending": (
        "POST /v2/invoicing/invoices/INV2-1/send",
        {"status": "SENT"},
        lambda record: {"rel": "self", "href": "https://there.example.com/INV2-1"},
        lambda record: record,
    ),
    "erpnext invoice_submission": ("PUT /api/resource/Sales Invoice/ACC-0001", *FRAPPE),
    "erpnext order_submission": ("PUT /api/resource/Sales Order/ACC-0001", *FRAPPE),
    "erpnext payment_submission": ("PUT /api/resource/Payment Entry/ACC-0001", *FRAPPE),
}


LOST = ["paypal invoice_sending", "erpnext invoice_submission"]


@pytest.mark.parametrize(
    ("name", "lost"), [*((name, False) for name in SUBMITTED), *((name, True) for name in LOST)]
)
def test_a_draft_is_made_once_and_submitted_once(
    name: str, lost: bool, clock: Clock, configured: Configured
) -> None:
    preset, _, operation = name.partition(" ")
    submits, changes, answer, shown = SUBMITTED[name]
    made_by = operation.partition("_")[0]
    [example] = [one for one in (*paypal(), *erpnext()) if (one.preset, one.operation) == (preset, made_by)]
    effects: Counter[str] = Counter()

    def latest() -> str:
        asked: Asked = server.asked[-1]
        return f"{asked.method} {asked.path}"

    def made(record: Record) -> Any:
        effects[latest()] += 1
        if latest() == submits:
            server.record = {**record, **changes}
            if lost:
                raise ConnectionError
            return answer(server.record)
        return example.made(record)

    def listed(records: list[Record]) -> Any:
        by_id = latest().endswith(submits.split("/")[-1]) or latest().endswith("INV2-1")
        return shown(server.record) if by_id else example.found(records, server.asked[-1])

    with canned(example.record, listed, made=made, questions=example.questions) as server:
        types = FIRST.format(made_by)
        secrets = dict.fromkeys(example.secrets, "s-0815")
        configured(preset, operation, server.url, *example.lines, of_type=types, **secrets)
        amount, currency = example.money
        draft = Submission("it.first", example.payload, key=KEY, amount=amount, currency=currency)
        first = actions.submit(draft, actor="api:shop").operation
        after = Earlier("it.first", KEY)
        payload = {"docstatus": 1} if preset == "erpnext" else {}
        second = actions.submit(
            Submission("it.make", payload, key=f"submit/{KEY}", after=after), actor="api:shop"
        ).operation
        for _ in range(5):
            one_round()
            clock.advance(10)
    first, second = again(first), again(second)
    assert (first.state, second.state) == (State.COMPLETED, State.COMPLETED)
    assert second.destination_reference == first.destination_reference != ""
    assert dict(effects) == {example.makes[0]: 1, submits: 1}
    bodies = [json.loads(one.body or "{}") for one in server.asked if f"{one.method} {one.path}" == submits]
    assert bodies == [payload]
