"""Claim and start: one attempt in flight, fenced by its token, committed before the first byte."""

import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError
from psycopg.rows import DictRow

from ledger.actions import resolving, statements
from ledger.actions.changing import change, locked
from ledger.actions.reading import contract_of, facts, first_fact
from ledger.actions.submission import key_for
from ledger.models import Attempt, Operation, Permit
from ledger.rules import tokens
from ledger.rules.contracts import first_contract
from ledger.rules.decisions import Next, new_generation
from ledger.rules.digests import same
from ledger.rules.errors import LostRace, NotFound, StaleToken, StartedElsewhere
from ledger.rules.facts import Facts
from ledger.rules.states import CaseKind, State

NOT_DONE = "what it comes after is not done"
"""In these words the database refuses a claim."""


@dataclass(frozen=True)
class Ticket:
    """Who claims, for how long (seconds), and the token that will fence the attempt.

    `sends`: false where the claim only notes what is there already.
    """

    actor: str
    lease_s: float
    started: bool
    sends: bool = True
    caller_id: uuid.UUID | None = None
    run: str = ""
    attempt_uid: uuid.UUID = field(default_factory=uuid.uuid4)
    token: str = field(default_factory=tokens.new_token, repr=False)


@dataclass(frozen=True)
class Claimed:
    """A claim of Tieout's own: what to send, and the facts that hold under the claim."""

    operation: Operation
    attempt: Attempt
    token: str = field(repr=False)
    permit: Permit | None
    facts: Facts


def claim_again(operation_ids: Mapping[int, int], tickets: Mapping[int, Ticket]) -> dict[int, DictRow]:
    """Answer claims whose answers were lost (same attempt_id, not started); the tokens before are void.

    Both are by a claim's place; all are one actor's. Gives a row of operation and attempt by the place, none
    where the attempt was started: only its own process may go on, and for everybody else it is in flight.
    """
    if not operation_ids:
        return {}
    items = [
        {
            "at": at,
            "operation_id": operation_id,
            "caller_id": tickets[at].caller_id,
            "token_hash": tokens.token_hash(tickets[at].token),
        }
        for at, operation_id in operation_ids.items()
    ]
    (actor,) = {tickets[at].actor for at in operation_ids}
    values = {"items": json.dumps(items, default=str), "actor": actor}
    return {row["at"]: row for row in statements.run_for_all("claim_again", values)}


def claim_locked(operation: Operation, now: datetime, ticket: Ticket) -> Attempt | None:
    """Claim an operation whose row is locked and whose next try is due; None where its permit is void."""
    known = facts(operation)
    permit = operation.permits.open().select_related("lookup").first()
    proved = permit is not None and _rests_on_proof(permit) and known.drilled.lookup_broken_on is None
    if proved:
        # What the permit's look-up proved absent was proved for every attempt before it.
        resolving.clear(operation, now)
    elif permit is not None and known.in_doubt and known.same_key_protects(now):
        # No longer than the window was measured for.
        ticket = replace(ticket, lease_s=min(ticket.lease_s, known.lease_s))
    elif permit is not None and known.in_doubt and permit.approval_id is None:
        _void(operation, permit, now)
        return None
    fresh = ticket.sends and new_generation(known, proved=proved)
    generation = operation.generation + 1 if fresh else operation.generation
    key = _key(operation, generation) if fresh else operation.idempotency_key
    apart = not fresh and _apart(operation, known)
    attempt = Attempt.objects.create(
        uid=ticket.attempt_uid,
        operation=operation,
        number=operation.attempt_count + 1,
        caller_id=ticket.caller_id,
        token_hash=tokens.token_hash(ticket.token),
        actor=ticket.actor,
        run=ticket.run,
        idempotency_key=key,
        key_apart=apart,
        payload_digest=operation.payload_digest,
        rules_version=operation.operation_type.rules_version,
        claimed_at=now,
        lease_until=now + timedelta(seconds=ticket.lease_s),
        started_at=now if ticket.started else None,
    )
    _move(operation, attempt, permit, generation=generation, fresh=fresh, now=now)
    return attempt


def _apart(operation: Operation, known: Facts) -> bool:
    """Say whether a try goes where the key of the first one does not count, whatever the rules say later."""
    dropped = first_contract(operation.contract_first or {}).takes_key and not known.contract.takes_key
    return dropped or not known.same_account


def _void(operation: Operation, permit: Permit, now: datetime) -> None:
    """Take back a permit that rested on a key which protects no longer; a person decides."""
    reason = "The key no longer protects a second send: its window closed before it went."
    resolving.withdraw_locked(operation, permit, actor="policy", reason=reason, now=now)
    if operation.held_at is None:
        resolving.hold_locked(
            operation, CaseKind.UNPROVED, actor="policy", reason="Its permit is void.", now=now
        )


def _move(
    operation: Operation,
    attempt: Attempt,
    permit: Permit | None,
    *,
    generation: int,
    fresh: bool,
    now: datetime,
) -> None:
    kind = operation.operation_type
    if permit is not None:
        permit.spent_at, permit.attempt = now, attempt
        permit.save(update_fields=["spent_at", "attempt"])
    resolving.close_locked(operation, actor=attempt.actor, reason="Another try is under way.", now=now)
    first_sent_at = None if fresh else operation.first_sent_at
    reason = "A permit is spent." if permit else "Its next try is due."
    if fresh:
        reason += " Under a new key: every try before is proved not done, and the old key would not serve."
    with _first_unchanged():
        change(
            operation,
            kind="claimed",
            actor=attempt.actor,
            reason=reason,
            to=State.RUNNING,
            attempt=attempt,
            data={"number": attempt.number, "generation": generation},
            lease_until=attempt.lease_until,
            attempt_count=attempt.number,
            generation=generation,
            idempotency_key=attempt.idempotency_key,
            first_sent_at=first_sent_at or attempt.started_at,
            contract_first=operation.contract_first or kind.contract,
            account_first=(not fresh and operation.account_first) or kind.destination.account,
            **_built_on(operation),
        )


@contextmanager
def _first_unchanged() -> Iterator[None]:
    """Tell the database's refusal as a race: what comes first is not locked, and moved since it was read."""
    try:
        yield
    except IntegrityError as error:
        if NOT_DONE not in str(error):
            raise
        raise LostRace("What it comes after has just changed. Ask again.") from None


def _built_on(operation: Operation) -> dict[str, Any]:
    """Return what a claim notes of what its operation comes after; nothing where it stands by itself."""
    first = first_fact(operation)
    return {"after_reference": first.reference} if first is not None else {}


def _rests_on_proof(permit: Permit) -> bool:
    return permit.lookup is not None and permit.lookup.proof


def _key(operation: Operation, generation: int) -> str:
    key_max = contract_of(operation).key_max
    return key_for(operation.operation_type, operation.key, generation=generation, key_max=key_max)


def claim_to_send(operation_id: int, *, actor: str) -> Claimed | None:
    """Claim an operation that Tieout performs; None where it is not due, or someone was first."""
    with locked(operation_id) as (operation, now):
        kind = operation.operation_type
        if not kind.by_tieout or operation.state == State.RUNNING:
            return None
        step = resolving.advance(operation, now)
        if not step.due(Next.SEND, now):
            return None
        ticket = Ticket(actor=actor, lease_s=kind.lease_s, started=False)
        permit = operation.permits.open().select_related("lookup").first()
        attempt = claim_locked(operation, now, ticket)
        if attempt is None:
            return None
        return Claimed(operation, attempt, ticket.token, permit, facts(operation))


def start(
    attempt_uid: uuid.UUID, *, token: str, start_id: uuid.UUID | None, actor: str, need_s: float = 0
) -> Attempt:
    """Commit that the first byte may go; refuses a void token, and less lease left than `need_s` seconds."""
    operation_id = operation_of(attempt_uid)
    with locked(operation_id) as (operation, now):
        attempt = operation.attempts.get(uid=attempt_uid)
        if not same(attempt.token_hash, tokens.token_hash(token)) or attempt.closed_at is not None:
            raise StaleToken(
                "This attempt has ended, or was claimed again: its token is void. Nothing may be sent."
            )
        if attempt.started_at is not None:
            if start_id is not None and attempt.start_id == start_id:
                return attempt
            raise StartedElsewhere("This attempt was started by another process; only that one may send.")
        if (attempt.lease_until - now).total_seconds() < max(need_s, 0.001):
            raise StaleToken(
                "Too little of the lease is left to send safely. Nothing may be sent; claim again."
            )
        first = first_fact(operation)
        if first is not None and (not first.done or first.reference != first.used):
            raise StaleToken("What it comes after is no longer as it was claimed. Nothing may be sent.")
        attempt.started_at, attempt.start_id = now, start_id
        attempt.save(update_fields=["started_at", "start_id"])
        change(
            operation,
            kind="started",
            actor=actor,
            reason="The first byte may go.",
            attempt=attempt,
            first_sent_at=operation.first_sent_at or now,
        )
        return attempt


def operation_of(attempt_uid: uuid.UUID) -> int:
    """Return the operation's id for an attempt; NotFound."""
    operation_id = Attempt.objects.filter(uid=attempt_uid).values_list("operation_id", flat=True).first()
    if operation_id is None:
        raise NotFound("There is no such attempt.")
    return operation_id
