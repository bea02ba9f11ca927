"""A plain REST service by its preset, in a sandbox: the file itself says what is promised, or nothing is.

| what goes wrong                      | so                                              | effects |
|--------------------------------------|-------------------------------------------------|---------|
| nothing                              | made, and found by its reference                | 1       |
| the answer is lost                   | found by its reference                          | 1       |
| the request is lost                  | absent, long enough: sent again                 | 1       |
| the answer is lost, no look-up works | a person is asked, for no key is promised       | 1       |
| the same, with a key for 24 h        | sent again under the same key                   | 1       |
| the filter is ignored                | could not look: what is not ours proves nothing | 0       |
"""

from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from ledger import actions
from ledger.actions import Submission
from ledger.destinations import lookups
from ledger.models import Operation
from ledger.rules.states import Evidence, State
from tests import factories as make
from tests.databases import Clock
from tests.sandboxes import Sandbox
from tests.workers import one_round

SHOP = """
[destinations.shop]
preset = "rest"
name = "Durban Books"
entity = "Durban Trading (Pty) Ltd"
base_url = "{url}"
timeout = "2s"

[operation_types."invoice.create"]
destination = "shop"
preset = "record"
performed_by = "tieout"

[operation_types."invoice.create".send]
path = "/invoices"
set = {{ "metadata.operation" = "{{key}}" }}

[operation_types."invoice.create".record]
reference = "metadata.operation"
amount = "total"

[operation_types."invoice.create".lookup]
path = "/invoices?reference={{key}}"

[operation_types."invoice.create".retry]
base = "1s"
cap = "1s"
"""
KEPT = '\n[operation_types."invoice.create".contract]\nkey_retention = "24h"\n'
SETTLE_S = 40


@dataclass
class Shop:
    """A shop at the sandbox, with more in its file where a test says so."""

    clock: Clock
    sandbox: Sandbox
    file: Path

    def hand_over(self, number: int, more: str = "") -> Operation:
        """Take the file in, and hand an invoice over."""
        self.file.write_text(SHOP.format(url=self.sandbox.url) + more)
        call_command("configure", str(self.file), stdout=StringIO())
        payload = {"order": str(number), "total": "12.40", "currency": "ZAR", "customer": {"name": "Acme"}}
        key = f"order/{number}"
        submission = Submission("invoice.create", payload, key=key, amount="12.40", currency="ZAR")
        return actions.submit(submission, actor="api:shop").operation

    def work(self, operation: Operation, *, after_s: float = 2, rounds: int = 1) -> Operation:
        """Do rounds of the worker's work, each some seconds later, and read it again."""
        for _ in range(rounds):
            self.clock.advance(after_s)
            one_round()
        return make.again(operation)


@pytest.fixture
def shop(clock: Clock, sandbox: Sandbox, tmp_path: Path) -> Shop:
    return Shop(clock, sandbox, tmp_path / "shop.toml")


def test_it_is_made_once_and_found_by_its_reference(shop: Shop) -> None:
    operation = shop.work(shop.hand_over(483))
    assert (operation.state, operation.evidence) == (State.COMPLETED, Evidence.ANSWER)
    [record] = shop.sandbox.records(operation.key)
    assert (record["reference"], record["metadata"]["operation"]) == (operation.key, operation.key)
    assert lookups.look(operation, actor="ann", reason="Is it there?").verdict == "one_match"


def test_a_lost_answer_is_found(shop: Shop) -> None:
    shop.sandbox.faults("drop_after", "POST /invoices")
    operation = shop.work(shop.hand_over(483), rounds=2)
    assert (operation.state, operation.evidence) == (State.COMPLETED, Evidence.LOOKUP)
    assert shop.sandbox.effects(operation.key) == 1


def test_a_lost_request_is_looked_at_before_it_is_sent_again(shop: Shop) -> None:
    shop.work(shop.hand_over(482))
    shop.sandbox.faults("drop_before", "POST /invoices")
    operation = shop.work(shop.hand_over(483), rounds=2)
    assert operation.state == State.UNCERTAIN
    operation = shop.work(operation, after_s=SETTLE_S, rounds=2)
    assert (operation.state, operation.attempt_count) == (State.COMPLETED, 2)
    assert shop.sandbox.effects(operation.key) == 1


@pytest.mark.parametrize(
    ("more", "state", "case"), [("", "uncertain", "could_not_look"), (KEPT, "completed", "")]
)
def test_a_key_protects_only_where_the_file_says_how_long_it_is_remembered(
    shop: Shop, more: str, state: str, case: str
) -> None:
    """The preset sends the key and promises nothing of it."""
    operation = shop.hand_over(483, more)
    shop.sandbox.faults("drop_after", "POST /invoices")
    shop.clock.advance(2)
    one_round()
    shop.sandbox.faults("error_before", "GET /invoices", count=None, arg=503)
    operation = shop.work(operation, after_s=20, rounds=6)
    assert (operation.state, make.case_of(operation)) == (state, case)
    assert shop.sandbox.effects(operation.key) == 1
    assert shop.sandbox.deliveries(operation.key) == (2 if more else 1)


def test_a_filter_that_is_ignored_proves_nothing(shop: Shop) -> None:
    shop.work(shop.hand_over(482))
    operation = shop.hand_over(483)
    shop.sandbox.faults("drop_before", "POST /invoices")
    shop.work(operation)
    shop.sandbox.faults("ignore_filter", "GET /invoices", count=None)
    operation = shop.work(operation, after_s=SETTLE_S, rounds=5)
    assert (operation.state, make.case_of(operation)) == (State.UNCERTAIN, "could_not_look")
    assert shop.sandbox.effects(operation.key) == 0
