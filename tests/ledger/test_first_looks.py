"""Before a send: whether software looks first, and whether it needs a new key."""

from dataclasses import replace

from ledger.rules.decisions import looks_first, new_generation
from ledger.rules.facts import DECLINED
from ledger.rules.states import Outcome
from tests.ledger.known import NO_KEYS, PERMIT, attempt, contract, facts


def test_software_looks_before_a_first_send_without_keys_and_before_every_other_try() -> None:
    first, second = (attempt(outcome=None),), (attempt(), attempt(2, None))
    assert looks_first(facts(attempts=first, contract=NO_KEYS))
    assert not looks_first(facts(attempts=first))
    assert looks_first(facts(attempts=second))
    assert looks_first(facts(attempts=first, permit=PERMIT))
    assert not looks_first(facts(attempts=second, has_lookup=False))


def test_a_new_generation_needs_proof_for_every_attempt_and_a_key_that_would_answer_the_same_again() -> None:
    saving = contract(saves="all")
    refused = attempt(1, Outcome.REJECTED, http_status=400)
    silent = attempt(2)
    assert new_generation(facts(contract=saving, attempts=(refused,)))
    assert not new_generation(facts(contract=saving, attempts=(refused, silent)))
    assert new_generation(facts(contract=saving, attempts=(refused, replace(silent, in_doubt=False))))
    assert not new_generation(facts(contract=contract(saves="2xx"), attempts=(refused,)))
    assert not new_generation(facts(contract=saving, attempts=(replace(refused, present_key=False),)))
    assert new_generation(facts(attempts=(attempt(1, Outcome.REJECTED, error_code=DECLINED),)))
    assert not new_generation(facts(attempts=()))
