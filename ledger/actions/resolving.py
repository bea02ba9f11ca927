"""Resolve doubt: apply what decisions say next, keep look-ups, expire leases, hold for a person."""

import random
import uuid
from datetime import datetime, timedelta
from typing import Any

from ledger.actions.changing import change, locked
from ledger.actions.holding import (
    close_locked,
    hold,
    hold_locked,
    reopen,
    reopen_locked,
    void_permit,
    withdraw_locked,
)
from ledger.actions.pausing import pause_locked
from ledger.actions.reading import (
    correction_of,
    facts,
    first_fact,
    latest_lookup,
    lookup_fact,
    match_of,
)
from ledger.actions.reversing import look_before_credit, tie
from ledger.actions.told import SURPLUS, check_told, heed_late, told_late
from ledger.models import Attempt, Operation, Permit
from ledger.rules.decisions import Conclusion, Next, Step, conclude, decide
from ledger.rules.errors import LostRace
from ledger.rules.facts import LEASE_EXPIRED
from ledger.rules.states import CaseKind, Evidence, Outcome, Standing, State

__all__ = [
    "accept_late",
    "advance",
    "clear",
    "close_locked",
    "expire",
    "expire_locked",
    "found_before_send",
    "hold",
    "hold_locked",
    "reopen",
    "reopen_locked",
    "settle",
    "settle_attempt",
    "take_word",
    "void_permit",
    "withdraw_locked",
]

STEPS_MAX = 6
NEVER_STARTED = "never_started"


def jitter() -> float:
    """Return how much of a pause is taken off, 0 to 1: tries of many operations must not fall together."""
    return random.random()  # noqa: S311 - spreads load, protects nothing


def advance(operation: Operation, now: datetime) -> Step:
    """Apply to a locked operation every step that needs no network, and return the one that is left."""
    for _ in range(STEPS_MAX):
        step = decide(facts(operation), now, jitter=jitter())
        if not _apply(operation, step, now):
            return step
    return step


def _apply(operation: Operation, step: Step, now: datetime) -> bool:
    """Carry one step out; False where it is not for us to carry out, or changes nothing."""
    match step.next:
        case Next.COMPLETE:
            complete_found(operation, now)
        case Next.RETRY:
            clear(operation, now)
            change(
                operation,
                kind="settled",
                actor="policy",
                reason=step.why,
                to=State.PENDING,
                next_try_at=step.at,
                settles_at=None,
            )
        case Next.FAIL:
            _fail(operation, step, now)
        case Next.PERMIT:
            _permit_by_policy(operation, step, now)
        case Next.LAPSE:
            _lapse(operation, step, now)
        case Next.HOLD:
            return _stop(operation, step, now)
        case Next.RESUME:
            close_locked(operation, actor="policy", reason=step.why, now=now)
        case _:
            _schedule(operation, step, now)
            return False
    return True


def _lapse(operation: Operation, step: Step, now: datetime) -> None:
    """End the open permit; where nobody used it in time, its case is open still, or one is opened."""
    kind = "lapsed" if step.case is not None else "withdrawn"
    withdraw_locked(
        operation, operation.permits.open().get(), actor="policy", reason=step.why, now=now, kind=kind
    )
    if step.case is not None and operation.held_at is None:
        hold_locked(operation, step.case, actor="policy", reason=step.why, now=now)


def _stop(operation: Operation, step: Step, now: datetime) -> bool:
    """Hold for a person, or name the open case anew; False where it is held so already."""
    case = operation.cases.open().first()
    if step.case is not None and (case is None or case.kind != step.case):
        hold_locked(operation, step.case, actor="policy", reason=step.why, now=now)
        return True
    _schedule(operation, step, now)
    return False


def _schedule(operation: Operation, step: Step, now: datetime) -> None:
    """Note when the sweep takes an operation up again; nothing that is known of its effect changes."""
    if operation.state == State.PENDING and operation.after_id is not None:
        _follow(operation, step, now)
    if operation.state != State.UNCERTAIN:
        return
    at = (step.at or now) if step.next in (Next.LOOK, Next.WAIT) else None
    if at != operation.look_at:
        operation.look_at, operation.nudged_at = at, None
        Operation.objects.filter(pk=operation.pk).update(look_at=at, nudged_at=None)


def _follow(operation: Operation, step: Step, now: datetime) -> None:
    """Make what waited due once what it comes after is done, and no longer due where that is not so."""
    first = first_fact(operation)
    if first is None or first.done == (operation.next_try_at is not None):
        return
    if first.done:
        data = {"after": first.key, "reference": first.reference}
        reason = f"{first.key} is done."
        change(
            operation,
            kind="let_go",
            actor="policy",
            reason=reason,
            data=data,
            next_try_at=now,
            nudged_at=None,
        )
    else:
        change(operation, kind="waits", actor="policy", reason=step.why, next_try_at=None, nudged_at=None)


def complete_found(operation: Operation, now: datetime, *, attempt: Attempt | None = None) -> None:
    """Complete a locked operation by its latest look-up, which found one match; LostRace where it did not."""
    lookup = latest_lookup(operation, tuple(operation.attempts.order_by("number")))
    record = match_of(lookup) if lookup else None
    if lookup is None or record is None:
        raise LostRace("The look-up that found it is no longer the latest one; read it again.")
    complete_locked(
        operation,
        now,
        kind="settled",
        actor="policy",
        reason="The check found one match.",
        attempt=attempt,
        data={"lookup": str(lookup.uid)},
        evidence=Evidence.LOOKUP,
        evidence_by=lookup.actor,
        reference=record["id"],
    )


def complete_locked(
    operation: Operation,
    now: datetime,
    *,
    kind: str,
    actor: str,
    reason: str,
    reference: str,
    evidence: Evidence,
    evidence_by: str,
    attempt: Attempt | None = None,
    command_id: uuid.UUID | None = None,
    data: dict[str, object] | None = None,
) -> None:
    """Complete a locked operation; a case that this does not answer stays, or is opened by what was told."""
    change(
        operation,
        kind=kind,
        actor=actor,
        reason=reason,
        to=State.COMPLETED,
        attempt=attempt,
        command_id=command_id,
        data={**(data or {}), "reference": reference},
        evidence=evidence,
        evidence_by=evidence_by,
        destination_reference=reference,
    )
    void_permit(operation, "The operation is done.", now=now)
    case = operation.cases.open().first()
    if evidence is Evidence.LOOKUP or (case is not None and case.kind not in SURPLUS):
        close_locked(operation, actor=actor, reason=reason, now=now, command_id=command_id)
    check_told(operation, now)
    tie(operation, now)


def _fail(operation: Operation, step: Step, now: datetime) -> None:
    if operation.state == State.UNCERTAIN:
        clear(operation, now)
    change(operation, kind="settled", actor="policy", reason=step.why, to=State.FAILED)
    stands = correction_of(operation)
    if stands is not None and stands.state == State.COMPLETED and stands.corrects_id == operation.pk:
        reason = f"Its correction {stands.key} is done."
        data: dict[str, object] = {"correction": str(stands.uid)}
        close_locked(operation, actor="policy", reason=reason, now=now, data=data)
        return
    hold_locked(operation, step.case or CaseKind.LIMIT, actor="policy", reason=step.why, now=now)


def clear(operation: Operation, now: datetime) -> None:
    """Note on every attempt in doubt that its absence is proved."""
    operation.attempts.in_doubt().update(cleared_at=now, worded_at=None)


def take_word(operation: Operation, now: datetime) -> None:
    """Note on every attempt in doubt that people say it did nothing; where none was, it may have been any."""
    doubtful = operation.attempts.in_doubt()
    (doubtful if doubtful.exists() else operation.attempts.all()).update(worded_at=now)


def _permit_by_policy(operation: Operation, step: Step, now: datetime) -> None:
    effective_at = step.at or now
    permit = Permit.objects.create(
        operation=operation,
        source=Permit.Source.POLICY,
        actor="policy",
        reason=step.why,
        given_at=now,
        effective_at=effective_at,
        lapses_at=effective_at + timedelta(seconds=operation.operation_type.permit_for_s),
    )
    change(
        operation,
        kind="permitted",
        actor="policy",
        reason=step.why,
        data={"permit": str(permit.uid)},
        look_at=None,
    )


def settle_attempt(
    operation: Operation, attempt: Attempt, now: datetime, *, kind: str, actor: str
) -> Conclusion:
    """Move a running operation to where its closed attempt takes it."""
    outcome = Outcome(attempt.outcome or "")
    known = facts(operation)
    conclusion = conclude(known, outcome, now=now, jitter=jitter(), retry_after_s=attempt.retry_after_s)
    fields = _where_it_goes(
        operation, attempt, conclusion, now, settle_s=known.contract.settle_s, actor=actor
    )
    if attempt.started_at is not None:
        fields["first_sent_at"] = operation.first_sent_at or attempt.started_at
    if outcome not in (Outcome.SUCCEEDED, Outcome.ACCEPTED) and not operation.first_cause:
        fields["first_cause"] = attempt.message or attempt.error_code or f"Status {attempt.http_status}"
    data = {"outcome": outcome, "http_status": attempt.http_status, "error_code": attempt.error_code}
    if attempt.destination_reference:
        data["reference"] = attempt.destination_reference
    if attempt.replayed:
        data["replayed"] = True
    change(
        operation,
        kind=kind,
        actor=actor,
        reason=conclusion.why,
        to=conclusion.state,
        attempt=attempt,
        data=data,
        **fields,
    )
    if conclusion.pauses:
        pause_locked(operation, attempt, now)
    _after(operation, conclusion, now)
    return conclusion


def _where_it_goes(
    operation: Operation,
    attempt: Attempt,
    conclusion: Conclusion,
    now: datetime,
    *,
    settle_s: float,
    actor: str,
) -> dict[str, Any]:
    """Return what the state that follows an attempt needs to know."""
    match conclusion.state:
        case State.UNCERTAIN:
            settles_at = (attempt.sender_ended_at or now) + timedelta(seconds=settle_s)
            taken = attempt.outcome == Outcome.ACCEPTED
            return {
                "look_at": now,
                "look_count": 0,
                "settles_at": max(settles_at, operation.settles_at or settles_at),
                "taken_at": (operation.taken_at or now) if taken else operation.taken_at,
            }
        case State.PENDING:
            return {"next_try_at": conclusion.next_try_at}
        case State.COMPLETED:
            return {
                "evidence": Evidence.ANSWER,
                "evidence_by": actor,
                "destination_reference": attempt.destination_reference,
            }
        case _:
            return {}


def _after(operation: Operation, conclusion: Conclusion, now: datetime) -> None:
    """Open the case that an attempt's end asks for, and go on as far as no network is needed."""
    if conclusion.case is CaseKind.REFUSED and look_before_credit(operation, now):
        return
    if conclusion.case is not None:
        hold_locked(operation, conclusion.case, actor="policy", reason=conclusion.why, now=now)
    if conclusion.state is State.COMPLETED:
        check_told(operation, now)
        tie(operation, now)
    elif told_late(operation):
        heed_late(operation, now)
    elif conclusion.state is State.UNCERTAIN:
        advance(operation, now)


def expire(operation_id: int, *, actor: str) -> bool:
    """End an attempt whose lease ran out: started, it may have happened; unstarted, it is proved not done."""
    with locked(operation_id) as (operation, now):
        return expire_locked(operation, now, actor=actor)


def expire_locked(operation: Operation, now: datetime, *, actor: str) -> bool:
    """Do the same for a locked operation; False where its lease lives."""
    if operation.state != State.RUNNING or operation.lease_until is None or operation.lease_until > now:
        return False
    attempt = operation.attempts.get(closed_at__isnull=True)
    started = attempt.started_at is not None
    timeout_s = operation.operation_type.destination.reach.timeout_s
    attempt.closed_at = now
    attempt.outcome = Outcome.UNCERTAIN if started else Outcome.RETRYABLE
    attempt.error_code = LEASE_EXPIRED if started else NEVER_STARTED
    attempt.message = (
        "No word from the sender before its lease ran out." if started else "Claimed, and never started."
    )
    # A sender that paused just before its send has the time-out of the call left.
    attempt.sender_ended_at = operation.lease_until + timedelta(seconds=timeout_s if started else 0)
    attempt.save(update_fields=["closed_at", "outcome", "error_code", "message", "sender_ended_at"])
    settle_attempt(operation, attempt, now, kind="expired", actor=actor)
    return True


def settle(operation_id: int, *, actor: str) -> Step:
    """Take up an operation whose time has come, without the network; a LOOK that is left is the caller's."""
    with locked(operation_id) as (operation, now):
        if operation.state == State.RUNNING:
            expire_locked(operation, now, actor=actor)
        return advance(operation, now)


def accept_late(operation: Operation, attempt: Attempt, now: datetime, *, actor: str) -> None:
    """Keep a locked operation that the destination took, as was told late, from being sent again."""
    if operation.taken_at is None:
        reason = "Accepted, as was told late: looked up until it is final."
        change(operation, kind="settled", actor=actor, reason=reason, attempt=attempt, taken_at=now)
    void_permit(operation, "The destination took it.", now=now)
    advance(operation, now)


def found_before_send(operation: Operation, attempt: Attempt, now: datetime, *, actor: str) -> None:
    """Settle a claim whose look before the send found something: nothing was sent by it."""
    lookup = lookup_fact(latest_lookup(operation, (attempt,)))
    if lookup is not None and lookup.standing is Standing.DONE:
        complete_found(operation, now, attempt=attempt)
        return
    change(
        operation,
        kind="recorded",
        actor=actor,
        reason="The look before the send found something; nothing was sent.",
        to=State.UNCERTAIN,
        attempt=attempt,
        data={"error_code": attempt.error_code},
        look_at=now,
        taken_at=lookup.asked_at if lookup is not None and lookup.standing is Standing.PENDING else None,
    )
    advance(operation, now)
