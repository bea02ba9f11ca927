"""A corpus of orders with defects that were put there on purpose, each with its label; no oracle is asked.

An order has a first defect, or none, and where its first record stands, more records with defects of their
own: every pair of the two is there, in three currencies and with amounts of many sizes. Beside the defects
stand decoys: what looks like a defect and is none.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from tests.reconcile.worlds import (
    DECIMALS,
    NOW,
    TEN_DAYS,
    Meant,
    Order,
    Reversal,
    Row,
    There,
    World,
    key_from,
)

LONG_AGO, JUST_NOW = NOW - timedelta(days=4), NOW - timedelta(minutes=5)
PLACES = replace(TEN_DAYS, name="told by two places", places=True)
KEYED = replace(TEN_DAYS, name="told by their keys", contents=True)
THREE = replace(TEN_DAYS, name="on three sides", source=True)

Labels = Counter[str]
First = tuple[Meant | None, There | None, str]
"""What was meant, the first record, and the label of both; no label: they are in order."""


@dataclass(frozen=True)
class Labelled:
    """An order, and what has to be found of it: how many items of which class; nothing of a decoy."""

    order: Order
    labels: Labels
    decoy: str = ""


@dataclass(frozen=True)
class Ground:
    """What an order stands on: an operation and its record, alike and in order, and how much is allowed."""

    meant: Meant
    there: There

    @property
    def allowed(self) -> int:
        """Return the plan's tolerance."""
        return (TEN_DAYS.tolerance or {}).get(self.meant.currency, 0)

    def paid(self, more: int) -> There:
        """Return its record with so much more."""
        return replace(self.there, amount=self.there.amount + more)

    @property
    def row(self) -> Row:
        """Return the source's row, alike."""
        return Row(0, self.meant.amount or 0, self.meant.currency, LONG_AGO)

    def asked(self, more: int) -> Row:
        """Return the source's row with so much more."""
        return replace(self.row, amount=self.row.amount + more)

    def other_currency(self) -> str:
        """Return a currency that is not its own."""
        return next(currency for currency in DECIMALS if currency != self.meant.currency)


def _meant(ground: Ground, **facts: object) -> Meant:
    return replace(ground.meant, **facts)  # type: ignore[arg-type]  # facts of its own


def _there(ground: Ground, **facts: object) -> There:
    return replace(ground.there, **facts)  # type: ignore[arg-type]  # facts of its own


STANDS: dict[str, Callable[[Ground], First]] = {
    "alike": lambda on: (on.meant, on.there, ""),
    "within the tolerance": lambda on: (on.meant, on.paid(-on.allowed), ""),
    "found, and in doubt until then": lambda on: (_meant(on, state="uncertain"), on.there, ""),
    "over": lambda on: (on.meant, on.paid(on.allowed + 1), "amount_over"),
    "far over": lambda on: (on.meant, on.paid(99 * on.there.amount), "amount_over"),
    "under": lambda on: (on.meant, on.paid(-on.allowed - 1), "amount_under"),
    "of the other sign": lambda on: (on.meant, on.paid(-2 * on.there.amount), "amount_under"),
    "another currency": lambda on: (on.meant, _there(on, currency=on.other_currency()), "currency_differs"),
    "not final": lambda on: (on.meant, _there(on, standing="pending"), "status_differs"),
    "not final in time": lambda on: (
        _meant(on, state="uncertain", held=True), _there(on, standing="pending"), "uncertain"
    ),
    "other contents": lambda on: (on.meant, _there(on, says="otherwise"), "payload_differs"),
    "other contents, in doubt and not final": lambda on: (
        _meant(on, state="uncertain"), _there(on, says="otherwise", standing="pending"), "payload_differs"
    ),
    "other contents, and over": lambda on: (
        on.meant, replace(on.paid(on.allowed + 1), says="otherwise"), "amount_over"
    ),
    "contents of which nothing was said": lambda on: (
        _meant(on, says=None), _there(on, says="otherwise"), ""
    ),
    "contents alike": lambda on: (_meant(on, says="net"), _there(on, says="net"), ""),
    "still worked on": lambda on: (_meant(on, state="uncertain"), _there(on, standing="pending"), ""),
    "refused, and there": lambda on: (_meant(on, state="failed"), on.there, "unexpected_at_destination"),
    "waits, and there": lambda on: (_meant(on, state="pending"), on.there, "unexpected_at_destination"),
    "nobody's": lambda on: (None, on.there, "unexpected_at_destination"),
}  # fmt: skip
"""First defects and decoys whose record stands: others may stand beside it."""
ALONE: dict[str, Callable[[Ground], First]] = {
    "void": lambda on: (on.meant, _there(on, standing="void"), "status_differs"),
    "void, and less": lambda on: (on.meant, replace(on.paid(-1), standing="void"), "status_differs"),
    "declined": lambda on: (_meant(on, state="uncertain"), _there(on, standing="failed"), "status_differs"),
    "void and nobody's": lambda on: (None, _there(on, standing="void"), ""),
    "an amount of words": lambda on: (on.meant, _there(on, trouble="amount", own=False), "unreadable"),
    "no status": lambda on: (on.meant, _there(on, trouble="status", own=False), "unreadable"),
    "no currency, and nobody's": lambda on: (None, _there(on, trouble="currency"), "unreadable"),
    "gone": lambda on: (on.meant, None, "missing_at_destination"),
    "never came": lambda on: (_meant(on, state="failed"), None, "missing_at_destination"),
    "gone without proof": lambda on: (_meant(on, answer="unproved"), None, "uncertain"),
    "within the grace": lambda on: (_meant(on, accepted=JUST_NOW, tried=JUST_NOW), None, ""),
    "tried within the grace": lambda on: (_meant(on, state="uncertain", tried=JUST_NOW), None, ""),
    "under way": lambda on: (_meant(on, state="running"), None, ""),
    "cancelled": lambda on: (_meant(on, state="failed", cancelled=True), None, ""),
    "late": lambda on: (on.meant, _there(on, late=True), ""),
    "late, and other contents": lambda on: (
        on.meant, _there(on, late=True, says="otherwise"), "payload_differs"
    ),
    "late, and less": lambda on: (on.meant, replace(on.paid(-on.allowed - 1), late=True), "amount_under"),
}  # fmt: skip
"""First defects and decoys beside which nothing stands."""
DOUBLED = "duplicate_at_destination"
BESIDE: dict[str, Callable[[Ground], tuple[list[There], Labels]]] = {
    "nothing": lambda on: ([], Counter()),
    "a double": lambda on: ([on.there], Counter({DOUBLED: 1})),
    "three doubles": lambda on: ([on.there] * 3, Counter({DOUBLED: 3})),
    "a double that is more": lambda on: ([on.paid(7)], Counter({DOUBLED: 1})),
    "a double in another currency": lambda on: (
        [on.there, _there(on, currency=on.other_currency())], Counter({DOUBLED: 2})
    ),
    "a voided one": lambda on: ([_there(on, standing="void")], Counter()),
    "a double, one voided, one unreadable": lambda on: (
        [on.there, _there(on, standing="void"), _there(on, trouble="amount")],
        Counter({DOUBLED: 1, "unreadable": 1}),
    ),
}  # fmt: skip
"""What stands beside a first record, and what has to be found of that."""
REVERSED: dict[str, Callable[[Ground], tuple[list[There], Labels]]] = {
    "a double, reversed": lambda on: ([_reversed(on, on.there.amount, "void")], Counter()),
    "a double, reversed and listed as nought": lambda on: ([_reversed(on, 0, "void")], Counter()),
    "a double, reversed in part": lambda on: (
        [_reversed(on, on.there.amount // 3, "void")], Counter({DOUBLED: 1})
    ),
    "a double, credited in part": lambda on: (
        [_reversed(on, on.there.amount // 3, "done")], Counter({DOUBLED: 1})
    ),
}  # fmt: skip
"""What stands beside the record of an operation that has one of its own."""


Sided = tuple[Meant | None, There | None, list[Row], str]
"""What was meant, the first record, the source's rows, and the label of all three."""
SOURCED: dict[str, Callable[[Ground], Sided]] = {
    "alike on all sides": lambda on: (on.meant, on.there, [on.row], ""),
    "at the source within the tolerance": lambda on: (on.meant, on.there, [on.asked(on.allowed)], ""),
    "more at the source": lambda on: (on.meant, on.there, [on.asked(on.allowed + 1)], "amount_under"),
    "less at the source": lambda on: (on.meant, on.there, [on.asked(-on.allowed - 1)], "amount_over"),
    "less meant than at the source": lambda on: (
        _meant(on, amount=on.there.amount - on.allowed), on.there, [on.asked(1)], "amount_under"
    ),
    "another currency at the source": lambda on: (
        on.meant, on.there, [replace(on.row, currency=on.other_currency())], "currency_differs"
    ),
    "cancelled at the source, and done": lambda on: (
        on.meant, on.there, [replace(on.row, cancelled=True)], "status_differs"
    ),
    "a row that cannot be read": lambda on: (
        on.meant, on.there, [replace(on.row, trouble="amount")], "unreadable"
    ),
    "no row": lambda on: (on.meant, on.there, [], "unexpected_at_destination"),
    "no row, and in doubt": lambda on: (
        _meant(on, state="uncertain"), on.there, [], "unexpected_at_destination"
    ),
    "nobody's, with a row": lambda on: (None, on.there, [on.row], "unexpected_at_destination"),
    "over, and the source as meant": lambda on: (
        on.meant, on.paid(on.allowed + 1), [on.row], "amount_over"
    ),
}  # fmt: skip
"""Defects and decoys of the source whose record stands: others may stand beside it."""
SOURCED_ALONE: dict[str, Callable[[Ground], Sided]] = {
    "never submitted": lambda on: (None, None, [on.row], "never_submitted"),
    "never submitted, and dated by nothing": lambda on: (
        None, None, [replace(on.row, dated=None)], "never_submitted"
    ),
    "never submitted, with a voided record": lambda on: (
        None, _there(on, standing="void"), [on.row], "never_submitted"
    ),
    "to be submitted": lambda on: (None, None, [replace(on.row, dated=JUST_NOW)], ""),
    "cancelled, and never submitted": lambda on: (None, None, [replace(on.row, cancelled=True)], ""),
    "cancelled, and did not happen": lambda on: (
        _meant(on, state="failed"), None, [replace(on.row, cancelled=True)], ""
    ),
    "cancelled in a row that cannot be read": lambda on: (
        _meant(on, state="failed"), None, [replace(on.row, cancelled=True, trouble="currency")],
        "missing_at_destination",
    ),
    "cancelled, done, and gone": lambda on: (
        on.meant, None, [replace(on.row, cancelled=True)], "missing_at_destination"
    ),
    "gone, and at the source": lambda on: (on.meant, None, [on.row], "missing_at_destination"),
    "no row yet": lambda on: (_meant(on, accepted=JUST_NOW, tried=JUST_NOW), on.there, [], ""),
}  # fmt: skip
"""Defects and decoys of the source beside which nothing stands."""
ROWS: dict[str, Callable[[Ground], tuple[list[Row], Labels]]] = {
    "one row": lambda on: ([], Counter()),
    "a row twice": lambda on: ([on.row], Counter({"ambiguous": 1})),
    "a row three times": lambda on: ([on.row, on.row], Counter({"ambiguous": 2})),
    "a row twice, not alike": lambda on: ([on.asked(5)], Counter({"ambiguous": 2})),
    "a row, and one cancelled": lambda on: ([replace(on.row, cancelled=True)], Counter()),
}
"""What the source lists beside the row of an operation that is in order."""


def _reversed(ground: Ground, listed: int, standing: str) -> There:
    by = Reversal(ground.there.amount, ground.there.currency)
    return _there(ground, amount=listed, standing=standing, reversal=by)


def labelled(defects: int) -> Iterator[Labelled]:
    """Yield orders until they have so many defects."""
    numbers, seeded = 0, 0
    dice = random.Random("corpus")
    while seeded < defects:
        for first, beside in _pairs():
            numbers += 1
            one = _order(numbers, first, beside=beside, dice=dice)
            seeded += one.labels.total()
            yield one


def _pairs() -> Iterator[tuple[str, str]]:
    # As often as a first defect comes with something beside it.
    yield from ((first, "nothing") for first in ALONE for _ in range(3))
    for first in STANDS:
        yield from ((first, beside) for beside in BESIDE)
        if first in ("alike", "over", "found, and in doubt until then", "another currency"):
            yield from ((first, beside) for beside in REVERSED)


def _order(number: int, first: str, *, beside: str, dice: random.Random) -> Labelled:
    amount, currency = dice.choice((100, 10_000, 4_711, 99_999_900)), dice.choice(tuple(DECIMALS))
    meant = Meant(LONG_AGO + timedelta(seconds=number), amount, currency, tried=LONG_AGO)
    ground = Ground(meant, There(0, amount, currency, made=dice.choice((None, LONG_AGO, LONG_AGO.date()))))
    meant_now, there, label = (STANDS | ALONE)[first](ground)
    more, labels = (BESIDE | REVERSED)[beside](ground)
    if there is not None and meant_now is not None and more:
        there = replace(there, own=True)
    elif there is not None:
        more = [replace(one, made=LONG_AGO + timedelta(hours=1)) for one in more]
        there = replace(there, made=LONG_AGO)
    records = [there, *more] if there is not None else more
    numbered = tuple(replace(one, number=number * 10 + place) for place, one in enumerate(records))
    decoy = first if not label and not labels else ""
    return Labelled(
        Order(f"order/{number}", meant_now, numbered), labels + Counter([label] if label else []), decoy
    )


def ambiguous(count: int) -> Iterator[Labelled]:
    """Yield orders whose records could be of several, beside some that are known by their source."""
    for number in range(1, count + 1):
        source = f"s-{number}"
        meant = Meant(LONG_AGO + timedelta(seconds=number), tried=LONG_AGO)
        records = tuple(There(number * 10 + place, made=LONG_AGO) for place in range(1 + number % 3))
        if number % 4:
            labels = Counter({"ambiguous": len(records), "uncertain": 1})
            yield Labelled(Order(f"by hand/{number}", meant, records, source=source), labels)
        else:
            doubles = Counter({DOUBLED: len(records) - 1})
            yield Labelled(Order(key_from(source), meant, records, source=source), +doubles)


def sourced(defects: int) -> Iterator[Labelled]:
    """Yield orders on three sides until they have so many defects."""
    numbers, seeded = 0, 0
    dice = random.Random("three sides")
    while seeded < defects:
        for first, beside, rows in _sided():
            numbers += 1
            one = _sided_order(numbers, first, beside=beside, rows=rows, dice=dice)
            seeded += one.labels.total()
            yield one


def _sided() -> Iterator[tuple[str, str, str]]:
    yield from ((first, "nothing", "one row") for first in SOURCED_ALONE for _ in range(8))
    for first in SOURCED:
        yield from ((first, beside, "one row") for beside in BESIDE)
    yield from (("alike on all sides", beside, rows) for beside in ("nothing", "a double") for rows in ROWS)


def _sided_order(number: int, first: str, *, beside: str, rows: str, dice: random.Random) -> Labelled:
    amount, currency = dice.choice((100, 10_000, 4_711, 99_999_900)), dice.choice(tuple(DECIMALS))
    meant = Meant(LONG_AGO + timedelta(seconds=number), amount, currency, tried=LONG_AGO)
    ground = Ground(meant, There(0, amount, currency, made=LONG_AGO))
    meant_now, there, told, label = (SOURCED | SOURCED_ALONE)[first](ground)
    more, labels = BESIDE[beside](ground)
    extra, beside_rows = ROWS[rows](ground)
    later = [replace(one, made=LONG_AGO + timedelta(hours=1)) for one in more]
    records = [there, *later] if there is not None else later
    numbered = tuple(replace(one, number=number * 10 + place) for place, one in enumerate(records))
    listed = tuple(replace(one, number=number * 10 + place) for place, one in enumerate([*told, *extra]))
    found = labels + beside_rows + Counter([label] if label else [])
    decoy = first if not found else ""
    return Labelled(Order(f"order/{number}", meant_now, numbered, rows=listed), found, decoy)


def worlds(orders: Sequence[Labelled], size: int = 500) -> Iterator[tuple[World, Sequence[Labelled]]]:
    """Yield the orders as worlds that are each one run; what is nobody's stays with what stands before it."""
    part: list[Labelled] = []
    for place, one in enumerate(orders):
        if len(part) >= size and one.order.meant is not None:
            yield World(place, tuple(other.order for other in part)), part
            part = []
        part.append(one)
    yield World(len(orders), tuple(other.order for other in part)), part
