"""What is known of an operation, in the sentences that stand above its buttons."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from ledger.models import Attempt, Permit
from ledger.rules.contracts import REFUSES_US
from ledger.rules.decisions import MOVED
from ledger.rules.facts import IN_USE, LEASE_EXPIRED
from ledger.rules.states import DOUBT, CaseKind, Evidence, Outcome, Standing, State, Verdict
from review import amounts, asked, following, reversing, wording
from review.instants import instant, span
from review.reading import Reading
from review.seen import Seen


def heading(reading: Reading) -> tuple[str, str]:
    """Return the icon and the words of the verdict."""
    if reading.allowed is not None:
        return "clock", _allowed(reading)
    if reading.asked is not None:
        return "clock", "Waits for a second person"
    if said := reversing.verdict(reading):
        return said
    match reading.state:
        case State.RUNNING:
            return "running", "In progress"
        case State.PENDING if not reading.seen or not reading.seen.live:
            return "pending", following.heading(reading) or "Nothing exists there"
    if reading.facts.cancelled:
        return "failed", "Cancelled before it was sent"
    if _both(reading):
        return "several", "It is there, and so may be its correction"
    if reading.seen is not None and not reading.refused_itself:
        return reading.seen.icon, reading.seen.heading(reading.meant)
    return _unchecked(reading)


def _unchecked(reading: Reading) -> tuple[str, str]:
    if reading.trouble is Verdict.SEVERAL:
        return "several", "More than one carries it"
    if reading.trouble is Verdict.DIFFERS:
        return "differs", "What is there differs"
    if reading.state is State.COMPLETED:
        return (
            "completed",
            "Done" if reading.facts.evidence != Evidence.ATTESTED else "Done on a person’s word",
        )
    if reading.state is State.FAILED:
        if reading.facts.absent_by:
            return "failed", f"Not there, on {reading.facts.absent_by}’s word"
        refused = _latest_outcome(reading) is Outcome.REJECTED
        return "failed", "Refused: nothing was created" if refused else "Every try is proved not done"
    if reading.facts.taken_at is not None:
        return "unchecked", "Accepted, and not checked yet"
    if not reading.facts.has_lookup:
        return "could_not_look", f"{reading.there} cannot be checked"
    return "unchecked", "Not checked yet"


def _allowed(reading: Reading) -> str:
    permit = reading.allowed
    assert permit is not None  # asked for only where there is one
    at = instant(permit.effective_at, reading.now, exact=True)
    if permit.effective_at > reading.now:
        return f"Allowed; takes effect at {at}"
    if reading.facts.by_tieout:
        return f"Allowed since {at}; not sent yet"
    return f"Allowed since {at}; waits for its automation"


def sentences(reading: Reading) -> list[str]:
    """Return what is known, in one sentence of its state, and what the latest check adds to it."""
    first = _permitted(reading) if reading.allowed is not None else sentence(reading)
    request = reading.asked
    asks = list(asked.lines(request, reading.operation, reading.now)) if request is not None else []
    more = (_lapsed(reading), _linked(reading), following.line(reading), checked(reading))
    return [line for line in (*asks, first, *more) if line]


def _lapsed(reading: Reading) -> str:
    """Say that the last leave which a person gave was used by nobody."""
    permit = reading.permits[-1] if reading.permits else None
    if permit is None or not permit.lapsed or permit.source != Permit.Source.PERSON:
        return ""
    if reading.attempts and reading.attempts[-1].claimed_at > permit.given_at:
        return ""
    given, until = instant(permit.given_at, reading.now), instant(permit.lapses_at, reading.now)
    allowed = f"{wording.who(permit.actor)} allowed another try at {given}"
    return f"{allowed}; nobody used it until {until}, and it lapsed: nothing was sent."


def _linked(reading: Reading) -> str:
    """Say what it corrects, or what stands in its place."""
    if not reading.linked or reading.facts.reverses:
        return ""
    other = reading.linked[-1]
    if not reading.facts.is_correction:
        known = wording.badge(State(other.state)).words.lower()
        return f"It was corrected and never runs again. {other.key} stands in its place: {known}."
    moved = reading.facts.original_moved and reading.state is State.PENDING
    rest = ", which is no longer as it was: cancel this one, and correct that one again" if moved else ""
    return f"It corrects {other.key}{rest}."


def _permitted(reading: Reading) -> str:
    permit = reading.allowed
    assert permit is not None  # asked for only where there is one
    at, until = (instant(t, reading.now, exact=True) for t in (permit.given_at, permit.lapses_at))
    given = f"{wording.who(permit.actor)} allowed another try at {at}."
    if permit.effective_at > reading.now:
        return f"{given} Until it takes effect nothing is sent, and it can be undone."
    if reading.facts.paused_at is not None:
        return f"{given} It waits until {reading.there} is resumed, or lapses at {until}."
    if reading.facts.by_tieout:
        return f"{given} It goes out with the next round; until then it can be undone."
    return f"{given} Its automation may claim it until {until}; until then it can be undone."


def stopped(reading: Reading) -> str:
    """Say what a person does about something that is there and wrong."""
    there = reading.there
    if _both(reading):
        return f"Keep one, reverse the other in {there}, then confirm here which one counts."
    if reversing.left(reading):
        return f"Reverse what is left in {there}, then check here: that closes it."
    if reading.trouble is not Verdict.SEVERAL:
        new = f"a new {reading.noun} is made, and what stands there stays until it is reversed."
        only = f"Nothing here reverses the only {reading.noun} that stands: that is done in {there}."
        return f"Put it right in {there}, then check again. Or correct it here: {new} {only}"
    if reading.reversing:
        return "Nothing is called done before a check has found that one is left."
    return "Stop: likely duplicates. You see each record once more before anything is reversed."


def sentence(reading: Reading) -> str:
    """Say what is known of the effect, as the state's row of the product's table has it."""
    if reading.facts.reverses:
        return reversing.sentence(reading)
    if reading.trouble is not None:
        return _trouble(reading)
    match reading.state:
        case State.COMPLETED:
            return _completed(reading)
        case State.FAILED:
            return _failed(reading)
        case State.UNCERTAIN:
            return _uncertain(reading)
        case State.RUNNING:
            return _running(reading)
        case State.PENDING:
            return _pending(reading)


def _when(reading: Reading, at: datetime | None) -> str:
    return instant(at, reading.now) if at else "an unknown time"


def _latest_outcome(reading: Reading) -> Outcome | None:
    latest = reading.facts.latest
    return latest.outcome if latest else None


def _both(reading: Reading) -> bool:
    """Say whether it stands beside its correction."""
    kind = reading.case.kind if reading.case else ""
    return reading.state is State.COMPLETED and kind == CaseKind.BOTH_THERE


def _trouble(reading: Reading) -> str:
    seen = reading.seen
    if _both(reading):
        number = reading.facts.destination_reference or "it"
        meant = f"One {reading.noun} was meant: reverse the other there."
        return f"{reading.there} holds {number}, and its correction is there, too. {meant}"
    if rest := reversing.left(reading):
        return f"One {reading.noun} stands. What was reversed beside it left {rest}: that is still too much."
    if reading.trouble is Verdict.SEVERAL:
        count = len(seen.live) if seen and seen.verdict is Verdict.SEVERAL else 0
        if count < 2 and reading.told_references:
            known = reading.facts.destination_reference or "done"
            also = " and ".join(reading.told_references)
            return f"It is known as {known}, and was reported as {also} too. One {reading.noun} was meant."
        if count < 2:
            return f"More than one {reading.noun} carries its reference; one was meant."
        many = wording.first_up(wording.several(count, reading.noun))
        extra = wording.number(count - 1)
        return f"{many} carry its reference; {extra} {'is' if count == 2 else 'are'} too many."
    if seen and seen.verdict is Verdict.DIFFERS:
        number = seen.match.get("id", "a record")
        return f"{reading.there} holds {number}, and it is not as meant: {seen.difference(reading.meant)}."
    return f"{reading.there} holds it, and it is not as meant."


def _completed(reading: Reading) -> str:
    facts, there = reading.facts, reading.there
    if facts.evidence == Evidence.ATTESTED:
        return f"Done on {facts.evidence_by}’s word, not yet seen in {there}.{_agreed(reading)}"
    at = _when(reading, reading.operation.finished_at)
    by = ", by a check" if facts.evidence == Evidence.LOOKUP else ""
    return f"{there} confirmed {facts.destination_reference or 'it'} at {at}{by}."


def _failed(reading: Reading) -> str:
    there, seen = reading.there, reading.seen
    if reading.facts.cancelled:
        return _cancelled(reading)
    if seen and seen.verdict is Verdict.ONE_MATCH and seen.match.get("standing") == Standing.FAILED:
        return f"{there} took it as {seen.match['id']} and declined it. Nothing tries it again by itself."
    silent = _last_in_doubt(reading)
    if reading.facts.absent_by and reading.agreed is not None:
        by_hand = asked.by_hand(reading.agreed, reading.now)
        return f"It did not happen, on {reading.facts.absent_by}’s word.{_agreed(reading)} {by_hand}."
    if seen and seen.verdict is Verdict.ABSENT and seen.complete and silent is not None:
        at, looked = _when(reading, silent.started_at), _when(reading, seen.asked_at)
        return (
            f"We got no answer at {at}; {there} does not hold it (checked {looked}). "
            "Nothing tries it again by itself."
        )
    latest = reading.attempts[-1] if reading.attempts else None
    if latest is not None and latest.outcome == Outcome.REJECTED:
        whose = "our" if reading.facts.by_tieout else "its automation’s"
        what = f"{whose} credentials" if latest.http_status in REFUSES_US else "it"
        return f"{there} refused {what}: {_cause(latest)}. Nothing was created."
    if latest is None:
        return (
            "Its automation never came back to try it. Nothing was created, and nothing tries it by itself."
        )
    at = _when(reading, latest.closed_at)
    cause = reading.operation.first_cause.rstrip(".")
    first = f" What went wrong first: {cause}." if cause else ""
    return f"Every try is proved not done, the last at {at}.{first} Nothing tries it again by itself."


def _agreed(reading: Reading) -> str:
    return f" {reading.agreed.decided_by} agreed." if reading.agreed is not None else ""


def _cancelled(reading: Reading) -> str:
    by = next((event.actor for event in reading.events if event.kind == "cancelled"), "")
    said = f"{wording.who(by)} cancelled it" if by else "It was cancelled"
    at = _when(reading, reading.operation.cancelled_at)
    return f"{said} at {at}, before it was sent. Nothing was created."


def _cause(attempt: Attempt) -> str:
    if attempt.message:
        return attempt.message.rstrip(".")
    return f"status {attempt.http_status}" if attempt.http_status else attempt.error_code or "no reason given"


def _last_in_doubt(reading: Reading) -> Attempt | None:
    doubtful = [attempt for attempt in reading.attempts if attempt.outcome in DOUBT]
    return doubtful[-1] if doubtful else None


def _uncertain(reading: Reading) -> str:
    there, kind = reading.there, reading.case.kind if reading.case else ""
    taken_at = reading.facts.taken_at
    if taken_at is not None and kind == CaseKind.ACCEPTED:
        until = taken_at + timedelta(seconds=reading.facts.contract.final_within_s)
        due = f"it should have been final by {_when(reading, until)}, and is not known to be"
        return f"{there} took it at {_when(reading, taken_at)}; {due}."
    if taken_at is not None:
        return f"{there} took it at {_when(reading, taken_at)} and is still working on it."
    if kind == CaseKind.MISSING:
        number = reading.facts.destination_reference or "it"
        return f"It was done: {there} held {number} once, and no longer does."
    after_all = _after_all(reading) if kind == CaseKind.THERE_AFTER_ALL else ""
    if after_all:
        return after_all
    attempt = _last_in_doubt(reading)
    if attempt is None:
        return "It may already exist."
    later = reading.attempts[-1].number
    rest = (
        ""
        if later == attempt.number
        else f" Try {later} did nothing, which proves nothing of try {attempt.number}."
    )
    if reading.seen is not None and reading.seen.proof:
        looked = instant(reading.seen.asked_at, reading.now)
        return f"{_silence(reading, attempt)} {there} does not hold it (checked {looked}). A person decides."
    return f"{_silence(reading, attempt)} It may already exist.{rest}"


def _after_all(reading: Reading) -> str:
    """Say why what was closed as not done is open again; empty where a later check proves its absence."""
    checks = map(reading.see, reading.lookups)
    latest = next((seen for seen in checks if seen.live or seen.proof), None)
    if latest is not None and latest.live:
        return f"It was closed as not done, and {reading.there} holds it after all."
    if reading.told:
        whose = "its sender" if reading.facts.by_tieout else "its automation"
        done = any(event.data["outcome"] == Outcome.SUCCEEDED for event in reading.told)
        under = f", as {' and '.join(reading.told_references)}" if reading.told_references else ""
        what = f"done{under}" if done else "taken"
        return f"It was closed as not done; {whose} has since reported that it was {what}."
    return "" if latest is not None else "It was closed as not done, and taken up again. It may exist."


def _silence(reading: Reading, attempt: Attempt) -> str:
    at = _when(reading, attempt.started_at)
    sent = f"We sent it at {at}" if reading.facts.by_tieout else f"Its automation began at {at}"
    if attempt.error_code == LEASE_EXPIRED:
        return (
            f"{sent} and fell silent."
            if not reading.facts.by_tieout
            else f"{sent}, and the sender fell silent."
        )
    if attempt.error_code == IN_USE:
        return f"{sent}; {reading.there} says that this key is being worked on."
    if attempt.http_status:
        return f"{sent}; the answer, status {attempt.http_status}, proves nothing."
    return f"{sent} and got no answer."


def _running(reading: Reading) -> str:
    open_attempt = reading.attempts[-1] if reading.attempts else None
    until = _when(reading, reading.facts.lease_until)
    if open_attempt is None or open_attempt.started_at is None:
        at = _when(reading, open_attempt.claimed_at if open_attempt else None)
        return f"Claimed {at}, not sent yet. Answer expected by {until}."
    return f"Sent {_when(reading, open_attempt.started_at)}. Answer expected by {until}."


def _pending(reading: Reading) -> str:
    facts, seen = reading.facts, reading.seen
    if seen is not None and seen.live:
        return f"It waits to be sent, and {reading.there} already holds {seen.match['id']} for it."
    if facts.original_moved:
        return f"Nothing exists there, and it is not sent. {MOVED}"
    if facts.over:
        return f"Nothing was sent: {facts.over[:1].lower()}{facts.over[1:]} Cancel it, or correct its amount."
    if waits := following.pending(reading):
        return waits
    if reading.case is not None and reading.case.kind == CaseKind.COULD_NOT_LOOK:
        return f"Nothing was sent: {reading.there} could not be checked before it, time after time."
    if facts.paused_at is not None:
        return f"Nothing exists there. It waits until {reading.there} is resumed."
    if facts.next_try_at is None or facts.next_try_at <= reading.now:
        return (
            f"Nothing exists there. {'It is sent now.' if facts.by_tieout else 'Its automation may try now.'}"
        )
    return f"Nothing exists there. Next try at {_when(reading, facts.next_try_at)}."


def checked(reading: Reading) -> str:
    """Say who looked, when, and what there was to see."""
    seen, row = reading.seen, reading.latest
    if seen is None or row is None or reading.state is State.RUNNING or reading.facts.reverses:
        return ""
    you = row.actor == reading.person.get_username()
    who = "you" if you else wording.who(row.actor).replace("Software", "software")
    told = f"At {instant(seen.asked_at, reading.now)} {who} checked {reading.there}"
    if (before := seen.before) is None:
        return f"{told}: {_saw(reading, seen)}"
    at = instant(before.asked_at, reading.now)
    return f"{told}: it could not look. {_blind(seen)} At {at}, when it last could: {_saw(reading, before)}"


def _saw(reading: Reading, seen: Seen) -> str:
    match seen.verdict:
        case Verdict.ABSENT:
            return " ".join((f"it holds no {reading.noun} with this reference.", *_settled(reading, seen)))
        case Verdict.ONE_MATCH:
            amount = amounts.whole(seen.match.get("amount"), seen.match.get("currency", ""))
            what = f"{seen.match['id']} for {amount}" if amount else seen.match["id"]
            return f"it holds {what}, status {seen.match['status'] or 'not given'}."
        case Verdict.SEVERAL:
            many = wording.several(len(seen.live), reading.noun)
            return f"{many} stand there under this reference. Nothing more is sent."
        case Verdict.DIFFERS:
            return "it holds a record under this reference that is not as meant. Nothing more is sent."
        case Verdict.COULD_NOT_LOOK:
            return f"it could not look, so nothing is known. {_blind(seen)}"


def _blind(seen: Seen) -> str:
    why = seen.why.rstrip(".") or "the answer could not be read to its end"
    return f"{wording.first_up(why)}."


def _settled(reading: Reading, seen: Seen) -> Iterator[str]:
    """Say why silence is proof, or why not yet."""
    settles_at = reading.facts.settles_at
    if settles_at is None:
        return
    settle = timedelta(seconds=reading.facts.contract.settle_s)
    passed = span(seen.asked_at - (settles_at - settle))
    if seen.asked_at < settles_at:
        from_when = instant(settles_at, reading.now, exact=True)
        yield f"A record may take {span(settle)} to show; absence is proof from {from_when}."
    else:
        yield f"A record shows there within {span(settle)}, and {passed} had passed."
