"""Surplus that a linked void or credit has offset: in a run both are shown, and what they come to.

A surplus record is reversed where its reversal, an operation of its own, is completed and the destination's
list of this very run no longer has it standing. What of a surplus still stands is a difference as before.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import groupby
from typing import Any

from django.db.models import F

from ledger.rules.states import LIVE, State
from reconcile.models import Record, Run
from reconcile.tying import amount_text


def found(run: Run) -> list[dict[str, Any]]:
    """Return what is reversed under each reference, in the order of references; amounts are text.

    Each has its `items`, what they came to (`surplus`), what offsets that (`reversed`), what is left (`net`),
    and the `records`, each with the operation `by` which it was reversed.
    """
    ours = Record.objects.filter(
        run=run,
        side=Record.Side.DESTINATION,
        operation__reversals__state=State.COMPLETED.value,
        operation__reversals__reversed_reference=F("external_id"),
    )
    rows = (
        ours.exclude(standing__in=LIVE)
        .annotate(by=F("operation__reversals__uid"), by_key=F("operation__reversals__key"))
        .select_related("operation")
        .order_by("reference", "currency", "number")
    )
    return list(_summed(rows.iterator()))


def _summed(rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
    for (reference, currency), group in groupby(rows, key=lambda row: (row.reference, row.currency)):
        records = list(group)
        operation = records[0].operation
        amounts = [operation.amount if row.amount is None else row.amount for row in records]
        surplus = sum((amount for amount in amounts if amount is not None), Decimal(0))
        yield {
            "reference": reference,
            "ledger": {"id": str(operation.uid), "key": operation.key, "state": records[0].state},
            "items": len(records),
            "currency": currency,
            "surplus": amount_text(surplus, currency),
            "reversed": amount_text(-surplus, currency),
            "net": amount_text(Decimal(0), currency),
            "records": [_shown(row) for row in records],
        }


def _shown(row: Any) -> dict[str, Any]:
    by = {"id": str(row.by), "key": row.by_key}
    return {"id": row.external_id, "status": row.status, "standing": row.standing, "by": by}


def words(told: Mapping[str, Any]) -> str:
    """Say which records were reversed: "INV-2 (void), INV-3 (credited): reversed, net 0.00."."""
    ids = (f"{one['id']} ({one['status'] or one['standing']})" for one in told["records"])
    return f"{', '.join(ids)}: reversed, net {told['net']}."
