"""What the destination holds of a difference at this moment, beside what its run found."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from ledger.destinations import lookups
from ledger.models import Pause, database_now
from ledger.rules.moments import read_instant
from ledger.rules.records import Found, RecordSeen
from ledger.rules.states import Standing, Verdict
from reconcile.models import Finding

LOOK_BACK = timedelta(days=366)
Record = Mapping[str, Any]


def look(finding: Finding, *, within_s: float) -> tuple[Found, datetime] | None:
    """Ask the destination what it holds under a difference's reference, and keep nothing.

    Returns what was found and when it was asked; None where it cannot be asked. Not to be called in a
    transaction.
    """
    kind = finding.run.plan.operation_type
    paused = Pause.objects.open().of_all().filter(destination=kind.destination).exists()
    if not finding.reference or not kind.has_lookup or paused or kind.destination.trouble:
        return None
    asked_at = database_now()
    made = (finding.first_seen_at - LOOK_BACK, asked_at)
    nobodys = dict.fromkeys(("system", "reference", "version"), "")
    found = lookups.ask_for_source(kind, key=finding.reference, source=nobodys, made=made, within_s=within_s)
    return found, asked_at


def as_listed(finding: Finding) -> tuple[Found, datetime]:
    """Return what the run itself read off the list, where nothing can be looked up on its own."""
    records = tuple(
        RecordSeen(
            id=one["id"],
            reference=finding.reference,
            amount=None if one["amount"] is None else Decimal(one["amount"]),
            currency=one["currency"],
            status=one["status"],
            standing=Standing(one["standing"]),
            occurred_at=read_instant(one["occurred_at"]),
            differs=(),
        )
        for one in finding.destination
    )
    standing = [record for record in records if record.live]
    verdict = Verdict.ONE_MATCH if len(standing) == 1 else Verdict.SEVERAL
    return Found(verdict, complete=True, records=records), finding.seen_at or finding.run.started_at


def changed(finding: Finding, found: Found) -> str:
    """Say what is otherwise by now than its run found; empty where nothing is, or nobody could look."""
    if found.verdict is Verdict.COULD_NOT_LOOK or not found.complete:
        return ""
    if _held(finding.destination) == _held(found.stored()):
        return ""
    there = finding.run.plan.operation_type.destination.title
    return f"What {there} holds under it has changed since run {finding.run_id}."


def _held(records: Iterable[Record]) -> set[tuple[Any, ...]]:
    return {
        (
            one["id"],
            None if one["amount"] is None else Decimal(one["amount"]),
            one["currency"],
            one["standing"],
        )
        for one in records
    }
