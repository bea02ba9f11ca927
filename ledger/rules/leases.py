"""How long an attempt may hold its lease, and until when a heartbeat makes it last."""

from datetime import datetime, timedelta

from ledger.rules.facts import Facts

LEASE_MAX_S = 86400.0
"""A lease ends a day after its claim at the latest, however often it is extended."""
MOVES_BY = 0.1
"""A heartbeat moves a lease's end by at least this part of what is left of it, or not at all."""


def lives(lease_until: datetime | None, now: datetime) -> bool:
    """Say whether a lease has not ended; it is over at its very end."""
    return lease_until is not None and now < lease_until


def extended(
    known: Facts, now: datetime, *, claimed_at: datetime, lease_s: float, approved: bool = False
) -> datetime:
    """Return until when a living lease lasts after a heartbeat that asks for `lease_s` seconds from now.

    `approved`: two people have allowed this try, whatever the key still protects. An end that would move by
    little stays: each new one is an event.
    """
    until = min(now + timedelta(seconds=lease_s), claimed_at + timedelta(seconds=LEASE_MAX_S))
    if known.tried_in_doubt and known.window_closes_at is not None and not approved:
        # Only the key keeps this try from a second effect, and no longer than this.
        until = min(until, known.window_closes_at)
    before = known.lease_until
    if before is not None and until < before + (before - now) * MOVES_BY:
        return before
    return until
