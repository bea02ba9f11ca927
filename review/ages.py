"""Amounts by age, as a chart and as the table beside it; one currency at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from review import amounts

CLASSES = ((0, "<1"), (1, "1–6"), (7, "7–29"), (30, "30+"))
"""The classes of age of what waits in the queue: from how many whole days on, and how that is written."""
BAR_TOP, BAR_HEIGHT, BAR_STEP = 28, 100, 60


@dataclass(frozen=True)
class Part:
    """How many of one age there are, how much that is, and the address of the list that adds up to it."""

    days: str
    count: int
    amount: Decimal
    address: str = ""
    resting: int = 0
    """How many of them are snoozed."""


@dataclass(frozen=True)
class Bar:
    """One age in the chart."""

    days: str
    count: int
    amount: str
    address: str
    x: int
    y: float
    height: float

    @property
    def middle(self) -> int:
        """Where the words of the bar stand."""
        return self.x + 18

    @property
    def label_y(self) -> float:
        """Where its amount stands."""
        return self.y - 5


@dataclass(frozen=True)
class Ages:
    """What there is in one currency, by its age."""

    currency: str
    bars: list[Bar]
    count: int
    amount: str

    @property
    def width(self) -> int:
        """How wide its chart is."""
        return BAR_STEP * len(self.bars)

    @classmethod
    def of(cls, currency: str, parts: Sequence[Part]) -> Self:
        """Draw it; the largest amount is as high as the chart."""
        largest = max(part.amount for part in parts) or Decimal(1)
        bars = [_bar(place, part, currency, part.amount / largest) for place, part in enumerate(parts)]
        whole = sum((part.amount for part in parts), Decimal(0))
        return cls(currency, bars, sum(part.count for part in parts), amounts.show(whole, currency))


def _bar(place: int, part: Part, currency: str, share: Decimal) -> Bar:
    height = round(float(share) * BAR_HEIGHT, 1)
    return Bar(
        days=part.days,
        count=part.count,
        amount=amounts.show(part.amount, currency),
        address=part.address,
        x=12 + place * BAR_STEP,
        y=round(BAR_TOP + BAR_HEIGHT - height, 1),
        height=height,
    )
