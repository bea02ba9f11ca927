"""Accept and claim: the row is ours or it is not, and the database decides."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.db import IntegrityError
from django.db.models import QuerySet
from psycopg.rows import DictRow

from ledger.actions import claiming, resolving, statements
from ledger.actions.changing import locked
from ledger.actions.kinds import by_rules, version
from ledger.actions.reading import correction_of, facts
from ledger.actions.statements import stored
from ledger.actions.submission import (
    Prepared,
    Submission,
    key_for,
    prepare,
    refuse_changed,
    with_kept_payload,
)
from ledger.models import Attempt, Operation, OperationType, database_now
from ledger.rules import keys, tokens
from ledger.rules.decisions import Next, Step, decide
from ledger.rules.errors import AttemptIdElsewhere, LostRace, Malformed, WrongDoor
from ledger.rules.leases import LEASE_MAX_S
from ledger.rules.redaction import redact_text
from ledger.rules.states import State

Decision = Literal["proceed", "wait", "hold", "skip", "refuse"]

RUN_MAX = 200


@dataclass(frozen=True)
class Reply:
    """What the automation is told: one decision, and what it rests on."""

    decision: Decision
    operation: Operation
    attempt: Attempt | None = None
    token: str | None = None
    retry_at: datetime | None = None
    created: bool = False
    replayed: bool = False
    reason: str = ""
    warnings: list[str] = field(default_factory=list)


def submit(submission: Submission, *, actor: str) -> Reply:
    """Take an operation that Tieout performs; the same one again is answered with where it stands."""
    return by_rules(submission.type_name, lambda kind: _submit(submission, kind, actor=actor))


def _submit(submission: Submission, kind: OperationType, *, actor: str) -> Reply:
    if not kind.by_tieout:
        raise WrongDoor(f"{kind.name} is performed by the caller: claim it at operations/claim.")
    if submission.attempt_id is not None or submission.lease_s is not None:
        raise Malformed("attempt_id and lease_s belong to a claim; Tieout makes its own attempts.")
    prepared = prepare(submission, kind)
    written = _accept(submission, prepared, actor=actor)
    if not written["created"]:
        return _again(submission, prepared, written, actor=actor)
    return Reply("proceed", _operation(written, prepared), created=True, warnings=_warnings(prepared))


def claim(submission: Submission, *, actor: str) -> Reply:
    """Claim an operation that the caller performs: proceed, wait, hold or skip."""
    return by_rules(submission.type_name, lambda kind: _claim(submission, kind, actor=actor))


def _claim(submission: Submission, kind: OperationType, *, actor: str) -> Reply:
    asked = ask(submission, kind, actor=actor)
    try:
        written = _accept(asked.submission, asked.prepared, actor=actor, ticket=asked.ticket)
        if written["attempt_id"] is None:  # the key is taken, or its destination is paused
            return answer_known(asked, written)
    except IntegrityError as error:
        if "caller_id" not in str(error):
            raise
        raise _elsewhere(asked.ticket.caller_id, asked.prepared) from None
    return answer_first(asked, written)


@dataclass(frozen=True)
class Asked:
    """A claim that may be written: what is claimed, its digests, and the ticket that it would get."""

    submission: Submission
    prepared: Prepared
    ticket: claiming.Ticket


def ask(submission: Submission, kind: OperationType, *, actor: str) -> Asked:
    """Check a claim by the rules of its type, before anything is written; raises what is wrong with it."""
    if kind.by_tieout:
        raise WrongDoor(f"{kind.name} is performed by Tieout: hand it over at operations.")
    lease_s = kind.lease_s if submission.lease_s is None else submission.lease_s
    if not 1 <= lease_s <= LEASE_MAX_S:
        raise Malformed(f"lease_s is from 1 to {LEASE_MAX_S:g} seconds.")
    if submission.payload is None:
        submission = with_kept_payload(submission, kind)
    prepared = prepare(submission, kind)
    ticket = claiming.Ticket(
        actor=actor,
        lease_s=lease_s,
        started=submission.attempt_id is None,
        caller_id=submission.attempt_id,
        run=redact_text(submission.source.get("run", ""), RUN_MAX),
    )
    return Asked(submission, prepared, ticket)


def answer_first(asked: Asked, written: Mapping[str, Any]) -> Reply:
    """Answer a claim that has just been written: it is the first, so go ahead."""
    operation = _operation(written, asked.prepared)
    attempt = _first_attempt(operation, asked.ticket, written["attempt_id"])
    warnings = _warnings(asked.prepared)
    return Reply("proceed", operation, attempt, asked.ticket.token, created=True, warnings=warnings)


def answer_known(asked: Asked, written: Mapping[str, Any]) -> Reply:
    """Answer a claim of an operation that exists; `written` is its row, or one without an id."""
    actor = asked.ticket.actor
    return _again(asked.submission, asked.prepared, written, actor=actor, ticket=asked.ticket)


def _accept(
    submission: Submission,
    prepared: Prepared,
    *,
    actor: str,
    ticket: claiming.Ticket | None = None,
) -> DictRow:
    """Write the operation, and the claim where there is a ticket; gives what was written, or stands there."""
    values = row_of(submission, prepared, ticket) | {"actor": actor, "claimed": ticket is not None}
    values |= {name: json.dumps(values[name]) for name in ("leaves", "data")}
    values["payload_sealed"] = prepared.sealed()
    while True:
        try:
            row = statements.run("accept", values)
        except IntegrityError as error:
            # It waited for a key that was then given up: the lease begins now.
            if "lease_until" not in str(error):
                raise
            continue
        if row is None:
            raise LostRace(
                f"The rules of {prepared.operation_type.name} have just been changed. Send it again."
            )
        return row


def _operation(written: Mapping[str, Any], prepared: Prepared) -> Operation:
    operation = stored(Operation, written)
    operation.operation_type = prepared.operation_type
    return operation


def _first_attempt(operation: Operation, ticket: claiming.Ticket, attempt_id: int) -> Attempt:
    columns = {
        "id": attempt_id,
        "uid": ticket.attempt_uid,
        "operation_id": operation.pk,
        "number": 1,
        "caller_id": ticket.caller_id,
        "actor": ticket.actor,
        "run": ticket.run,
        "idempotency_key": operation.idempotency_key,
        "payload_digest": operation.payload_digest,
        "lease_until": operation.lease_until,
        "started_at": operation.first_sent_at,
    }
    attempt = stored(Attempt, columns)
    attempt.operation = operation
    return attempt


def row_of(submission: Submission, prepared: Prepared, ticket: claiming.Ticket | None) -> dict[str, Any]:
    """Return what the statements that accept are told of one operation."""
    kind = prepared.operation_type
    source = dict(submission.source)
    if "run" in source:
        source["run"] = ticket.run if ticket else redact_text(source["run"], RUN_MAX)
    return {
        "uid": prepared.uid,
        "type_id": kind.pk,
        "version": version(kind),
        "key": prepared.key,
        "description": redact_text(submission.description),
        "subject": redact_text(submission.subject),
        "amount": prepared.amount,
        "currency": prepared.currency,
        "source_system": source.get("system", ""),
        "source_reference": source.get("reference", ""),
        "source_version": source.get("version", ""),
        "payload_digest": prepared.payload_digest,
        "leaves": prepared.leaf_digests(),
        "idempotency_key": key_for(kind, prepared.key, generation=1, key_max=kind.promises.key_max),
        "run": source.get("run", ""),
        "data": {"source": source} if source else {},
        "started": ticket is not None and ticket.started,
        "lease_s": ticket.lease_s if ticket else 0,
        "attempt_uid": ticket.attempt_uid if ticket else None,
        "caller_id": ticket.caller_id if ticket else None,
        "token_hash": tokens.token_hash(ticket.token) if ticket else "",
    }


def _again(
    submission: Submission,
    prepared: Prepared,
    written: Mapping[str, Any],
    *,
    actor: str,
    ticket: claiming.Ticket | None = None,
) -> Reply:
    """Answer for an operation that exists: what the winner wrote is read, and decides."""
    if submission.attempt_id is not None:
        _refuse_elsewhere(submission.attempt_id, prepared)
    if written["id"] is None:
        asked = {"type_id": prepared.operation_type.pk, "key": prepared.key}
        known = statements.run("known", asked)
        assert known is not None, "an accepted operation is never removed"
        written = known
    found = _operation(written, prepared)
    refuse_changed(found, prepared)
    if found.state == State.COMPLETED:
        return _done(found)
    with locked(found.pk) as (operation, now):
        if operation.state == State.RUNNING and operation.lease_until and operation.lease_until <= now:
            resolving.expire_locked(operation, now, actor="policy")
        if ticket is not None and operation.state == State.RUNNING:
            held = claiming.claim_repeated(operation, ticket)
            if held is not None:
                return Reply("proceed", operation, held, ticket.token, replayed=True)
        step = resolving.advance(operation, now)
        due = step.next is Next.SEND and (step.at is None or step.at <= now)
        if ticket is None and due:
            return Reply("proceed", operation, replayed=True, reason=step.why)
        if ticket is not None and due:
            attempt = claiming.claim_locked(operation, now, ticket)
            if attempt is not None:
                return Reply("proceed", operation, attempt, ticket.token)
            step = resolving.advance(operation, now)
        return _standing(operation, step)


def is_due(operation: Operation) -> bool:
    """Say whether software would try it now."""
    now = database_now()
    step = decide(facts(operation), now)
    return step.next is Next.SEND and (step.at is None or step.at <= now)


def _done(operation: Operation) -> Reply:
    return Reply("skip", operation, replayed=True, reason="It is done.")


def _standing(operation: Operation, step: Step) -> Reply:
    """Say where an operation stands that nobody may claim now."""
    if operation.state == State.COMPLETED:
        return _done(operation)
    stands = correction_of(operation)
    if stands is not None and operation.state == State.FAILED:
        if stands.state == State.COMPLETED:
            return Reply("skip", operation, replayed=True, reason=f"Its correction {stands.key} is done.")
        return Reply("hold", operation, reason=f"It was corrected: {stands.key} stands for it.")
    if operation.state == State.FAILED and step.next is not Next.SEND:
        return Reply("hold", operation, reason=step.why)
    if operation.held_at is not None and step.next is not Next.SEND:
        return Reply("hold", operation, reason="Software has stopped; a person decides.")
    return Reply("wait", operation, retry_at=step.at, replayed=True, reason=step.why)


def _refuse_elsewhere(attempt_id: uuid.UUID, prepared: Prepared) -> None:
    known = Attempt.objects.filter(caller_id=attempt_id)
    if known.exists() and not known.filter(operation__in=_named(prepared)).exists():
        raise _elsewhere(attempt_id, prepared)


def _elsewhere(attempt_id: uuid.UUID | None, prepared: Prepared) -> AttemptIdElsewhere:
    if Attempt.objects.filter(caller_id=attempt_id, operation__in=_named(prepared)).exists():
        return AttemptIdElsewhere(
            "The attempt with this attempt_id has ended. Make a new one for the next try."
        )
    return AttemptIdElsewhere(
        "This attempt_id belongs to an attempt of another operation. Make a new one for each claim."
    )


def _named(prepared: Prepared) -> QuerySet[Operation]:
    return Operation.objects.filter(operation_type=prepared.operation_type, key=prepared.key)


def _warnings(prepared: Prepared) -> list[str]:
    """Name another key of the type that differs only by Unicode normalisation."""
    others = keys.look_alikes(prepared.key)
    if others and Operation.objects.filter(operation_type=prepared.operation_type, key__in=others).exists():
        return ["Another operation's key differs from this one only by Unicode normalisation."]
    return []
