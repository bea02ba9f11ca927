"""How old what is open is: by legal entity, class and currency, counted and in amounts; outside any filter.

What is open here is every difference that lives, of whatever run: one that no later run has looked at again
is open still. Its age is counted in whole days since it was first seen.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from django.db.models import Case, Count, DateTimeField, F, Func, IntegerField, Sum, Value, When
from django.db.models.functions import Abs, Coalesce

from ledger.rules import money
from reconcile.classes import ItemClass
from reconcile.displaying import Display
from reconcile.models import Finding, FindingQuerySet
from reconcile.sums import NOUGHT, amount_text
from reconcile.tables import About, Table

BUCKETS = ((0, "0–1"), (2, "2–7"), (8, "8–30"), (31, "31–90"), (91, "over 90"))
"""From how many whole days on, and how that is written."""
ENTITY = "run__plan__operation_type__destination__entity"
TENTH = Decimal("0.1")
SCOPE = "every open difference, of whatever run and under whatever filter, by whole days since first seen"


class Days(Func):
    """How many whole days there are between two instants, the later one first; none below nought."""

    template = "greatest(0, floor(extract(epoch FROM %(expressions)s) / 86400))::integer"
    arg_joiner = " - "
    output_field = IntegerField()


def days(at: datetime) -> Days:
    """Return the age of a difference at an instant, for the database to compute."""
    return Days(Value(at, DateTimeField()), F("first_seen_at"))


def bucket() -> Case:
    """Return the place among BUCKETS of an age that is annotated as `days`, for the database to compute."""
    known = [
        When(days__gte=start, then=Value(place)) for place, (start, _) in reversed(list(enumerate(BUCKETS)))
    ]
    return Case(*known, default=Value(0))


def still() -> FindingQuerySet:
    """Return every open difference that who asks may see."""
    return Finding.objects.filter(lives=True, is_open=True)


@dataclass(frozen=True)
class Cell:
    """What is open of one age: how many differences, and how much."""

    count: int = 0
    amount: Decimal = NOUGHT

    def __add__(self, other: "Cell") -> "Cell":
        """Add another one up."""
        return Cell(self.count + other.count, self.amount + other.amount)


@dataclass(frozen=True)
class Aged:
    """What is open of one entity and class, or of several, in one currency ("" without an amount), by age."""

    currency: str
    cells: tuple[Cell, ...]
    """As BUCKETS has them."""
    weight: Decimal
    """Each amount times its days, added up."""
    entity: str = ""
    item_class: str = ""

    @property
    def whole(self) -> Cell:
        """All ages together."""
        return sum(self.cells, Cell())

    @property
    def days(self) -> Decimal | None:
        """The age in days weighed by value, to a tenth; None where there is no amount to weigh by."""
        amount = self.whole.amount
        return (self.weight / amount).quantize(TENTH, ROUND_HALF_EVEN) if amount else None


def together(currency: str, rows: Iterable[Aged], **named: str) -> Aged:
    """Add up rows of one currency."""
    rows = list(rows)
    cells = [sum((row.cells[place] for row in rows), Cell()) for place in range(len(BUCKETS))]
    return Aged(currency, tuple(cells), sum((row.weight for row in rows), NOUGHT), **named)


@dataclass(frozen=True)
class Ageing:
    """All that is open by age, as of an instant."""

    rows: list[Aged]
    """By entity, class in the order of the classes, and currency."""
    at: datetime

    @property
    def count(self) -> int:
        """How many differences are open."""
        return sum(row.whole.count for row in self.rows)

    @property
    def currencies(self) -> list[str]:
        """The currencies in their order; the last is "", where something has no amount."""
        return sorted({row.currency for row in self.rows}, key=lambda one: (not one, one))

    def of(self, currency: str) -> Aged:
        """Return all of one currency."""
        return together(currency, (row for row in self.rows if row.currency == currency))


def read(at: datetime, found: FindingQuerySet | None = None) -> Ageing:
    """Add up what is open, or what of it was `found`, as of an instant; one query, however much there is."""
    asked = (still() if found is None else found).order_by().annotate(days=days(at))
    rows: Any = asked.values_list(ENTITY, "item_class", "currency", bucket()).annotate(
        count=Count("pk"),
        amount_open=Coalesce(Sum(Abs("amount")), NOUGHT),
        weight=Coalesce(Sum(Abs("amount") * F("days")), NOUGHT),
    )
    held: dict[tuple[str, str, str], dict[int, tuple[Cell, Decimal]]] = {}
    for entity, item_class, currency, place, count, amount, weight in rows:
        held.setdefault((entity, item_class, currency), {})[place] = Cell(count, amount), weight
    order = {str(one): place for place, one in enumerate(ItemClass)}
    named = sorted(held.items(), key=lambda one: (one[0][0], order[one[0][1]], not one[0][2], one[0][2]))
    return Ageing([_aged(*of, by_age) for of, by_age in named], at)


def _aged(entity: str, item_class: str, currency: str, by_age: Mapping[int, tuple[Cell, Decimal]]) -> Aged:
    nothing = Cell(), NOUGHT
    parts = [by_age.get(place, nothing) for place in range(len(BUCKETS))]
    weight = sum((weight for _, weight in parts), NOUGHT)
    return Aged(currency, tuple(cell for cell, _ in parts), weight, entity=entity, item_class=item_class)


def at_rate(display: Display | None, amount: Decimal, currency: str) -> Decimal | None:
    """Return what an amount comes to in the display's currency, in its decimals; None without a rate."""
    if display is None or not currency:
        return None
    rate = "1" if currency == display.currency else display.rates.get(currency)
    if rate is None:
        return None
    places = Decimal(1).scaleb(-money.decimals(display.currency))
    return (amount * Decimal(rate)).quantize(places, ROUND_HALF_EVEN)


def rates_named(display: Display | None, currencies: Iterable[str]) -> str:
    """Say by which rates, of which day and whose, amounts of these currencies are shown in another one."""
    if display is None:
        return "No display rates are set."
    asked = [one for one in currencies if one and one != display.currency]
    told = ", ".join(
        f"1\u00a0{one} = {display.rates[one]}\u00a0{display.currency}"
        for one in asked
        if one in display.rates
    )
    bare = [one for one in asked if one not in display.rates]
    day = f"{display.as_of.day}\u00a0{display.as_of:%b\u00a0%Y}"
    said = f"Display rates of {day}, {display.source}{f': {told}' if told else ''}."
    return f"{said} Without a rate, and in no such sum: {', '.join(bare)}." if bare else said


def title_of(item_class: str) -> str:
    """Name a class where several destinations are told of at once."""
    return ItemClass(item_class).title("the destination")


def table(ageing: Ageing, display: Display | None, *, author: str) -> Table:
    """Return the ageing as a table, for a spreadsheet."""
    about = About(
        what="Age of open differences",
        asked=SCOPE,
        as_of=ageing.at,
        author=author,
        count=ageing.count,
        totals={
            f"open {currency}": amount_text(ageing.of(currency).whole.amount, currency)
            for currency in ageing.currencies
            if currency
        },
        more={"display rates": rates_named(display, ageing.currencies)},
    )
    return Table(about, columns(display), lines(ageing, display))


def columns(display: Display | None) -> list[str]:
    """Return the heads of the table."""
    ages = [f"{days} days, {what}" for _, days in BUCKETS for what in ("count", "amount")]
    rated = [f"At display rates, {display.currency}"] if display else []
    return ["Entity", "Class", "Currency", *ages, "Count", "Amount", "Age in days, by value", *rated]


def lines(ageing: Ageing, display: Display | None) -> Iterator[tuple[object, ...]]:
    """Yield a row for each entity, class and currency, and then one for all of a currency."""
    for row in ageing.rows:
        yield _line(row, (row.entity, title_of(row.item_class)), display)
    for currency in ageing.currencies:
        yield _line(ageing.of(currency), ("All", "All"), display)


def _line(row: Aged, named: tuple[str, str], display: Display | None) -> tuple[object, ...]:
    def exact(cell: Cell) -> Decimal | None:
        return Decimal(amount_text(cell.amount, row.currency)) if row.currency else None

    ages = [value for cell in row.cells for value in (cell.count, exact(cell))]
    rated = [at_rate(display, row.whole.amount, row.currency)] if display else []
    return (*named, row.currency, *ages, row.whole.count, exact(row.whole), row.days, *rated)
