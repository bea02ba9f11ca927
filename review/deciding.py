"""What a person does: check, allow, attest, end, cancel, resume … Who may is asked here, the rest below."""

import uuid

from django.contrib.auth.models import User

from ledger import actions
from ledger.destinations import lookups
from ledger.models import Lookup, Operation, Pause, Permit
from ledger.rules import actors
from review import checking
from review.access import require

CHECKED = "Looked from the operation’s page."
UNDONE = "Undone from the operation’s page."


def check(operation: Operation, *, person: User, command_id: uuid.UUID) -> Lookup | None:
    """Ask the destination what it holds now; it is kept as theirs. None for the same click.

    Raises NotNow while it is being checked already.
    """
    require(person, "check")
    actor = actors.person(person.get_username())
    with checking.turn(operation):
        if operation.events.filter(command_id=command_id).exists():
            return None
        return lookups.look(
            operation, actor=actor, reason=CHECKED, command_id=command_id, within_s=checking.LONGEST_S
        )


def allow(operation: Operation, *, person: User, reason: str, command_id: uuid.UUID) -> Permit:
    """Allow one more try; it takes effect ten seconds later."""
    require(person, "permit")
    return actions.permit(
        operation.pk, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )


def withdraw(operation: Operation, *, person: User, command_id: uuid.UUID) -> None:
    """Take an unspent permit back."""
    require(person, "withdraw")
    actions.withdraw(
        operation.pk, actor=actors.person(person.get_username()), reason=UNDONE, command_id=command_id
    )


def attest(operation: Operation, *, person: User, reason: str, command_id: uuid.UUID, reference: str) -> None:
    """Complete it on this person's word, until a check finds it."""
    require(person, "attest")
    actions.attest(
        operation.pk,
        actor=actors.person(person.get_username()),
        reason=reason,
        command_id=command_id,
        reference=reference,
    )


def end(operation: Operation, *, person: User, reason: str, command_id: uuid.UUID) -> None:
    """Close it as not done."""
    require(person, "end")
    actions.end(
        operation.pk, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )


def cancel(operation: Operation, *, person: User, reason: str, command_id: uuid.UUID) -> None:
    """Cancel it before it is sent."""
    require(person, "cancel")
    actions.cancel(
        operation.pk, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )


def resume(pause: Pause, *, person: User, reason: str, command_id: uuid.UUID) -> Pause:
    """Let a paused destination be used again."""
    require(person, "resume")
    return actions.resume(
        pause.uid, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )
