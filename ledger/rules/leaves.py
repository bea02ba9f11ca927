"""What a person may do with an operation now, with the reason where refused."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from ledger.rules.actors import AUTOMATION
from ledger.rules.decisions import GONE, MOVED
from ledger.rules.facts import Facts, LookupFact, Sentence
from ledger.rules.guarantees import day
from ledger.rules.states import FOUND, UNFINISHED, Standing, State, Verdict

SITTING = timedelta(minutes=5)
"""How long a person's own look-up counts before they must look again."""
UNDO = timedelta(seconds=10)
"""How long a person's permit waits before it takes effect."""


CALLERS_PERMIT = timedelta(minutes=15)
"""How long absence may be relied on where a caller sends: nobody looks again before that send."""


class Action(StrEnum):
    """What a person can do."""

    CHECK = "check"
    SEND_AGAIN = "send_again"
    UNDO = "undo"
    CONFIRM_REFERENCE = "confirm_reference"
    DID_NOT_HAPPEN = "did_not_happen"
    CANCEL = "cancel"
    CORRECT = "correct"
    CHOOSE = "choose"
    OVERRIDE = "override"
    APPROVE = "approve"
    REFUSE = "refuse"
    TAKE_BACK = "take_back"


DECIDING = (
    Action.SEND_AGAIN,
    Action.CONFIRM_REFERENCE,
    Action.DID_NOT_HAPPEN,
    Action.CORRECT,
    Action.CHOOSE,
    Action.OVERRIDE,
)
"""What waits while somebody has asked for a second person."""


@dataclass(frozen=True)
class Leave:
    """Whether an action is open, and why in business words."""

    allowed: bool
    why: Sentence


def yes(text: str, at: datetime | None = None) -> Leave:
    """Say that an action is open, and what it does."""
    return Leave(allowed=True, why=Sentence(text, at))


def no(text: str, at: datetime | None = None) -> Leave:
    """Say that an action is not open, and why."""
    return Leave(allowed=False, why=Sentence(text, at))


def leaves(facts: Facts, now: datetime, *, sitting: LookupFact | None) -> dict[Action, Leave]:
    """Say of every action whether a person may take it; `sitting` is their own look-up of five minutes."""
    if sitting is not None and now - sitting.asked_at > SITTING:
        sitting = None
    found = {
        Action.CHECK: _check(facts),
        Action.SEND_AGAIN: _send_again(facts, now, sitting),
        Action.UNDO: _undo(facts, now),
        Action.CONFIRM_REFERENCE: _confirm_reference(facts),
        Action.DID_NOT_HAPPEN: _did_not_happen(facts, sitting),
        Action.CANCEL: _cancel(facts),
        Action.CORRECT: _correct(facts),
        Action.CHOOSE: _choose(facts, sitting),
        Action.OVERRIDE: _override(facts, now),
    }
    waits = waiting(facts, now)
    return found if waits is None else found | {one: waits for one in DECIDING if found[one].allowed}


def waiting(facts: Facts, now: datetime) -> Leave | None:
    """Refuse what somebody decides while another one's request is open; None where there is none."""
    if facts.asked is None or now >= facts.asked.expires_at:
        return None
    maker = facts.asked.by.maker.removeprefix(AUTOMATION)
    return no(
        f"{maker} has asked for a second person: that is answered first, until {{at}}.",
        facts.asked.expires_at,
    )


def _in_progress(facts: Facts) -> Leave:
    return no("In progress: its answer is expected by {at}.", facts.lease_until)


def _check(facts: Facts) -> Leave:
    if not facts.has_lookup:
        return no(f"{facts.destination} cannot be checked: its rules name no look-up.")
    if facts.state is State.RUNNING:
        return _in_progress(facts)
    return yes("Shows what is there now. Nothing is sent.")


def _undo(facts: Facts, now: datetime) -> Leave:
    if facts.permit is None and facts.waits_for_undo(now):
        what = "the record" if facts.reverses else "what it corrects"
        return yes(f"Cancels it before it is sent; {what} stays as it is.", facts.next_try_at)
    if facts.permit is None and facts.undo_until is not None and now < facts.undo_until:
        return yes("Nothing is reversed, and all of them stay as they are.", facts.undo_until)
    if facts.permit is None and (facts.is_correction or facts.reverses) and facts.state in UNFINISHED:
        return no("Too late to undo: the ten seconds are over.")
    if facts.permit is None or not facts.permit.by_person:
        return no("There is no permit to withdraw.")
    if facts.state is State.RUNNING:
        return _in_progress(facts)
    return yes("Withdraws the permit; nothing is sent.", facts.permit.effective_at)


def _send_again(facts: Facts, now: datetime, sitting: LookupFact | None) -> Leave:
    if facts.permit is not None:
        return no(
            f"Already allowed by {facts.permit.actor}; it takes effect at {{at}}.", facts.permit.effective_at
        )
    refusal = _never_again(facts)
    if refusal is not None:
        return refusal
    if facts.paused_at is not None:
        return no(
            f"{facts.destination} is paused since {{at}}. An administrator resumes it first.", facts.paused_at
        )
    if facts.lookup is not None and facts.found_something:
        return _found(facts.destination, facts.lookup)
    if facts.has_lookup:
        return _after_check(facts, now, sitting)
    if facts.absent_by:
        return no(f"It is not there on {facts.absent_by}’s word only: going ahead is an override.")
    if not facts.in_doubt:
        return yes("Every try so far is proved not done.")
    if facts.same_key_protects(now):
        return _same_key(facts)
    return no(f"{facts.destination} cannot be checked, and no key protects us: going ahead is an override.")


def _never_again(facts: Facts) -> Leave | None:
    """Refuse where another try could only be one too many, whatever a check says."""
    match facts.state:
        case State.RUNNING:
            return _in_progress(facts)
        case State.COMPLETED:
            return no("It is done: another try could only make a second one.")
        case State.PENDING:
            return _not_yet(facts)
    if facts.corrected:
        return no("It was corrected: it never runs again.")
    if facts.original_moved:
        return no(f"{MOVED} Correct that one again.")
    if facts.cancelled:
        return no("It was cancelled.")
    if facts.payload_gone:
        return no(f"{GONE} A correction can, with a payload of its own.")
    if facts.barred or facts.over:
        return no(facts.barred or facts.over)
    if facts.taken_at is not None:
        return no(f"{facts.destination} accepted it and is still working on it: it is never sent twice.")
    return None


def _not_yet(facts: Facts) -> Leave:
    if facts.barred or facts.over:
        return no(facts.barred or facts.over)
    if facts.held:
        return no("Software has stopped before it was sent: check what is there, or cancel it.")
    return no("It is sent by itself at {at}.", facts.next_try_at)


def _same_key(facts: Facts) -> Leave:
    return yes(
        f"Same key, same payload. If the first one arrives after all, {facts.destination} answers with it "
        "and makes no second one, until {at}.",
        facts.window_closes_at,
    )


def _found(there: str, lookup: LookupFact) -> Leave:
    if lookup.verdict is Verdict.ONE_MATCH:
        return no(f"{there} holds it: another try could only make a second one.")
    return no(f"{there} holds something for it: another try could only add to it.")


def _after_check(facts: Facts, now: datetime, sitting: LookupFact | None) -> Leave:
    there = facts.destination
    if sitting is None:
        return no("Send again waits for a check made by you in the last five minutes.")
    counts_until = sitting.asked_at + SITTING
    if sitting.standing is Standing.FAILED and not facts.in_doubt:
        return yes(f"{there} declined it{_then(facts)}", counts_until)
    if sitting.verdict in FOUND:
        return _found(there, sitting)
    absent = sitting.verdict is Verdict.ABSENT
    if facts.proves(sitting) or (absent and not facts.in_doubt and sitting.complete):
        if facts.same_key_protects(now):
            return _same_key(facts)
        return yes(f"{there} does not hold it{_then(facts)}", counts_until)
    if absent and facts.settles_at is not None and sitting.asked_at < facts.settles_at:
        return no("Absent, but too early to be proof: check again from {at}.", facts.settles_at)
    if facts.in_doubt and facts.same_key_protects(now):
        return _same_key(facts)
    if absent and facts.drilled.lookup_broken_on is not None:
        return no(f"Absent, but its silence proves nothing. {_refuted(facts.drilled.lookup_broken_on)}")
    if absent:
        return no(
            "Absent, but this check has never found a record that we know, so its silence proves nothing."
        )
    return no(f"The check could not look, and no key protects us: wait, or ask {there}.")


def _refuted(on: date) -> str:
    return f"Drilled {day(on)}, this check did not tell what is there."


def _then(facts: Facts) -> str:
    if facts.by_tieout:
        return ", and is asked once more before it is sent."
    minutes = CALLERS_PERMIT.total_seconds() / 60
    return f". Its automation may send it within {minutes:g} minutes, and nobody looks again before that."


def permit_lapses_at(facts: Facts, effective_at: datetime, *, permit_for_s: float, looked: bool) -> datetime:
    """Return until when a person's permit may be used; a caller's that rests on a look-up is short."""
    lapses_at = effective_at + timedelta(seconds=permit_for_s)
    if facts.by_tieout or not looked:
        return lapses_at
    safe_until = effective_at + CALLERS_PERMIT
    if facts.window_closes_at is not None and facts.same_key_protects(effective_at):
        safe_until = max(safe_until, facts.window_closes_at - timedelta(seconds=facts.lease_s))
    return min(lapses_at, safe_until)


def _confirm_reference(facts: Facts) -> Leave:
    if facts.state is State.UNCERTAIN:
        return yes("You saw it there and give its number. It stays on your word until a check finds it.")
    if facts.state is State.RUNNING:
        return _in_progress(facts)
    if facts.state is State.COMPLETED and facts.held:
        return yes(
            "Name the one that counts: its case is closed on your word, and what is there stays there."
        )
    if facts.state is State.COMPLETED:
        return no("It is done already.")
    return no("It is proved not done. If you see it there, check first.")


def _did_not_happen(facts: Facts, sitting: LookupFact | None) -> Leave:
    if facts.state is State.RUNNING:
        return _in_progress(facts)
    if facts.state is State.FAILED and facts.held:
        return yes("It stays as it is, and its case is closed.")
    if facts.state is not State.UNCERTAIN:
        return no("Nothing is in doubt.")
    if not facts.has_lookup:
        return no(f"{facts.destination} cannot be checked: to say so needs an override by an approver.")
    if facts.found_something:
        return no(f"{facts.destination} holds something for it.")
    if sitting is not None and facts.proves(sitting):
        return yes("Your check proves it: it is closed as not done, and nothing is sent.")
    if facts.lookup is not None and facts.proves(facts.lookup):
        return no("A check has proved it: one made by you in the last five minutes closes it.")
    return no("Not yet: nothing proves it. A check can.")


def _override(facts: Facts, now: datetime) -> Leave:
    there = facts.destination
    if facts.state is State.RUNNING:
        return _in_progress(facts)
    if facts.state is not State.UNCERTAIN and not facts.absent_by:
        return no("Nothing is in doubt.")
    if facts.absent_by and facts.corrected:
        return no("It was corrected: it never runs again.")
    if facts.has_lookup:
        return no(f"{there} can be checked: a check decides, not a person’s word.")
    if facts.permit is not None:
        return no(f"Another try is allowed already, by {facts.permit.actor}.")
    if facts.found_something:
        return no(f"{there} holds something for it.")
    if facts.same_key_protects(now):
        return no("Not needed: the same key protects another try until {at}.", facts.window_closes_at)
    if not facts.held and not facts.absent_by:
        return no("Not yet: software still waits for its final word.")
    return yes(f"You looked in {there} by hand and it is not there. A second person must agree.")


def _cancel(facts: Facts) -> Leave:
    if facts.state is State.PENDING and facts.held and facts.found_something:
        return no(f"{facts.destination} holds something for it: cancelled, it would count as not done.")
    if facts.state is State.PENDING:
        return yes("Nothing has been sent; nothing will be.")
    if facts.state is State.RUNNING:
        return _in_progress(facts)
    return no("Too late to cancel: it has been sent.")


def _choose(facts: Facts, sitting: LookupFact | None) -> Leave:
    there, found = facts.destination, facts.lookup
    if facts.state is State.RUNNING:
        return _in_progress(facts)
    if found is None or found.verdict is not Verdict.SEVERAL:
        return no(f"Nothing to choose from: no check has found several in {there}.")
    if facts.state not in (State.UNCERTAIN, State.COMPLETED):
        return no("It is not known to be done, so none of them is kept by a choice.")
    if facts.reversing:
        return no("What is being reversed, or may be, comes to its end first.")
    if facts.permit is not None:
        return no(f"Another try is allowed already, by {facts.permit.actor}.")
    if facts.paused_at is not None:
        return no(f"{there} is paused since {{at}}. An administrator resumes it first.", facts.paused_at)
    if sitting is None or sitting.verdict is not Verdict.SEVERAL:
        return no("Choose one waits for a check made by you in the last five minutes.")
    return yes("The one you choose is kept, and the others are reversed.", sitting.asked_at + SITTING)


def _correct(facts: Facts) -> Leave:
    if facts.reverses:
        return no("It reverses a record: what was chosen is chosen again, where it came from.")
    if facts.is_correction:
        return no("It is a correction itself: the operation that it corrects is corrected again.")
    if facts.correction in UNFINISHED:
        return no("Its correction is not finished yet: one at a time.")
    match facts.state:
        case State.UNCERTAIN:
            return no("While it may have happened, a correction is an override and needs a second person.")
        case State.RUNNING:
            return _in_progress(facts)
        case State.PENDING:
            cancel = _cancel(facts)
            return yes("It is cancelled, and the correction is made instead.") if cancel.allowed else cancel
        case State.FAILED if facts.correction is State.COMPLETED:
            return yes(
                "A new operation is made; its correction is done, and stays there until it is reversed."
            )
        case State.FAILED:
            return yes("A new operation takes its place; this one never runs again.")
        case State.COMPLETED:
            there = facts.destination
            return yes(f"A new operation is made; what stands in {there} stays until it is reversed.")
