"""Record what an attempt proved: fenced by its token; what comes late is kept as evidence."""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from psycopg.rows import DictRow
from pydantic_core import to_json

from ledger.actions import resolving, statements
from ledger.actions.accepting import Reply
from ledger.actions.changing import change, locked, void_asked
from ledger.actions.reversing import tie
from ledger.actions.statements import stored
from ledger.actions.told import LATE_MAX, THERE, check_told, heed_late, hold_doubled, kept_alike
from ledger.models import Attempt, Operation, OperationType
from ledger.rules import tokens
from ledger.rules.digests import canonical, same
from ledger.rules.errors import NotFound, OutcomeDiffers, StaleToken, TieoutError
from ledger.rules.outcomes import Report
from ledger.rules.redaction import REDACTED, redact_text
from ledger.rules.states import Evidence, Outcome, State

KEPT = "What was reported is kept as evidence."
NOT_KEPT = f"{LATE_MAX} other reports like it are kept as evidence; this one is not."
REVISION_OF_A_FIRST_TRY = 2
"""Claimed as it was accepted, and started; where more has happened, another success may have been told."""


def record(attempt_uid: uuid.UUID, *, token: str, report: Report, actor: str) -> Reply:
    """Close an attempt with its outcome and move its operation; the same outcome again changes nothing.

    Raises StaleToken for what comes under another token, from which nothing follows, and OutcomeDiffers for
    what contradicts; both are kept.
    """
    report = as_kept(report)
    values = row_of(attempt_uid, token=token, report=report)
    succeeded = report.outcome is Outcome.SUCCEEDED
    completed = _complete(values, actor=actor) if succeeded else None
    if completed is not None:
        return reply_to(completed)
    row = statements.run("reported", reported([{**values, "at": 0}]))
    if row is None:
        raise NotFound("There is no such attempt.")
    if row["known"]:
        return reply_to(read_as(row))
    completed = _complete_heeding(values, actor=actor) if succeeded else None
    if completed is not None:
        return reply_to(completed)
    refusal: TieoutError | None = None
    with locked(row["id"]) as (operation, now):
        attempt = operation.attempts.get(uid=attempt_uid)
        if not same(attempt.token_hash, tokens.token_hash(token)):
            kept = _keep_stray(operation, attempt, report, actor=actor)
            refusal = StaleToken(f"This is not the attempt's token, or no longer. {kept}")
        elif attempt.closed_at is None:
            _close(operation, attempt, report, now, actor=actor)
        elif attempt.outcome_digest != _digest(report):
            refusal = _late(operation, attempt, report, now, actor=actor)
    if refusal is not None:
        raise refusal
    return reply_to(operation)


def as_kept(report: Report) -> Report:
    """Return a report as it may be put on record."""
    if report.error_code and redact_text(report.error_code) != report.error_code:
        return replace(report, error_code=REDACTED)
    return report


def row_of(attempt_uid: uuid.UUID, *, token: str, report: Report) -> dict[str, Any]:
    """Return what the statements that complete are told of one success."""
    told: dict[str, object] = {"outcome": "succeeded", "reference": report.destination_reference}
    if report.replayed:
        told["replayed"] = True
    return {
        "attempt_uid": attempt_uid,
        "token_hash": tokens.token_hash(token),
        "reference": report.destination_reference,
        "http_status": report.http_status,
        "replayed": report.replayed,
        "outcome_digest": _digest(report),
        "data": told,
    }


def reported(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return what the statement is told that says of which attempts the very same was reported before."""
    names = ("at", "attempt_uid", "token_hash", "outcome_digest")
    return {"items": to_json([{name: row[name] for name in names} for row in rows]).decode()}


def _complete(values: Mapping[str, Any], *, actor: str) -> Operation | None:
    """Complete a first try under a living token, in one statement; None where that does not suffice."""
    row = _run_complete(values, actor=actor, whole_story=False)
    return read_as(row) if row is not None else None


def _complete_heeding(values: Mapping[str, Any], *, actor: str) -> Operation | None:
    """Complete under a living token, and heed all that was told; None where the long way must say why not."""
    with transaction.atomic():
        row = _run_complete(values, actor=actor, whole_story=True)
        if row is None:
            return None
        with locked(row["id"]) as (operation, now):
            check_told(operation, now)
            tie(operation, now)
            return operation


def _run_complete(values: Mapping[str, Any], *, actor: str, whole_story: bool) -> DictRow | None:
    asked = {"actor": actor, "revision_max": REVISION_OF_A_FIRST_TRY, "whole_story": whole_story}
    return statements.run("complete", {**values, **asked, "data": json.dumps(values["data"])})


def read_as(row: Mapping[str, Any]) -> Operation:
    """Return the operation that a statement has completed, or read."""
    operation = stored(Operation, row)
    kind = {"id": row["operation_type_id"], "name": row["type_name"]}
    operation.operation_type = stored(OperationType, kind)
    return operation


def _close(operation: Operation, attempt: Attempt, report: Report, now: datetime, *, actor: str) -> None:
    if attempt.started_at is None and report.outcome is not Outcome.RETRYABLE:
        # Whatever answered, something was sent, so it counts as a try.
        attempt.started_at = attempt.claimed_at
    attempt.closed_at = attempt.sender_ended_at = now
    attempt.outcome = report.outcome
    attempt.http_status = report.http_status
    attempt.error_code = report.error_code
    attempt.message = redact_text(report.message)
    attempt.destination_reference = report.destination_reference
    attempt.retry_after_s = report.retry_after_s
    attempt.replayed = report.replayed
    attempt.outcome_digest = _digest(report)
    attempt.save(
        update_fields=[
            "started_at",
            "closed_at",
            "sender_ended_at",
            "outcome",
            "http_status",
            "error_code",
            "message",
            "destination_reference",
            "retry_after_s",
            "replayed",
            "outcome_digest",
        ]
    )
    resolving.settle_attempt(operation, attempt, now, kind="recorded", actor=actor)


def _late(
    operation: Operation, attempt: Attempt, report: Report, now: datetime, *, actor: str
) -> TieoutError | None:
    """Keep what came after the attempt was closed; a success of the latest attempt still decides a doubt."""
    kept, new = _keep_late(
        operation, attempt, report, actor=actor, reason="Reported after the attempt was closed."
    )
    deciding = attempt.number == operation.attempt_count and operation.state == State.UNCERTAIN
    # What was kept before has had its effect: the same words again are no second witness.
    if deciding and new and report.outcome is Outcome.SUCCEEDED:
        _complete_late(operation, attempt, report, now, actor=actor)
        return None
    if deciding and report.outcome is Outcome.ACCEPTED:
        resolving.accept_late(operation, attempt, now, actor=actor)
    else:
        _heed(operation, report, now)
    return OutcomeDiffers(f"The attempt is closed with another outcome. {kept}")


def _heed(operation: Operation, report: Report, now: datetime) -> None:
    """Let what is only kept still stop a second effect, and show one that was made."""
    if report.outcome in THERE:
        heed_late(operation, now)
    if report.outcome is Outcome.SUCCEEDED:
        hold_doubled(operation, report.destination_reference, now)


def _complete_late(
    operation: Operation, attempt: Attempt, report: Report, now: datetime, *, actor: str
) -> None:
    attempt.outcome_digest = _digest(report)  # so that its repetition is one
    attempt.save(update_fields=["outcome_digest"])
    resolving.complete_locked(
        operation,
        now,
        kind="settled",
        actor=actor,
        reason="A late success of the latest try.",
        attempt=attempt,
        reference=report.destination_reference,
        evidence=Evidence.ANSWER,
        evidence_by=actor,
    )


def _keep_late(
    operation: Operation, attempt: Attempt, report: Report, *, actor: str, reason: str
) -> tuple[str, bool]:
    """Keep what was reported late, each different report once; says whether it is kept, and is new."""
    data = _evidence(report)
    kept, room = kept_alike(operation, attempt, data)
    if kept:
        return KEPT, False
    if room:
        change(operation, kind="late", actor=actor, reason=reason, attempt=attempt, data=data)
    void_asked(operation, "Something was reported late.")
    return (KEPT if room else NOT_KEPT), True


def _keep_stray(operation: Operation, attempt: Attempt, report: Report, *, actor: str) -> str:
    """Keep what came under a token that is not the attempt's; whoever may have sent holds its own."""
    data = _evidence(report)
    alike = operation.events.filter(attempt=attempt, kind="stray", data__outcome=report.outcome)
    before = list(alike.values_list("data", flat=True))
    if data in before:
        return KEPT
    if len(before) >= LATE_MAX:
        return NOT_KEPT
    reason = "Reported under a token that is not the attempt's."
    change(operation, kind="stray", actor=actor, reason=reason, attempt=attempt, data=data, shown=False)
    return KEPT


def _evidence(report: Report) -> dict[str, object]:
    """Return what is kept of a report that does not count."""
    return {
        "outcome": report.outcome,
        "http_status": report.http_status,
        "error_code": report.error_code,
        "reference": report.destination_reference,
    }


def _digest(report: Report) -> str:
    """Return a digest that tells a repeated report from another one."""
    parts = [
        report.outcome,
        report.destination_reference,
        report.http_status,
        report.error_code,
        report.message,
        report.retry_after_s,
    ]
    return hashlib.sha256(canonical([None if part is None else str(part) for part in parts])).hexdigest()


def reply_to(operation: Operation) -> Reply:
    """Say what the reporter does next."""
    if operation.state == State.COMPLETED:
        return Reply("skip", operation, reason="It is done.")
    if operation.held_at is not None or operation.state == State.FAILED:
        return Reply("hold", operation, reason="Software has stopped; a person decides.")
    return Reply(
        "wait", operation, retry_at=operation.next_try_at or operation.look_at, reason="It goes on by itself."
    )
