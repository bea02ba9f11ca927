"""A run's differences as CSV: what page and command show, row by row, for a spreadsheet."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import chain
from typing import Any

from reconcile import findings, reports, reversals, tables
from reconcile.classes import ItemClass
from reconcile.models import Finding, Run
from reconcile.tables import ROWS, About
from reconcile.tying import amount_text

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
)


def csv_of(run: Run, *, author: str) -> Iterator[str]:
    """Yield a finished run's findings as CSV, some hundred rows at a time, in the order of its JSON."""
    rows = findings.stored(run)
    window = f"from {run.window_from.isoformat()} up to {run.window_to.isoformat()}"
    about = About(
        what=f"Differences of run {run.pk}, {run.plan.name}",
        asked=f"{run.plan.operation_type.name} {window}",
        as_of=run.started_at,
        author=author,
        count=rows.count() + len(run.reversed),
        totals={f"unexplained {currency}": amount for currency, amount in run.residual.items()},
        more={"digest": run.digest},
    )
    found = (_row(run, finding) for finding in rows.iterator(ROWS))
    return tables.written(about, COLUMNS, chain(found, map(_reversed, run.reversed)))


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
        "",
        "",
    )


def _row(run: Run, finding: Finding) -> tuple[object, ...]:
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
    )
