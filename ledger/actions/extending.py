"""Heartbeats: a living lease lasts longer; one that has ended is never revived."""

import uuid

from ledger.actions.changing import change, locked
from ledger.actions.claiming import operation_of
from ledger.actions.reading import facts
from ledger.models import Attempt, Permit
from ledger.rules import leases, tokens
from ledger.rules.digests import same
from ledger.rules.errors import StaleToken
from ledger.rules.states import State

EXTENDED = "extended"
"""The kind of a heartbeat's event."""


def extend(attempt_uid: uuid.UUID, *, token: str, lease_s: float | None, actor: str) -> Attempt:
    """Let a living lease last `lease_s` seconds from now, or the type's own length; it never ends sooner.

    One event tells each new end; a heartbeat that would move it by little or nothing writes nothing. Raises
    StaleToken where the token is void or the lease has ended.
    """
    with locked(operation_of(attempt_uid)) as (operation, now):
        attempt = operation.attempts.get(uid=attempt_uid)
        if not same(attempt.token_hash, tokens.token_hash(token)) or attempt.closed_at is not None:
            raise StaleToken("This attempt has ended, or was claimed again: its token is void.")
        if operation.state != State.RUNNING or not leases.lives(operation.lease_until, now):
            raise StaleToken(
                "The lease of this attempt has ended, and is not revived. Start nothing more, and report its "
                "outcome all the same: it is kept."
            )
        until = leases.extended(
            facts(operation),
            now,
            claimed_at=attempt.claimed_at,
            lease_s=operation.operation_type.lease_s if lease_s is None else lease_s,
            approved=Permit.objects.filter(attempt=attempt, approval__isnull=False).exists(),
        )
        if until == operation.lease_until:
            return attempt
        attempt.lease_until = until
        attempt.save(update_fields=["lease_until"])
        change(
            operation,
            kind=EXTENDED,
            actor=actor,
            reason="Still at work: the lease lasts longer.",
            attempt=attempt,
            data={"lease_until": until.isoformat()},
            shown=False,
            lease_until=until,
        )
        return attempt
