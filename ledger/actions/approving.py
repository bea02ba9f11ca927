"""Two people: an override is asked for, and what was asked is approved, refused, taken back, or lapses."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from ledger.actions import choosing, overriding, people
from ledger.actions.asking import (
    WHERE,
    WHERE_MAX,
    ask_locked,
    lapse_locked,
    require_late_enough,
    require_open,
    void_changed,
)
from ledger.actions.changing import Word, answer_asked, first_time, given, locked
from ledger.actions.correcting import locked_with_latest
from ledger.actions.reading import facts
from ledger.actions.reversing import locked_with_reversals
from ledger.models import Approval, Command, Operation, database_now
from ledger.rules.answering import answers, overrides
from ledger.rules.approvals import OVERRIDES, Answer, Ask
from ledger.rules.errors import Malformed, NotFound, NotNow
from ledger.rules.leaves import Action

UNSAID = "No reason given."
"""What stands as the reason of who agreed and wrote none: nobody is quoted with words that are not theirs."""


def override(
    operation_id: int,
    ask: Ask,
    *,
    actor: str,
    reason: str,
    command_id: uuid.UUID,
    where: str,
    looked_at: datetime,
) -> Approval:
    """Ask to go ahead where nothing can be looked up: absence attested by hand, with where and when."""
    word = Word(actor, given(reason), command_id)
    where = given(where, limit=WHERE_MAX, ask=WHERE)
    if ask not in OVERRIDES:
        raise Malformed("An override ends in: it did not happen, or one more try.")
    with locked(operation_id) as (operation, now):
        if not first_time(command_id, operation, action=ask, actor=actor):
            return Approval.objects.get(command_id=command_id)
        people.require(operation, Action.OVERRIDE, actor=actor, now=now)
        known = facts(operation)
        leads = overrides(known)[ask]
        if not leads.allowed:
            raise NotNow(str(leads.why))
        require_late_enough(known, looked_at, now)
        seen = {"where": where, "looked_at": looked_at.isoformat(timespec="seconds")}
        return ask_locked(operation, now, ask, word=word, data=seen)


def approve(approval_uid: uuid.UUID, *, actor: str, reason: str, command_id: uuid.UUID) -> None:
    """Agree to what somebody else asked and carry it out; NotNow where it is answered, void or too late."""
    changed = ""
    with _asked(approval_uid) as (operation, approval, now):
        if not first_time(command_id, operation, action="approve", actor=actor):
            if approval.answer != Answer.APPROVED:
                require_open(approval)  # the same click found it void, and nothing was done
            return
        require_open(approval)
        changed = void_changed(operation) or overriding.void_differing(operation, approval)
        if not changed:
            people.require(operation, Action.APPROVE, actor=actor, now=now)
            why = given(reason) if reason.strip() else UNSAID
            answer_asked(operation, approval, Answer.APPROVED, actor=actor, reason=why, command_id=command_id)
            word = Word(approval.maker, approval.reason, command_id)
            CARRY_OUT[Ask(approval.action)](operation, now, word, approval)
    if changed:
        raise NotNow(f"{changed} The request is void, and nothing was done.")


def looks_as_approved(approval_uid: uuid.UUID, *, actor: str, command_id: uuid.UUID) -> bool:
    """Say whether to look at the destination before this person approves: it can be, and they still may."""
    approval = Approval.objects.filter(uid=approval_uid, decided_at=None).first()
    if approval is None or Command.objects.filter(command_id=command_id).exists():
        return False
    operation, now = approval.operation, database_now()
    if not operation.operation_type.has_lookup:
        return False
    return answers(facts(operation), now, sitting=None, actor=actor, looks=True)[Action.APPROVE].allowed


def refuse(approval_uid: uuid.UUID, *, actor: str, reason: str, command_id: uuid.UUID) -> None:
    """Refuse what somebody else asked; the operation stays as it is, and the request on record."""
    _answer(approval_uid, Answer.REFUSED, Action.REFUSE, word=Word(actor, given(reason), command_id))


def take_back(approval_uid: uuid.UUID, *, actor: str, reason: str, command_id: uuid.UUID) -> None:
    """Take one's own request back."""
    word = Word(actor, given(reason), command_id)
    _answer(approval_uid, Answer.WITHDRAWN, Action.TAKE_BACK, word=word)


def _answer(approval_uid: uuid.UUID, answer: Answer, action: Action, *, word: Word) -> None:
    with _asked(approval_uid) as (operation, approval, now):
        if first_time(word.command_id, operation, action=action, actor=word.actor):
            require_open(approval)
            people.require(operation, action, actor=word.actor, now=now)
            answer_asked(
                operation,
                approval,
                answer,
                actor=word.actor,
                reason=word.reason,
                command_id=word.command_id,
            )


def lapse_asked(operation_id: int) -> bool:
    """End a request that nobody answered in time."""
    with locked(operation_id) as (operation, now):
        return lapse_locked(operation, now)


@contextmanager
def _asked(approval_uid: uuid.UUID) -> Iterator[tuple[Operation, Approval, datetime]]:
    """Lock the operation of a request, and read the request after that."""
    asked = Approval.objects.filter(uid=approval_uid).values_list("operation_id", "action").first()
    if asked is None:
        raise NotFound("There is no such request.")
    hold = HOLDS.get(Ask(asked[1]), locked)
    with hold(asked[0]) as (operation, now):
        yield operation, Approval.objects.get(uid=approval_uid), now


def _attest(operation: Operation, now: datetime, word: Word, approval: Approval) -> None:
    people.attest_locked(operation, now, word, reference=approval.data["reference"])


def _end(operation: Operation, now: datetime, word: Word, approval: Approval) -> None:
    people.end_locked(operation, now, word, proved=approval.action == Ask.END)


def _permit(operation: Operation, now: datetime, word: Word, approval: Approval) -> None:
    people.permit_locked(operation, now, word, known=facts(operation), approval=approval)


def _correct(operation: Operation, now: datetime, word: Word, approval: Approval) -> None:
    overriding.correct_approved(operation, now, approval)


HOLDS = {Ask.OVERRIDE_CORRECT: locked_with_latest, Ask.CHOOSE: locked_with_reversals}
"""What is held besides the operation itself while a request is answered."""
CARRY_OUT: Mapping[Ask, Callable[[Operation, datetime, Word, Approval], None]] = {
    Ask.ATTEST: _attest,
    Ask.END: _end,
    Ask.OVERRIDE_END: _end,
    Ask.OVERRIDE_PERMIT: _permit,
    Ask.OVERRIDE_CORRECT: _correct,
    Ask.CHOOSE: choosing.choose_approved,
}
