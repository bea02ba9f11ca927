"""The seven questions that every decision rests on, answered for a person."""

from datetime import datetime

from ledger.rules.decisions import Next, decide
from ledger.rules.facts import Facts, Sentence
from ledger.rules.guarantees import day, guarantee
from ledger.rules.states import Outcome, State, Verdict


def seven(facts: Facts, now: datetime) -> tuple[tuple[str, Sentence], ...]:
    """Answer the seven questions that every decision rests on."""
    there = facts.destination
    return (
        (
            "Has it a side effect?",
            Sentence("Yes. It makes something that others see." if facts.side_effect else "No."),
        ),
        ("Is the cause passing?", _cause(facts)),
        (f"Does {there} take a key, and does it still remember ours?", _key_answer(facts, now)),
        ("Can we look it up, and is absence proof yet?", _absence_answer(facts, now)),
        ("How many tries and how long are left?", _left_answer(facts, now)),
        ("What happens at the limit?", Sentence("It stays in the queue with its owner. Nothing is sent.")),
        ("Which try produced the result, and how do we know?", _result_answer(facts)),
    )


def _cause(facts: Facts) -> Sentence:
    latest = facts.latest
    if latest is None or latest.outcome in (None, Outcome.SUCCEEDED):
        return Sentence("Nothing has gone wrong.")
    if latest.http_status is None:
        return Sentence("Probably: there was silence, not a refusal." if latest.in_doubt else "Probably.")
    if latest.http_status >= 500 or latest.http_status in (408, 409, 429):
        return Sentence(f"Probably: {facts.destination} answered with status {latest.http_status}.")
    if latest.http_status >= 400:
        return Sentence(f"No: {facts.destination} refused it with status {latest.http_status}.")
    return Sentence("Nothing has gone wrong.")


def _key_answer(facts: Facts, now: datetime) -> Sentence:
    if facts.drilled.key_broken_on is not None:
        return Sentence(protection(facts))
    if not facts.contract.takes_key:
        return Sentence(f"It takes no key. {protection(facts)}")
    if facts.contract.key_retention_s is None:
        return Sentence("It takes a key; for how long it remembers is not known, which counts as not at all.")
    if facts.first_sent_at is None:
        return Sentence("It takes a key; ours was not sent yet.")
    if not facts.same_account:
        return Sentence("No: the account has changed since, and another account forgets every key.")
    if facts.saved_error is not None:
        return Sentence(f"Yes, and it would answer the same error again: status {facts.saved_error}.")
    if facts.in_doubt and not facts.key_covers_doubt:
        return Sentence("It does, and a try that may have happened did not go under it.")
    if facts.window_open(now):
        return Sentence("Yes, until {at}.", facts.window_closes_at)
    return Sentence("No longer: its window closed at {at}.", facts.window_closes_at)


def protection(facts: Facts) -> str:
    """Say in one sentence what protects a second try of this operation, and what it does not cover."""
    return guarantee(
        facts.contract,
        facts.destination,
        has_lookup=facts.has_lookup,
        by_tieout=facts.by_tieout,
        drilled=facts.drilled,
    )


def _absence_answer(facts: Facts, now: datetime) -> Sentence:
    if not facts.has_lookup:
        return Sentence("No. It cannot be checked.")
    if facts.drilled.lookup_broken_on is not None:
        on = day(facts.drilled.lookup_broken_on)
        return Sentence(f"Yes, but its silence proves nothing: drilled {on}, it did not tell what is there.")
    if not facts.lookup_proved:
        return Sentence(
            "Yes, but this check has not found a known record yet, so its silence proves nothing."
        )
    if facts.settles_at is None:
        return Sentence("Yes. No try is in doubt.")
    if now < facts.settles_at:
        return Sentence("Yes. Absence is proof from {at}.", facts.settles_at)
    return Sentence("Yes. Absence has been proof since {at}.", facts.settles_at)


def _left_answer(facts: Facts, now: datetime) -> Sentence:
    if facts.corrected:
        return Sentence("None: it was corrected, and never runs again.")
    left = facts.tries_left if facts.within_limits(now) else 0
    step = decide(facts, now)
    person = " A person may allow one more." if step.next in (Next.HOLD, Next.NOTHING) else ""
    return Sentence(
        f"Software: {left or 'none'} of {facts.tries_allowed}, until {{at}}.{person}", facts.deadline_at
    )


def _replayed(facts: Facts) -> bool:
    return facts.latest is not None and facts.latest.replayed


def _result_answer(facts: Facts) -> Sentence:
    if facts.state is State.FAILED:
        return Sentence(_no_result(facts))
    number = facts.latest.number if facts.latest else 0
    if facts.state is not State.COMPLETED:
        return Sentence(_not_told(facts, number))
    before = ", with an answer that it gave before under the same key" if _replayed(facts) else ""
    by = {
        "answer": f"Try {number}: {facts.destination} confirmed it{before}.",
        "lookup": f"A check found it after try {number}.",
        "attested": f"On the word of {facts.evidence_by}, not yet seen in {facts.destination}.",
    }
    return Sentence(f"{by.get(facts.evidence, '')} Reference {facts.destination_reference or 'not known'}.")


def _no_result(facts: Facts) -> str:
    """Say how it is known that no try of what did not happen has made anything."""
    latest = facts.latest
    if facts.cancelled:
        return "None: it was cancelled before it was sent."
    if facts.absent_by:
        return f"None, on the word of {facts.absent_by}: nobody could look."
    if facts.declined:
        return f"None that stands: {facts.destination} took it and declined it."
    if latest is not None and latest.refused_itself:
        return f"None: {facts.destination} refused try {latest.number}, and nothing was made."
    if facts.lookup is not None and facts.proves(facts.lookup):
        return "None: a check proved that nothing is there."
    return "None: every try is proved not done."


def _not_told(facts: Facts, number: int) -> str:
    """Say what is there of what is not done yet, and whether its try is known."""
    if facts.state is State.RUNNING:
        return f"None yet: try {number} is in progress."
    after = f" after try {number}" if number else ", and no try of ours was sent"
    found = facts.lookup.verdict if facts.lookup is not None and facts.found_something else None
    if found is Verdict.SEVERAL:
        return f"A check found several{after}; which try made which, it does not tell."
    if found is Verdict.DIFFERS:
        return f"A check found one{after} that is not as meant; who made it, it does not tell."
    if found is not None:
        return f"A check found it{after}; it is not final yet."
    if facts.taken_at is not None:
        return f"None yet: {facts.destination} took try {number}, and it is not final."
    return "None yet."
