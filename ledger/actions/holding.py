"""Stop for a person and go on: cases, permits taken back, and what was finished and is in doubt again."""

import uuid
from datetime import datetime

from ledger.actions.changing import change, locked
from ledger.models import Case, Lookup, Operation, Permit
from ledger.rules.states import CaseKind, State


def withdraw_locked(
    operation: Operation,
    permit: Permit,
    *,
    actor: str,
    reason: str,
    now: datetime,
    kind: str = "withdrawn",
    command_id: uuid.UUID | None = None,
) -> None:
    """Withdraw an open permit of a locked operation."""
    permit.withdrawn_at, permit.withdrawn_by = now, actor
    permit.save(update_fields=["withdrawn_at", "withdrawn_by"])
    data = {"permit": str(permit.uid)}
    change(operation, kind=kind, actor=actor, reason=reason, command_id=command_id, data=data)


def void_permit(operation: Operation, reason: str, *, now: datetime) -> None:
    """Withdraw the open permit of a locked operation, if there is one."""
    permit = operation.permits.open().first()
    if permit is not None:
        withdraw_locked(operation, permit, actor="policy", reason=reason, now=now)


def hold_locked(
    operation: Operation,
    kind: CaseKind,
    *,
    actor: str,
    reason: str,
    now: datetime,
    data: dict[str, object] | None = None,
) -> Case:
    """Open the one case of a locked operation, or give the open one its newer name."""
    case = operation.cases.open().first()
    if case is not None and case.kind == kind:
        return case
    if case is None:
        case = Case.objects.create(
            operation=operation,
            kind=kind,
            owner=operation.operation_type.owner,
            opened_at=now,
            due_at=operation.operation_type.due_at(now),
        )
    else:
        case.kind = kind
        case.save(update_fields=["kind"])
    change(
        operation,
        kind="held",
        actor=actor,
        reason=reason,
        data={"case": str(case.uid), "case_kind": kind, **(data or {})},
        held_at=operation.held_at or now,
        look_at=None,
    )
    return case


def close_locked(
    operation: Operation,
    *,
    actor: str,
    reason: str,
    now: datetime,
    command_id: uuid.UUID | None = None,
    data: dict[str, object] | None = None,
) -> None:
    """Close the open case of a locked operation, if there is one."""
    case = operation.cases.open().first()
    if case is None:
        return
    case.closed_at, case.closed_by = now, actor
    case.save(update_fields=["closed_at", "closed_by"])
    change(
        operation,
        kind="closed",
        actor=actor,
        reason=reason,
        command_id=command_id,
        data={"case": str(case.uid), **(data or {})},
        held_at=None,
    )


def tie_corrected(done: Operation, now: datetime) -> None:
    """Tie what is locked and has just completed to what it corrects, or to the corrections made of it.

    A completed correction closes the case that it answers; the state of what it corrects stays what is known.
    Doubt is not answered by it, nor that several are there: more than one is still too many. Where what it
    corrects was done, both stand, and a person sees to it that one of them is reversed.
    """
    if done.corrects_id is None:
        _hold_both(done, now)
    elif done.corrected_at is None:
        _close_corrected(done, done.corrects_id)


def also_there(operation: Operation) -> Operation | None:
    """Return a correction of it whose effect is there, or may be."""
    sent = operation.corrections.filter(state__in=[State.RUNNING, State.UNCERTAIN, State.COMPLETED])
    return sent.order_by("-correction_number").first() if operation.corrected_at is not None else None


def _hold_both(operation: Operation, now: datetime) -> None:
    """Ask a person where an operation stands beside a correction of it: one is too many."""
    other = also_there(operation)
    if other is not None:
        known = "is done, too" if other.state == State.COMPLETED else "may be there, too"
        reason = f"It stands at the destination, and its correction {other.key} {known}."
        data: dict[str, object] = {"correction": str(other.uid)}
        hold_locked(operation, CaseKind.BOTH_THERE, actor="policy", reason=reason, now=now, data=data)


def _close_corrected(correction: Operation, original_id: int) -> None:
    with locked(original_id) as (operation, now):
        case = operation.cases.open().first()
        if case is not None and case.kind == CaseKind.SEVERAL:
            return
        if operation.state == State.COMPLETED:
            _hold_both(operation, now)
        if case is None or operation.state != State.FAILED:
            return
        reason = f"Its correction {correction.key} is done."
        data: dict[str, object] = {"correction": str(correction.uid)}
        close_locked(operation, actor="policy", reason=reason, now=now, data=data)


def cancel_locked(
    operation: Operation, *, actor: str, reason: str, now: datetime, command_id: uuid.UUID | None = None
) -> None:
    """Cancel a locked operation that was not sent, and close its case."""
    change(
        operation,
        kind="cancelled",
        actor=actor,
        reason=reason,
        to=State.FAILED,
        command_id=command_id,
        cancelled_at=now,
    )
    close_locked(operation, actor=actor, reason=reason, now=now, command_id=command_id)


def hold(
    operation_id: int, *, kind: CaseKind, actor: str, reason: str, data: dict[str, object] | None = None
) -> Case:
    """Stop for a person; the state stays what is known."""
    with locked(operation_id) as (operation, now):
        return hold_locked(operation, kind, actor=actor, reason=reason, now=now, data=data)


def reopen(operation_id: int, *, kind: CaseKind, actor: str, reason: str) -> Case:
    """Take a finished operation back into doubt, with a case; nothing automatic follows."""
    with locked(operation_id) as (operation, now):
        return reopen_locked(operation, kind, actor=actor, reason=reason, now=now)


def reopen_locked(
    operation: Operation,
    kind: CaseKind,
    *,
    actor: str,
    reason: str,
    now: datetime,
    lookup: Lookup | None = None,
) -> Case:
    """Do the same for a locked operation; one that is not finished is only held."""
    void_permit(operation, reason, now=now)
    if operation.state in (State.COMPLETED, State.FAILED):
        data = {"lookup": str(lookup.uid)} if lookup else {}
        # What was found speaks against every proof of absence before it, and against every word.
        operation.attempts.update(cleared_at=None, worded_at=None)
        change(
            operation,
            kind="reopened",
            actor=actor,
            reason=reason,
            to=State.UNCERTAIN,
            data=data,
            finished_at=None,
            cancelled_at=None,
            held_at=now if operation.held_at is not None else None,
        )
    return hold_locked(operation, kind, actor=actor, reason=reason, now=now)
