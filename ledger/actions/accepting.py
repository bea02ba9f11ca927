"""Accept and claim: the row is ours or it is not, and the database decides."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from django.db import IntegrityError
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
from ledger.rules.decisions import Next, Step, decide, in_progress
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
        return _again(prepared, written if written["id"] else _known(prepared))
    reply = Reply("proceed", _operation(written, prepared), created=True, warnings=_warnings(prepared))
    return _first_of_all(reply) if prepared.depends else reply


def _first_of_all(reply: Reply) -> Reply:
    """Say of what was just handed over whether it may go, or what it waits for."""
    with locked(reply.operation.pk) as (operation, now):
        step = resolving.advance(operation, now)
        if step.next is Next.SEND:
            return replace(reply, operation=operation)
        standing = _standing(operation, step)
        return replace(standing, created=True, replayed=False, warnings=reply.warnings)


def claim(submission: Submission, *, actor: str) -> Reply:
    """Claim an operation that the caller performs: proceed, wait, hold or skip."""
    return by_rules(submission.type_name, lambda kind: _claim(submission, kind, actor=actor))


def _claim(submission: Submission, kind: OperationType, *, actor: str) -> Reply:
    asked = ask(submission, kind, actor=actor)
    with _one_attempt_each(asked.prepared, asked.ticket):
        written = _accept(asked.submission, asked.prepared, actor=actor, ticket=asked.ticket)
    if written["attempt_id"] is None:  # the key is taken, or its destination is paused
        return answer_known(asked, written)
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
    attempt = _attempt(operation, asked.ticket, written["attempt_id"])
    warnings = _warnings(asked.prepared)
    return Reply("proceed", operation, attempt, asked.ticket.token, created=True, warnings=warnings)


def answer_known(asked: Asked, written: Mapping[str, Any]) -> Reply:
    """Answer a claim of an operation that exists; `written` is its row, or one without an id."""
    if written["id"] is None:
        written = _known(asked.prepared, asked.ticket)
    repeated = answer_repeated({0: asked}, {0: written})
    return repeated.get(0) or answer_standing(asked, written)


def answer_repeated(asked: Mapping[int, Asked], written: Mapping[int, Mapping[str, Any]]) -> dict[int, Reply]:
    """Answer, of these claims of operations that exist, those whose answers were lost, by their places."""
    wanted = {at: row["id"] for at, row in written.items() if _claimed_before(asked[at], row)}
    rows = claiming.claim_again(wanted, {at: asked[at].ticket for at in wanted})
    return {at: _repeated(row, asked[at].prepared, asked[at].ticket) for at, row in rows.items()}


def answer_standing(asked: Asked, written: Mapping[str, Any]) -> Reply:
    """Answer a claim of an operation that exists, and that was not repeated: where it stands."""
    if _claimed_before(asked, written):  # it was started, or has ended since it was read
        written = _known(asked.prepared, asked.ticket)
    return _again(asked.prepared, written, ticket=asked.ticket)


def _accept(
    submission: Submission,
    prepared: Prepared,
    *,
    actor: str,
    ticket: claiming.Ticket | None = None,
) -> DictRow:
    """Write the operation, and the claim where there is a ticket; gives what was written, or stands there."""
    values = row_of(submission, prepared, ticket) | {"actor": actor}
    values["after_id"] = prepared.after_id
    # What comes after another, or refunds one, is decided once it is on record.
    values["claimed"] = ticket is not None and not prepared.depends
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


def _repeated(row: Mapping[str, Any], prepared: Prepared, ticket: claiming.Ticket) -> Reply:
    operation = _operation(row, prepared)
    ticket = replace(ticket, attempt_uid=row["attempt_uid"])
    attempt = _attempt(operation, ticket, row["attempt_id"], number=row["number"])
    return Reply("proceed", operation, attempt, ticket.token, replayed=True)


def _attempt(operation: Operation, ticket: claiming.Ticket, attempt_id: int, *, number: int = 1) -> Attempt:
    """Return the attempt that a statement wrote for a ticket."""
    columns = {
        "id": attempt_id,
        "uid": ticket.attempt_uid,
        "operation_id": operation.pk,
        "number": number,
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


def _again(prepared: Prepared, written: Mapping[str, Any], *, ticket: claiming.Ticket | None = None) -> Reply:
    """Answer for an operation that exists: what the winner wrote is read, and decides."""
    if written["claimed_for"] not in (None, written["id"]):
        raise _taken(by_this=False)
    found = _operation(written, prepared)
    refuse_changed(found, prepared)
    return _certain(found, written["read_at"]) or _decided(found, prepared, ticket)


def _known(prepared: Prepared, ticket: claiming.Ticket | None = None) -> DictRow:
    """Read what stands under a key that is taken."""
    caller_id = ticket.caller_id if ticket else None
    asked = {"type_id": prepared.operation_type.pk, "key": prepared.key, "caller_id": caller_id}
    known = statements.run("known", asked)
    assert known is not None, "an accepted operation is never removed"
    return known


def _claimed_before(asked: Asked, row: Mapping[str, Any]) -> bool:
    """Say whether a running operation, meant alike, has an attempt by this claim's attempt_id."""
    if row["state"] != State.RUNNING or row["claimed_for"] != row["id"]:
        return False
    return row["after_id"] == asked.prepared.after_id and asked.prepared.same_as(row["payload_digest"])


def _certain(found: Operation, read_at: datetime) -> Reply | None:
    """Answer by one reading, without a lock, where no step could lead elsewhere; None where one could."""
    if found.state == State.COMPLETED:
        return _done(found)
    if found.state == State.RUNNING and found.held_at is None:
        step = in_progress(found.lease_until, read_at)
        return _standing(found, step) if step.next is Next.WAIT else None
    return _stood_for(found)


def _decided(found: Operation, prepared: Prepared, ticket: claiming.Ticket | None) -> Reply:
    """Answer with the operation's row locked, after every step that needs no network."""
    with _one_attempt_each(prepared, ticket), locked(found.pk) as (operation, now):
        if operation.state == State.RUNNING and operation.lease_until and operation.lease_until <= now:
            resolving.expire_locked(operation, now, actor="policy")
        if ticket is not None and ticket.caller_id is not None and operation.state == State.RUNNING:
            rows = claiming.claim_again({0: operation.pk}, {0: ticket})
            if rows:
                return _repeated(rows[0], prepared, ticket)
        step = resolving.advance(operation, now)
        due = step.due(Next.SEND, now)
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
    return decide(facts(operation), now).due(Next.SEND, now)


def _done(operation: Operation) -> Reply:
    return Reply("skip", operation, replayed=True, reason="It is done.")


def _standing(operation: Operation, step: Step) -> Reply:
    """Say where an operation stands that nobody may claim now."""
    if operation.state == State.COMPLETED:
        return _done(operation)
    stood_for = _stood_for(operation)
    if stood_for is not None:
        return stood_for
    if operation.state == State.FAILED and step.next is not Next.SEND:
        return Reply("hold", operation, reason=step.why)
    if operation.held_at is not None and step.next is not Next.SEND:
        return Reply("hold", operation, reason="Software has stopped; a person decides.")
    return Reply("wait", operation, retry_at=step.at, replayed=True, reason=step.why)


def _stood_for(operation: Operation) -> Reply | None:
    """Say what stands for an operation that did not happen and never runs again; None where nothing does."""
    stands = correction_of(operation) if operation.state == State.FAILED else None
    if stands is None:
        return None
    if stands.state == State.COMPLETED:
        return Reply("skip", operation, replayed=True, reason=f"Its correction {stands.key} is done.")
    return Reply("hold", operation, reason=f"It was corrected: {stands.key} stands for it.")


@contextmanager
def _one_attempt_each(prepared: Prepared, ticket: claiming.Ticket | None) -> Iterator[None]:
    """Let an attempt_id that another attempt has taken be refused in words."""
    try:
        yield
    except IntegrityError as error:
        if ticket is None or "caller_id" not in str(error):
            raise
        named = {"operation__operation_type": prepared.operation_type, "operation__key": prepared.key}
        raise _taken(by_this=Attempt.objects.filter(caller_id=ticket.caller_id, **named).exists()) from None


def _taken(*, by_this: bool) -> AttemptIdElsewhere:
    if by_this:
        return AttemptIdElsewhere(
            "The attempt with this attempt_id has ended. Make a new one for the next try."
        )
    return AttemptIdElsewhere(
        "This attempt_id belongs to an attempt of another operation. Make a new one for each claim."
    )


def _warnings(prepared: Prepared) -> list[str]:
    """Name another key of the type that differs only by Unicode normalisation."""
    others = keys.look_alikes(prepared.key)
    if others and Operation.objects.filter(operation_type=prepared.operation_type, key__in=others).exists():
        return ["Another operation's key differs from this one only by Unicode normalisation."]
    return []
