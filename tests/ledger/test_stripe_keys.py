"""Stripe by its preset, against stripe-stateful-mock: a program of others that keeps its keys.

| what happens                                | so                                                   | there |
|---------------------------------------------|------------------------------------------------------|-------|
| an answer is lost, and no list can be read  | sent again under one key: the first answer comes     | 1     |
| a 500, which Stripe saves                   | not asked for again: looked up, then under a new key | 1     |
| the same, its first answer lost             | asked for once, then under a new key                 | 1     |
| the key was used with other data            | in doubt, not refused: looked up                     | 0     |
| 429                                         | nothing was done: sent again under the same key      | 1     |
| the card is declined (402)                  | the list tells that it did not happen                | 1     |

What it cannot do of what Stripe does: it knows no PaymentIntent, and its lists ignore `created`; it answers
one call after the other, so no key is ever in use (409); its keys never end.
"""

import uuid
from collections.abc import Iterator

import pytest

from ledger.models import Operation
from ledger.rules.states import Evidence, Outcome, State
from tests.databases import Clock
from tests.stripes import Between, Stripe, Till, between

pytestmark = pytest.mark.long
SETTLE_S = 310


@pytest.fixture
def wire(stripe_mock: Stripe) -> Iterator[Between]:
    with between(stripe_mock) as wire:
        yield wire


@pytest.fixture
def till(clock: Clock, stripe_mock: Stripe, wire: Between, monkeypatch: pytest.MonkeyPatch) -> Till:
    made = Till(clock, stripe_mock, wire, monkeypatch)
    well = made.hand_over("charge", source="tok_visa")
    made.work()
    assert made.again(well).state == State.COMPLETED
    assert made.look(well) == "one_match"
    wire.keys.clear()
    return made


def tries(operation: Operation) -> list[tuple[str | None, int | None, bool]]:
    found = operation.attempts.order_by("number")
    return [(attempt.outcome, attempt.http_status, attempt.replayed) for attempt in found]


def test_a_lost_answer_comes_again_under_the_same_key(till: Till, wire: Between) -> None:
    """Where no list can be read, the key protects: the same record comes back, marked as given before."""
    wire.lose("answer")
    wire.lists = False
    operation = till.hand_over("charge", source="tok_visa")
    till.work(after_s=20, rounds=5)
    operation = till.again(operation)
    assert tries(operation) == [(Outcome.UNCERTAIN, None, False), (Outcome.SUCCEEDED, 200, True)]
    assert (operation.state, operation.evidence) == (State.COMPLETED, Evidence.ANSWER)
    [record] = till.there(operation)
    assert operation.destination_reference == record["id"]
    assert len(wire.keys) == 2 and len(set(wire.keys)) == 1


def test_a_saved_500_is_not_asked_for_again(till: Till, wire: Between) -> None:
    """Once it is proved that nothing was made, the next try has a key of its own, and succeeds."""
    operation = till.hand_over("charge", source=f"tok_500|tok_visa|{uuid.uuid4().hex}")
    till.work(after_s=20, rounds=4)
    assert (till.again(operation).state, len(wire.keys)) == (State.UNCERTAIN, 1)
    till.work(after_s=SETTLE_S, rounds=2)
    operation = till.again(operation)
    assert tries(operation) == [(Outcome.UNCERTAIN, 500, False), (Outcome.SUCCEEDED, 200, False)]
    assert operation.state == State.COMPLETED
    assert len(till.there(operation)) == 1
    assert len(wire.keys) == 2 and len(set(wire.keys)) == 2


def test_a_saved_500_that_comes_again_is_believed_the_first_time(till: Till, wire: Between) -> None:
    """Its first answer was lost, so it is asked for once; then it is on record, and the next key is new."""
    wire.lose("answer")
    operation = till.hand_over("charge", source=f"tok_500|tok_visa|{uuid.uuid4().hex}")
    till.work(rounds=2)
    till.work(after_s=SETTLE_S, rounds=2)
    assert tries(operation) == [(Outcome.UNCERTAIN, None, False), (Outcome.UNCERTAIN, 500, True)]
    till.work(after_s=SETTLE_S, rounds=3)
    operation = till.again(operation)
    assert tries(operation)[2:] == [(Outcome.SUCCEEDED, 200, False)]
    assert (operation.state, len(till.there(operation))) == (State.COMPLETED, 1)
    assert wire.keys[0] == wire.keys[1] != wire.keys[2] and len(wire.keys) == 3


def test_a_key_that_was_used_with_other_data_proves_nothing(till: Till, wire: Between) -> None:
    """Another program used it, or we before a backup was restored: this 400 proves nothing of our effect."""
    wire.lose("request")
    operation = till.hand_over("charge", source="tok_visa")
    till.work()
    other = {"amount": 999, "currency": "eur", "source": "tok_visa"}
    till.stripe.post("/v1/charges", other, idempotency_key=wire.keys[0])
    wire.lists = False
    till.work(after_s=20, rounds=5)
    operation = till.again(operation)
    assert [attempt.error_code for attempt in operation.attempts.order_by("number")] == ["silent", "exists"]
    assert (operation.state, till.there(operation)) == (State.UNCERTAIN, [])


def test_429_is_proof_that_nothing_was_done(till: Till, wire: Between) -> None:
    operation = till.hand_over("charge", source=f"tok_429|tok_visa|{uuid.uuid4().hex}")
    till.work(after_s=5, rounds=2)
    operation = till.again(operation)
    assert tries(operation) == [(Outcome.RETRYABLE, 429, False), (Outcome.SUCCEEDED, 200, False)]
    assert len(till.there(operation)) == 1 and len(set(wire.keys)) == 1


def test_a_declined_card_did_not_happen(till: Till) -> None:
    operation = till.hand_over("charge", source="tok_chargeDeclinedInsufficientFunds")
    till.work(rounds=2)
    operation = till.again(operation)
    assert (operation.state, tries(operation)) == (State.FAILED, [(Outcome.UNCERTAIN, 402, False)])
    assert [(record["status"], record["paid"]) for record in till.there(operation)] == [("failed", False)]


def test_money_back_is_given_once_although_the_answer_is_lost(till: Till, wire: Between) -> None:
    paid = till.hand_over("charge", source="tok_visa")
    till.work()
    wire.lose("answer")
    refund = till.hand_over("refund", amount="2.40", charge=till.again(paid).destination_reference)
    till.work(rounds=2)
    refund = till.again(refund)
    assert (refund.state, refund.evidence) == (State.COMPLETED, Evidence.LOOKUP)
    assert [record["amount"] for record in till.there(refund)] == [240]
