"""The words for what is known: badges, names, and numbers, the same on every screen."""

from dataclasses import dataclass

from ledger.models import Operation
from ledger.rules import actors
from ledger.rules.states import CaseKind, State, Verdict
from review import amounts

_NUMBERS = "no one two three four five six seven eight nine ten eleven twelve".split()


@dataclass(frozen=True)
class Badge:
    """A state as a stamp: `state` colours it, `but` says that it is proved and wrong."""

    state: str
    words: str
    icon: str
    but: bool = False


_BADGES = {
    State.COMPLETED: "Done",
    State.FAILED: "Did not happen",
    State.UNCERTAIN: "May have happened",
    State.RUNNING: "In progress",
    State.PENDING: "Waiting",
}
_BUT = {Verdict.SEVERAL: "Done, but doubled", Verdict.DIFFERS: "Done, but differs"}


def badge(
    state: State, *, trouble: Verdict | None = None, taken: bool = False, absent: bool = False
) -> Badge:
    """Return the stamp of a state.

    `trouble` is what was found wrong, `taken` that it was accepted only, `absent` that the latest check
    proves that nothing is there, and that nobody has decided yet.
    """
    if trouble is not None:
        return Badge("completed", _BUT[trouble], "completed", but=True)
    if state is State.UNCERTAIN and taken:
        return Badge(state, "Accepted, not final", "uncertain")
    if state is State.UNCERTAIN and absent:
        return Badge(state, "Not there, to be decided", "uncertain")
    return Badge(state, _BADGES[state], state)


def trouble(state: State, *, verdict: str | None, case: str | None) -> Verdict | None:
    """Say whether something is there but wrong: by the latest check, or by the case that is open."""
    if state not in (State.UNCERTAIN, State.COMPLETED):
        return None
    if state is State.COMPLETED and case == CaseKind.BOTH_THERE:
        return Verdict.SEVERAL
    for mark in (verdict, case):
        if mark in (Verdict.SEVERAL, CaseKind.SEVERAL):
            return Verdict.SEVERAL
        if mark in (Verdict.DIFFERS, CaseKind.DIFFERS):
            return Verdict.DIFFERS
    return None


def number(count: int) -> str:
    """Write a small number as a word."""
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else str(count)


def several(count: int, noun: str) -> str:
    """Say how many of a kind: "four invoices", "one invoice"."""
    if count == 1:
        return f"one {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou") else f"{noun}s"
    return f"{number(count)} {plural}"


def bounded(count: int, most: int) -> str:
    """Write a count that was broken off behind the most: "14", "10 000+"."""
    return f"{most:,}+".replace(",", "\u00a0") if count > most else str(count)


def first_up(text: str) -> str:
    """Begin a sentence with a capital, whatever it starts with."""
    return text[:1].upper() + text[1:]


def name(operation: Operation) -> str:
    """Name an operation as a person would: by its description, else its source record, else its key."""
    if operation.description:
        return operation.description
    if operation.source_reference:
        return f"{operation.source_system} {operation.source_reference}".strip()
    return operation.key


def title(operation: Operation) -> str:
    """Name it with its subject and amount: "Order 483 · Acme · 1 240.00 ZAR"."""
    parts = (name(operation), operation.subject, amounts.whole(operation.amount, operation.currency))
    return " · ".join(part for part in parts if part)


def who(actor: str) -> str:
    """Name an actor: a person, automation or destination by name, software as such."""
    if actor in actors.WORKERS:
        return "Software"
    for prefix in (actors.AUTOMATION, actors.DESTINATION):
        if actor.startswith(prefix):
            return actor.removeprefix(prefix)
    return first_up(actor) if actor.startswith(actors.RUN) else actor


def is_person(actor: str) -> bool:
    """Say whether an actor is a person."""
    return not actors.is_software(actor)
