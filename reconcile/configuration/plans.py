"""What a file wants of a plan: its columns, the file's words for them, and what a change of them empties."""

from typing import Any

from ledger.rules.calls import ListCall
from ledger.rules.connections import Connection
from reconcile.configuration.sections import Part, PlanHead, SourceHead
from reconcile.sources.rules import Control, RowMap, SourceRules

TIMED = frozenset({"schedule", "timezone"})
"""What of a plan decides when it runs."""
EXPECTED = TIMED | {"report_by"}
"""And until when it has to have reported."""
UNTIMED: dict[str, Any] = {"next_run_at": None}
"""A plan whose next time has still to be computed."""


def columns(part: Part) -> dict[str, Any]:
    """Return the columns of a plan as its section of the file sets them."""
    head = part.must("head", PlanHead)
    return {
        "operation_type": head.operation_type,
        "schedule": head.schedule,
        "timezone": head.timezone,
        "window_s": head.window_s,
        "grace_s": head.grace_s,
        "tolerance": head.tolerance,
        "tolerance_cap": head.tolerance_cap,
        "recipients": list(head.recipients),
        "attach": head.attach,
        "rules": [rule.said() for rule in head.rules],
        "payout": None if head.payout is None else head.payout.model_dump(exclude_defaults=True),
        "report_by": head.report_by,
        "source": source(part),
        "period": head.period.stored(),
    }


def source(part: Part) -> dict[str, Any] | None:
    """Return a plan's source as its section of the file sets it; None without one."""
    inner = part.inner.get("source")
    if inner is None:
        return None
    head = inner.must("head", SourceHead)
    rules = SourceRules(
        name=head.name,
        connector=head.connector,
        connection=inner.must("connection", Connection),
        list=inner.must("list", ListCall) if head.query is None else ListCall(query=head.query),
        control=inner.get("control", Control),
        record=inner.must("record", RowMap),
        lead_s=head.lead_s,
        alone=head.alone,
    )
    return rules.stored()


def words(row: dict[str, Any]) -> dict[str, object]:
    """Return the columns of a plan under the names that they have in the file."""
    same = ("operation_type", "schedule", "timezone", "tolerance", "recipients", "attach", "report_by")
    return (
        {name: row[name] for name in same}
        | {"window": row["window_s"], "grace": row["grace_s"]}
        | ({"tolerance_cap": row["tolerance_cap"]} if row["tolerance_cap"] else {})
        | ({"rules": row["rules"]} if row["rules"] else {})
        | ({"period": row["period"]} if row["period"] else {})
        | ({"payout": row["payout"]} if row["payout"] else {})
        | ({"source": SourceRules.read(row["source"]).words()} if row["source"] else {})
    )
