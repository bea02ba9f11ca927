"""What a person reads before they confirm: to whom, how much, under which key, and what could go wrong."""

from collections.abc import Iterator
from dataclasses import dataclass

from ledger.actions import Draft
from ledger.rules.answering import overrides
from ledger.rules.approvals import Ask
from ledger.rules.decisions import new_generation
from ledger.rules.guarantees import day
from ledger.rules.leaves import CALLERS_PERMIT, SITTING, Action
from ledger.rules.states import DOUBT, State
from review import amounts, asked, correcting, wording
from review.correcting import Sheet
from review.instants import instant, span
from review.reading import Reading

CHANGES_SHOWN = 20
ONLY_CHANGED = "only what has changed there since it was asked ends the request"
FROZEN = "Not covered: a sender frozen between its check and its send."


@dataclass(frozen=True)
class Fact:
    """One line of the dialog; `sure` puts the tick of what is proved before it."""

    name: str
    words: str
    more: str = ""
    sure: bool = False
    mono: bool = False


@dataclass(frozen=True)
class Question:
    """A dialog: its title, its facts, what could follow, what to write, and the small print at its button."""

    title: str
    facts: list[Fact]
    note: str
    note_bold: str = ""
    reference: bool = False
    leads: tuple[tuple[str, str], ...] = ()
    by_hand: bool = False
    """Whether it asks where and when somebody looked."""
    small: str = ""


def question(reading: Reading, action: Action) -> Question:
    """Return the dialog of an action."""
    noun, there = reading.noun, reading.there
    match action:
        case Action.SEND_AGAIN:
            return _send_again(reading)
        case Action.OVERRIDE:
            return _override(reading)
        case Action.APPROVE | Action.REFUSE | Action.TAKE_BACK:
            return _answer(reading, action)
        case Action.CONFIRM_REFERENCE if reading.state is State.COMPLETED:
            return Question(
                f"Which {noun} counts?",
                [*whom(reading), *_reported(reading)],
                f"Its case is closed on your word. What else {there} holds stays until it is reversed there.",
                reference=True,
                small=_asks(reading, action),
            )
        case Action.CONFIRM_REFERENCE:
            return Question(
                f"You saw the {noun} in {there}?",
                [*whom(reading), *_reported(reading)],
                f"It is shown as done on your word, not as seen in {there}, until a check finds it there.",
                reference=True,
                small=_asks(reading, action),
            )
        case Action.DID_NOT_HAPPEN:
            return Question(
                f"Close it: the {noun} did not happen?",
                list(whom(reading)) + list(_check(reading)),
                asked.NOTHING_SENT,
                small=_asks(reading, action),
            )
        case _:
            return Question(
                f"Cancel the {noun} before it is sent?",
                list(whom(reading)),
                "Nothing has been sent, and nothing will be. Its key stays used, for good.",
            )


def _send_again(reading: Reading) -> Question:
    by_tieout = reading.facts.by_tieout
    title = f"Send the {reading.noun} again?" if by_tieout else f"Allow another try of the {reading.noun}?"
    small = "Ten seconds to undo" if by_tieout else "Its automation may claim it after ten seconds"
    facts = [*whom(reading), *_payload(reading), *_key(reading), *_check(reading)]
    bold = "If the first one arrives after all:" if _could_arrive(reading) else ""
    return Question(title, facts, f"{if_first_arrives(reading)} {FROZEN}", note_bold=bold, small=small)


def _asks(reading: Reading, action: Action) -> str:
    """Say, where two people decide, that confirming only asks the second one."""
    if not reading.takes_two(action):
        return ""
    blind = f"{reading.there} cannot be checked, so two people decide."
    why = blind if action is Action.OVERRIDE else asked.why_two(reading.operation, reading.together)
    return f"Nothing happens yet: it needs {reading.second}. {why}"


def _override(reading: Reading) -> Question:
    settles_at, there = reading.facts.settles_at, reading.there
    from_when = (
        f" Only what was not there after {instant(settles_at, reading.now)} counts." if settles_at else ""
    )
    return Question(
        f"Go ahead without proof: you looked in {there} by hand?",
        list(whom(reading)),
        f"You attest that the {reading.noun} is not there.{from_when} Closing it sends nothing. One more try "
        f"makes a second {reading.noun} if the first one arrived all the same, and nobody could look.",
        leads=tuple(
            (ask, leave.why.text) for ask, leave in overrides(reading.facts).items() if leave.allowed
        ),
        by_hand=True,
        small=_asks(reading, Action.OVERRIDE),
    )


def correction(reading: Reading, sheet: Sheet, draft: Draft) -> Question:
    """Return the dialog of a written correction: where it goes, how much, and each value that changes."""
    changed, new = correcting.changes(sheet, draft), draft.prepared
    facts = [one for one in whom(reading) if one.name != "Amount"]
    before, after = (amounts.whole(one.amount, one.currency) for one in (reading.operation, new))
    facts += [Fact("Amount", after or "none", "" if before == after else f"was {before or 'none'}")]
    facts += [Fact("Key", "A new one", new.key, mono=True)]
    facts += [Fact(one.place, one.after, f"was {one.before}") for one in changed[:CHANGES_SHOWN]]
    if more := len(changed) - CHANGES_SHOWN:
        facts += [Fact("And", f"{more} more values")] if more > 0 else []
    doubt, can_undo = reading.takes_two(Action.CORRECT), reading.operation.after_id is None
    needs = f"Nothing happens yet: it needs {reading.second}." if doubt else ""
    return Question(
        f"Correct the {reading.noun}: make a new one in its place?",
        facts,
        " ".join(_follows(reading, sheet)),
        by_hand=doubt,
        small=needs or ("Ten seconds to undo" if can_undo else ""),
    )


def _follows(reading: Reading, sheet: Sheet) -> Iterator[str]:
    """Say what happens to both, and what could go wrong."""
    yield reading.door(Action.CORRECT).why
    if not reading.facts.by_tieout:
        yield "Its automation claims the new one by its key, and gets this payload."
    if reading.facts.in_doubt:
        yield f"If the first one arrived all the same, {reading.there} would hold both."
    if still := correcting.left_behind(sheet):
        yield f"The amount changes, and this says it as it was: {', '.join(still)}."


def _answer(reading: Reading, action: Action) -> Question:
    request = reading.asked
    if request is None:
        return Question("Nothing is asked any more", list(whom(reading)), "It was answered, or it is void.")
    verb = {Action.APPROVE: "Approve", Action.REFUSE: "Refuse"}.get(action, "Take back")
    facts = [*whom(reading), Fact("Asked by", asked.maker(request), f"“{request.reason}”")]
    changes, by_hand = asked.changes(request, reading.operation), asked.by_hand(request, reading.now)
    facts += [Fact("Changes", changes)] if changes else []
    facts += [Fact("By hand", by_hand, request.data.get("risk", ""))] if by_hand else []
    if action is Action.APPROVE and reading.facts.has_lookup:
        facts.append(Fact("Check", f"{reading.there} is checked once more as you approve", ONLY_CHANGED))
    elif changes or not by_hand:
        facts += _check(reading)
    follows = asked.follows(request, reading.operation)
    note = follows if action is Action.APPROVE else "Nothing is done, and the request stays on record."
    undo = "Ten seconds to undo" if request.action == Ask.OVERRIDE_PERMIT else ""
    return Question(
        f"{verb} {asked.name(request)}?", facts, note, small=undo if action is Action.APPROVE else ""
    )


def whom(reading: Reading) -> Iterator[Fact]:
    """Say of which operation it is asked, where it goes and how much it is."""
    operation, destination = reading.operation, reading.operation.operation_type.destination
    yield Fact("Operation", wording.name(operation), operation.key, mono=True)
    yield Fact("To", f"{destination.title}, account {destination.account}", destination.entity)
    amount = amounts.whole(operation.amount, operation.currency)
    yield Fact(
        "Amount", f"{amount} to {operation.subject}" if amount and operation.subject else amount or "none"
    )
    if operation.subject and not amount:
        yield Fact("For", operation.subject)


def _reported(reading: Reading) -> Iterator[Fact]:
    """Name the record that is known, and those that were reported besides, none of which is proved by it."""
    known = reading.facts.destination_reference
    if reading.told_references and known:
        yield Fact("Known as", known)
    if reading.told_references:
        yield Fact("Reported as", ", ".join(reading.told_references), "not proved by it")


def _payload(reading: Reading) -> Iterator[Fact]:
    accepted = instant(reading.operation.accepted_at, reading.now)
    if reading.facts.by_tieout:
        yield Fact("Payload", f"Unchanged since {accepted}", sure=True)
    else:
        yield Fact("Payload", f"The one of {accepted}", "its automation is refused with any other", sure=True)


def _key(reading: Reading) -> Iterator[Fact]:
    facts, operation = reading.facts, reading.operation
    if not facts.contract.takes_key:
        yield Fact("Key", f"{reading.there} takes none")
        return
    proved = reading.sitting is not None and reading.see(reading.sitting).proof
    if new_generation(facts, proved=proved):
        why = "the old one would bring its saved error back" if facts.same_account else "for the new account"
        yield Fact("Key", "A new one", f"{why}; every try is proved not done")
    else:
        yield Fact("Key", "The same as the first time", operation.idempotency_key, sure=True, mono=True)
    closes_at, refuted_on = facts.window_closes_at, facts.drilled.key_broken_on
    if refuted_on is not None:
        yield Fact("Key’s window", f"None: drilled {day(refuted_on)}, one key made two records")
    elif closes_at is None:
        yield Fact("Key’s window", "Not known, which counts as closed")
    elif facts.window_open(reading.now):
        left = span(closes_at - reading.now)
        yield Fact("Key’s window", f"{left} left, closes {instant(closes_at, reading.now)}")
    else:
        whose = "the check before the send protects" if facts.by_tieout else "only your check protects"
        yield Fact("Key’s window", f"Closed {instant(closes_at, reading.now)}; {whose} us now")


def _check(reading: Reading) -> Iterator[Fact]:
    if not reading.facts.has_lookup:
        yield Fact("Your check", f"{reading.there} cannot be checked")
        return
    sitting = reading.sitting
    if sitting is None:
        yield Fact("Your check", "None in the last five minutes")
        return
    at, until = instant(sitting.asked_at, reading.now), instant(sitting.asked_at + SITTING, reading.now)
    yield Fact("Your check", f"{at}, {sitting.verdict.replace('_', ' ')}; counts until {until}")


def _could_arrive(reading: Reading) -> bool:
    """Say whether a try was ever in doubt; one whose absence was proved by looking may still come late."""
    return any(attempt.outcome in DOUBT for attempt in reading.attempts)


def if_first_arrives(reading: Reading) -> str:
    """Say what happens if an earlier try arrives after all."""
    facts, there, noun = reading.facts, reading.there, reading.noun
    if not _could_arrive(reading):
        return (
            "Every try so far is proved not done. What is there is looked at once more before it is sent."
            if facts.has_lookup and facts.by_tieout
            else "Every try so far is proved not done."
        )
    if facts.same_key_protects(reading.now):
        return f"{there} answers with that {noun} and makes no second one."
    if facts.has_lookup and not facts.by_tieout:
        minutes = CALLERS_PERMIT.total_seconds() / 60
        soon = f"Its automation may send it within {minutes:g} minutes, and nobody looks again before that."
        return f"{there} would hold two. {soon}"
    if facts.has_lookup:
        again = "It is looked at once more right before the send: that makes it unlikely, not impossible."
        return f"{there} would hold two. {again}"
    return f"{there} would hold two, and nobody could look."
