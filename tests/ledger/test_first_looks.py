"""Before a send: whether software looks first, and whether it needs a new key."""

from dataclasses import replace

from ledger.rules.decisions import looks_first, new_generation
from ledger.rules.facts import DECLINED, IN_USE
from ledger.rules.states import Outcome, State
from tests.ledger.known import NO_KEYS, PERMIT, attempt, contract, facts


def test_software_looks_before_a_first_send_without_keys_and_before_every_other_try() -> None:
    first, second = (attempt(outcome=None),), (attempt(), attempt(2, None))
    assert looks_first(facts(attempts=first, contract=NO_KEYS))
    assert not looks_first(facts(attempts=first))
    assert looks_first(facts(attempts=second))
    assert looks_first(facts(attempts=first, permit=PERMIT))
    assert not looks_first(facts(attempts=second, has_lookup=False))


def test_a_new_generation_needs_proof_for_every_attempt_and_a_key_that_would_not_serve() -> None:
    """While anything is in doubt the key stays, whatever it remembers; so it does where it would serve."""
    saving, pending = contract(saves="all"), State.PENDING
    refused = attempt(1, Outcome.REJECTED, http_status=400)
    silent = attempt(2)
    known = facts(state=State.FAILED, contract=saving, attempts=(refused,))
    assert new_generation(known)
    assert new_generation(replace(known, attempts=(refused, replace(silent, in_doubt=False)), state=pending))
    assert not new_generation(replace(known, attempts=(refused, silent)))
    assert not new_generation(replace(known, attempts=(replace(refused, in_doubt=True),))), "only a word"
    assert not new_generation(replace(known, state=State.UNCERTAIN)), "it was found after all"
    assert new_generation(replace(known, state=State.UNCERTAIN, attempts=(refused, silent)), proved=True)
    declined = replace(
        known, contract=contract(), attempts=(attempt(1, Outcome.REJECTED, error_code=DECLINED),)
    )
    assert new_generation(declined)
    repeated = attempt(1, Outcome.RETRYABLE, http_status=429, replayed=True)
    assert new_generation(replace(known, contract=contract(saves="2xx"), attempts=(repeated,)))
    assert new_generation(replace(known, contract=contract(), same_account=False)), "another account"
    for serves in (
        replace(known, contract=contract(saves="2xx")),
        replace(known, contract=contract(saves="all", idempotency="none")),
        replace(known, attempts=(replace(refused, present_key=False),)),
        replace(known, attempts=(attempt(1, Outcome.RETRYABLE, http_status=429),)),
        replace(known, attempts=(attempt(http_status=409, error_code=IN_USE, in_doubt=False),)),
        replace(known, attempts=()),
    ):
        assert not new_generation(serves)
