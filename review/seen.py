"""What a look-up found, in words: the same for the queue, the page and the list of checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Self

from ledger.models import Lookup
from ledger.rules.states import LIVE, Standing, Verdict
from review import amounts, wording

_REVERSED = {
    Verdict.ABSENT: "It stands there, not reversed",
    Verdict.ONE_MATCH: "It is reversed there",
    Verdict.DIFFERS: "It is not as it was chosen",
}


@dataclass(frozen=True)
class Meant:
    """What an operation was meant to make."""

    noun: str
    amount: Decimal | None
    currency: str
    settles_at: datetime | None = None
    in_doubt: bool = True
    reverses: bool = False
    """Whether it was meant to reverse a record."""


@dataclass(frozen=True)
class Seen:
    """One look-up as screens show it; records are the ledger's stored ones."""

    verdict: Verdict
    proof: bool
    complete: bool
    asked_at: datetime
    records: Sequence[Mapping[str, Any]]
    why: str = ""
    before: "Seen | None" = None
    """Where it could not look: what the last one found that could."""

    @classmethod
    def of(cls, row: Lookup) -> Self:
        """Read a look-up's row."""
        return cls(Verdict(row.verdict), row.proof, row.complete, row.asked_at, row.records, row.why)

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Self:
        """Read a look-up that came as JSON inside another row."""
        asked_at = datetime.fromisoformat(found["asked_at"])
        return cls(
            Verdict(found["verdict"]),
            found["proof"],
            found["complete"],
            asked_at,
            found["records"],
            found["why"],
            cls.read(found["before"]) if found.get("before") else None,
        )

    @property
    def unproved(self) -> Self:
        """The same, where no silence of this look-up proves anything."""
        return replace(self, proof=False, before=self.before and replace(self.before, proof=False))

    @property
    def live(self) -> list[Mapping[str, Any]]:
        """The records that stand."""
        return [record for record in self.records if record["standing"] in LIVE]

    @property
    def match(self) -> Mapping[str, Any]:
        """The one record that counts: the one that stands, else the last."""
        return (self.live or list(self.records) or [{}])[0 if self.live else -1]

    @property
    def icon(self) -> str:
        """The icon of its verdict."""
        return str(self.verdict)

    def heading(self, meant: Meant) -> str:
        """Return the verdict as it stands above the buttons."""
        if meant.reverses and self.verdict in _REVERSED:
            return _REVERSED[self.verdict]
        match self.verdict:
            case Verdict.ABSENT:
                return f"Absent, {self._silence(meant)}"
            case Verdict.ONE_MATCH:
                return self._one_match()
            case Verdict.SEVERAL:
                return wording.first_up(f"{wording.several(len(self.live), meant.noun)} carry it")
            case Verdict.DIFFERS:
                return f"It differs: {self.difference(meant)}"
            case Verdict.COULD_NOT_LOOK:
                return "Could not look"

    def short(self, meant: Meant) -> str:
        """Return the verdict as it stands in a list."""
        if self.verdict is Verdict.DIFFERS and not meant.reverses:
            return wording.first_up(self.difference(meant))
        return self.heading(meant)

    def difference(self, meant: Meant) -> str:
        """Say what is not as meant: "5 580.00 there, 620.00 too much"."""
        record = self.match
        differs = record.get("differs", ())
        if record.get("standing") == Standing.VOID:
            return "it is void there"
        if "currency" in differs:
            there = amounts.whole(record["amount"], record["currency"]) or record["currency"]
            return f"{there} there, {meant.currency} was meant"
        if "amount" in differs and record.get("amount") is not None and meant.amount is not None:
            surplus = Decimal(record["amount"]) - meant.amount
            there, rest = (amounts.show(value, meant.currency) for value in (record["amount"], abs(surplus)))
            return f"{there} there, {rest} too {'much' if surplus > 0 else 'little'}"
        named = [*(name for name in differs if name != "contents"), *record.get("contents", ())]
        return f"{' and '.join(named) or 'what is there'} not as meant"

    def _one_match(self) -> str:
        record = self.match
        words = {Standing.PENDING: ", still being worked on", Standing.FAILED: ", declined there"}
        return f"One match: {record.get('id', '')}{words.get(record.get('standing', ''), '')}"

    def _silence(self, meant: Meant) -> str:
        early = meant.settles_at is not None and self.asked_at < meant.settles_at
        if self.proof or (self.complete and not meant.in_doubt and not early):
            return "long enough to be sure"
        if early:
            return "but too early to be proof"
        return "but its silence proves nothing"
