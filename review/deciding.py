"""What a person decides: check, allow, attest, end, override, approve, resume. Who may is asked here."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User

from ledger import actions
from ledger.destinations import lookups
from ledger.models import Approval, Choice, Deputy, Lookup, Operation, Pause, Permit
from ledger.rules import actors
from ledger.rules.approvals import Ask
from ledger.rules.errors import NotNow
from ledger.rules.leaves import UNDO
from reconcile.histories import looking
from reconcile.models import Proposal, Repeat
from reconcile.proposals import actions as proposals
from reconcile.proposals import limits
from review import checking
from review.access import may, require

CHECKED = "Looked from the operation’s page."
UNDONE = "Undone from the operation’s page."
AS_APPROVED = "Looked once more, as it was approved."


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


def check_repeat(repeat: Repeat, *, person: User) -> None:
    """Ask the destination what it holds for a trigger that ran more than once.

    Raises NotNow where it cannot be checked, or is being checked already.
    """
    require(person, "check")
    with checking.turn_of_repeat(repeat):
        actor = actors.person(person.get_username())
        looking.look(repeat, actor=actor, within_s=checking.LONGEST_S)


def close_repeat(repeat: Repeat, *, person: User, reason: str) -> None:
    """Close what is asked about a trigger that ran more than once, on this person's word."""
    require(person, "attest")
    looking.close(repeat, actor=actors.person(person.get_username()), reason=reason)


def allow(operation: Operation, *, person: User, reason: str, command_id: uuid.UUID) -> Permit:
    """Allow one more try; it takes effect ten seconds later."""
    require(person, "permit")
    return actions.permit(
        operation.pk, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )


def withdraw(operation: Operation, *, person: User, command_id: uuid.UUID) -> None:
    """Take an unspent permit back; or a correction, or what was chosen of several, before it goes out."""
    require(person, "withdraw")
    chosen = operation.choices.exists() and not operation.permits.open().exists()
    undo = actions.undo_choice if chosen else actions.withdraw
    undo(operation.pk, actor=actors.person(person.get_username()), reason=UNDONE, command_id=command_id)


def attest(
    operation: Operation, *, person: User, reason: str, command_id: uuid.UUID, reference: str
) -> Approval | None:
    """Complete it on this person's word, until a check finds it; or ask a second person."""
    require(person, "attest")
    return actions.attest(
        operation.pk,
        actor=actors.person(person.get_username()),
        reason=reason,
        command_id=command_id,
        reference=reference,
    )


def end(operation: Operation, *, person: User, reason: str, command_id: uuid.UUID) -> Approval | None:
    """Close it as not done; or ask a second person."""
    require(person, "end")
    return actions.end(
        operation.pk, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )


def cancel(operation: Operation, *, person: User, reason: str, command_id: uuid.UUID) -> None:
    """Cancel it before it is sent."""
    require(person, "cancel")
    actions.cancel(
        operation.pk, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )


def correct(
    operation: Operation,
    *,
    person: User,
    reason: str,
    command_id: uuid.UUID,
    meant: actions.Correction,
    revision: int,
    who: str = "",
    risk: actions.Risk | None = None,
) -> Operation | Approval:
    """Make a correction, which can be undone for ten seconds; or, with a risk, ask a second person for it."""
    require(person, "correct")
    given: dict[str, Any] = {"actor": actors.person(person.get_username()), "reason": reason, "who": who}
    given |= {"command_id": command_id, "revision": revision}
    if risk is None:
        return actions.correct(operation.pk, meant, wait=UNDO, **given)[0]
    return actions.correct_in_doubt(operation.pk, meant, risk=risk, **given)[0]


def choose(
    operation: Operation, *, person: User, reason: str, command_id: uuid.UUID, keep: str, seen: str
) -> Choice | Approval:
    """Keep one of several and reverse the others, undone within ten seconds; or ask a second person."""
    require(person, "choose")
    return actions.choose(
        operation.pk,
        keep=keep,
        seen=seen,
        actor=actors.person(person.get_username()),
        reason=reason,
        command_id=command_id,
    )


def resume(pause: Pause, *, person: User, reason: str, command_id: uuid.UUID) -> Pause:
    """Let a paused destination be used again."""
    require(person, "resume")
    return actions.resume(
        pause.uid, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )


def tell_again(delivery: uuid.UUID, *, person: User) -> bool:
    """Let a webhook's message be sent again; False where it is due already."""
    require(person, "redeliver")
    return actions.send_again(delivery, actor=actors.person(person.get_username()))


def override(
    operation: Operation,
    *,
    person: User,
    reason: str,
    command_id: uuid.UUID,
    leads_to: str,
    where: str,
    looked_at: datetime,
) -> Approval:
    """Ask a second person to go ahead where nothing can be looked up."""
    require(person, "ask")
    return actions.override(
        operation.pk,
        Ask(leads_to),
        actor=actors.person(person.get_username()),
        reason=reason,
        command_id=command_id,
        where=where,
        looked_at=looked_at,
    )


def is_for(operation: Operation, approval: uuid.UUID | None) -> bool:
    """Say whether a form's request, if it names one, is about this operation."""
    return approval is None or operation.approvals.filter(uid=approval).exists()


def approve(
    operation: Operation, *, person: User, reason: str, command_id: uuid.UUID, approval: uuid.UUID
) -> None:
    """Agree to what somebody else asked, after one more look at what is there; it is carried out at once."""
    require(person, "approve")
    actor = actors.person(person.get_username())
    if actions.looks_as_approved(approval, actor=actor, command_id=command_id):
        with checking.turn(operation):
            lookups.look(operation, actor=actor, reason=AS_APPROVED, within_s=checking.LONGEST_S)
    actions.approve(approval, actor=actor, reason=reason, command_id=command_id)


def answer_proposal(proposal: Proposal, *, person: User, answer: str, reason: str) -> None:
    """Agree to a change of rules or of a role, refuse it, or take one's own back."""
    actor = actors.person(person.get_username())
    if answer == "take-back":
        require(person, "propose")
        proposals.take_back(proposal.uid, actor=actor, reason=reason)
        return
    require(person, "approve")
    act = proposals.approve if answer == "approve" else proposals.refuse
    act(proposal.uid, actor=actor, reason=reason)


def name_deputy(
    *,
    person: User,
    principal: User,
    deputy: User,
    starts_at: datetime,
    ends_at: datetime,
    reason: str,
    command_id: uuid.UUID,
) -> Deputy:
    """Let somebody stand in for this person; an administrator names a deputy for others, too."""
    require(person, "deputise")
    if principal.pk != person.pk and not may(person, "propose"):
        raise NotNow("You name a deputy for yourself; an administrator does so for others.")
    return actions.name_deputy(
        principal.get_username(),
        deputy.get_username(),
        starts_at=starts_at,
        ends_at=ends_at,
        actor=actors.person(person.get_username()),
        reason=reason,
        command_id=command_id,
    )


def end_deputy(one: Deputy, *, person: User, reason: str) -> None:
    """End it from now on: by either of the two, or by an administrator."""
    require(person, "deputise")
    if person.pk not in (one.principal_account, one.deputy_account) and not may(person, "propose"):
        raise NotNow("One of the two ends it, or an administrator.")
    actions.end_deputy(one.uid, actor=actors.person(person.get_username()), reason=reason)


def propose_role(
    *, person: User, whose: User, role: str, give: bool, reason: str, command_id: uuid.UUID
) -> Proposal:
    """Propose to give somebody a role, or to take it."""
    require(person, "propose")
    actor = actors.person(person.get_username())
    return proposals.propose_role(whose, role, give=give, actor=actor, reason=reason, command_id=command_id)


def propose_limit(
    *, person: User, whose: User, entities: Sequence[str], reason: str, command_id: uuid.UUID
) -> Proposal:
    """Propose to limit somebody to legal entities, or to let them see all."""
    require(person, "propose")
    actor = actors.person(person.get_username())
    return limits.propose_limit(whose, to=entities, actor=actor, reason=reason, command_id=command_id)


def refuse(
    operation: Operation, *, person: User, reason: str, command_id: uuid.UUID, approval: uuid.UUID
) -> None:
    """Refuse what somebody else asked."""
    require(person, "approve")
    actions.refuse(approval, actor=actors.person(person.get_username()), reason=reason, command_id=command_id)


def take_back(
    operation: Operation, *, person: User, reason: str, command_id: uuid.UUID, approval: uuid.UUID
) -> None:
    """Take one's own request back."""
    require(person, "ask")
    actions.take_back(
        approval, actor=actors.person(person.get_username()), reason=reason, command_id=command_id
    )
