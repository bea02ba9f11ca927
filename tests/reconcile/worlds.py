"""Generated worlds: what was meant, and what a destination holds and lists, in stories that can be read.

A world is some orders. Of each there is an operation, or none, whatever the destination holds under its
key, and the source's rows of it. All is told in plain facts and whole minor units, of which `oracle` judges
and which `playing` brings into a database.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import TypeVar

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
"""When each run is made."""
TICK = timedelta(microseconds=1)
DECIMALS = {"ZAR": 2, "JPY": 0, "KWD": 3}
TROUBLES = ("amount", "currency", "status", "id")
"""Parts of a record that may not be readable."""
STANDINGS = ("done", "pending", "failed", "void")


@dataclass(frozen=True)
class Declared:
    """A rule of a plan: what a record without our key has to have of an operation."""

    name: str
    subject: bool = False
    """Who pays is the operation's subject."""
    tolerance: Mapping[str, int] | None = None
    percent: Fraction | None = None
    days: int | None = None
    renumbered: bool = False
    split: bool = False
    """All of one payer is one group."""


@dataclass(frozen=True)
class Rules:
    """What a plan says, and the window of its run."""

    name: str
    zone: str
    window_from: datetime
    window_to: datetime
    days: tuple[date, date]
    """The first and the last day of the zone that the window touches."""
    grace: timedelta = timedelta()
    tolerance: Mapping[str, int] | None = None
    asks: bool = True
    """Its destination can be asked for one operation."""
    places: bool = False
    """Records carry no key: what an operation was made from tells them, at two places."""
    source: bool = False
    """The plan has a source."""
    lag: timedelta = timedelta()
    """How far the source is behind."""
    declared: tuple[Declared, ...] = ()
    """By what else than its key a record is an operation's."""
    contents: bool = False
    """What records say is compared with what payloads said."""
    cap: Mapping[str, int] | None = None
    """The most that tolerances may let pass in one run."""


TEN_DAYS = Rules(
    "ten days up to now",
    "Africa/Johannesburg",
    NOW - timedelta(days=10),
    NOW,
    (date(2026, 11, 10), date(2026, 11, 20)),
    grace=timedelta(minutes=15),
    tolerance={"ZAR": 50, "JPY": 3},
)
DECLARED = (
    Declared("payer-day", subject=True, days=0),
    Declared("payer-near", subject=True, tolerance={"ZAR": 60, "KWD": 9}, days=2),
    Declared("payer-share", subject=True, percent=Fraction(1, 2), days=6),
    Declared("payer-all", subject=True, days=2, split=True),
    Declared("bank-day", days=1, renumbered=True),
)
ALL_RULES = (
    TEN_DAYS,
    Rules(
        "three days of the west",
        "Pacific/Pago_Pago",
        datetime(2026, 11, 10, 11, tzinfo=UTC),
        datetime(2026, 11, 13, 11, tzinfo=UTC),
        (date(2026, 11, 10), date(2026, 11, 12)),
        tolerance={"ZAR": 2, "JPY": 1, "KWD": 7},
        source=True,
        contents=True,
    ),
    Rules(
        "a day of twenty-five hours",
        "America/New_York",
        datetime(2026, 11, 1, 4, tzinfo=UTC),
        datetime(2026, 11, 2, 5, tzinfo=UTC),
        (date(2026, 11, 1), date(2026, 11, 1)),
        grace=timedelta(days=19),
        tolerance={"KWD": 5},
        contents=True,
    ),
    Rules(
        "four days of the east, never asked",
        "Pacific/Kiritimati",
        datetime(2026, 11, 9, 10, tzinfo=UTC),
        datetime(2026, 11, 13, 10, tzinfo=UTC),
        (date(2026, 11, 10), date(2026, 11, 13)),
        grace=timedelta(days=8),
        asks=False,
        tolerance={"ZAR": 50, "JPY": 3, "KWD": 5},
        source=True,
        lag=timedelta(days=9),
    ),
    replace(TEN_DAYS, name="ten days, told by two places", tolerance={"KWD": 1}, places=True, source=True),
    Rules(
        "five days, by declared rules",
        "Pacific/Pago_Pago",
        datetime(2026, 11, 10, 11, tzinfo=UTC),
        datetime(2026, 11, 15, 11, tzinfo=UTC),
        (date(2026, 11, 10), date(2026, 11, 14)),
        tolerance={"ZAR": 2},
        source=True,
        declared=DECLARED,
        cap={"ZAR": 120, "KWD": 3},
    ),
)


@dataclass(frozen=True)
class First:
    """What an operation comes after."""

    state: str = "pending"
    held: bool = False
    permitted: bool = False
    """Somebody has allowed another try of it."""


@dataclass(frozen=True)
class Meant:
    """An operation."""

    accepted: datetime
    amount: int | None = 10_000
    currency: str = "ZAR"
    state: str = "completed"
    held: bool = False
    cancelled: bool = False
    corrected: bool = False
    tried: datetime | None = None
    """When its latest try was claimed."""
    after: tuple[First, ...] = ()
    """What it waits for, and what that waits for."""
    due: datetime | None = None
    """When its turn came, once what it waits for was done."""
    answer: str = "absent"
    """What a check of its own says where nothing is there: absent, unproved, blind."""
    subject: str = ""
    known: int = 0
    """The number of the record that it is known by there, although no record carries its key."""
    says: str | None = ""
    """What its payload says where contents are compared; None where it says nothing of that."""


@dataclass(frozen=True)
class Reversal:
    """The operation that reverses one record: by what it was when it was chosen."""

    amount: int
    currency: str
    state: str = "completed"
    corrected: bool = False


@dataclass(frozen=True)
class There:
    """One record that a destination holds."""

    number: int
    """Its place in the list, and its id; no other record has it."""
    amount: int = 10_000
    currency: str = "ZAR"
    standing: str = "done"
    made: datetime | date | None = None
    trouble: str = ""
    """What of it cannot be read."""
    own: bool = False
    """Its operation knows it as its own."""
    late: bool = False
    """The list does not show it yet; a check of its own does."""
    before: int | None = None
    """It was on an earlier page with this amount, and changed while the list was read."""
    reversal: Reversal | None = None
    payer: str = ""
    says: str = ""
    """What its contents are, where they are not as plain as most are."""


@dataclass(frozen=True)
class Row:
    """One row of the source."""

    number: int
    """Its place in the list."""
    amount: int = 10_000
    currency: str = "ZAR"
    dated: datetime | date | None = None
    cancelled: bool = False
    trouble: str = ""
    """What of it cannot be read: amount, currency, key."""


@dataclass(frozen=True)
class Order:
    """One order: what was meant, what is there, and what the source says of it."""

    name: str
    meant: Meant | None = None
    there: tuple[There, ...] = ()
    carries: str = "key"
    """What its records carry as their reference: its key, the key of a drill, or nothing."""
    source: str = ""
    """What it was made from, where places tell."""
    rows: tuple[Row, ...] = ()

    @property
    def plain(self) -> bool:
        """Say whether its key is made of what it was made from, so that its records are known by that."""
        return self.name == key_from(self.source)


Facts = TypeVar("Facts", Meant, There, Row)


@dataclass(frozen=True)
class World:
    """Some orders, told in a few lines."""

    number: int
    orders: tuple[Order, ...]

    def story(self) -> str:
        """Tell it."""
        lines = [f"world {self.number}"]
        for order in self.orders:
            lines.append(
                f"  {order.name} ({order.carries}): {told(order.meant) if order.meant else 'nobody'}"
            )
            lines += [f"    there: {told(record)}" for record in order.there]
            lines += [f"    source: {told(row)}" for row in order.rows]
        return "\n".join(lines)


def key_from(source: str) -> str:
    """Return the key that is made of a source."""
    return f"order/shop/{source}"


def told(facts: object) -> str:
    """Write the facts that are not as plain as can be."""
    parts = []
    for field in fields(facts):  # type: ignore[arg-type]  # a dataclass of this module
        value = getattr(facts, field.name)
        if value != field.default:
            shown = (
                value.isoformat()
                if isinstance(value, date)
                else told(value)
                if hasattr(value, "state")
                else value
            )
            parts.append(f"{field.name}={shown}")
    return " ".join(parts) or "plain"


def made(number: int, rules: Rules) -> World:
    """Make the world of this number; the same number makes the same world."""
    dice = random.Random(f"{rules.name} {number}")
    places = [number * 100 + place for place in range(1, 60)]
    dice.shuffle(places)
    orders: list[Order] = []
    for name in range(dice.randint(1, 8)):
        order = _order(f"w{number}/{name}", dice, rules=rules, places=places)
        order = _saying(order, dice) if rules.contents else order
        order = replace(order, rows=_rows(order, dice, rules=rules, places=places) if rules.source else ())
        if rules.declared:
            orders += _apart(order, dice, rules=rules)
        else:
            orders += _sourced(order, dice, rules=rules) if rules.places else [order]
    return World(number, tuple(orders))


def _apart(order: Order, dice: random.Random, *, rules: Rules) -> list[Order]:
    """Let the records of an order carry its key no more, but who pays; some of them, or all."""
    if order.carries == "drill" or (order.meant is not None and dice.random() < 0.25):
        return [order]
    payer = f"{order.name.partition('/')[0]} {dice.choice('aab')}"
    shifts = (0, 0, 0, 1, -1, 60, -61, 50)
    there = [
        replace(
            record,
            own=False,
            late=False,
            reversal=None,
            payer=dice.choice((payer, payer, payer, "")),
            amount=record.amount + dice.choice(shifts),
            made=dice.choice((record.made, *_days(rules), *_moments(rules))),
        )
        for record in order.there
    ]
    if order.meant is None:
        return [replace(order, there=tuple(there))]
    meant = replace(order.meant, subject=dice.choice((payer, payer, payer, "")))
    if there and dice.random() < 0.15:
        meant = replace(meant, known=there[0].number)
    carries = dice.choice(("nothing", "key"))
    kept = () if dice.random() < 0.85 else order.there[:1]
    apart = Order(f"{order.name}/apart", None, tuple(there[len(kept) :]), carries)
    return [replace(order, meant=meant, there=kept), apart] if apart.there else [replace(order, meant=meant)]


def _saying(order: Order, dice: random.Random) -> Order:
    """Let a payload say something, or nothing, and records something else."""
    meant = order.meant
    if meant is not None:
        meant = replace(meant, says=dice.choices(("", "paid late", None), (70, 20, 10))[0])
    says = (meant.says or "") if meant is not None else ""
    there = (
        replace(one, says=dice.choices((says, "paid late", "net"), (80, 10, 10))[0]) for one in order.there
    )
    return replace(order, meant=meant, there=tuple(there))


def _sourced(order: Order, dice: random.Random, *, rules: Rules) -> list[Order]:
    """Let the order's records be known by its source; another operation of that may stand beside it."""
    source = order.name.replace("/", "-")
    sourced = replace(order, name=key_from(source), source=source)
    match dice.random():
        case chance if chance < 0.12 and order.meant is not None:
            there = tuple(replace(one, own=False, late=False, reversal=None) for one in order.there)
            return [replace(sourced, name=f"by hand/{source}", there=there)]
        case chance if chance < 0.24:
            return [sourced, Order(f"corrected/{source}", _meant(dice, rules), source=source)]
    return [sourced]


def smaller(world: World) -> Iterator[World]:
    """Yield worlds that are simpler by one thing: an order, a record, or a fact that becomes plain."""
    for place in range(len(world.orders)):
        yield replace(world, orders=world.orders[:place] + world.orders[place + 1 :])
    for place, order in enumerate(world.orders):
        for simpler in _simpler(order):
            yield replace(world, orders=(*world.orders[:place], simpler, *world.orders[place + 1 :]))


def _simpler(order: Order) -> Iterator[Order]:
    if order.meant is not None:
        nobodys = tuple(replace(one, own=False, late=False, reversal=None) for one in order.there)
        yield replace(order, meant=None, there=nobodys)
        yield from (replace(order, meant=meant) for meant in _plainer(order.meant))
    for place, record in enumerate(order.there):
        others = order.there[:place], order.there[place + 1 :]
        yield replace(order, there=(*others[0], *others[1]))
        yield from (replace(order, there=(*others[0], one, *others[1])) for one in _plainer(record))
    for place, row in enumerate(order.rows):
        before, after = order.rows[:place], order.rows[place + 1 :]
        yield replace(order, rows=(*before, *after))
        yield from (replace(order, rows=(*before, one, *after)) for one in _plainer(row))


def _plainer(facts: Facts) -> Iterator[Facts]:
    for field in fields(facts):
        if field.default is not MISSING and getattr(facts, field.name) != field.default:
            plainer = replace(facts, **{field.name: field.default})
            if (plainer.amount is None) == (plainer.currency == ""):
                yield plainer


def _order(name: str, dice: random.Random, *, rules: Rules, places: list[int]) -> Order:
    carries = dice.choices(("key", "nothing", "drill"), (92, 5, 3))[0]
    somebodys = carries == "key" and dice.random() < 0.88
    meant = _meant(dice, rules) if somebodys else None
    count = dice.choices((0, 1, 2, 3, 4), (30, 40, 15, 8, 7))[0] if somebodys else dice.choice((1, 1, 2, 3))
    there = [_there(places.pop(), dice, rules=rules, meant=meant) for _ in range(count)]
    if meant is not None and there and meant.state in ("completed", "uncertain") and dice.random() < 0.7:
        which = dice.randrange(count)
        there[which] = replace(there[which], own=there[which].trouble != "id")
    if meant is not None and meant.state in ("completed", "uncertain") and count > 1:
        there = [record if record.own else _reversed(record, dice) for record in there]
    if meant is None:
        there = [replace(record, late=False) for record in there]
    return Order(name, meant, tuple(there), carries)


def _meant(dice: random.Random, rules: Rules) -> Meant:
    state = dice.choices(("completed", "uncertain", "failed", "pending", "running"), (45, 22, 13, 12, 8))[0]
    accepted = dice.choice(_moments(rules))
    currency = dice.choice(tuple(DECIMALS))
    amount = dice.choice((10_000, 10_000, 1, 0, -10_000, 999_999_999_999, dice.randint(1, 5_000_000)))
    ended = state == "failed" and dice.random() < 0.5
    meant = Meant(
        accepted,
        amount,
        currency,
        state,
        held=state != "running" and dice.random() < 0.2,
        cancelled=ended and dice.random() < 0.5,
        answer=dice.choices(("absent", "unproved", "blind"), (80, 10, 10))[0],
    )
    if dice.random() < 0.08:
        meant = replace(meant, amount=None, currency="")
    if (ended and not meant.cancelled) or (state == "completed" and dice.random() < 0.1):
        meant = replace(meant, corrected=True)
    if state != "pending":
        moments = [moment for moment in _ages(rules) if moment >= accepted]
        meant = replace(meant, tried=dice.choice([accepted, accepted, *moments]))
    elif dice.random() < 0.8:
        meant = _waiting(meant, dice, rules=rules)
    return meant


def _waiting(meant: Meant, dice: random.Random, *, rules: Rules) -> Meant:
    firsts = [First(dice.choice(("pending", "pending", "running", "uncertain", "failed", "completed")))]
    if firsts[0].state == "pending":
        firsts.append(First(dice.choice(("running", "failed", "failed", "completed"))))
    firsts = [replace(one, held=one.state != "running" and dice.random() < 0.2) for one in firsts]
    firsts = [replace(one, permitted=one.state == "failed" and dice.random() < 0.3) for one in firsts]
    due = dice.choice((None, *_ages(rules))) if firsts[0].state == "completed" else None
    return replace(meant, after=tuple(firsts), due=due)


def _ages(rules: Rules) -> list[datetime]:
    """Return instants that lie at both sides of the end of the grace, and now."""
    return [NOW - rules.grace - TICK, NOW - rules.grace, NOW - rules.grace + TICK, NOW]


def _moments(rules: Rules) -> list[datetime]:
    """Return instants inside, outside and at the very ends of the window, none of them after now."""
    edges = [rules.window_from, rules.window_from - TICK, rules.window_to - TICK, rules.window_to]
    inside = rules.window_from + (rules.window_to - rules.window_from) / 3
    ages = [NOW - rules.grace, NOW - rules.grace + TICK]
    return [moment for moment in [*edges, *ages, *[inside] * 8] if moment <= NOW]


def _there(number: int, dice: random.Random, *, rules: Rules, meant: Meant | None) -> There:
    currency = (meant.currency if meant is not None else "") or dice.choice(tuple(DECIMALS))
    if dice.random() < 0.08:
        currency = dice.choice(tuple(DECIMALS))
    amount = meant.amount if meant is not None and meant.amount is not None else 10_000
    trouble = dice.choice(TROUBLES) if dice.random() < 0.08 else ""
    made = dice.choice((None, None, None, *_moments(rules), *_moments(rules), *_days(rules)))
    allowed = (rules.tolerance or {}).get(currency, 0)
    apart: tuple[int, ...] = (0,) * 12 + (
        1,
        -1,
        allowed,
        -allowed,
        allowed + 1,
        -allowed - 1,
        99 * amount,
        -amount,
        -2 * amount,
    )
    if rules.source:
        apart += (allowed, -allowed) * 2
    return There(
        number,
        amount + dice.choice(apart),
        currency,
        dice.choices(STANDINGS, (68, 10, 8, 14))[0],
        made,
        trouble=trouble,
        # What a check finds is readable, and has no day that is no instant.
        late=not trouble and (made is None or isinstance(made, datetime)) and dice.random() < 0.08,
        before=amount + dice.choice((0, 7)) if trouble != "id" and dice.random() < 0.06 else None,
    )


def _rows(order: Order, dice: random.Random, *, rules: Rules, places: list[int]) -> tuple[Row, ...]:
    """Let the source say what was meant, mostly; or nothing, or it twice, or otherwise."""
    count = dice.choices((0, 1, 2, 3), (14, 70, 12, 4))[0] if order.meant else dice.choice((0, 0, 1, 1, 2))
    first = _row(places.pop(), dice, rules=rules, order=order)
    rows = [first, *(_row(places.pop(), dice, rules=rules, order=order) for _ in range(2))]
    if dice.random() < 0.5:
        rows = [first, *(replace(first, number=one.number, dated=one.dated) for one in rows[1:])]
    return tuple(rows[:count])


def _row(number: int, dice: random.Random, *, rules: Rules, order: Order) -> Row:
    meant = order.meant
    known = meant if meant is not None and meant.amount is not None else next(iter(order.there), None)
    amount, currency = (
        (known.amount or 0, known.currency) if known else (10_000, dice.choice(tuple(DECIMALS)))
    )
    if dice.random() < 0.06:
        currency = dice.choice(tuple(DECIMALS))
    allowed = (rules.tolerance or {}).get(currency, 0)
    apart = (0,) * 4 + (1, -1, allowed, -allowed, allowed + 1, -allowed - 1, -2 * amount)
    ages = [NOW - rules.grace, NOW - rules.grace + TICK, (NOW - rules.grace).date()]
    dated = dice.choice((None, *_moments(rules), *_moments(rules), *ages, *_days(rules), NOW.date()))
    return Row(
        number,
        amount + dice.choice(apart),
        currency,
        dated,
        cancelled=dice.random() < 0.12,
        trouble=dice.choice(("amount", "currency", "key")) if dice.random() < 0.06 else "",
    )


def _days(rules: Rules) -> list[date]:
    first, last = rules.days
    return [first, last, first - timedelta(days=1), last + timedelta(days=1)]


def _reversed(record: There, dice: random.Random) -> There:
    """Let an operation of its own reverse it: whole, in part or not yet, however that is listed then."""
    if dice.random() < 0.6:
        return record
    whole, part = record.amount, record.amount // 3
    listed, standing = dice.choice(
        ((whole, "void"), (0, "void"), (part, "void"), (part, "failed"), (part, "done"), (whole, "done"))
    )
    state = dice.choices(("completed", "uncertain"), (85, 15))[0]
    reversal = Reversal(whole, record.currency, state, corrected=dice.random() < 0.1)
    return replace(record, amount=listed, standing=standing, reversal=reversal)


def batches(first: int, count: int, *, rules: Rules, size: int = 25) -> Iterator[Sequence[World]]:
    """Yield so many worlds, some at a time."""
    for start in range(first, first + count, size):
        yield [made(number, rules) for number in range(start, min(start + size, first + count))]
