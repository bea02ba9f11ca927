"""Stripe by its preset, against localstripe: a program of others that takes Stripe's calls.

| what happens                        | so                                                  | records there  |
|-------------------------------------|-----------------------------------------------------|----------------|
| the answer comes                    | done by it, in Stripe's minor units                 | 1              |
| the answer is lost                  | in doubt; the list is read to its end: done         | 1              |
| the request is lost                 | in doubt; not in the list: sent again               | 1              |
| the card is declined (402)          | in doubt; its status tells that it did not happen   | 1, not paid    |
| what is there has another amount    | differs: a person is asked                          | 1              |
| Stripe refuses the data (400)       | it did not happen                                   | 0              |
| the bank asks the customer          | accepted; Stripe's own webhook is a reason to look  | 1              |
| a drill                             | no key is kept here: no guarantee, no try by a key  |                |
| a run                               | both sides tie, what others made is unexpected      |                |

What localstripe cannot do of what Stripe does: it keeps no idempotency key, so a second send under one makes
a second record; it refuses `created` in most lists, so those lines are the test's own; and what was made is
in the list at once. Keys are kept by another program, in `test_stripe_keys.py`.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command

from ledger import actions
from ledger.models import Operation
from ledger.rules.seven import protection
from ledger.rules.states import Evidence, Outcome, State
from tests import factories as make
from tests.databases import Clock
from tests.processes import Server, Spawn
from tests.stripes import Between, Stripe, Till, between
from tests.workers import one_round, until

SETTLE_S = 310
OWN_LINES = """
[operation_types."{name}".lookup]
path = "/v1/{kind}?limit=5"
[operation_types."{name}".list]
path = "/v1/{kind}?limit=5"
"""
PLAN = """
[plans.payments]
operation_type = "payment_intent.make"
timezone = "UTC"
grace = "0s"
"""
DRILL = """
[destinations.stripe.contract]
settle = "0s"
[operation_types."payment_intent.make".drill]
payload = { capture_method = "manual" }
refused = { nonsense = "yes" }
amount = "1.00"
currency = "EUR"
"""
WEBHOOKS = "whsec_tieout0815"
EVENTS = "\n[destinations.stripe.events]\n"
WITHOUT_KEYS = {"same_key", "replay_marked", "changed_data", "lost_answer", "saves"}
ALL_THE_SAME = {"lookup_finds", "lookup_absent", "list_whole", "rejected", "void"}


@pytest.fixture
def wire(localstripe: Stripe) -> Iterator[Between]:
    with between(localstripe) as wire:
        yield wire


@pytest.fixture
def opened(
    clock: Clock, localstripe: Stripe, wire: Between, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Till]:
    """Open a till with more in its file."""
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", WEBHOOKS)
    return partial(Till, clock, localstripe, wire, monkeypatch, own_lines=OWN_LINES)


@pytest.fixture
def till(opened: Callable[..., Till]) -> Till:
    return opened(plans=PLAN)


def outcomes(operation: Operation) -> list[str | None]:
    return [attempt.outcome for attempt in operation.attempts.order_by("number")]


def done(till: Till, kind: str = "payment_intent") -> Operation:
    """One that went well, on which a look-up can prove itself."""
    operation = till.hand_over(kind)
    till.work()
    assert till.again(operation).state == State.COMPLETED
    return operation


def card(till: Till, number: str) -> str:
    """A means of payment with this test number."""
    fields = {"number": number, "exp_month": 12, "exp_year": 2040, "cvc": "123"}
    details = {f"card[{name}]": value for name, value in fields.items()}
    made = till.stripe.post("/v1/payment_methods", {"type": "card", **details})
    return str(made["id"])


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("12.40", "EUR", 1240),
        ("500", "JPY", 500),
        ("5.120", "KWD", 5120),
        ("5", "ISK", 500),
        ("5", "UGX", 500),
        ("500.00", "MGA", 500),
    ],
)
def test_a_payment_is_made_and_found_in_stripes_own_minor_units(
    till: Till, amount: str, currency: str, minor: int
) -> None:
    """Icelandic and Ugandan money has two decimals at Stripe, and none elsewhere; Malagasy has none there."""
    operation = till.hand_over("payment_intent", amount=amount, currency=currency)
    till.work()
    [record] = till.there(operation)
    assert (record["amount"], record["currency"]) == (minor, currency.lower())
    operation = till.again(operation)
    assert (operation.state, operation.destination_reference) == (State.COMPLETED, record["id"])
    assert till.look(operation) == "one_match"


def test_money_back_and_a_customer_are_made_once_each_and_found(till: Till) -> None:
    paid = till.hand_over("payment", payment_method=card(till, "4242424242424242"))
    till.work()
    assert till.again(paid).state == State.COMPLETED
    refund = till.hand_over("refund", amount="2.40", payment_intent=till.again(paid).destination_reference)
    customer = till.hand_over("customer", amount=None, currency=None, name="Acme", address={"city": "Durban"})
    till.work()
    for operation in (refund, customer):
        assert till.again(operation).state == State.COMPLETED
        assert till.look(operation) == "one_match"
    assert [record["amount"] for record in till.there(refund)] == [240]
    assert [record["address"]["city"] for record in till.there(customer)] == ["Durban"]


def test_a_lost_answer_is_found_by_reading_the_list_to_its_end(till: Till, wire: Between) -> None:
    """The record stands behind a page of others; nothing is sent twice, for this Stripe keeps no keys."""
    for _ in range(7):
        till.stripe.post("/v1/payment_intents", {"amount": 100, "currency": "eur"})
    wire.lose("answer")
    operation = till.hand_over("payment_intent")
    till.work()
    assert till.again(operation).state == State.UNCERTAIN
    till.work()
    operation = till.again(operation)
    assert (operation.state, operation.evidence) == (State.COMPLETED, Evidence.LOOKUP)
    assert len(till.there(operation)) == 1 and len(wire.keys) == 1


def test_a_lost_request_is_sent_again_under_the_same_key(till: Till, wire: Between) -> None:
    done(till)
    wire.lose("request")
    operation = till.hand_over("payment_intent")
    till.work(rounds=2)
    assert till.again(operation).state == State.UNCERTAIN, "absence is no proof yet"
    till.work(after_s=SETTLE_S, rounds=2)
    operation = till.again(operation)
    assert (operation.state, outcomes(operation)) == (State.COMPLETED, [Outcome.UNCERTAIN, Outcome.SUCCEEDED])
    assert len(till.there(operation)) == 1 and wire.keys[-1] == wire.keys[-2]


def test_a_declined_card_did_not_happen_and_what_it_left_there_tells_so(till: Till) -> None:
    operation = till.hand_over("payment", payment_method=card(till, "4000000000000341"))
    till.work(rounds=2)
    operation = till.again(operation)
    assert (operation.state, outcomes(operation)) == (State.FAILED, [Outcome.UNCERTAIN])
    assert operation.attempts.get().http_status == 402
    assert [record["status"] for record in till.there(operation)] == ["requires_payment_method"]
    till.work(after_s=60, rounds=2)
    assert len(till.there(operation)) == 1, "nobody has asked for another try"


def test_a_record_with_another_amount_is_a_person_s(till: Till, wire: Between) -> None:
    wire.lose("request")
    operation = till.hand_over("payment_intent")
    fields = {"amount": 999, "currency": "eur", "metadata[operation]": operation.key}
    till.stripe.post("/v1/payment_intents", fields)
    till.work(rounds=2)
    operation = till.again(operation)
    assert (operation.state, make.case_of(operation)) == (State.UNCERTAIN, "differs")
    assert [record["amount"] for record in till.there(operation)] == [999]


def test_what_stripe_refuses_did_not_happen(till: Till) -> None:
    operation = till.hand_over("payment_intent", nonsense="yes")
    till.work()
    assert (till.again(operation).state, till.there(operation)) == (State.FAILED, [])


def test_a_run_lists_to_the_end_and_ties(till: Till, localstripe: Stripe) -> None:
    localstripe.clear()
    operations = [till.hand_over("payment_intent") for _ in range(12)]
    till.work()
    assert {till.again(one).state for one in operations} == {State.COMPLETED}
    others = {"amount": 777, "currency": "eur", "metadata[operation]": "of another program"}
    till.stripe.post("/v1/payment_intents", others)
    said = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("reconcile", "payments", "--json", stdout=said)
    assert ended.value.code == 1, said.getvalue()
    run = till.run(said)
    assert (run["classes"]["matched"]["count"], run["classes"]["matched"]["amounts"]) == (
        12,
        {"EUR": "148.80"},
    )
    assert run["classes"]["unexpected_at_destination"]["amounts"] == {"EUR": "7.77"}
    assert run["residual"] == {"EUR": "0.00"}


def test_a_drill_finds_out_that_no_key_is_kept_here_and_no_guarantee_rests_on_it(
    opened: Callable[..., Till], wire: Between
) -> None:
    """What is promised is broken here; a lost answer that no list tells is a person's from then on."""
    till = opened(plans=DRILL, drills=True)
    operation = till.hand_over("payment_intent")
    assert "24\u00a0h" in protection(actions.facts(till.again(operation)))
    said = StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("drill", "payment_intent.make", "--json", stdout=said)
    assert ended.value.code == 1, said.getvalue()
    [drill] = json.loads(said.getvalue())["drills"]
    tried = {one["promise"]: one["tried"] for one in drill["promises"]}
    assert {name for name, what in tried.items() if what == "broken"} == WITHOUT_KEYS, tried
    assert {name for name, what in tried.items() if what == "held"} == ALL_THE_SAME, tried
    assert "24\u00a0h" not in protection(actions.facts(till.again(operation)))
    wire.lose("all")
    till.work(after_s=20, rounds=8)
    operation = till.again(operation)
    assert (operation.state, make.case_of(operation)) == (State.UNCERTAIN, "could_not_look")
    assert len(till.there(operation)) == 1


def test_stripes_own_webhook_ends_the_wait_for_the_customer(
    opened: Callable[..., Till], localstripe: Stripe, spawn: Spawn
) -> None:
    """The bank asks the customer: accepted, and looked at now and then. Then Stripe tells, and it is done."""
    till = opened(plans=EVENTS)
    server = Server.started(spawn)
    localstripe.tell(f"{server.url}/api/v1/destinations/stripe/events", secret=WEBHOOKS)
    operation = till.hand_over("payment", payment_method=card(till, "4000002500003155"))
    till.work(rounds=2)
    [record] = till.there(operation)
    assert (till.again(operation).state, record["status"]) == (State.UNCERTAIN, "requires_action")
    one_round()
    looks = operation.lookups.count()
    confirmation = {"client_secret": record["client_secret"], "success": "true"}
    till.stripe.post(f"/v1/payment_intents/{record['id']}/_authenticate", confirmation)
    until(lambda: operation.events.filter(kind="heard").exists(), what="Stripe's word")
    [heard] = operation.events.filter(kind="heard")
    assert (heard.actor, heard.data["event_type"]) == ("destination:stripe", "payment_intent.succeeded")
    assert till.again(operation).state == State.UNCERTAIN, "an event moves nothing"
    one_round()
    operation = till.again(operation)
    assert (operation.state, operation.evidence) == (State.COMPLETED, Evidence.LOOKUP)
    assert operation.lookups.count() == looks + 1
