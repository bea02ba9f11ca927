"""A run's differences as CSV: what page and command show, row by row, for a spreadsheet (RFC 4180).

Text is quoted, references and ids too; numbers are not. A spreadsheet would take text that begins like a
formula for one, so such text has an apostrophe before it; a negative number is a number.
"""

import csv
from collections.abc import Iterator, Sequence
from decimal import Decimal
from io import StringIO
from itertools import islice

from reconcile import findings, reports
from reconcile.models import Finding, Run
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
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
ROWS = 500
"""How many rows are read and sent at a time."""
MARK = "\ufeff"
"""Without it, spreadsheets take UTF-8 for the code page of the machine."""


def csv_of(run: Run) -> Iterator[str]:
    """Yield a finished run's findings as CSV, some hundred rows at a time, in the order of its JSON."""
    yield MARK + _written([COLUMNS])
    rows = findings.stored(run).iterator(ROWS)
    while part := [_row(run, finding) for finding in islice(rows, ROWS)]:
        yield _written(part)


def _row(run: Run, finding: Finding) -> tuple[object, ...]:
    case, operation = finding.case, finding.operation
    return (
        finding.item_class,
        guarded(finding.reference),
        "" if operation is None else str(operation.uid),
        finding.state,
        finding.items,
        None if finding.amount is None else Decimal(amount_text(finding.amount, finding.currency)),
        finding.currency,
        guarded(" ".join(record["id"] for record in finding.destination)),
        guarded(reports.why(finding)),
        finding.first_seen_at.isoformat(timespec="seconds"),
        "yes" if finding.is_open else "no",
        guarded(case.owner if case else run.plan.operation_type.owner),
        case.due_at.isoformat(timespec="seconds") if case else "",
    )


def guarded(text: str) -> str:
    """Return text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _written(rows: Sequence[Sequence[object]]) -> str:
    written = StringIO()
    csv.writer(written, quoting=csv.QUOTE_NONNUMERIC).writerows(rows)
    return written.getvalue()
