"""The clock of the key's window: how long "same key" still protects a second try."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ledger.rules import seven
from ledger.rules.states import State
from review.instants import span
from review.reading import Reading

WIDTH = 1440


@dataclass(frozen=True)
class KeyWindow:
    """From the first send under this key to its closing, drawn `WIDTH` units wide."""

    opened_at: datetime
    closes_at: datetime
    open: bool
    left: str
    margin: str
    used: int
    kept: int
    label: str

    @property
    def kept_from(self) -> int:
        """Where the margin begins in the drawing."""
        return WIDTH - self.kept


def key_window(reading: Reading) -> KeyWindow | None:
    """Return the window where a decision depends on it; None where no key protects or nothing is open."""
    facts = reading.facts
    contract, opened_at, closes_at = facts.contract, facts.first_sent_at, facts.window_closes_at
    undecided = facts.state in (State.UNCERTAIN, State.FAILED) and not facts.cancelled
    undecided = undecided and reading.trouble is None and facts.taken_at is None and facts.key_covers_doubt
    if not undecided or opened_at is None or closes_at is None or contract.key_retention_s is None:
        return None
    total, margin = contract.key_retention_s, min(contract.key_margin_s, contract.key_retention_s)
    passed = reading.now - opened_at
    used = min(passed.total_seconds() / total, 1) if total else 1
    length, margin_words = f"{total / 3600:g}\u00a0h", span(timedelta(seconds=margin))
    return KeyWindow(
        opened_at=opened_at,
        closes_at=closes_at,
        open=facts.window_open(reading.now),
        left=span(closes_at - reading.now),
        margin=margin_words,
        used=round(used * WIDTH),
        kept=round(margin / total * WIDTH) if total else 0,
        label=f"{span(passed)} of the {length} are used; the last {margin_words} are kept as a margin",
    )


def protection(reading: Reading) -> str:
    """Say in one sentence what protects a second try at this destination, and what it does not cover."""
    return seven.protection(reading.facts)
