"""Who may answer what somebody has asked a second person, with the reason where refused."""

from dataclasses import replace
from datetime import datetime

from ledger.rules import actors
from ledger.rules.approvals import OVERRIDES, Ask
from ledger.rules.facts import AskedFact, Facts, LookupFact
from ledger.rules.leaves import Action, Leave, leaves, no, waiting, yes
from ledger.rules.states import UNFINISHED, State

DECIDES = {
    Ask.ATTEST: Action.CONFIRM_REFERENCE,
    Ask.END: Action.DID_NOT_HAPPEN,
    Ask.OVERRIDE_END: Action.OVERRIDE,
    Ask.OVERRIDE_PERMIT: Action.OVERRIDE,
    Ask.CHOOSE: Action.CHOOSE,
}
"""What must still be open for what was asked to be approved."""


def overrides(facts: Facts) -> dict[Ask, Leave]:
    """Say what an override may lead to."""
    return {Ask.OVERRIDE_END: _override_end(facts), Ask.OVERRIDE_PERMIT: _override_permit(facts)}


def _override_end(facts: Facts) -> Leave:
    if facts.state is State.FAILED:
        return no("It is closed as not done already.")
    return yes("It did not happen: close it as not done")


def _override_permit(facts: Facts) -> Leave:
    if facts.taken_at is not None:
        return no(f"{facts.destination} accepted it: it is never sent twice.")
    if facts.corrected:
        return no("It was corrected: it never runs again.")
    if facts.barred:
        return no(facts.barred)
    if facts.paused_at is not None:
        return no(f"{facts.destination} is paused: an administrator resumes it first.")
    return yes("One more try")


def corrects_in_doubt(facts: Facts, now: datetime) -> Leave:
    """Say whether a second person may be asked to correct what may have happened, and may agree to it."""
    if facts.is_correction:
        return no("It is a correction itself: the operation that it corrects is corrected again.")
    if facts.correction in UNFINISHED:
        return no("Its correction is not finished yet: one at a time.")
    if facts.state is State.RUNNING:
        return no("In progress: its answer is expected by {at}.", facts.lease_until)
    if facts.state is not State.UNCERTAIN:
        return no("Nothing is in doubt: correct it without an override.")
    if facts.permit is not None:
        return no(f"Another try is allowed already, by {facts.permit.actor}.")
    if not facts.held:
        return no("Not yet: software still waits for its final word.")
    return waiting(facts, now) or yes("A correction takes its place. A second person must agree.")


def answers(
    facts: Facts, now: datetime, *, sitting: LookupFact | None, actor: str, looks: bool = False
) -> dict[Action, Leave]:
    """Say whether this person may answer what somebody has asked; all but who asked need the role for it.

    `looks`: whether a check is made for them as they approve, which may find what the latest one found.
    """
    if looks and sitting is None and facts.lookup is not None:
        sitting = replace(facts.lookup, asked_at=now)
    asked = facts.asked
    if asked is None:
        return dict.fromkeys((Action.APPROVE, Action.REFUSE, Action.TAKE_BACK), no("Nothing is asked."))
    mine = asked.by.is_by(actor) and not actors.is_software(actor)
    back = yes("Nothing is done, and your request stays on record.") if mine else no(asked.by.keeps_it)
    if barred := asked.by.why_not(actor):
        return {Action.APPROVE: no(barred), Action.REFUSE: no(barred), Action.TAKE_BACK: back}
    return {
        Action.APPROVE: _approve(facts, now, sitting, asked, looks=looks),
        Action.REFUSE: yes("Nothing is done, and the request stays on record."),
        Action.TAKE_BACK: back,
    }


def _approve(
    facts: Facts, now: datetime, sitting: LookupFact | None, asked: AskedFact, *, looks: bool
) -> Leave:
    if now >= asked.expires_at:
        return no("Nobody answered before {at}: it has to be asked again.", asked.expires_at)
    leave = _still_open(replace(facts, asked=None), now, sitting, asked, looks=looks)
    if not leave.allowed:
        return leave
    maker = asked.by.maker.removeprefix(actors.AUTOMATION)
    return yes(f"It is carried out at once, on {maker}’s word and yours.")


def _still_open(
    facts: Facts, now: datetime, sitting: LookupFact | None, asked: AskedFact, *, looks: bool
) -> Leave:
    """Say whether what was asked could be done now; where a check can tell more, who agrees has made it."""
    look = no("Approve waits for a check made by you in the last five minutes.")
    if asked.ask is Ask.OVERRIDE_CORRECT:
        leave = corrects_in_doubt(facts, now)
        unseen = facts.has_lookup and sitting is None and not looks
        return look if leave.allowed and unseen else leave
    leave = leaves(facts, now, sitting=sitting)[DECIDES[asked.ask]]
    if leave.allowed and asked.ask in OVERRIDES:
        return overrides(facts)[asked.ask]
    unseen = asked.ask is Ask.END and sitting is None and facts.state is State.UNCERTAIN
    unseen = unseen or (asked.ask is Ask.CHOOSE and sitting is None)
    return look if unseen and not leave.allowed else leave
