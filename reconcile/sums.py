"""Sums of a tie-out: how many things a side holds and what they come to, and how that is kept."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Self

from ledger.rules.money import Money, show, text

NOUGHT = Decimal(0)
SIDES = ("ledger", "destination")
SOURCE = "source"
"""The third side, where a plan has one: it comes before both others."""


@dataclass
class Side:
    """How many things one side holds, and how much they come to in one currency."""

    count: int = 0
    amount: Decimal = NOUGHT

    def add(self, amount: Decimal | None, count: int = 1) -> None:
        """Count something in, or with a negative count out."""
        self.count += count
        self.amount += (amount or NOUGHT) * (1 if count > 0 else -1)


Totals = dict[str, Side]


@dataclass
class Line:
    """One class in one currency: its items, and what they hold on either side."""

    item_class: str
    currency: str
    items: int = 0
    amount: Decimal = NOUGHT
    """What its items come to: the operation's amount, or else the record's."""
    ledger: Side = field(default_factory=Side)
    destination: Side = field(default_factory=Side)
    source: Side | None = None
    """What they hold on the source's side, where there is one."""

    def add(self, other: "Line", *, times: int = 1) -> None:
        """Count another one in, or with -1 out."""
        self.items += times * other.items
        if other.source is not None:
            self.source = self.source or Side()
        for name in (*SIDES, *([SOURCE] if other.source is not None else [])):
            mine, theirs = getattr(self, name), getattr(other, name)
            mine.count += times * theirs.count
            mine.amount += times * theirs.amount

    @property
    def holds(self) -> bool:
        """Say whether anything is in it."""
        held = (self.ledger, self.destination, self.source or Side())
        return bool(self.items or any(side.count for side in held))

    def stored(self) -> dict[str, Any]:
        """Return it as it is kept; amounts are text."""
        return {
            "class": self.item_class,
            "currency": self.currency,
            "items": self.items,
            "ledger": store(self.ledger, self.currency),
            "destination": store(self.destination, self.currency),
            **({} if self.source is None else {SOURCE: store(self.source, self.currency)}),
        }

    @classmethod
    def empty(cls, item_class: str, currency: str, *, source: bool) -> Self:
        """Return a line that holds nothing yet, with the source's side where there is one."""
        return cls(item_class, currency, source=Side() if source else None)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `stored` wrote."""
        line = cls(stored["class"], stored["currency"], stored["items"])
        for name in sides_of(stored):
            setattr(line, name, Side(stored[name]["count"], Decimal(stored[name]["amount"])))
        return line


def sides_of(told: Container[str]) -> tuple[str, ...]:
    """Return the sides that a stored tie-out, or a line of one, tells of."""
    return (SOURCE, *SIDES) if SOURCE in told else SIDES


def amount_text(amount: Decimal, currency: str) -> str:
    """Write an exact amount with its currency's decimals."""
    return text(Money(amount, currency)) if currency else "0"


def store_amounts(amounts: Mapping[str, Decimal]) -> dict[str, str]:
    """Return amounts by currency as text, in the currencies' order."""
    return {currency: amount_text(amounts[currency], currency) for currency in sorted(amounts)}


def store(side: Side, currency: str) -> dict[str, Any]:
    """Return one side as it is kept; the amount is text."""
    return {"count": side.count, "amount": amount_text(side.amount, currency)}


def store_totals(totals: Totals) -> dict[str, Any]:
    """Return a side's totals as they are kept."""
    return {currency: store(totals[currency], currency) for currency in sorted(totals)}


def read_totals(stored: Mapping[str, Any]) -> Totals:
    """Read what `store_totals` wrote."""
    return {currency: Side(side["count"], Decimal(side["amount"])) for currency, side in stored.items()}


def shown(amount: Decimal, currency: str) -> str:
    """Write an amount for people: ZAR 3 720.00."""
    return f"{currency}\u00a0{show(Money(amount, currency))}"
