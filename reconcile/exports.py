"""A run's differences as a table: what page and command show, row by row, for a spreadsheet."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from reconcile import findings, provenance, reports, reversals, tables, tie_sheets
from reconcile.classes import ItemClass
from reconcile.differences import sheets, waivers
from reconcile.differences.models import Decision
from reconcile.models import Finding, Run
from reconcile.sums import SIDES, SOURCE, amount_text, sides_of
from reconcile.tables import ROWS, About, Table

COLUMNS = (
    "class",
    "reference",
    "operation",
    "state",
    "items",
    "amount",
    "currency",
    "destination_ids",
    "why",
    "first_seen",
    "open",
    "owner",
    "due",
    "waived_by",
    "waived_until",
    "came_late",
    "source",
    "ledger",
    "destination",
)


def table(run: Run, *, author: str, now: datetime) -> Table:
    """Return a finished run's findings as a table, read some hundred at a time, in the order of its JSON.

    `now`: as of when it is told what is waived.
    """
    rows = findings.stored(run)
    waived = waivers.waived(run, now)
    window = f"from {run.window_from.isoformat()} up to {run.window_to.isoformat()}"
    about = About(
        what=f"Differences of run {run.pk}, {run.plan.name}",
        asked=f"{run.plan.operation_type.name} {window}",
        as_of=run.started_at,
        author=author,
        count=rows.count() + len(run.reversed),
        totals={f"unexplained {currency}": amount for currency, amount in run.residual.items()},
        more={
            "open": rows.filter(is_open=True).count(),
            **dict(provenance.lines(provenance.of(run, author=author, now=now))),
        },
        figures=dict(tie_lines(reports.tie_out(run, waived), run.tie["currencies"])),
    )
    by = {finding.pk: waiver for finding, waiver in waived}
    found = (_row(run, finding, by.get(finding.pk)) for finding in rows.iterator(ROWS))
    sheet = tie_sheets.sheet(run, waived)
    there = run.plan.operation_type.destination.title
    return Table(
        about,
        COLUMNS,
        chain(found, map(_reversed, run.reversed)),
        before=[sheet],
        words=lambda row: (ItemClass(str(row[0])).title(there), *row[1:]),
        heads=reports.sides_named(run),
    )


def document(run: Run, *, author: str, now: datetime) -> Iterator[str]:
    """Yield what `reconcile --json` prints of a finished run, some hundred findings at a time."""
    found = findings.stored(run).iterator(ROWS)
    origin = provenance.of(run, author=author, now=now)
    head = reports.head(run, waivers.waived(run, now), origin)
    return tables.joined(head, map(reports.finding_shown, found))


def tie_lines(tie: Mapping[str, Any], currencies: Iterable[str]) -> Iterator[tuple[str, object]]:
    """Yield the tie-out as names and figures: "tie-out ZAR matched, ledger", 1340.00."""
    for currency in currencies:
        name = f"tie-out {currency or 'without amount'}"
        for line in (*tie["lines"], *tie["waived"]):
            if line["currency"] == currency:
                yield f"{name} {line['class']}, items", line["items"]
                for side in sides_of(tie):
                    yield f"{name} {line['class']}, {side}", _figure(line[side], currency)
        for what, totals in (*((one, tie[one]) for one in reports.BEFORE), ("total", tie)):
            for side in sides_of(tie):
                held = totals.get(side, {}).get(currency)
                if held is not None:
                    yield f"{name} {what}, {side}", _figure(held, currency)


def _figure(held: Mapping[str, Any], currency: str) -> object:
    return Decimal(held["amount"]) if currency else held["count"]


def _reversed(told: Mapping[str, Any]) -> tuple[object, ...]:
    """Return a surplus that was reversed: nothing counts; what is left is a difference of its own."""
    ledger = told["ledger"]
    return (
        ItemClass.DUPLICATE.value,
        told["reference"],
        ledger["id"],
        ledger["state"],
        told["items"],
        Decimal(amount_text(Decimal(0), told["currency"])),
        told["currency"],
        " ".join(record["id"] for record in told["records"]),
        reversals.words(told),
        "",
        False,
        *[""] * 5,
        *[None] * 3,
    )


def _row(run: Run, finding: Finding, waiver: Decision | None) -> tuple[object, ...]:
    case, operation = finding.case, finding.operation
    return (
        finding.item_class,
        finding.reference,
        "" if operation is None else str(operation.uid),
        finding.state,
        finding.items,
        None if finding.amount is None else Decimal(amount_text(finding.amount, finding.currency)),
        finding.currency,
        " ".join(record["id"] for record in finding.destination),
        reports.why(finding),
        finding.first_seen_at,
        finding.is_open,
        case.owner if case else run.plan.operation_type.owner,
        case.due_at if case else "",
        waiver.maker if waiver else "",
        waiver.until if waiver else "",
        finding.came_late,
        *(sheets.held(finding, side) for side in (SOURCE, *SIDES)),
    )
