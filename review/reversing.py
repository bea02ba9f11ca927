"""What is known of a reversal, in words: its record is reversed, stands as it was chosen, or neither."""

from datetime import datetime

from ledger.models import Attempt
from ledger.rules.states import LIVE, CaseKind, Outcome, State, Verdict
from review import amounts, several, wording
from review.instants import instant
from review.reading import Reading


def heading(reading: Reading) -> tuple[str, str]:
    """Return the icon and the words of the verdict of a reversal."""
    record, state = reading.operation.reversed_reference, reading.state
    if reading.case is not None and reading.case.kind == CaseKind.BY_HAND:
        return "unchecked", f"{record} is to be reversed by hand"
    if reading.facts.cancelled:
        return "failed", "Cancelled before it was sent"
    if state is State.RUNNING:
        return "running", "In progress"
    if reading.seen is not None:
        return reading.seen.icon, reading.seen.heading(reading.meant)
    return {
        State.PENDING: ("pending", f"{record} is not reversed yet"),
        State.COMPLETED: ("completed", f"{record} is reversed"),
        State.FAILED: ("failed", f"{record} was not reversed"),
    }.get(state, ("unchecked", "Not checked yet"))


def sentence(reading: Reading) -> str:
    """Say what is known of the record."""
    record, there = reading.operation.reversed_reference, reading.there
    match reading.state:
        case State.COMPLETED:
            at = _at(reading, reading.operation.finished_at)
            return f"{there} confirmed at {at} that {record} is reversed. {_kept(reading)}"
        case State.RUNNING:
            until = _at(reading, reading.facts.lease_until)
            return f"{there} is asked to reverse {record}. Answer expected by {until}."
        case State.FAILED:
            return _failed(reading)
        case State.UNCERTAIN:
            return f"{_asked(reading)} {record} may be reversed already: a check tells."
        case State.PENDING:
            return _pending(reading)


def _at(reading: Reading, at: datetime | None) -> str:
    return instant(at, reading.now) if at is not None else "an unknown time"


def _kept(reading: Reading) -> str:
    original = reading.operation.reverses
    return f"It belongs to {wording.name(original)}." if original is not None else ""


def _asked(reading: Reading) -> str:
    sent = [one for one in reading.attempts if one.started_at is not None]
    if not sent:
        return f"{reading.there} was not asked from here."
    return f"{reading.there} was asked at {_at(reading, sent[-1].started_at)}; nothing proves what it did."


def _failed(reading: Reading) -> str:
    record, there = reading.operation.reversed_reference, reading.there
    if reading.facts.cancelled:
        return f"It was cancelled before it was sent: {record} stays as it is."
    latest = reading.attempts[-1] if reading.attempts else None
    if reading.operation.corrected_at is not None:
        return f"{there} did not reverse {record}{_cause(latest)}. Another operation stands in its place."
    if reading.operation.told_look_at is not None:
        at = _at(reading, reading.operation.told_look_at)
        return (
            f"{there} refused to void {record}{_cause(latest)}. It may be void already: it is looked at "
            f"{at}, and credited only if it stands."
        )
    if reading.case is not None and reading.case.kind == CaseKind.DIFFERS:
        return f"{there} refused to void {record}{_cause(latest)}. {_anew(reading)}"
    if latest is not None and latest.outcome == Outcome.REJECTED:
        return (
            f"{there} refused to reverse {record}{_cause(latest)}. Reverse it there by hand, then check here."
        )
    return f"{record} stands in {there}, and nothing tries again by itself."


def _cause(attempt: Attempt | None) -> str:
    return f": {attempt.message.rstrip('.')}" if attempt is not None and attempt.message else ""


def _pending(reading: Reading) -> str:
    record, there = reading.operation.reversed_reference, reading.there
    kind = reading.case.kind if reading.case else ""
    if kind == CaseKind.BY_HAND:
        return f"Its rules name no call for it. Reverse {record} in {there}, then check here: that closes it."
    if kind == CaseKind.DIFFERS:
        return f"Nothing was sent. {_anew(reading)}"
    if kind:
        return f"Nothing was sent: {there} could not be checked before it, time after time."
    if reading.facts.paused_at is not None:
        return f"It waits until {there} is resumed."
    at = reading.facts.next_try_at
    if at is None or at <= reading.now:
        return f"{record} stands. It is looked at once more, and reversed now."
    when = instant(at, reading.now, exact=True)
    return f"{record} stands. It is reversed at {when}; until then it can be undone."


def _anew(reading: Reading) -> str:
    why = next((one.why for one in reading.lookups if one.verdict == Verdict.DIFFERS), "")
    return f"{why} See {_origin(reading)}, and choose again there."


def _origin(reading: Reading) -> str:
    original = reading.operation.reverses
    return wording.name(original) if original is not None else "where it came from"


def left(reading: Reading) -> str:
    """Say how much is left of what was reversed in part, as the latest check lists it; else empty."""
    seen = reading.seen
    if seen is None or seen.verdict is not Verdict.ONE_MATCH or reading.state is not State.COMPLETED:
        return ""
    fallen = [record for record in seen.records if record["standing"] not in LIVE]
    rest = [
        amounts.whole(remains, one.currency)
        for one in reading.reversals
        if one.state == State.COMPLETED and one.corrected_at is None
        if (remains := several.left_now(one.amount, one.currency, one.reversed_reference, fallen))
    ]
    return " and ".join(rest)


def verdict(reading: Reading) -> tuple[str, str] | None:
    """Return the verdict of a reversal, or of what has its surplus reversed just now; None of others."""
    if reading.facts.reverses:
        return heading(reading)
    if rest := left(reading):
        return "several", f"Of what was reversed {rest} is left"
    if reading.choice is None or not reading.reversing:
        return None
    many = wording.several(reading.reversing, reading.noun)
    return "several", f"{reading.choice.kept} is kept; {many} to be reversed"
