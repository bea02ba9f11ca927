"""Record what an attempt proved: fenced by its token; what comes late is kept as evidence."""

import hashlib
import json
import uuid
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from ledger.actions import resolving
from ledger.actions.accepting import Reply
from ledger.actions.changing import change, locked
from ledger.actions.claiming import operation_of
from ledger.models import Attempt, Operation
from ledger.rules import tokens
from ledger.rules.digests import canonical, same
from ledger.rules.errors import Malformed, OutcomeDiffers, StaleToken, TieoutError
from ledger.rules.outcomes import Report
from ledger.rules.redaction import redact_text
from ledger.rules.states import CaseKind, Evidence, Outcome, State
from ledger.sql import statement

SURPLUS = (CaseKind.SEVERAL, CaseKind.DIFFERS)
"""Cases about what is there, which a success does not answer."""
REVISION_OF_A_FIRST_SUCCESS = 3
"""Accepted, started, succeeded; where more has happened, another success may have been told."""


def record(attempt_uid: uuid.UUID, *, token: str, report: Report, actor: str) -> Reply:
    """Close an attempt with its outcome and move its operation; the same outcome again changes nothing.

    Raises StaleToken and OutcomeDiffers for what comes under a void token or contradicts; both are kept.
    """
    if report.outcome is Outcome.SUCCEEDED and _complete(
        attempt_uid, token=token, report=report, actor=actor
    ):
        operation = Operation.objects.select_related("operation_type__destination").get(
            attempts__uid=attempt_uid
        )
        return Reply("skip", operation)
    refusal: TieoutError | None = None
    with locked(operation_of(attempt_uid)) as (operation, now):
        attempt = operation.attempts.get(uid=attempt_uid)
        if not same(attempt.token_hash, tokens.token_hash(token)):
            _keep_late(operation, attempt, report, actor=actor, reason="Reported under a void token.")
            _hold_doubled(operation, report.destination_reference, report.outcome, now)
            refusal = StaleToken("The attempt's token is void. What was reported is kept as evidence.")
        elif attempt.closed_at is None:
            _close(operation, attempt, report, now, actor=actor)
        elif attempt.outcome_digest != _digest(report):
            refusal = _late(operation, attempt, report, now, actor=actor)
    if refusal is not None:
        raise refusal
    return _reply(operation)


def _complete(attempt_uid: uuid.UUID, *, token: str, report: Report, actor: str) -> bool:
    """Complete under a living token, in one statement."""
    values: dict[str, Any] = {
        "attempt_uid": attempt_uid,
        "token_hash": tokens.token_hash(token),
        "reference": report.destination_reference,
        "http_status": report.http_status,
        "outcome_digest": _digest(report),
        "actor": actor,
        "data": json.dumps({"outcome": "succeeded", "reference": report.destination_reference}),
    }
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement("complete"), values)
        row = cursor.fetchone()
        if row is None:
            return False
        operation_id, revision = row
        if revision > REVISION_OF_A_FIRST_SUCCESS:
            with locked(operation_id) as (operation, now):
                _hold_if_told_otherwise(operation, now)
    return True


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
            "outcome_digest",
        ]
    )
    resolving.settle_attempt(operation, attempt, now, kind="recorded", actor=actor)


def _late(
    operation: Operation, attempt: Attempt, report: Report, now: datetime, *, actor: str
) -> TieoutError | None:
    """Keep what came after the attempt was closed; a success of the latest attempt still decides a doubt."""
    _keep_late(operation, attempt, report, actor=actor, reason="Reported after the attempt was closed.")
    deciding = attempt.number == operation.attempt_count and operation.state == State.UNCERTAIN
    if deciding and report.outcome is Outcome.SUCCEEDED:
        _complete_late(operation, attempt, report, now, actor=actor)
        return None
    if deciding and report.outcome is Outcome.ACCEPTED:
        resolving.accept_late(operation, attempt, now, actor=actor)
    _hold_doubled(operation, report.destination_reference, report.outcome, now)
    return OutcomeDiffers(
        "The attempt is closed with another outcome. What was reported is kept as evidence."
    )


def _complete_late(
    operation: Operation, attempt: Attempt, report: Report, now: datetime, *, actor: str
) -> None:
    reason = "A late success of the latest try."
    attempt.outcome_digest = _digest(report)  # so that its repetition is one
    attempt.save(update_fields=["outcome_digest"])
    change(
        operation,
        kind="settled",
        actor=actor,
        reason=reason,
        to=State.COMPLETED,
        attempt=attempt,
        data={"reference": report.destination_reference},
        evidence=Evidence.ANSWER,
        evidence_by=actor,
        destination_reference=report.destination_reference,
    )
    resolving.void_permit(operation, "The operation is done.", now=now)
    case = operation.cases.open().first()
    if case is not None and case.kind not in SURPLUS:
        resolving.close_locked(operation, actor=actor, reason=reason, now=now)
    _hold_if_told_otherwise(operation, now)


def _hold_doubled(operation: Operation, reference: str, outcome: Outcome, now: datetime) -> None:
    """Open a duplicate case where a success names another record than the one that is known."""
    known = operation.destination_reference
    if outcome is Outcome.SUCCEEDED and reference and known and reference != known:
        resolving.hold_locked(
            operation,
            CaseKind.SEVERAL,
            actor="policy",
            reason="A late success names a second record.",
            now=now,
            data={"reference": reference},
        )


def _hold_if_told_otherwise(operation: Operation, now: datetime) -> None:
    """Open that case where the other success was told first, and nobody has proved its absence since."""
    told = operation.events.filter(kind="late", data__outcome=Outcome.SUCCEEDED).select_related("attempt")
    for event in told:
        cleared_at = event.attempt.cleared_at if event.attempt else None
        if cleared_at is None or cleared_at < event.at:
            _hold_doubled(operation, event.data["reference"], Outcome.SUCCEEDED, now)
    for earlier in operation.attempts.in_doubt().filter(outcome=Outcome.SUCCEEDED):
        _hold_doubled(operation, earlier.destination_reference, Outcome.SUCCEEDED, now)


def _keep_late(operation: Operation, attempt: Attempt, report: Report, *, actor: str, reason: str) -> None:
    change(
        operation,
        kind="late",
        actor=actor,
        reason=reason,
        attempt=attempt,
        data={
            "outcome": report.outcome,
            "http_status": report.http_status,
            "error_code": report.error_code,
            "reference": report.destination_reference,
        },
    )


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


def checked(report: Report) -> Report:
    """Return a caller's report; raises Malformed for a success of something accepted only, and the like."""
    if report.http_status is not None and not 100 <= report.http_status <= 599:
        raise Malformed("http_status is from 100 to 599.")
    if report.retry_after_s is not None and not 0 <= report.retry_after_s <= 366 * 86400:
        raise Malformed("retry_after_s is from 0 to a year, in seconds.")
    return report


def _reply(operation: Operation) -> Reply:
    """Say what the reporter does next."""
    if operation.state == State.COMPLETED:
        return Reply("skip", operation, reason="It is done.")
    if operation.held_at is not None or operation.state == State.FAILED:
        return Reply("hold", operation, reason="Software has stopped; a person decides.")
    return Reply(
        "wait", operation, retry_at=operation.next_try_at or operation.look_at, reason="It goes on by itself."
    )
