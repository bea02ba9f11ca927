"""What comes next for an operation: facts in, one step out; the clock is passed in."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from ledger.rules.contracts import REFUSES_US
from ledger.rules.facts import (
    EXISTS,
    LEASE_EXPIRED,
    LOOK_BLIND,
    LOOK_REFUSED,
    UNCONFIGURED,
    Facts,
    LookupFact,
    PermitFact,
)
from ledger.rules.following import FOLLOW_S
from ledger.rules.states import CaseKind, Outcome, Standing, State, Verdict

LOOKS = 3
"""Look-ups in a row that could not look, before a person is asked."""
UNREADY = 3
"""Tries in a row that could not be prepared, before their destination is paused."""
DOUBLINGS_MAX = 60
MOVED = "What it corrects is no longer as it was when it was corrected."
"""Why a correction is not sent: with what is there now, it could make a second effect."""
GONE = "Its payload was removed when its time was over: it cannot be sent again."
"""Why an operation that is in doubt again, long after it was done, waits for a correction."""
UNCLAIMED = "Its time is over, and its automation never came back to try it."
"""Why an operation that its caller performs has failed without a try."""
PAUSED_S = 60.0
"""How long to wait, before asking again, for a destination that is paused."""


class Next(StrEnum):
    """The one next step."""

    NOTHING = "nothing"
    WAIT = "wait"
    SEND = "send"
    EXPIRE = "expire"
    LOOK = "look"
    COMPLETE = "complete"
    RETRY = "retry"
    FAIL = "fail"
    PERMIT = "permit"
    LAPSE = "lapse"
    HOLD = "hold"
    RESUME = "resume"


@dataclass(frozen=True)
class Step:
    """A step, when it is due, the case that it opens, and why in words."""

    next: Next
    why: str
    at: datetime | None = None
    case: CaseKind | None = None

    def due(self, next: Next, now: datetime) -> bool:
        """Say whether it is this step, and its time has come."""
        return self.next is next and (self.at is None or self.at <= now)


@dataclass(frozen=True)
class Conclusion:
    """Where an attempt's outcome takes its operation."""

    state: State
    why: str
    next_try_at: datetime | None = None
    case: CaseKind | None = field(default=None)
    pauses: bool = False
    """Whether nothing more may go to its destination: refused credentials, or a set-up that is wrong."""


def pause_s(facts: Facts, jitter: float, *, retry_after_s: float | None = None) -> float:
    """Return the wait before the next try in seconds; `jitter` is from 0 to 1 and takes off up to half."""
    policy = facts.policy
    doublings = min(max(len(facts.attempts) - 1, 0), DOUBLINGS_MAX)
    doubled = min(policy.base_s * 2.0**doublings, policy.cap_s)
    return max(doubled * (1 - jitter / 2), retry_after_s or 0)


def conclude(
    facts: Facts, outcome: Outcome, *, now: datetime, jitter: float, retry_after_s: float | None = None
) -> Conclusion:
    """Say where the latest attempt's outcome takes its operation; it speaks for that attempt only."""
    earlier = any(attempt.in_doubt for attempt in facts.attempts[:-1])
    if outcome is Outcome.SUCCEEDED:
        return Conclusion(State.COMPLETED, "The destination confirmed it.")
    if outcome is Outcome.ACCEPTED:
        return Conclusion(State.UNCERTAIN, "Accepted, not final: looked up until it is.")
    if outcome is Outcome.UNCERTAIN:
        return Conclusion(State.UNCERTAIN, "No answer that proves anything: it may have happened.")
    latest = facts.latest
    refused = outcome is Outcome.REJECTED and latest is not None and latest.http_status in REFUSES_US
    pauses = refused or _unready(facts)
    if earlier:
        why = "This try did nothing, but an earlier one is still in doubt."
        return Conclusion(State.UNCERTAIN, why, pauses=pauses)
    if refused:
        whose = "our" if facts.by_tieout else "the automation’s"
        why = f"The destination refused {whose} credentials; nothing was done."
        return Conclusion(State.FAILED, why, pauses=True)
    if outcome is Outcome.REJECTED:
        return Conclusion(
            State.FAILED, "The destination refused it; nothing was done.", case=CaseKind.REFUSED
        )
    next_try_at = now + timedelta(seconds=pause_s(facts, jitter, retry_after_s=retry_after_s))
    return _not_done(facts, now, next_try_at=next_try_at, pauses=pauses)


def _not_done(facts: Facts, now: datetime, *, next_try_at: datetime, pauses: bool) -> Conclusion:
    """Say where a try goes that is proved not done, as all before it are."""
    # With the pause that this try begins, the time stands still at once.
    if not facts.within_limits(now if pauses else next_try_at):
        why = "Proved not done at the last of its tries."
        return Conclusion(State.FAILED, why, case=CaseKind.LIMIT, pauses=pauses)
    if not pauses and _blind(facts):
        why = "The check before the send could not look, time after time; nothing was sent."
        return Conclusion(State.PENDING, why, next_try_at=next_try_at, case=CaseKind.COULD_NOT_LOOK)
    why = "Proved not done; it is tried again."
    return Conclusion(State.PENDING, why, next_try_at=next_try_at, pauses=pauses)


def _blind(facts: Facts) -> bool:
    """Say whether the look before the send could not look, as often in a row as it may be tried in all.

    Such a try never starts, so it counts as none; somebody must hear of a check that is broken all the same.
    """
    most = max(facts.tries_allowed, LOOKS)
    latest = facts.attempts[-most:]
    return len(latest) == most and all(one.error_code == LOOK_BLIND for one in latest)


def _unready(facts: Facts) -> bool:
    """Say whether Tieout may not look before it sends, or could not even prepare the latest tries."""
    latest = facts.attempts[-UNREADY:]
    if latest and latest[-1].error_code == LOOK_REFUSED:
        return facts.by_tieout
    unready = all(one.error_code == UNCONFIGURED and one.started_at is None for one in latest)
    return facts.by_tieout and len(latest) == UNREADY and unready


def decide(facts: Facts, now: datetime, *, jitter: float = 0) -> Step:
    """Answer for worker, API and page alike what happens next to an operation."""
    step = _decide(facts, now, jitter)
    barred = MOVED if facts.original_moved else GONE if facts.payload_gone else ""
    if step.next is Next.SEND and barred:
        if facts.permit is None:
            return Step(Next.HOLD, barred, case=CaseKind.THERE_AFTER_ALL)
        if facts.permit.by_person:
            return Step(Next.LAPSE, barred)
    if facts.over and facts.state is State.FAILED and step.next is Next.SEND:
        return Step(Next.LAPSE, facts.over, case=CaseKind.REFUND)
    if facts.barred and facts.state is not State.PENDING and step.next in (Next.SEND, Next.PERMIT):
        # It was sent once: what has become of what it comes after is for a person to see.
        if facts.permit is not None:
            return Step(Next.LAPSE, facts.barred)
        return Step(Next.HOLD, facts.barred, case=CaseKind.FIRST)
    if facts.paused_at is not None and step.next in _WANTS_TO_REACH:
        why = f"{facts.destination} is paused: it waits for a person."
        return Step(Next.WAIT, why, at=now + timedelta(seconds=PAUSED_S))
    return step


_WANTS_TO_REACH = (Next.SEND, Next.LOOK, Next.PERMIT)


def _decide(facts: Facts, now: datetime, jitter: float) -> Step:
    """Say what would come next at a destination that can be used."""
    if facts.permit is not None and facts.state in (State.UNCERTAIN, State.FAILED):
        return _permitted(facts, facts.permit, now)
    match facts.state:
        case State.COMPLETED:
            return Step(Next.NOTHING, "Done.")
        case State.FAILED:
            return Step(Next.NOTHING, "It did not happen, and nothing tries it again by itself.")
        case State.RUNNING:
            return in_progress(facts.lease_until, now)
        case State.PENDING:
            return _first(facts, now) or _over(facts) or _wait(facts, now)
        case State.UNCERTAIN:
            return _resolve(facts, now, jitter)


def in_progress(lease_until: datetime | None, now: datetime) -> Step:
    """Say what comes next while a try runs: nothing else is asked about it."""
    if lease_until is not None and lease_until <= now:
        return Step(Next.EXPIRE, "The lease ran out.")
    return Step(Next.WAIT, "One try is in progress.", at=lease_until)


def _over(facts: Facts) -> Step | None:
    """Stop a refund that would exceed what is left; None where it fits, or waits for a person already."""
    return Step(Next.HOLD, facts.over, case=CaseKind.REFUND) if facts.over and not facts.held else None


def _wait(facts: Facts, now: datetime) -> Step:
    """Say when what waits is tried next, unless a person or its limits keep it."""
    if facts.held:
        return Step(Next.HOLD, "It needs a person.")
    if (facts.attempts or not facts.by_tieout) and not facts.within_limits(now):
        why = "Its tries are used up." if facts.attempts else UNCLAIMED
        return Step(Next.FAIL, why, case=CaseKind.LIMIT)
    return Step(Next.SEND, "Nothing exists there; its next try is due.", at=facts.next_try_at or now)


def _first(facts: Facts, now: datetime) -> Step | None:
    """Say what becomes of a waiting operation because of what it comes after; None where that lets it go."""
    first = facts.first
    if first is None or (facts.held and not facts.held_for_first):
        return None
    if first.ended:
        return Step(Next.HOLD, first.why, case=CaseKind.FIRST)
    if facts.held:
        return Step(Next.RESUME, f"{first.key} goes on.")
    if not first.done:
        return Step(Next.WAIT, first.why, at=now + timedelta(seconds=FOLLOW_S))
    return None


def _permitted(facts: Facts, permit: PermitFact, now: datetime) -> Step:
    """Let the permit's try go, unless what is there has changed since or nobody used it in time."""
    declined = facts.lookup is not None and facts.lookup.standing is Standing.FAILED
    if facts.corrected:
        return Step(Next.LAPSE, "It was corrected: it never runs again.")
    if facts.found_something or (declined and facts.state is State.UNCERTAIN):
        return Step(Next.LAPSE, "The destination holds something for it: the permit is void.")
    if permit.lapses_at <= now:
        if not permit.by_person and _could_not_be_used(facts, permit):
            return Step(Next.LAPSE, "Its destination was paused: the permit could not be used.")
        return Step(Next.LAPSE, "The permit was not used in time.", case=CaseKind.LAPSED)
    return Step(Next.SEND, "Another try is allowed.", at=permit.effective_at)


def _could_not_be_used(facts: Facts, permit: PermitFact) -> bool:
    """Say whether a pause has used a permit's time up; policy gives its own again, and asks nobody."""
    resumed = facts.resumed_at is not None and permit.lapses_at <= facts.resumed_at
    return facts.paused_at is not None or resumed


def _resolve(facts: Facts, now: datetime, jitter: float) -> Step:
    """Resolve doubt in its order: look up, then the same key, then a person."""
    found = facts.lookup
    if facts.held_at is not None and (found is None or found.asked_at < facts.held_at):
        return Step(Next.HOLD, "It needs a person.")
    if found is not None and found.verdict is Verdict.ONE_MATCH and found.standing is Standing.DONE:
        return Step(Next.COMPLETE, "The check found one match.")
    if found is not None and found.verdict is Verdict.ONE_MATCH and found.standing is Standing.FAILED:
        return Step(Next.FAIL, "The destination took it and declined it.", case=CaseKind.REFUSED)
    if found is not None and found.verdict in (Verdict.SEVERAL, Verdict.DIFFERS):
        kind = CaseKind.SEVERAL if found.verdict is Verdict.SEVERAL else CaseKind.DIFFERS
        return Step(Next.HOLD, "What the destination holds is not what was meant.", case=kind)
    if facts.held:
        return Step(Next.HOLD, "It needs a person.")
    if facts.taken_at is not None or (found is not None and found.verdict is Verdict.ONE_MATCH):
        return _await_final(facts, now, jitter)
    if facts.has_lookup:
        looked = _look(facts, found, now, jitter)
        if looked is not None:
            return looked
    next_try_at = _next_try_at(facts, now, jitter)
    protected = facts.same_key_protects(next_try_at) and not _said_to_exist(facts)
    if protected and facts.within_limits(next_try_at):
        why = "The destination still remembers the key: the same key makes no second effect."
        return Step(Next.PERMIT, why, at=next_try_at)
    why = facts.barred or "Software cannot prove what happened."
    return Step(Next.HOLD, why, case=_why_held(facts))


def _await_final(facts: Facts, now: datetime, jitter: float) -> Step:
    """Keep looking at what was accepted until it is final; a last look comes when too long has passed."""
    since = facts.taken_at or (facts.lookup.asked_at if facts.lookup else now)
    until = since + timedelta(seconds=facts.contract.final_within_s)
    looked_last = not facts.has_lookup or (facts.lookup is not None and facts.lookup.asked_at >= until)
    if now >= until and looked_last:
        return Step(Next.HOLD, "Accepted, and not final in time.", case=CaseKind.ACCEPTED)
    if not facts.has_lookup:
        return Step(Next.WAIT, "Accepted; nobody can look, so its final word is awaited.", at=until)
    if facts.lookup is None or now >= until:
        return Step(Next.LOOK, "Accepted; its final word is looked up.", at=now)
    elapsed = max((facts.lookup.asked_at - since).total_seconds(), 0)
    pause = min(max(elapsed, facts.policy.base_s), facts.policy.cap_s) * (1 - jitter / 4)
    at = min(facts.lookup.asked_at + timedelta(seconds=pause), until)
    return Step(Next.LOOK, "Accepted, and still being worked on.", at=max(at, now))


def _look(facts: Facts, found: LookupFact | None, now: datetime, jitter: float) -> Step | None:
    """Say when to look, or what absence decides; None where looking has come to nothing."""
    latest = facts.latest
    if found is None:
        at = now
        if latest is not None and facts.key_in_use(latest) and latest.sender_ended_at is not None:
            at = max(now, latest.sender_ended_at + timedelta(seconds=facts.policy.base_s))
        return Step(Next.LOOK, "It may have happened: the destination is looked at.", at=at)
    if facts.proves(found):
        next_try_at = _next_try_at(facts, now, jitter)
        if facts.within_limits(next_try_at):
            return Step(Next.RETRY, "Absence is proved; it is tried again.", at=next_try_at)
        return Step(Next.FAIL, "Absence is proved, and its tries are used up.", case=CaseKind.ABSENT)
    settles_at = facts.settles_at
    if found.verdict is Verdict.ABSENT and settles_at is not None and found.asked_at < settles_at:
        return Step(Next.LOOK, "Absent, but too early to be proof.", at=settles_at)
    if facts.look_count < LOOKS:
        pause = min(facts.policy.base_s * 2.0**facts.look_count, facts.policy.cap_s) * (1 - jitter / 2)
        at = found.asked_at + timedelta(seconds=pause)
        return Step(Next.LOOK, "The check proved nothing; it is repeated.", at=max(at, now))
    return None


def _next_try_at(facts: Facts, now: datetime, jitter: float) -> datetime:
    """Return when another try is due: after its pause, and after what the destination asked to wait."""
    at = now + timedelta(seconds=pause_s(facts, jitter))
    return max(at, facts.not_before or at)


def _said_to_exist(facts: Facts) -> bool:
    latest = facts.latest
    return latest is not None and latest.error_code == EXISTS


def _why_held(facts: Facts) -> CaseKind:
    latest = facts.latest
    if facts.barred:
        return CaseKind.FIRST
    if facts.has_lookup:
        return CaseKind.COULD_NOT_LOOK
    if latest is not None and latest.error_code == LEASE_EXPIRED:
        return CaseKind.EXPIRED
    return CaseKind.UNPROVED


def looks_first(facts: Facts) -> bool:
    """Say whether the sender looks before it sends, holding the claim."""
    if not facts.has_lookup:
        return False
    if facts.reverses:
        return True  # what is kept must stand, and what goes must be as it was when it was chosen
    return facts.permit is not None or len(facts.attempts) > 1 or not facts.trusts_key


def new_generation(facts: Facts, *, proved: bool = False) -> bool:
    """Say whether the next try goes under a new key: every try is proved not done, and the old key is spent.

    `proved`: the look-up on which the try is allowed proves it for what is still in doubt.
    """
    disproved = proved or not facts.in_doubt
    return bool(facts.attempts) and facts.contract.takes_key and disproved and facts.key_spent


__all__ = [
    "Conclusion",
    "Next",
    "Step",
    "conclude",
    "decide",
    "in_progress",
    "looks_first",
    "new_generation",
    "pause_s",
]
