"""Until when a lease lasts after a heartbeat, as a table."""

from datetime import timedelta

import pytest

from ledger.rules.leases import extended, lives
from ledger.rules.states import Outcome, State
from tests.ledger.known import NOON, TICK, attempt, facts

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def test_5_a_lease_is_over_at_its_very_end() -> None:
    assert lives(NOON + TICK, NOON)
    assert not lives(NOON, NOON)
    assert not lives(None, NOON)


@pytest.mark.parametrize(
    ("claimed", "left", "asked_s", "becomes"),
    [
        (MINUTE, MINUTE, 300, 5 * MINUTE),
        (MINUTE, 10 * MINUTE, 300, 10 * MINUTE),
        (DAY - MINUTE, TICK, 300, MINUTE),
        (2 * DAY, MINUTE, 300, MINUTE),
    ],
    ids=["longer", "never shorter", "a day after the claim", "nor taken back"],
)
def test_a_lease_lasts_as_asked_within_a_day(
    claimed: timedelta, left: timedelta, asked_s: float, becomes: timedelta
) -> None:
    known = facts(state=State.RUNNING, lease_until=NOON + left, attempts=(attempt(1, None),))
    assert extended(known, NOON, claimed_at=NOON - claimed, lease_s=asked_s) == NOON + becomes


def test_an_end_that_would_move_by_little_stays() -> None:
    """A stuck loop of heartbeats is not a trail of its own."""
    for left, becomes in ((59.9, 59.9), (55, 55), (54, 60), (0.01, 60)):
        until = NOON + timedelta(seconds=left)
        known = facts(state=State.RUNNING, lease_until=until, attempts=(attempt(1, None),))
        extends = extended(known, NOON, claimed_at=NOON - MINUTE, lease_s=60)
        assert extends == NOON + timedelta(seconds=becomes), left


def test_28_a_try_that_only_the_key_protects_is_not_extended_beyond_its_window() -> None:
    """The first one was sent 23 h 49 min ago under a key that is remembered for 24 h, less ten minutes."""
    sent = NOON - timedelta(hours=23, minutes=49)
    for before, becomes in ((Outcome.RETRYABLE, 60 * MINUTE), (Outcome.UNCERTAIN, MINUTE)):
        known = facts(
            state=State.RUNNING,
            lease_until=NOON + TICK,
            first_sent_at=sent,
            attempts=(attempt(1, before), attempt(2, None)),
        )
        assert extended(known, NOON, claimed_at=NOON, lease_s=3600) == NOON + becomes
        approved = extended(known, NOON, claimed_at=NOON, lease_s=3600, approved=True)
        assert approved == NOON + 60 * MINUTE, "two people have gone ahead without the key"
