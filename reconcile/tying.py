"""The tie-out: what the classes hold must add up, for each currency, to totals that were taken another way.

The ledger's side is summed straight from the operations, the destination's side while its pages came in,
record by record. What is left over is unexplained. Currencies are never added together; "" stands for items
without an amount.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from django.db.models import Count, Sum

from ledger.models import Operation
from ledger.rules.money import Money, text
from reconcile.classes import ItemClass, is_finding
from reconcile.comparing import LIVE, whole_sets
from reconcile.models import Run

NOUGHT = Decimal(0)

# An item of the classes: what it holds on either side. Reversed and declined records stand for nothing there.
SUM_UP = """
SELECT side, item_class, currency, count(*) AS items, coalesce(sum(amount), 0) AS amount
FROM (
    SELECT 'ledger' AS side, l.item_class, l.currency, l.amount
    FROM {records} AS l WHERE l.run_id = %(run)s AND l.side = 'ledger' AND l.item_class IS NOT NULL
    UNION ALL
    SELECT 'destination', coalesce(l.item_class, d.item_class),
        CASE WHEN d.amount IS NULL THEN '' ELSE d.currency END, d.amount
    FROM {records} AS d
    LEFT JOIN {records} AS l ON l.pair_id = d.id
    WHERE d.run_id = %(run)s AND d.side = 'destination' AND (d.standing = '' OR d.standing = ANY(%(live)s))
        AND coalesce(l.item_class, d.item_class) IS NOT NULL
) AS held
GROUP BY side, item_class, currency
UNION ALL
SELECT 'items', item_class, CASE WHEN amount IS NULL THEN '' ELSE currency END, count(*),
    coalesce(sum(amount), 0)
FROM {records} WHERE run_id = %(run)s AND item_class IS NOT NULL
GROUP BY 2, 3
"""

COUNT_PAIRS = """
SELECT count(DISTINCT d.reference)
FROM {records} AS d
WHERE d.run_id = %(run)s AND d.side = 'destination' AND d.reference <> '' AND EXISTS (
    SELECT FROM {records} AS l
    WHERE l.run_id = %(run)s AND l.side = 'ledger' AND l.reference = d.reference
)
"""


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


@dataclass(frozen=True)
class Tie:
    """The classes beside the totals, and what is left over of each."""

    lines: list[Line]
    ledger: Totals
    destination: Totals
    items: int
    """The items counted without their classes."""

    @property
    def currencies(self) -> list[str]:
        """Every currency that anything is in; what has no amount comes last."""
        found = {line.currency for line in self.lines} | self.ledger.keys() | self.destination.keys()
        return sorted(found, key=lambda currency: (currency == "", currency))

    def residual(self, currency: str) -> Decimal:
        """What no class explains in one currency: the larger of both sides, which never offset."""
        sides = (self._left(currency, "ledger"), self._left(currency, "destination"))
        return max((abs(side.amount) for side in sides), default=NOUGHT)

    @property
    def unexplained_items(self) -> int:
        """How many things no class explains, on whichever side there are more."""
        left = [
            abs(self._left(currency, side).count)
            for currency in self.currencies
            for side in ("ledger", "destination")
        ]
        return max([abs(self.items - sum(line.items for line in self.lines)), *left])

    def _left(self, currency: str, name: str) -> Side:
        counted: Side = (self.ledger if name == "ledger" else self.destination).get(currency, Side())
        held: list[Side] = [getattr(line, name) for line in self.lines if line.currency == currency]
        return Side(
            counted.count - sum(side.count for side in held),
            counted.amount - sum((side.amount for side in held), NOUGHT),
        )

    @property
    def ties(self) -> bool:
        """Say whether nothing at all is left over."""
        return not self.unexplained_items and not any(self.residual(currency) for currency in self.currencies)

    def stored(self) -> dict[str, Any]:
        """Return it as the run keeps it; amounts are text."""
        return {
            "lines": [
                {
                    "class": line.item_class,
                    "currency": line.currency,
                    "items": line.items,
                    "ledger": store(line.ledger, line.currency),
                    "destination": store(line.destination, line.currency),
                }
                for line in self.lines
            ],
            "ledger": store_totals(self.ledger),
            "destination": store_totals(self.destination),
            "currencies": self.currencies,
            "items": self.items,
            "unexplained_items": self.unexplained_items,
            "ties": self.ties,
        }


def count_ledger(run: Run) -> Totals:
    """Sum the operations of the window, straight from where they are kept."""
    window = Operation.objects.filter(
        operation_type=run.plan.operation_type_id,
        accepted_at__gte=run.window_from,
        accepted_at__lt=run.window_to,
    )
    rows = window.order_by().values_list("currency").annotate(Count("pk"), Sum("amount"))
    return {currency: Side(count, amount or NOUGHT) for currency, count, amount in rows}


def tie(run: Run) -> Tie:
    """Set the classes of a run beside the totals that were taken another way."""
    ledger, destination = read_totals(run.counted["ledger"]), read_totals(run.counted["destination"])
    return tie_lines(run.pk, ledger, destination, records=run.records)


def tie_lines(
    run_id: int, ledger: Totals, destination: Totals, *, records: int, table: str = "reconcile_record"
) -> Tie:
    """Set classified lines beside totals that were taken another way; `records`: those of the destination."""
    with whole_sets() as cursor:
        cursor.execute(COUNT_PAIRS.format(records=table), {"run": run_id})
        pairs = int(cursor.fetchone()[0])
    items = sum(side.count for side in ledger.values()) + records - pairs
    return Tie(list(_lines(run_id, table)), ledger, destination, items)


def _lines(run_id: int, table: str) -> Iterable[Line]:
    lines: dict[tuple[str, str], Line] = {}
    with whole_sets() as cursor:
        cursor.execute(SUM_UP.format(records=table), {"run": run_id, "live": LIVE})
        for side, item_class, currency, count, amount in cursor.fetchall():
            line = lines.setdefault((item_class, currency), Line(item_class, currency))
            if side == "items":
                line.items, line.amount = count, amount
            else:
                setattr(line, side, Side(count, amount))
    order = {item_class: place for place, item_class in enumerate(ItemClass)}
    return sorted(lines.values(), key=lambda line: (order[ItemClass(line.item_class)], line.currency))


class Found(Protocol):
    """What somebody has to explain, as it is counted."""

    @property
    def item_class(self) -> str:
        """Return its class."""

    @property
    def amount(self) -> Decimal | None:
        """Return the difference, the surplus or the item's own amount."""

    @property
    def currency(self) -> str:
        """Return the amount's currency."""


def classes(tie: Tie, findings: Iterable[Found]) -> dict[str, dict[str, Any]]:
    """Return every class with its count and its amounts, as the outside reads them.

    Where there are findings, theirs count: the difference, the surplus or the item's own amount.
    """
    counts: dict[str, int] = dict.fromkeys(ItemClass, 0)
    amounts: dict[str, dict[str, Decimal]] = {item_class: {} for item_class in ItemClass}
    for line in tie.lines:
        counts[line.item_class] += line.items
        if line.currency and line.items and not is_finding(ItemClass(line.item_class)):
            _add(amounts[line.item_class], line.currency, line.amount)
    for finding in findings:
        if finding.amount is not None:
            _add(amounts[finding.item_class], finding.currency, finding.amount)
    return {str(name): {"count": counts[name], "amounts": store_amounts(amounts[name])} for name in ItemClass}


def _add(amounts: dict[str, Decimal], currency: str, amount: Decimal) -> None:
    amounts[currency] = amounts.get(currency, NOUGHT) + amount


def totals(tie: Tie) -> dict[str, Any]:
    """Return the totals of both sides as the outside reads them."""
    return {
        name: {
            "count": sum(side.count for side in side_totals.values()),
            "amounts": store_amounts({cur: side.amount for cur, side in side_totals.items() if cur}),
        }
        for name, side_totals in (("ledger", tie.ledger), ("destination", tie.destination))
    } | {"items": tie.items, "unexplained_items": tie.unexplained_items}


def residuals(tie: Tie) -> dict[str, str]:
    """Return what is unexplained in every currency, as the outside reads it."""
    return store_amounts({currency: tie.residual(currency) for currency in tie.currencies if currency})


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
