"""The evidence beside the buttons: what the destination holds, and how far its silence can be trusted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from ledger.models import Operation
from ledger.rules.guarantees import day
from ledger.rules.states import Evidence, Standing, State, Verdict
from review import amounts, opening, wording
from review.instants import instant
from review.reading import Reading
from review.seen import Seen


@dataclass(frozen=True)
class Record:
    """One record of the destination, as the evidence shows it."""

    number: str
    url: str
    made_at: datetime | None
    status: str
    amount: str
    currency: str
    live: bool


def open_url(reading: Reading, number: str) -> str:
    """Return where a person opens a record of the operation's destination; empty where it is not known."""
    return opening.url(reading.operation.operation_type.destination, number)


def record(reading: Reading, found: Mapping[str, Any]) -> Record:
    """Read one stored record of a look-up for the screen."""
    made_at = found.get("occurred_at")
    currency = found.get("currency") or ""
    return Record(
        number=found["id"],
        url=open_url(reading, found["id"]),
        made_at=datetime.fromisoformat(made_at) if made_at else None,
        status=found.get("status") or "–",
        amount=amounts.show(found.get("amount"), currency),
        currency=currency,
        live=found.get("standing") in ("done", "pending"),
    )


@dataclass(frozen=True)
class Compared:
    """One field of what was meant beside what is there; `differs` where the two are not the same."""

    name: str
    meant: str
    there: str
    differs: bool


_BESIDES = {"paid": "paid", "sent": "told to the customer", "period": "period"}
"""What a record may say that nobody meant, as screens call it."""


def compared(reading: Reading) -> list[Compared]:
    """Return what was meant beside the record that counts, field by field; empty where it does not differ."""
    if reading.seen is None or reading.verdict != Verdict.DIFFERS or not reading.seen.records:
        return []
    known = reading.facts.destination_reference
    return side_by_side(reading.operation, reading.seen.match, known=known)


def side_by_side(operation: Operation, found: Mapping[str, Any], *, known: str) -> list[Compared]:
    """Return all that is kept of a record beside what was meant; `known` is its number as it is on record."""
    there = found.get("currency") or ""
    fields = {
        "number": (known or "–", found["id"]),
        "amount": (
            amounts.show(operation.amount, operation.currency),
            amounts.show(found.get("amount"), there or operation.currency),
        ),
        "currency": (operation.currency or "–", there or "–"),
        "status": ("in force", found.get("status") or "–"),
    }
    wrong = set(_differing(operation, found)) | ({"number"} if known and known != found["id"] else set())
    told = [Compared(name, *values, name in wrong) for name, values in fields.items()]
    more = [
        Compared(words, "–", str(found[name]), False) for name, words in _BESIDES.items() if found.get(name)
    ]
    contents = [
        Compared(f"contents, {field}", "as handed over", "otherwise", True)
        for field in found.get("contents", ())
    ]
    return told + more + contents


def _differing(operation: Operation, found: Mapping[str, Any]) -> Iterable[str]:
    """Return what a check has found to differ; of what a run listed, which tells none, what does."""
    if "differs" in found:
        return [str(name) for name in found["differs"]]
    amount, currency = found.get("amount"), found.get("currency")
    return (
        *(["amount"] if amount is not None and Decimal(amount) != operation.amount else []),
        *(["currency"] if currency and currency != operation.currency else []),
        *(["status"] if found.get("standing") != Standing.DONE else []),
    )


def unseen(reading: Reading) -> tuple[str, str]:
    """Say in a word what is known without a check since the last try, and why it is no more."""
    number = reading.facts.destination_reference
    if reading.state is State.COMPLETED and number and reading.facts.evidence == Evidence.ANSWER:
        return f"{number}.", f"{reading.there} answered so; nobody has looked since."
    return "Not known.", _why_unknown(reading)


def _why_unknown(reading: Reading) -> str:
    facts = reading.facts
    if not facts.has_lookup:
        return f"{reading.there} cannot be checked: its rules name no look-up."
    if reading.state is State.RUNNING:
        return "A try is in progress."
    if reading.state is State.PENDING and not facts.tries:
        return "Nothing was sent yet."
    if reading.state is State.COMPLETED:
        on_word = facts.evidence == Evidence.ATTESTED
        return "Nobody has seen it there yet." if on_word else "Nobody has looked since it was confirmed."
    if not reading.lookups:
        return "Nobody has looked yet."
    last = reading.lookups[0]
    found = Seen.of(last).short(reading.meant)
    at = instant(last.asked_at, reading.now, exact=True)
    who = wording.who(last.actor)
    return f"{who} looked at {at}, before the last try ended: {found[:1].lower()}{found[1:]}."


def trust(reading: Reading) -> str:
    """Say why the silence of a check can be trusted, or cannot."""
    refuted_on = reading.facts.drilled.lookup_broken_on
    if refuted_on is not None:
        return (
            f"Drilled {day(refuted_on)}, this check did not tell what is there: its silence proves nothing."
        )
    if reading.latest and reading.latest.verdict == Verdict.ABSENT and reading.latest.why:
        return reading.latest.why
    known = reading.latest.control_reference if reading.latest else ""
    if known:
        return f"The same check found {known}, a record that we know."
    if reading.facts.lookup_proved:
        return "This check has found a record that we know since its rules last changed."
    return "This check has never found a record that we know, so its silence proves nothing."
