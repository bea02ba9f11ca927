"""How what is matched was matched, what tolerances let pass of it, and the most that they may, in one run."""

import json
from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from reconcile.models import Run
from reconcile.sums import amount_text

EXACT, TOLERANCE, RULE, SPLIT, BY_HAND = "exact", "tolerance", "rule", "split", "by hand"
WAYS = {
    EXACT: "By reference, the same amount",
    TOLERANCE: "By reference, within the tolerance",
    RULE: "By rule",
    SPLIT: "One with many, by rule",
    BY_HAND: "By hand",
}

# Where what is let pass comes to more than the cap of its currency, all of it is a difference.
CAP = """
WITH lenient AS (
    SELECT l.id, l.currency, d.amount - l.amount AS apart
    FROM reconcile_record AS l
    JOIN reconcile_record AS d ON d.run_id = %(run)s AND d.id = l.pair_id
    WHERE l.run_id = %(run)s AND l.side = 'ledger' AND l.item_class = '{MATCHED}' AND d.amount <> l.amount
), beyond AS (
    SELECT currency FROM lenient GROUP BY currency
    HAVING sum(abs(apart)) > (%(caps)s::jsonb ->> currency)::numeric
)
UPDATE reconcile_record AS l
SET capped = true, item_class = CASE WHEN apart > 0 THEN '{AMOUNT_OVER}' ELSE '{AMOUNT_UNDER}' END
FROM lenient WHERE l.id = lenient.id AND lenient.currency IN (SELECT currency FROM beyond)
"""
UNCAP = "UPDATE reconcile_record SET capped = false WHERE run_id = %(run)s AND capped"
MATCHED = """
SELECT way, rule, currency, count(*), sum(amount), sum(apart)
FROM (
    SELECT l.currency, l.amount, coalesce(abs(d.amount - l.amount), 0) AS apart,
        coalesce(nullif(d.rule, ''), l.rule) AS rule, CASE
            WHEN l.grouped <> '' THEN 'split'
            WHEN d.rule <> '' THEN 'rule'
            WHEN m.id IS NOT NULL THEN 'by hand'
            WHEN d.amount <> l.amount THEN 'tolerance'
            ELSE 'exact' END AS way
    FROM reconcile_record AS l
    LEFT JOIN reconcile_record AS d ON d.run_id = %(run)s AND d.id = l.pair_id
    LEFT JOIN reconcile_decision AS m ON m.plan_id = %(plan)s AND m.way = 'match'
        AND m.in_force_at IS NOT NULL AND m.ended_at IS NULL
        AND m.operation_id = l.operation_id AND m.record ->> 'id' = d.external_id
    WHERE l.run_id = %(run)s AND l.side = 'ledger' AND l.item_class = 'matched'
) AS told
GROUP BY way, rule, currency
"""


def cap(cursor: CursorWrapper, caps: Mapping[str, str], names: Mapping[str, str], run: int) -> None:
    """Make differences of all that tolerances let pass, where it comes to more than the plan's cap."""
    values: dict[str, Any] = {"run": run, "caps": json.dumps(caps)}
    cursor.execute(UNCAP, values)
    cursor.execute(CAP.format(**names), values)


def told(run: Run) -> list[dict[str, Any]]:
    """Return how the operations that are matched were matched, by way, rule and currency; amounts are text.

    `apart`: what their records differ by, each counted at its size.
    """
    with connection.cursor() as cursor:
        cursor.execute(MATCHED, {"run": run.pk, "plan": run.plan_id})
        rows = cursor.fetchall()
    order = list(WAYS)
    return [
        {
            "way": way,
            "rule": rule,
            "currency": currency,
            "items": items,
            "amount": amount_text(amount, currency) if currency else "0",
            "apart": amount_text(apart, currency) if currency else "0",
        }
        for way, rule, currency, items, amount, apart in sorted(
            rows, key=lambda row: (order.index(row[0]), row[1], row[2])
        )
    ]
