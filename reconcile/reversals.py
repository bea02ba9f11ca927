"""Surplus that a linked void or credit has offset: in a run both are shown, and what they come to.

A surplus record is reversed where its reversal, an operation of its own, is completed and the destination's
list of this very run no longer has it standing, or lists less of it. What of it came to be too much is what
the reversal says, as it was when it was chosen; what is left of it is a difference as before.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import groupby
from typing import Any

from ledger.rules.reversals import left_of
from reconcile import offsets
from reconcile.models import Run
from reconcile.sums import amount_text


def found(run: Run) -> list[dict[str, Any]]:
    """Return what is reversed under each reference, in the order of references; amounts are text.

    Each has its `items`, what they came to (`surplus`), what offsets that (`reversed`), what is left (`net`),
    and the `records`, each with the operation `by` which it was reversed.
    """
    rows = offsets.offset(run).select_related("operation")
    return list(_summed(rows.order_by("reference", "by_currency", "number").iterator()))


def _summed(rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
    for (reference, currency), group in groupby(rows, key=lambda row: (row.reference, row.by_currency)):
        records = list(group)
        operation = records[0].operation
        surplus = sum((row.by_amount or Decimal(0) for row in records), Decimal(0))
        net = sum((_left(row) for row in records), Decimal(0))
        yield {
            "reference": reference,
            "ledger": {"id": str(operation.uid), "key": operation.key, "state": records[0].state},
            "items": len(records),
            "currency": currency,
            "surplus": amount_text(surplus, currency),
            "reversed": amount_text(net - surplus, currency),
            "net": amount_text(net, currency),
            "records": [_shown(row) for row in records],
        }


def _left(row: Any) -> Decimal:
    if row.by_amount is None:
        return Decimal(0)
    return left_of(row.by_amount, row.amount if row.currency == row.by_currency else None)


def _shown(row: Any) -> dict[str, Any]:
    by = {"id": str(row.by_uid), "key": row.by_key}
    return {"id": row.external_id, "status": row.status, "standing": row.standing, "by": by}


def words(told: Mapping[str, Any]) -> str:
    """Say which records were reversed: "INV-2 (void), INV-3 (credited): reversed, net 0.00."."""
    ids = (f"{one['id']} ({one['status'] or one['standing']})" for one in told["records"])
    return f"{', '.join(ids)}: reversed, net {told['net']}."
