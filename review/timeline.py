"""Tries, checks and permits of one operation in their order; dashed for as long as nobody could know."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ledger.actions.assigning import COMMENT
from ledger.models import Attempt, Event, Lookup, Permit
from ledger.rules.facts import IN_USE, LEASE_EXPIRED
from ledger.rules.states import DOUBT, Outcome, Standing, State, Verdict
from review import wording
from review.instants import instant
from review.own import LOOKUPS_SHOWN
from review.reading import Reading
from review.seen import Seen


@dataclass(frozen=True)
class Entry:
    """One line: when, its icon, its subject in bold, and what it proved; `state` draws the line below it."""

    at: datetime
    icon: str
    bold: str
    rest: str
    state: str = "pending"


@dataclass(frozen=True)
class _Step:
    at: datetime
    row: Attempt | Lookup | Permit | Event


def entries(reading: Reading) -> list[Entry]:
    """Return the lines, oldest first."""
    return [_accepted(reading), *_told(reading)]


def cut(reading: Reading) -> bool:
    """Say whether older checks are left out."""
    return len(reading.lookups) == LOOKUPS_SHOWN


def _accepted(reading: Reading) -> Entry:
    operation = reading.operation
    by = next((event.actor for event in reading.events if event.kind == "accepted"), "")
    parts = [operation.source_system, operation.source_reference]
    source = " ".join(part for part in parts if part) or (wording.who(by) if by else "its automation")
    version = f", version {operation.source_version}" if operation.source_version else ""
    return Entry(operation.accepted_at, "pending", "Accepted", f" from {source}{version}.")


def _told(reading: Reading) -> Iterator[Entry]:
    """Walk through everything once, keeping in mind whether anybody could know."""
    doubt, late = False, _late(reading)
    for step in _steps(reading):
        if isinstance(step.row, Attempt):
            doubt = doubt or step.row.outcome in DOUBT
            if step.row.outcome == Outcome.SUCCEEDED:
                doubt = False
            yield _try(reading, step.row, late.get(step.row.pk, ()), doubt=doubt)
        elif isinstance(step.row, Lookup):
            doubt = doubt and not _proves(step.row)
            yield _check(reading, step.row, doubt=doubt)
        elif isinstance(step.row, Event):
            state = State.UNCERTAIN if doubt else State.PENDING
            yield Entry(step.at, "comment", f"{wording.who(step.row.actor)}:", f" {step.row.reason}", state)
        else:
            yield from _permit(reading, step, doubt=doubt)


def _steps(reading: Reading) -> list[_Step]:
    steps: list[_Step] = [_Step(a.started_at or a.claimed_at, a) for a in reading.attempts]
    steps += [_Step(lookup.asked_at, lookup) for lookup in reading.lookups]
    steps += [_Step(permit.given_at, permit) for permit in reading.permits]
    steps += [_Step(permit.withdrawn_at, permit) for permit in reading.permits if permit.withdrawn_at]
    steps += [_Step(event.at, event) for event in reading.events if event.kind == COMMENT]
    return sorted(steps, key=lambda step: step.at)


def _proves(lookup: Lookup) -> bool:
    if lookup.verdict == Verdict.ONE_MATCH:
        return Seen.of(lookup).match.get("standing") != Standing.PENDING
    return lookup.proof or lookup.verdict in (Verdict.SEVERAL, Verdict.DIFFERS)


def _try(reading: Reading, attempt: Attempt, told: Sequence[Mapping[str, str]], *, doubt: bool) -> Entry:
    at = attempt.started_at or attempt.claimed_at
    sent = "sent" if attempt.started_at else "claimed"
    by = "" if reading.facts.by_tieout else f" by {wording.who(attempt.actor)}"
    icon, result = _result(reading, attempt)
    if told:
        result = f"{result.removesuffix(' Nothing was created.')} {_told_late(told)}"
    state = "uncertain" if doubt else "running" if attempt.closed_at is None else "pending"
    return Entry(at, icon, f"Try {attempt.number} {sent}{by}.", f" {result}", state)


def _late(reading: Reading) -> dict[int | None, list[Mapping[str, str]]]:
    """Return what was reported of each try after its end, done or taken, the oldest first."""
    found: dict[int | None, list[Mapping[str, str]]] = {}
    for event in reversed(reading.events):
        if event.kind == "late" and event.data["outcome"] in (Outcome.SUCCEEDED, Outcome.ACCEPTED):
            found.setdefault(event.attempt_id, []).append(event.data)
    return found


def _told_late(told: Sequence[Mapping[str, str]]) -> str:
    """Say under which references a try was reported done, or that it was reported taken, after its end."""
    done = [data["reference"] for data in told if data["outcome"] == Outcome.SUCCEEDED]
    references = " and ".join(dict.fromkeys(filter(None, done)))
    if done:
        return f"Later reported as done: {references}." if references else "Later reported as done."
    return "Later reported as taken."


def _result(reading: Reading, attempt: Attempt) -> tuple[str, str]:
    code = f"status {attempt.http_status}" if attempt.http_status else ""
    message = attempt.message.rstrip(".")
    match attempt.outcome:
        case None:
            return "running", f"Answer expected by {instant(attempt.lease_until, reading.now)}."
        case Outcome.SUCCEEDED:
            return "completed", f"{reading.there} confirmed {attempt.destination_reference or 'it'}."
        case Outcome.ACCEPTED:
            return "uncertain", f"{reading.there} took it and is still working on it."
        case Outcome.REJECTED:
            why = ", ".join(part for part in (code, message) if part) or "no reason given"
            return "failed", f"{reading.there} refused it: {why}. Nothing was created."
        case Outcome.RETRYABLE:
            return "pending", f"Proved not done: {message or code or 'nothing was sent'}."
    return "uncertain", _doubtful(reading, attempt, code)


def _doubtful(reading: Reading, attempt: Attempt, code: str) -> str:
    if attempt.error_code == LEASE_EXPIRED:
        return "The sender fell silent. It may have arrived."
    if attempt.error_code == IN_USE:
        return f"{reading.there} says that this key is being worked on."
    if code:
        return f"The answer, {code}, proves nothing. It may have arrived."
    return "No answer. It may have arrived."


def _check(reading: Reading, lookup: Lookup, *, doubt: bool) -> Entry:
    seen = Seen.of(lookup)
    found = seen.short(reading.meant)
    state = "uncertain" if doubt else "pending"
    text = f" {found[:1].lower()}{found[1:]}."
    return Entry(lookup.asked_at, seen.icon, f"{wording.who(lookup.actor)} checked:", text, state)


def _permit(reading: Reading, step: _Step, *, doubt: bool) -> Iterator[Entry]:
    permit = step.row
    assert isinstance(permit, Permit)  # attempts and look-ups are told elsewhere
    state = State.UNCERTAIN if doubt else State.PENDING
    if step.at == permit.given_at:
        again = "sends it again under the same key." if reading.facts.by_tieout else "allowed another try."
        rest = "allowed another try." if permit.source == Permit.Source.PERSON else again
        yield Entry(step.at, "clock", wording.who(permit.actor), f" {rest}", state)
    elif permit.lapsed:
        yield Entry(step.at, "back", "The permit lapsed:", " nobody used it, nothing was sent.", state)
    else:
        rest = "took the permit back; nothing was sent."
        yield Entry(step.at, "back", wording.who(permit.withdrawn_by), f" {rest}", state)
