"""What an operation comes after, and what comes after it, in words."""

from ledger.models import Operation
from ledger.rules.states import State
from review import wording
from review.reading import Reading


def waits(reading: Reading) -> str:
    """Name what a waiting operation waits for; empty where that lets it go."""
    fact = reading.facts.first
    if reading.first is None or fact is None or fact.done or reading.state is not State.PENDING:
        return ""
    return wording.name(reading.first)


def heading(reading: Reading) -> str:
    """Return the words of the verdict on what waits; empty where nothing comes first."""
    name, fact = waits(reading), reading.facts.first
    return f"Waits for {name}" if name and fact is not None and not fact.ended else ""


def pending(reading: Reading) -> str:
    """Say why it waits, and what lets it go; empty where nothing comes first."""
    name, fact = waits(reading), reading.facts.first
    if not name or fact is None:
        return ""
    if fact.ended:
        why = fact.useless or "did not happen"
        return f"Nothing exists there, and it is not sent: {name}, which comes first, {why}."
    person = " A person decides about that one." if fact.held else ""
    return f"Nothing exists there. It goes as soon as {name} is done.{person}"


def line(reading: Reading) -> str:
    """Say that it was sent after what is no longer as it was, or what was sent after it; else nothing."""
    fact, operation = reading.facts.first, reading.operation
    as_sent = fact is not None and fact.done and fact.used == fact.reference
    if reading.first is not None and fact is not None and reading.facts.tries and not as_sent:
        return (
            f"It was sent after {fact.used or fact.key}. {_known(reading.first)} Nothing follows by itself."
        )
    sent = [one for one in reading.followers if one.first_sent_at is not None]
    if sent and (reading.state is not State.COMPLETED or operation.corrected_at is not None):
        return " ".join(f"It was sent after this one: {_known(one)}" for one in sent)
    return ""


def _known(other: Operation) -> str:
    words = wording.badge(State(other.state)).words.lower()
    held = ", and waits for a person" if other.held_at is not None else ""
    return f"{wording.name(other)} is now: {words}{held}."
