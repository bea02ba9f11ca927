"""The tie-out: what the classes hold must add up, for each currency, to totals that were taken another way.

The ledger's side is summed straight from the operations, the source's and the destination's while their
pages came in, record by record. What is left over is unexplained. Currencies are never added together; ""
stands for items without an amount.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Protocol

from django.db.models import Count, Sum

from ledger.models import Operation
from reconcile.classes import ItemClass, is_finding
from reconcile.comparing import LIVE, whole_sets
from reconcile.models import Record, Run
from reconcile.rules import payouts
from reconcile.sums import NOUGHT, SIDES, SOURCE, Line, Side, Totals, read_totals, store_amounts, store_totals

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
{source}) AS held
GROUP BY side, item_class, currency
UNION ALL
SELECT 'items', item_class, CASE WHEN amount IS NULL THEN '' ELSE currency END, count(*),
    coalesce(sum(amount), 0)
FROM {records} WHERE run_id = %(run)s AND item_class IS NOT NULL
GROUP BY 2, 3
"""

OF_THE_SOURCE = """
    UNION ALL
    SELECT 'source', coalesce(i.item_class, s.item_class),
        CASE WHEN s.amount IS NULL THEN '' ELSE s.currency END, s.amount
    FROM {records} AS s
    LEFT JOIN {records} AS i ON i.run_id = %(run)s AND i.id = s.backs_id
    WHERE s.run_id = %(run)s AND s.side = 'source' AND (s.standing = '' OR s.standing = ANY(%(live)s))
        AND coalesce(i.item_class, s.item_class) IS NOT NULL
"""

# What belonged to an open difference of earlier runs, by its operation or by its record's id there; the first
# of several records is the one that is compared. Where what a difference holds was not kept yet, its class
# tells: every one of an operation has the ledger's line in it, but duplicates.
CARRIED_IN = """
WITH carried AS (
    SELECT f.operation_id, f.item_class, f.destination, f.held, f.source, f.meant
    FROM reconcile_finding AS f JOIN reconcile_run AS r ON r.id = f.run_id
    WHERE r.plan_id = %(plan)s AND f.lives AND f.is_open AND f.run_id <> %(run)s
), listed AS (
    SELECT record ->> 'id' AS id
    FROM carried CROSS JOIN LATERAL jsonb_array_elements(destination) WITH ORDINALITY AS d (record, place)
    WHERE (place = 1) <> (item_class = %(duplicate)s) OR meant IS NOT NULL
)
SELECT 'ledger', l.currency, count(*), coalesce(sum(l.amount), 0)
FROM reconcile_record AS l
WHERE l.run_id = %(run)s AND l.side = 'ledger' AND l.operation_id IN (
    SELECT operation_id FROM carried
    WHERE held @? '$[*].ledger.count ? (@ > 0)' OR held IS NULL AND item_class <> %(duplicate)s
    UNION ALL
    SELECT o.id
    FROM carried CROSS JOIN LATERAL jsonb_array_elements(meant) AS one
    JOIN ledger_operation AS o ON o.uid = (one ->> 'id')::uuid
)
GROUP BY 2
UNION ALL
SELECT 'destination', CASE WHEN d.amount IS NULL THEN '' ELSE d.currency END, count(*),
    coalesce(sum(d.amount), 0)
FROM reconcile_record AS d
WHERE d.run_id = %(run)s AND d.side = 'destination' AND (d.standing = '' OR d.standing = ANY(%(live)s))
    AND d.external_id <> '' AND d.external_id IN (SELECT id FROM listed)
GROUP BY 2
UNION ALL
SELECT 'source', CASE WHEN s.amount IS NULL THEN '' ELSE s.currency END, count(*), coalesce(sum(s.amount), 0)
FROM reconcile_record AS s
WHERE s.run_id = %(run)s AND s.side = 'source' AND (s.standing = '' OR s.standing = ANY(%(live)s))
    AND s.reference <> '' AND s.reference IN (
        SELECT source ->> 'key' FROM carried WHERE held @? '$[*].source.count ? (@ > 0)'
    )
GROUP BY 2
"""

COUNT_PAIRS = """
SELECT count(DISTINCT d.reference)
FROM {records} AS d
WHERE d.run_id = %(run)s AND d.side = 'destination' AND d.reference <> '' AND EXISTS (
    SELECT FROM {records} AS l
    WHERE l.run_id = %(run)s AND l.side = 'ledger' AND l.reference = d.reference
)
"""

# The rows of one operation, or of one key, are one item with what they are of, and as many more as there are.
COUNT_ROWS = """
SELECT count(*) FROM (
    SELECT min(s.operation_id) AS operation_id, min(s.reference) AS reference
    FROM reconcile_record AS s
    WHERE s.run_id = %(run)s AND s.side = 'source' AND s.reference <> ''
    GROUP BY coalesce(s.operation_id::text, 'of ' || s.reference)
) AS told
LEFT JOIN reconcile_record AS l
    ON l.run_id = %(run)s AND l.side = 'ledger' AND l.operation_id = told.operation_id
LEFT JOIN reconcile_record AS d
    ON d.run_id = %(run)s AND d.side = 'destination' AND d.item_class = %(unexpected)s
    AND d.operation_id IS NULL AND told.operation_id IS NULL AND d.reference = told.reference
WHERE l.id IS NOT NULL OR d.id IS NOT NULL
"""


@dataclass(frozen=True)
class Tie:
    """The classes beside the totals, and what is left over of each."""

    lines: list[Line]
    ledger: Totals
    destination: Totals
    items: int
    """The items counted without their classes."""
    opening: Mapping[str, Totals] = field(default_factory=dict)
    """What of each side was carried in: open when the run began."""
    source: Totals | None = None
    """What should exist, where the plan says who tells."""
    payouts: Mapping[str, Decimal] = field(default_factory=dict)
    """What of payouts their parts do not come to, by currency."""
    unexplained_payouts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def sides(self) -> dict[str, Totals]:
        """Every side with its totals."""
        both = {"ledger": self.ledger, "destination": self.destination}
        return both if self.source is None else {SOURCE: self.source, **both}

    @property
    def currencies(self) -> list[str]:
        """Every currency that anything is in; what has no amount comes last."""
        found = {line.currency for line in self.lines}.union(*self.sides.values())
        return sorted(found, key=lambda currency: (currency == "", currency))

    def residual(self, currency: str) -> Decimal:
        """What nothing explains in one currency: the largest of all sides, and what payouts lack."""
        lacking = self.payouts.get(currency, NOUGHT)
        return max(abs(self._left(currency, name).amount) for name in self.sides) + lacking

    @property
    def unexplained_items(self) -> int:
        """How many things no class explains, on whichever side there are more."""
        left = [abs(self._left(currency, side).count) for currency in self.currencies for side in self.sides]
        return max([abs(self.items - sum(line.items for line in self.lines)), *left])

    def _left(self, currency: str, name: str) -> Side:
        counted = self.sides[name].get(currency, Side())
        held: list[Side] = [getattr(line, name) or Side() for line in self.lines if line.currency == currency]
        return Side(
            counted.count - sum(side.count for side in held),
            counted.amount - sum((side.amount for side in held), NOUGHT),
        )

    def _new(self, name: str) -> Totals:
        """Return what of a side was not carried in."""
        counted = self.sides[name]
        opening = {currency: self.opening[name].get(currency, Side()) for currency in counted}
        return {
            currency: Side(whole.count - opening[currency].count, whole.amount - opening[currency].amount)
            for currency, whole in counted.items()
        }

    @property
    def ties(self) -> bool:
        """Say whether nothing at all is left over."""
        return not self.unexplained_items and not any(self.residual(currency) for currency in self.currencies)

    def stored(self) -> dict[str, Any]:
        """Return it as the run keeps it; amounts are text."""
        return {
            "lines": [line.stored() for line in self.lines],
            "opening": {name: store_totals(totals) for name, totals in self.opening.items()},
            "new": {name: store_totals(self._new(name)) for name in self.opening},
            **{name: store_totals(totals) for name, totals in self.sides.items()},
            "currencies": self.currencies,
            "items": self.items,
            "unexplained_items": self.unexplained_items,
            "ties": self.ties,
            **({"payouts": self.unexplained_payouts} if self.unexplained_payouts else {}),
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
    counted = {name: read_totals(run.counted[name]) for name in run_sides(run)}
    found = tie_lines(
        run.pk,
        counted["ledger"],
        counted["destination"],
        records=_records(run),
        source=counted.get(SOURCE),
    )
    found = replace(found, opening=_carried_in(run))
    return _with_payouts(run, found) if run.plan.payout is not None else found


def _with_payouts(run: Run, found: Tie) -> Tie:
    """Add what payouts do not explain: it is no difference of either side, and nobody signs beside it."""
    with whole_sets() as cursor:
        cursor.execute(payouts.UNEXPLAINED, {"run": run.pk})
        lacking = {currency: amount for currency, amount in cursor.fetchall() if amount}
    return replace(found, payouts=lacking, unexplained_payouts=list(payouts.unexplained(run)))


def run_sides(run: Run) -> tuple[str, ...]:
    """Return the sides that a run has read."""
    return (SOURCE, *SIDES) if run.has_source else SIDES


def _records(run: Run) -> int:
    """Count what is not the ledger's and is an item of its own or beside an operation."""
    if not run.has_source:
        return run.records
    values: dict[str, Any] = {"run": run.pk, "unexpected": ItemClass.UNEXPECTED.value}
    with whole_sets() as cursor:
        cursor.execute(COUNT_ROWS, values)
        beside = int(cursor.fetchone()[0])
    rows: int = run.sides[SOURCE]["rows"]
    return run.records + rows - beside


def _carried_in(run: Run) -> dict[str, Totals]:
    """Count on each side what was an open difference of the plan before this run has stored its own."""
    opening: dict[str, Totals] = {name: {} for name in run_sides(run)}
    values: dict[str, Any] = {
        "run": run.pk,
        "plan": run.plan_id,
        "live": LIVE,
        "duplicate": ItemClass.DUPLICATE.value,
    }
    with whole_sets() as cursor:
        cursor.execute(CARRIED_IN, values)
        for side, currency, count, amount in cursor.fetchall():
            if side in opening:
                opening[side][currency] = Side(count, amount)
    return opening


def held(
    run: Run, item_class: str, items: Iterable[tuple[Record, Record | None, Record | None]]
) -> list[dict[str, Any]]:
    """Return what items of one class hold on each side, by currency, as `SUM_UP` counts them.

    Each is a line with a class, the record that it is compared with, where that is an operation's, and the
    source's row of it.
    """
    lines: dict[str, Line] = {}

    def of(line: Record) -> Line:
        currency = line.currency if line.amount is not None else ""
        return lines.setdefault(currency, Line.empty(item_class, currency, source=run.has_source))

    for item, pair, row in items:
        of(item).items += 1
        for line in filter(None, (item, pair, row)):
            if line.standing in ("", *LIVE):
                side: Side = getattr(of(line), line.side)
                side.add(line.amount)
    return [lines[currency].stored() for currency in sorted(lines)]


def tie_lines(
    run_id: int,
    ledger: Totals,
    destination: Totals,
    *,
    records: int,
    source: Totals | None = None,
    table: str = "reconcile_record",
) -> Tie:
    """Set classified lines beside totals that were taken another way.

    `records`: those of the destination, and what of a source is beside none of both.
    """
    with whole_sets() as cursor:
        cursor.execute(COUNT_PAIRS.format(records=table), {"run": run_id})
        pairs = int(cursor.fetchone()[0])
    items = sum(side.count for side in ledger.values()) + records - pairs
    lines = list(_lines(run_id, table, source=source is not None))
    return Tie(lines, ledger, destination, items, source=source)


def _lines(run_id: int, table: str, *, source: bool) -> Iterable[Line]:
    lines: dict[tuple[str, str], Line] = {}
    rows = OF_THE_SOURCE.format(records=table) if source else ""
    with whole_sets() as cursor:
        cursor.execute(SUM_UP.format(records=table, source=rows), {"run": run_id, "live": LIVE})
        for side, item_class, currency, count, amount in cursor.fetchall():
            line = lines.setdefault((item_class, currency), Line.empty(item_class, currency, source=source))
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
        for name, side_totals in tie.sides.items()
    } | {"items": tie.items, "unexplained_items": tie.unexplained_items}


def residuals(tie: Tie) -> dict[str, str]:
    """Return what is unexplained in every currency, as the outside reads it."""
    return store_amounts({currency: tie.residual(currency) for currency in tie.currencies if currency})
