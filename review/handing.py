"""What a person does about whose a case is, and says about an operation. Who may is asked here."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from django.contrib.auth.models import User

from ledger import actions
from ledger.models import Case, Operation
from ledger.rules import actors
from ledger.rules.errors import Malformed, NotNow
from ledger.sight import Sight, limited
from review import access, cases
from review.access import NotAllowed, require

HANDED = "Handed over."
NOT_YOURS = "Only an approver or an administrator hands over what somebody else has."


def assign(case: Case, *, person: User, to: str = "", team: str = "", note: str = "") -> bool:
    """Give a case to somebody who decides, or to nobody, and to a team; False where that is so already."""
    require(person, "assign")
    _require_taker(to if to != case.assignee else "", team, [case.uid], also=case.owner)
    if from_another(case, person, to) and not why_not(person, case.assignee) and not note.strip():
        raise Malformed(f"Write a note: {case.assignee} has it now, who is to read why.")
    return _move(case, person=person, to=to, team=team, note=note)


def hand_over(chosen: Iterable[uuid.UUID], *, person: User, of: str, to: str, note: str) -> int:
    """Hand cases of one person over to another, each on record; returns how many were theirs still."""
    refusal = why_not(person, of)
    if refusal:
        raise NotAllowed(refusal)
    if to in ("", of):
        raise Malformed("Choose somebody else who decides: an active reviewer or approver.")
    actor, some = actors.person(person.get_username()), list(chosen)[: cases.HANDED_AT_ONCE]
    _require_taker(to, "", some)
    return sum(actions.hand_over(uid, actor=actor, reason=note, of=of, to=to) for uid in some)


def _require_taker(to: str, team: str, uids: Sequence[uuid.UUID], *, also: str = "") -> None:
    """Raise Malformed where who is named, if anybody, cannot take all of it; `also`: a team that has it."""
    if to and to not in cases.takers():
        raise Malformed(f"{to} cannot take it: only active reviewers and approvers decide.")
    if to:
        _require_seen(to, uids)
    if team and team not in cases.teams(also):
        raise Malformed("There is no such team: teams are the owners that operation types name.")


def from_another(case: Case, person: User, to: str) -> bool:
    """Say whether giving it to somebody takes it from a third one, who is to read why."""
    return case.assignee not in ("", to, person.get_username())


def _move(case: Case, *, person: User, to: str, team: str, note: str) -> bool:
    """Give one case; False where it is theirs already. Raises NotAllowed, NotNow.

    What somebody else has goes only by an approver’s or an administrator’s hand.
    """
    actor, of = actors.person(person.get_username()), case.assignee
    if of not in ("", to) and (refusal := why_not(person, of)):
        raise NotAllowed(refusal)
    if of and to and of != to:
        return actions.hand_over(case.uid, actor=actor, reason=note or HANDED, of=of, to=to, team=team)
    return actions.assign(case.uid, actor=actor, reason=note, to=to, team=team)


def _require_seen(to: str, uids: Sequence[uuid.UUID]) -> None:
    """Raise Malformed where one who would take cases is limited to other entities than theirs."""
    taker, found = User.objects.get(username=to), Case.objects.filter(uid__in=uids).count()
    with limited(Sight(partial(access.entities, taker))):
        if Case.objects.filter(uid__in=uids).count() != found:
            raise Malformed(f"{to} does not see all of it, being limited to other entities.")


@dataclass
class Given:
    """How many cases were given, were there already, stay with who has them, and were answered meanwhile."""

    given: int = 0
    already: int = 0
    stay: int = 0
    over: int = 0

    def words(self, whose: str) -> str:
        """Say so; what did not happen is left out."""
        told = (
            (self.given, f"{self.given} given to {whose}."),
            (self.already, f"{self.already} there already."),
            (self.stay, f"{self.stay} left with who has them: {NOT_YOURS}"),
            (self.over, f"{self.over} answered meanwhile."),
        )
        return " ".join(words for count, words in told if count)


def give(chosen: Sequence[uuid.UUID], *, person: User, to: str = "", team: str = "", note: str = "") -> Given:
    """Give open cases to a person or a team, each on record; what somebody else has only with a note.

    Raises NotAllowed; Malformed where nobody is named who can take them, or the note is missing.
    """
    require(person, "assign")
    if bool(to) == bool(team):
        raise Malformed("Choose who takes them: somebody who decides, or a team.")
    most = chosen[: cases.HANDED_AT_ONCE]
    _require_taker(to, team, most)
    found = list(Case.objects.open().filter(uid__in=most).order_by("due_at", "pk"))
    others = sum(from_another(case, person, to) for case in found)
    if others and not note.strip():
        raise Malformed(f"Write a note: {others} of them are somebody else’s now, who is to read why.")
    done = Given(over=len(most) - len(found))
    for case in found:
        try:
            moved = _move(case, person=person, to=to, team=team, note=note)
        except NotAllowed:
            done.stay += 1
        except NotNow:
            done.over += 1
        else:
            done.given, done.already = done.given + moved, done.already + (not moved)
    return done


def why_not(person: User, of: str) -> str:
    """Say why somebody may not take from a person what they have; empty where they may."""
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
