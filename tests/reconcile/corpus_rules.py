"""Seeds for matching by rules: orders whose records carry no key of ours, each with its label."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from tests.reconcile.corpus import JUST_NOW, LONG_AGO, Labelled, Labels
from tests.reconcile.worlds import DECIMALS, TEN_DAYS, Declared, Meant, Order, There

RULED = replace(
    TEN_DAYS,
    name="by declared rules",
    declared=(
        Declared("payer-day", subject=True, days=0),
        Declared("payer-near", subject=True, days=2, tolerance={"ZAR": 5}),
        Declared("payer-all", subject=True, days=2, split=True),
    ),
)
DAY = timedelta(days=1)
UNDER, OVER, MISSING = "amount_under", "amount_over", "missing_at_destination"
NOBODYS = "unexpected_at_destination"
Made = tuple[Meant, list[tuple[int, timedelta]], Labels, Labels]
"""An operation, its records by what each is more than the whole and later, and what is found of both."""


@dataclass(frozen=True)
class Stem:
    """An operation that is done, of one payer."""

    meant: Meant

    @property
    def half(self) -> int:
        """Return what takes its amount to one half."""
        return -((self.meant.amount or 0) // 2)

    def of(self, *shifts: int, days: int = 0, own: str = "", theirs: str = "", **facts: object) -> Made:
        """Return it with records, what has to be found of itself, and of each of its records."""
        there = [(shift, DAY * days) for shift in shifts]
        labels = Counter({theirs: len(shifts)}) if theirs else Counter()
        meant = replace(self.meant, **facts)  # type: ignore[arg-type]  # facts of its own
        return meant, there, Counter({own: 1}) if own else Counter(), labels

    def group(self, *shifts: int, item_class: str) -> Made:
        """Return it with records that are one group with it, and one difference."""
        meant, there, _, _ = self.of(*shifts)
        return meant, there, Counter({item_class: 1 + len(shifts)}), Counter()


SEEDS: dict[str, Callable[[Stem], Made]] = {
    "one that fits": lambda on: on.of(0),
    "one that fits, a day later": lambda on: on.of(0, days=1),
    "two that fit": lambda on: on.of(0, 0, own="ambiguous", theirs="ambiguous"),
    "three that fit": lambda on: on.of(0, 0, 0, own="ambiguous", theirs="ambiguous"),
    "two that fit, days later": lambda on: on.of(0, 0, days=2, own="ambiguous", theirs="ambiguous"),
    "one later, by its key": lambda on: on.of(0, days=3),
    "one in two parts": lambda on: on.of(on.half, on.half),
    "two parts, and more": lambda on: on.group(on.half, on.half + 1, item_class=OVER),
    "one part of two": lambda on: on.group(on.half, item_class=UNDER),
    "far more": lambda on: on.group(on.meant.amount or 0, item_class=OVER),
    "in doubt, and one that fits": lambda on: on.of(0, own="uncertain", state="uncertain"),
    "in doubt, and two that fit": lambda on: on.of(
        0, 0, own="ambiguous", theirs="ambiguous", state="uncertain"
    ),
    "under way, and one part": lambda on: on.of(on.half, state="running"),
    "within the grace, and one part": lambda on: on.of(on.half, accepted=JUST_NOW, tried=JUST_NOW),
    "gone": lambda on: on.of(own=MISSING),
    "known by another number": lambda on: on.of(0, own=MISSING, theirs=NOBODYS, known=7),
    "refused, and one that fits": lambda on: on.of(0, own=MISSING, theirs=NOBODYS, state="failed"),
}
"""Defects and decoys: what the rules have to tie, to take together, or to leave to people."""


def ruled(defects: int) -> Iterator[Labelled]:
    """Yield orders and their records until they have so many defects."""
    number, seeded = 0, 0
    while seeded < defects:
        for name, seed in SEEDS.items():
            number += 1
            for one in _orders(number, name, seed):
                seeded += one.labels.total()
                yield one


def _orders(number: int, name: str, seed: Callable[[Stem], Made]) -> Iterator[Labelled]:
    currency = sorted(DECIMALS)[number % 3]
    amount = (1_000, 10_000, 48_712, 99_999_900)[number % 4]
    # At noon, so that a record of another hour is of the same day.
    accepted = LONG_AGO.replace(hour=10)
    stem = Stem(Meant(accepted, amount, currency, tried=accepted, subject=f"payer {number}"))
    meant, shifts, own, theirs = seed(stem)
    there = tuple(
        There(
            number * 10 + place,
            amount + shift,
            currency,
            made=(accepted if meant.accepted == accepted else meant.accepted) + later,
            payer=meant.subject,
        )
        for place, (shift, later) in enumerate(shifts)
    )
    decoy = name if not own and not theirs else ""
    yield Labelled(Order(f"order/{number}", meant), own, decoy)
    # Each under a reference of its own, which is nobody's.
    for place, record in enumerate(there):
        each = Counter(dict.fromkeys(theirs, 1))
        yield Labelled(Order(f"memo/{number}/{place}", None, (record,)), each)
