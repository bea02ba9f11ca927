"""How much stands in the queue: counted only so far that it costs a page nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from ledger import sight
from review.narrowing import WRONG

COUNTED = 1000
"""The most that a tab counts; beyond it says "1 000+"."""

_COUNTS = """
WITH RECURSIVE one AS (
    (SELECT currency FROM review_item WHERE currency > '' ORDER BY currency LIMIT 1)
    UNION ALL
    SELECT further.currency FROM one CROSS JOIN LATERAL (
        SELECT currency FROM review_item WHERE currency > one.currency ORDER BY currency LIMIT 1
    ) AS further
)
SELECT
    (SELECT count(*) FROM (SELECT FROM review_item WHERE {seen} LIMIT %(most)s) AS counted),
    waits.count,
    (SELECT count(*) FROM (
        SELECT FROM review_item WHERE kind > '' AND {seen}
        UNION ALL
        SELECT FROM review_item WHERE kind = '' AND operation_id IS NULL AND case_id IS NULL AND {seen}
        LIMIT %(most)s
    ) AS counted),
    (SELECT count(*) FROM (
        SELECT FROM review_item WHERE due_s < %(now_s)s AND {seen} LIMIT %(most)s
    ) AS counted),
    (SELECT count(*) FROM (
        SELECT FROM review_item WHERE level > 0 AND {seen} LIMIT %(most)s
    ) AS counted),
    (SELECT count(*) FROM (
        SELECT FROM review_item WHERE kind = ANY(%(wrong)s) AND {seen} LIMIT %(most)s
    ) AS counted),
    (SELECT count(*) FROM (
        SELECT FROM review_item WHERE rests_s > %(now_s)s AND {seen} LIMIT %(most)s
    ) AS counted),
    (SELECT array_agg(currency) FROM one WHERE {used}),
    waits.currencies,
    (SELECT count(*) FROM (
        SELECT FROM ledger_case
        WHERE operation_id IS NULL AND closed_at IS NULL AND kind = 'repeated' AND {repeated} LIMIT %(most)s
    ) AS counted)
FROM (
    SELECT count(*) AS count, array_agg(DISTINCT currency) FILTER (WHERE currency <> '') AS currencies FROM (
        SELECT currency FROM ledger_operation
        WHERE state IN ('pending', 'running') AND held_at IS NULL AND {seen} ORDER BY id DESC LIMIT %(most)s
    ) AS latest
) AS waits
"""


_ALL = {"seen": "TRUE", "used": "TRUE", "repeated": "TRUE"}
_SOME = {
    "seen": "operation_type_id = ANY(%(types)s)",
    # Asked of each currency by itself: whoever steps over others' items reads them all.
    "used": "(SELECT TRUE FROM review_item AS own WHERE own.currency = one.currency"
    " AND own.operation_type_id = ANY(%(types)s) LIMIT 1)",
    "repeated": "id IN (SELECT case_id FROM reconcile_repeat WHERE operation_type_id = ANY(%(types)s))",
}
"""What is counted for who sees all, and for who sees some legal entities."""


@dataclass(frozen=True)
class Counts:
    """How much each built-in view holds, at most COUNTED; and the currencies of what is open."""

    views: dict[str, int]
    currencies: list[str]
    repeated: int
    """Triggers that ran more than once, and that nobody has answered."""


def counts(now: datetime) -> Counts:
    """Count the built-in views; one query."""
    values: dict[str, Any] = {
        "most": COUNTED + 1,
        "now_s": now.timestamp(),
        "wrong": [str(kind) for kind in WRONG],
    }
    here = sight.present()
    if here is not None:
        values["types"] = here.types
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS.format(**(_SOME if here else _ALL)), values)
        asks, waits, person, late, escalated, wrong, snoozed, own, others, repeated = cursor.fetchone()
    return Counts(
        views={
            "open": asks + waits,
            "person": person,
            "late": late,
            "escalated": escalated,
            "wrong": wrong,
            "snoozed": snoozed,
        },
        currencies=sorted({*(own or []), *(others or [])}),
        repeated=repeated,
    )


def figure(count: int) -> str:
    """Write a count that goes no further than COUNTED."""
    return f"{COUNTED:,}+".replace(",", "\u00a0") if count > COUNTED else str(count)
