"""What a person does about whose a case is, and says about an operation. Who may is asked here."""

import uuid
from collections.abc import Iterable
from datetime import datetime

from django.contrib.auth.models import User

from ledger import actions
from ledger.models import Case, Operation
from ledger.rules import actors
from ledger.rules.errors import Malformed
from review import access, cases
from review.access import NotAllowed, require

NOT_YOURS = "Only an approver or an administrator hands over what somebody else has."


def assign(case: Case, *, person: User, to: str = "", team: str = "", note: str = "") -> bool:
    """Give a case to somebody who decides, or to nobody, and to a team; False where that is so already."""
    require(person, "assign")
    if to and to != case.assignee and to not in cases.takers():
        raise Malformed(f"{to} cannot take it: only active reviewers and approvers decide.")
    if team and team not in cases.teams(case.owner):
        raise Malformed("There is no such team: teams are the owners that operation types name.")
    return actions.assign(case.uid, actor=actors.person(person.get_username()), reason=note, to=to, team=team)


def hand_over(chosen: Iterable[uuid.UUID], *, person: User, of: str, to: str, note: str) -> int:
    """Hand cases of one person over to another, each on record; returns how many were theirs still."""
    refusal = why_not(person, of)
    if refusal:
        raise NotAllowed(refusal)
    if to == of or to not in cases.takers():
        raise Malformed("Choose somebody else who decides: an active reviewer or approver.")
    actor = actors.person(person.get_username())
    return sum(
        actions.hand_over(uid, actor=actor, reason=note, of=of, to=to)
        for uid in list(chosen)[: cases.HANDED_AT_ONCE]
    )


def why_not(person: User, of: str) -> str:
    """Say why somebody may not hand over what a person has; empty where they may."""
    if access.may(person, "hand_over"):
        return ""
    if not access.may(person, "assign"):
        return access.lacking(person)
    return "" if person.get_username() == of else NOT_YOURS


def snooze(case: Case, *, person: User, reason: str, until: datetime, knowingly: bool) -> None:
    """Put a case off, until an instant or until something happens to its operation."""
    require(person, "assign")
    actor = actors.person(person.get_username())
    actions.snooze(case.uid, actor=actor, reason=reason, until=until, knowingly=knowingly)


def wake(case: Case, *, person: User) -> bool:
    """Take up again what was put off."""
    require(person, "assign")
    return actions.wake(case.uid, actor=actors.person(person.get_username()))


def comment(operation: Operation, *, person: User, text: str, command_id: uuid.UUID) -> bool:
    """Write a remark; it decides nothing. False for the same click again."""
    require(person, "comment")
    actor = actors.person(person.get_username())
    return actions.comment(operation.pk, actor=actor, text=text, command_id=command_id)
