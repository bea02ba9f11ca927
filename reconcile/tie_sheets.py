"""A run's tie-out as a sheet: classes by side, each currency by itself, as on its page, in numbers."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.db.models import Sum

from reconcile import reports
from reconcile.classes import ItemClass
from reconcile.differences import waivers
from reconcile.models import Run
from reconcile.sums import amount_text, sides_of
from reconcile.workbooks import Sheet

NAME = "Tie-out"
NOTHING: Mapping[str, Any] = {"count": 0, "amount": "0"}
Row = tuple[object, ...]


def sheet(run: Run, waived: waivers.Waived) -> Sheet:
    """Return the tie-out of a finished run; what has no amount is counted in items."""
    tie, named = reports.tie_out(run, waived), reports.sides_named(run)
    columns = ("Currency", "Class", "Items", "Open", *named.values(), "Difference")
    still = _still(run, waived)
    rows = (row for currency in run.tie["currencies"] for row in _rows(run, tie, still, currency))
    return Sheet(NAME, columns, rows)


def _still(run: Run, waived: waivers.Waived) -> Counter[tuple[str, str]]:
    """Count the items that are open, by class and currency; those that are waived stand apart."""
    held = run.findings.filter(is_open=True).order_by().values_list("item_class", "currency")
    still = Counter({(name, currency): items for name, currency, items in held.annotate(Sum("items"))})
    for finding in (one for one, _ in waived if one.held):
        still[finding.item_class, finding.currency] -= finding.items
        still[waivers.WAIVED, finding.currency] += finding.items
    return still


def _rows(
    run: Run, tie: Mapping[str, Any], still: Mapping[tuple[str, str], int], currency: str
) -> Iterator[Row]:
    there, sides = run.plan.operation_type.destination.title, sides_of(tie)
    lines = [line for line in (*tie["lines"], *tie["waived"]) if line["currency"] == currency]
    for line in lines:
        name = line["class"]
        title = reports.WAIVED if name == waivers.WAIVED else ItemClass(name).title(there)
        told = (title, line["items"], still.get((name, currency), 0))
        yield _row(currency, told, [_figure(line[side], currency) for side in sides])
    sums = [sum((_figure(line[side], currency) for line in lines), Decimal(0)) for side in sides]
    open_ = sum(count for (_, its), count in still.items() if its == currency)
    yield _row(currency, ("All classes", sum(line["items"] for line in lines), open_), sums)
    if any(tie["opening"].get(side, {}).get(currency) for side in sides):
        for name, title in reports.BEFORE.items():
            before = [_figure(tie[name].get(side, {}).get(currency, NOTHING), currency) for side in sides]
            yield _row(currency, (title, None, None), before)
    counted = [_figure(tie[side].get(currency, NOTHING), currency) for side in sides]
    yield _row(currency, ("Counted another way", None, None), counted)
    apart = [abs(one - other) for one, other in zip(sums, counted, strict=True)]
    yield (_named(currency), "Unexplained", None, None, *(_exact(one, currency) for one in apart), None)


def _row(currency: str, told: Row, figures: Sequence[Decimal]) -> Row:
    """Put figures behind a title, and what the destination holds less what the first side has."""
    shown = [_exact(one, currency) for one in (*figures, figures[-1] - figures[0])]
    return (_named(currency), *told, *shown)


def _named(currency: str) -> str:
    return currency or "No amount, in items"


def _figure(held: Mapping[str, Any], currency: str) -> Decimal:
    return Decimal(held["amount"] if currency else held["count"])


def _exact(figure: Decimal, currency: str) -> Decimal | int:
    """Return it with its currency's decimals; a count as one."""
    return Decimal(amount_text(figure, currency)) if currency else int(figure)
