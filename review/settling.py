"""What a person decides about a difference, and a second person's answer. Who may is asked here."""

import uuid
from datetime import datetime

from django.contrib.auth.models import User

from ledger.rules import actors
from ledger.rules.errors import Malformed, NotNow
from reconcile.differences import actions, leaves, looking, matching
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding
from review import checking
from review.access import require


def settle(
    finding: Finding,
    way: str,
    *,
    person: User,
    reason: str,
    command_id: uuid.UUID,
    until: datetime | None = None,
) -> Decision:
    """Decide about a difference, after one more look at what is there; or ask a second person."""
    require(person, "settle")
    if way not in (Way.WAIVE, Way.CLOSE, Way.TAKE_IN):
        raise Malformed("Choose what is to be done about it.")
    actor = actors.person(person.get_username())
    with checking.one_click(command_id):
        return actions.decide(
            finding,
            Way(way),
            actor=actor,
            reason=reason,
            command_id=command_id,
            until=until,
            seen=_looked(finding, finding, Way(way), command_id),
        )


def match(finding: Finding, other: Finding, *, person: User, reason: str, command_id: uuid.UUID) -> Decision:
    """Say that what is missing is that record, after one more look at it; or ask a second person."""
    require(person, "settle")
    by = actors.person(person.get_username())
    with checking.one_click(command_id):
        seen = _looked(finding, other, Way.MATCH, command_id)
        return matching.match(finding, other, actor=by, reason=reason, command_id=command_id, seen=seen)


def _looked(finding: Finding, at: Finding, way: Way, command_id: uuid.UUID) -> actions.Seen | None:
    """Ask what is there, where it can be decided at all; not for the same click again, which has decided."""
    if Decision.objects.filter(command_id=command_id).exists():
        return None
    if why := leaves.why_not(finding, way):
        raise NotNow(why)
    return _seen(at)


def _seen(finding: Finding) -> actions.Seen | None:
    with checking.turn_of_difference(finding):
        return looking.look(finding, within_s=checking.LONGEST_S)


def end_waiver(finding: Finding, *, person: User, reason: str) -> None:
    """End a waiver before its time."""
    require(person, "settle")
    decision = leaves.standing(finding)
    if decision is None or decision.way != Way.WAIVE or decision.in_force_at is None:
        raise NotNow("It is not waived.")
    actions.end_waiver(decision.uid, actor=actors.person(person.get_username()), reason=reason)


def answer(decision: Decision, *, person: User, answer: str, reason: str) -> None:
    """Agree to what somebody else asked, after one more look; refuse it, or take one's own back."""
    actor = actors.person(person.get_username())
    if answer == "take-back":
        require(person, "settle")
        actions.take_back(decision.uid, actor=actor, reason=reason)
        return
    require(person, "approve")
    if answer == "refuse":
        actions.refuse(decision.uid, actor=actor, reason=reason)
        return
    actions.asked_by(decision).require_another(actor)
    actions.approve(decision.uid, actor=actor, reason=reason, seen=_seen(decision.finding))
