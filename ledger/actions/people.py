"""What a person decides, once: permit, withdraw, attest, end, cancel. Each with reason, command and event."""

import uuid
from datetime import datetime
from typing import Any

from ledger.actions import resolving
from ledger.actions.asking import ask_locked, closing, together
from ledger.actions.changing import Word, change, first_time, given, locked
from ledger.actions.holding import cancel_locked
from ledger.actions.reading import facts, lookup_fact, sitting
from ledger.models import Approval, Lookup, Operation, Permit
from ledger.rules.answering import answers
from ledger.rules.approvals import Ask
from ledger.rules.errors import Malformed, NotNow
from ledger.rules.facts import Facts
from ledger.rules.leaves import UNDO, Action, leaves, permit_lapses_at
from ledger.rules.states import Evidence, State

REFERENCE_MAX = 200
SAID_OTHERWISE = {
    Ask.ATTEST: "Somebody says that it is there.",
    Ask.END: "Somebody asks to close it as not done.",
}
"""Why a permit ends although nobody has agreed yet: it can be given again, a send is never taken back."""


def require(
    operation: Operation, action: Action, *, actor: str, now: datetime
) -> tuple[Facts, Lookup | None]:
    """Raise NotNow in the words of the page where an action is not open to this person now.

    Returns what was weighed: what is known of the locked operation, and the person's own look-up.
    """
    known, looked = facts(operation), sitting(operation, actor, now=now)
    seen = lookup_fact(looked)
    open_to = leaves(known, now, sitting=seen) | answers(known, now, sitting=seen, actor=actor)
    leave = open_to[action]
    if not leave.allowed:
        raise NotNow(str(leave.why), sentence=leave.why)
    return known, looked


def permit(operation_id: int, *, actor: str, reason: str, command_id: uuid.UUID) -> Permit:
    """Allow one more try; it takes effect after the ten seconds in which it can be undone."""
    word = Word(actor, given(reason), command_id)
    with locked(operation_id) as (operation, now):
        if not first_time(command_id, operation, action="permit", actor=actor):
            return Permit.objects.get(command_id=command_id)
        known, seen = require(operation, Action.SEND_AGAIN, actor=actor, now=now)
        return permit_locked(operation, now, word, known=known, seen=seen)


def permit_locked(
    operation: Operation,
    now: datetime,
    word: Word,
    *,
    known: Facts,
    seen: Lookup | None = None,
    approval: Approval | None = None,
) -> Permit:
    """Give a permit to a locked operation; it rests on the look-up that was seen, or on an approval."""
    lapses_at = permit_lapses_at(
        known,
        now + UNDO,
        permit_for_s=operation.operation_type.permit_for_s,
        looked=seen is not None,
    )
    made = Permit.objects.create(
        operation=operation,
        source=Permit.Source.PERSON,
        actor=word.actor,
        reason=word.reason,
        command_id=word.command_id,
        lookup=seen,
        approval=approval,
        given_at=now,
        effective_at=now + UNDO,
        lapses_at=lapses_at,
    )
    data = {"permit": str(made.uid), "lookup": str(seen.uid) if seen else ""}
    change(
        operation,
        kind="permitted",
        actor=word.actor,
        reason=word.reason,
        command_id=word.command_id,
        data=data,
    )
    return made


def withdraw(operation_id: int, *, actor: str, reason: str, command_id: uuid.UUID) -> None:
    """Take an unspent permit back, or cancel a correction that has not gone out yet."""
    reason = given(reason)
    with locked(operation_id) as (operation, now):
        if not first_time(command_id, operation, action="withdraw", actor=actor):
            return
        open_permit = operation.permits.open().first()
        require(operation, Action.UNDO, actor=actor, now=now)
        if open_permit is None:
            cancel_locked(operation, actor=actor, reason=reason, now=now, command_id=command_id)
            return
        resolving.withdraw_locked(
            operation, open_permit, actor=actor, reason=reason, now=now, command_id=command_id
        )
        # Nothing looked while the permit was open: what was due then is due again.
        resolving.advance(operation, now)


def attest(
    operation_id: int, *, actor: str, reason: str, command_id: uuid.UUID, reference: str
) -> Approval | None:
    """Complete an operation on a named person's word; where that takes two people, ask the second one."""
    word = Word(actor, given(reason), command_id)
    reference = reference.strip()
    if not reference or len(reference) > REFERENCE_MAX or not reference.isprintable():
        raise Malformed(f"Give the destination's number for it: 1 to {REFERENCE_MAX} characters.")
    with closing(operation_id) as (operation, now):
        if not first_time(command_id, operation, action="attest", actor=actor):
            return Approval.objects.filter(command_id=command_id).first()
        require(operation, Action.CONFIRM_REFERENCE, actor=actor, now=now)
        counted = together(operation, actor)
        if counted.takes_two:
            said = {"reference": reference, **counted.counted}
            return _ask(operation, now, Ask.ATTEST, word=word, data=said)
        attest_locked(operation, now, word, reference=reference)
        return None


def _ask(
    operation: Operation, now: datetime, ask: Ask, *, word: Word, data: dict[str, Any] | None = None
) -> Approval:
    """Ask a second person to close it; a permit that a person gave does not outlive that word meanwhile.

    Policy's own stays: it rests on a key that protects a second send, and would be given again at once.
    """
    if operation.permits.open().filter(source=Permit.Source.PERSON).exists():
        resolving.void_permit(operation, SAID_OTHERWISE[ask], now=now)
    approval = ask_locked(operation, now, ask, word=word, data=data)
    resolving.advance(operation, now)  # nothing looked while the permit was open
    return approval


def attest_locked(operation: Operation, now: datetime, word: Word, *, reference: str) -> None:
    """Complete a locked operation on a person's word, until a look-up confirms it.

    A case about what else is there stays open; on one that is done already, the word closes that case.
    """
    if operation.state == State.COMPLETED:
        _name_locked(operation, now, word, reference=reference)
        return
    resolving.complete_locked(
        operation,
        now,
        kind="attested",
        actor=word.actor,
        reason=word.reason,
        command_id=word.command_id,
        reference=reference,
        evidence=Evidence.ATTESTED,
        evidence_by=word.actor,
    )


def _name_locked(operation: Operation, now: datetime, word: Word, *, reference: str) -> None:
    """Close the case of a done operation on a person's word for the record that counts."""
    by: dict[str, Any] = {"actor": word.actor, "reason": word.reason, "command_id": word.command_id}
    other = reference != operation.destination_reference
    evidence: dict[str, Any] = {
        "evidence": Evidence.ATTESTED,
        "evidence_by": word.actor,
        "destination_reference": reference,
    }
    change(operation, kind="attested", data={"reference": reference}, **by, **(evidence if other else {}))
    resolving.close_locked(operation, now=now, **by)


def end(operation_id: int, *, actor: str, reason: str, command_id: uuid.UUID) -> Approval | None:
    """Close an operation as not done: absence is proved, or it failed already and only its case is open.

    Where that takes two people, ask the second one.
    """
    word = Word(actor, given(reason), command_id)
    with closing(operation_id) as (operation, now):
        if not first_time(command_id, operation, action="end", actor=actor):
            return Approval.objects.filter(command_id=command_id).first()
        require(operation, Action.DID_NOT_HAPPEN, actor=actor, now=now)
        counted = together(operation, actor)
        if counted.takes_two:
            return _ask(operation, now, Ask.END, word=word, data=dict(counted.counted))
        end_locked(operation, now, word)
        return None


def end_locked(operation: Operation, now: datetime, word: Word, *, proved: bool = True) -> None:
    """Close a locked operation as not done; where that is not proved, every try stays in doubt."""
    resolving.void_permit(operation, "It is closed as not done.", now=now)
    by: dict[str, Any] = {"actor": word.actor, "reason": word.reason, "command_id": word.command_id}
    if operation.state == State.UNCERTAIN:
        note = resolving.clear if proved else resolving.take_word
        note(operation, now)
        change(operation, kind="ended", to=State.FAILED, **by)
    resolving.close_locked(operation, now=now, **by)


def cancel(operation_id: int, *, actor: str, reason: str, command_id: uuid.UUID) -> None:
    """Cancel before the send; afterwards it is too late, and says so."""
    reason = given(reason)
    with locked(operation_id) as (operation, now):
        if not first_time(command_id, operation, action="cancel", actor=actor):
            return
        require(operation, Action.CANCEL, actor=actor, now=now)
        cancel_locked(operation, actor=actor, reason=reason, now=now, command_id=command_id)
