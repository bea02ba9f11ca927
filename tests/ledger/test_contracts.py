"""What a destination's contract is worth: the key's window at its very instants, and the stricter of two."""

from dataclasses import replace
from datetime import timedelta

from ledger.rules.contracts import first_contract, stricter
from ledger.rules.decisions import Next, decide
from ledger.rules.records import search
from tests.ledger.known import HOUR, NOON, SECOND, TICK, contract, facts


def test_28_the_window_closes_before_the_new_lease_and_the_margin_would_end() -> None:
    """24 h from the first send, less the margin of 10 min, less the lease of 60 s: 23:49:00."""
    closing = timedelta(hours=23, minutes=49)
    for first_sent_at, is_open in ((NOON - closing + TICK, True), (NOON - closing, False)):
        known = facts(first_sent_at=first_sent_at, has_lookup=False)
        assert known.window_open(NOON) == known.same_key_protects(NOON) == is_open
    assert facts(first_sent_at=NOON - closing).window_closes_at == NOON + 60 * SECOND
    longer = facts(first_sent_at=NOON - closing + TICK, lease_s=61.0)
    assert not longer.window_open(NOON)
    assert not facts(first_sent_at=NOON, contract=contract(key_retention="5m")).window_open(NOON)
    assert not facts(first_sent_at=None).window_open(NOON)


def test_28_policy_waits_only_where_the_window_is_still_open_after_the_pause() -> None:
    closing = timedelta(hours=23, minutes=49) - 10 * SECOND
    known = facts(first_sent_at=NOON - closing + TICK, has_lookup=False, accepted_at=NOON - HOUR)
    step = decide(known, NOON)
    assert (step.next, step.at) == (Next.PERMIT, NOON + 10 * SECOND)
    assert decide(replace(known, first_sent_at=NOON - closing), NOON).next is Next.HOLD


def test_the_stricter_contract_counts_at_the_first_attempt_and_now() -> None:
    strong, weak = contract(), contract(key_retention="1h", settle="5m", saves="all")
    for first, now in ((strong, weak), (weak, strong)):
        both = stricter(first, now)
        assert (both.key_retention_s, both.settle_s, both.saves) == (3600, 300, "unknown")
        known = facts(contract=both, has_lookup=False, first_sent_at=NOON - HOUR)
        assert decide(known, NOON).next is Next.HOLD
    assert decide(facts(contract=strong, has_lookup=False), NOON).next is Next.PERMIT


def test_of_two_contracts_the_rules_that_claim_less_count() -> None:
    """Not done and rejected need both contracts; that it exists, or is being worked on, either of them."""
    first = contract(
        not_done=[429, 503],
        in_use=[409],
        exists=[520],
        when={"rejected": "no", "not_done": "busy", "exists": "there"},
    )
    now = contract(
        not_done=[429],
        rejected=[409, 422],
        in_use=[],
        when={"rejected": "no", "not_done": "full", "in_use": "w"},
    )
    both = stricter(first, now)
    assert (both.not_done, both.rejected, both.in_use, both.exists) == ((429,), (422,), (409,), (520,))
    joined = {"rejected": "no", "not_done": "(full) && (busy)", "in_use": "w", "exists": "there"}
    assert both.when == joined
    told = stricter(contract(when={"exists": "a"}), contract(when={"exists": "b"})).when
    assert told == {"exists": "(b) || (a)"}
    for body, there in (({"a": 1}, True), ({"b": 1}, True), ({}, False)):
        assert bool(search(told["exists"], body)) is there


def test_a_first_contract_that_cannot_be_read_promises_nothing() -> None:
    both = stricter(first_contract({**contract().stored(), "from the next version": 1}), contract())
    assert (both.takes_key, both.not_done, both.rejected, both.absent) == (False, (), (), ())
    assert stricter(first_contract(contract().stored()), contract()) == contract()
