"""Who may answer what somebody has asked a second person, with the reason where refused."""

from dataclasses import replace
from datetime import datetime

from ledger.rules.approvals import Ask
from ledger.rules.facts import AskedFact, Facts, LookupFact
from ledger.rules.leaves import Action, Leave, leaves, no, yes
from ledger.rules.states import State

DECIDES = {
    Ask.ATTEST: Action.CONFIRM_REFERENCE,
    Ask.END: Action.DID_NOT_HAPPEN,
    Ask.OVERRIDE_END: Action.OVERRIDE,
    Ask.OVERRIDE_PERMIT: Action.OVERRIDE,
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
    if facts.paused_at is not None:
        return no(f"{facts.destination} is paused: an administrator resumes it first.")
    return yes("One more try")


def answers(facts: Facts, now: datetime, *, sitting: LookupFact | None, actor: str) -> dict[Action, Leave]:
    """Say whether this person may answer what somebody has asked; all but the maker need the role for it."""
    asked = facts.asked
    if asked is None:
        return dict.fromkeys((Action.APPROVE, Action.REFUSE, Action.TAKE_BACK), no("Nothing is asked."))
    if actor == asked.maker:
        second = no("You asked for it yourself: a second person decides.")
        mine = yes("Nothing is done, and your request stays on record.")
        return {Action.APPROVE: second, Action.REFUSE: second, Action.TAKE_BACK: mine}
    return {
        Action.APPROVE: _approve(facts, now, sitting, asked),
        Action.REFUSE: yes("Nothing is done, and the request stays on record."),
        Action.TAKE_BACK: no(f"Only {asked.maker} takes it back."),
    }


def _approve(facts: Facts, now: datetime, sitting: LookupFact | None, asked: AskedFact) -> Leave:
    if now >= asked.expires_at:
        return no("Nobody answered before {at}: it has to be asked again.", asked.expires_at)
    leave = leaves(replace(facts, asked=None), now, sitting=sitting)[DECIDES[asked.ask]]
    if not leave.allowed and asked.ask is Ask.END and sitting is None and facts.state is State.UNCERTAIN:
        return no("Approve waits for a check made by you in the last five minutes.")
    if not leave.allowed:
        return leave
    return yes(f"It is carried out at once, on {asked.maker}’s word and yours.")
