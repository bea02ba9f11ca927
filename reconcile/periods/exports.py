"""A period's report as files: the one snapshot, row by row, each form beginning with where it comes from."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from reconcile import exports, provenance
from reconcile.models import PeriodReport
from reconcile.tables import About, Table

COLUMNS = (
    "class",
    "reference",
    "operation",
    "state",
    "amount",
    "currency",
    "destination_ids",
    "why",
)


def table(report: PeriodReport, *, author: str, now: datetime) -> Table:
    """Return what was open at the cut-off as a table; its head has the tie-out and where both come from."""
    told, period = report.document, report.period
    tie = told["tie_out"] | {"waived": [], "opening": {}, "new": {}}
    return Table(
        About(
            what=f"{period.title} of {period.plan.name}, as of its cut-off",
            asked=f"from {told['period']['from']} up to {told['period']['to']}",
            as_of=report.as_of_at,
            author=author,
            count=len(told["open"]),
            totals={f"unexplained {currency}": amount for currency, amount in told["residual"].items()},
            more={
                "headline": told["headline"],
                "report_sha256": report.digest,
                **dict(provenance.lines({"period": told["period"]})),
                **dict(provenance.lines(provenance.of(report.run, author=author, now=now))),
                **dict(exports.tie_lines(tie, tie["currencies"])),
                **dict(_after(told)),
                **{f"as of the cut-off {number}": line for number, line in enumerate(told["not_tested"], 1)},
            },
        ),
        COLUMNS,
        map(_row, told["open"]),
    )


def document(report: PeriodReport, *, author: str, now: datetime) -> dict[str, Any]:
    """Return the report as JSON has it, with its SHA-256 and where its run's figures come from."""
    origin = provenance.of(report.run, author=author, now=now)
    return {"report": report.document, "sha256": report.digest, "provenance": origin}


def _after(told: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for one in told["after_cut_off"]:
        what = f"after the cut-off, {one['side']} {one['currency'] or 'without amount'}"
        yield f"{what}, lines", one["lines"]
        if one["amount"] is not None:
            yield f"{what}, amount", Decimal(one["amount"])


def _row(one: Mapping[str, Any]) -> tuple[object, ...]:
    ledger = one["ledger"] or {"id": "", "state": ""}
    return (
        one["class"],
        one["reference"] or "",
        ledger["id"],
        ledger["state"],
        None if one["amount"] is None else Decimal(one["amount"]),
        one["currency"] or "",
        " ".join(record["id"] for record in one["destination"]),
        one["why"],
    )
