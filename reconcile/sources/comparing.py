"""Set-based SQL that puts each row of a source beside its operation, or into a class of its own.

A row belongs to the operation that has its key, or to the correction that took its place, whenever that was
accepted. What the first of an operation's rows is put beside is one item with it, and has one class; the
others are ambiguous, and so is the item where they are not alike. What ledger and destination agree on
is matched where the row agrees, too.
"""

from typing import Any

from reconcile import comparing
from reconcile.models import Run

# At most one correction has not been corrected itself: a constraint.
LINK = """
WITH clock AS (
    SELECT now - make_interval(secs => %(grace_s)s) AS grace_from
    FROM (SELECT tieout_now() AS now OFFSET 0) AS read_once
), known AS (
    SELECT s.id, o.id AS operation_id, o.state,
        s.occurred_at > clock.grace_from
            OR (s.occurred_on + 1)::timestamp AT TIME ZONE %(zone)s > clock.grace_from AS fresh
    FROM reconcile_record AS s
    CROSS JOIN clock
    LEFT JOIN ledger_operation AS first ON first.operation_type_id = %(type)s AND first.key = s.reference
    LEFT JOIN ledger_operation AS later
        ON later.corrects_id = first.id AND later.corrected_at IS NULL AND later.operation_type_id = %(type)s
    LEFT JOIN ledger_operation AS o ON o.id = coalesce(later.id, first.id)
    WHERE s.run_id = %(run)s AND s.side = 'source'
)
UPDATE reconcile_record AS s
SET operation_id = known.operation_id, state = coalesce(known.state, ''), fresh = coalesce(known.fresh, false)
FROM known WHERE s.id = known.id
"""

PLACE = """
WITH ranked AS MATERIALIZED (
    SELECT s.*, s.standing = ANY(%(live)s) AS live, l.id AS line_id,
        CASE
            WHEN s.occurred_at IS NOT NULL
                THEN s.occurred_at >= %(window_from)s AND s.occurred_at < %(window_to)s
            WHEN s.occurred_on IS NOT NULL THEN s.occurred_on BETWEEN %(first_day)s AND %(last_day)s
            ELSE true END AS in_window,
        row_number() OVER (
            together ORDER BY s.readable DESC, s.standing = ANY(%(live)s) DESC,
                coalesce(s.occurred_at, s.occurred_on::timestamp AT TIME ZONE %(zone)s), s.number
        ) AS place,
        max(s.amount) FILTER (WHERE {COUNTS}) OVER together
            IS DISTINCT FROM min(s.amount) FILTER (WHERE {COUNTS}) OVER together
        OR max(s.currency) FILTER (WHERE {COUNTS}) OVER together
            IS DISTINCT FROM min(s.currency) FILTER (WHERE {COUNTS}) OVER together AS apart
    FROM reconcile_record AS s
    LEFT JOIN reconcile_record AS l
        ON l.run_id = %(run)s AND l.side = 'ledger' AND l.operation_id = s.operation_id
    WHERE s.run_id = %(run)s AND s.side = 'source'
    WINDOW together AS (PARTITION BY coalesce(s.operation_id::text, 'of ' || s.reference))
), placed AS (
    SELECT r.*, CASE WHEN r.place = 1 AND r.reference <> '' THEN coalesce(r.line_id, d.id) END AS item_id
    FROM ranked AS r
    LEFT JOIN reconcile_record AS d
        ON d.run_id = %(run)s AND d.side = 'destination' AND d.item_class = '{UNEXPECTED}'
        AND d.operation_id IS NULL AND r.operation_id IS NULL AND d.reference = r.reference
        AND d.reference <> ''
)
UPDATE reconcile_record AS s
SET backs_id = p.item_id,
    why = CASE WHEN NOT p.readable THEN p.why WHEN p.live AND p.apart THEN %(untold)s ELSE '' END,
    item_class = CASE
        WHEN p.item_id IS NOT NULL THEN NULL
        WHEN NOT p.in_window AND p.line_id IS NULL THEN '{OUT_OF_SCOPE}'
        WHEN NOT p.readable THEN '{UNREADABLE}'
        WHEN NOT p.live THEN '{OUT_OF_SCOPE}'
        WHEN p.place > 1 OR p.apart THEN '{AMBIGUOUS}'
        WHEN p.operation_id IS NOT NULL THEN '{OUT_OF_SCOPE}'
        WHEN p.fresh THEN '{IN_FLIGHT}'
        ELSE '{NEVER_SUBMITTED}' END
FROM placed AS p WHERE s.id = p.id
"""

# What ledger and destination agree on is set beside the row, and so is what neither has any more. No row of
# their own need: a correction and what it corrects, a reversal, what another system's automation submitted;
# and nothing needs one where the source is not the only one.
COMPARE = """
WITH beside AS (
    SELECT l.id, l.item_class, l.state, s.id AS row_id, s.readable, s.why,
        s.standing = ANY(%(live)s) AS live,
        s.amount AS source_amount, s.currency AS source_currency,
        coalesce(nullif(l.currency, ''), d.currency) AS currency,
        CASE WHEN d.rule <> '' THEN l.amount ELSE greatest(l.amount, d.amount) END AS most,
        CASE WHEN d.rule <> '' THEN l.amount ELSE least(l.amount, d.amount) END AS least,
        coalesce(
            (%(tolerance)s::jsonb ->> coalesce(nullif(l.currency, ''), d.currency))::numeric, 0
        ) AS allowed,
        l.fresh OR l.occurred_at >= %(source_as_of)s AS fresh,
        o.corrects_id IS NULL AND o.reverses_id IS NULL AND later.id IS NULL
            AND (%(system)s IN ('', o.source_system) OR o.source_system = '')
            AND %(alone)s AS has_to_be
    FROM reconcile_record AS l
    JOIN ledger_operation AS o ON o.id = l.operation_id
    LEFT JOIN reconcile_record AS d ON d.run_id = %(run)s AND d.side = 'destination' AND d.id = l.pair_id
    LEFT JOIN reconcile_record AS s ON s.run_id = %(run)s AND s.side = 'source' AND s.backs_id = l.id
    LEFT JOIN ledger_operation AS later ON later.corrects_id = o.id AND later.corrected_at IS NULL
    WHERE l.run_id = %(run)s AND l.side = 'ledger' AND l.item_class IN ('{MATCHED}', '{MISSING}')
        AND l.grouped = ''
), told AS (
    SELECT b.id, CASE
        WHEN b.item_class = '{MISSING}' THEN CASE
            WHEN b.readable AND NOT b.live AND b.state = '{failed}' THEN '{OUT_OF_SCOPE}'
            ELSE '{MISSING}' END
        WHEN b.row_id IS NULL THEN CASE
            WHEN NOT b.has_to_be THEN '{MATCHED}'
            WHEN b.fresh THEN '{IN_FLIGHT}'
            ELSE '{UNEXPECTED}' END
        WHEN NOT b.readable THEN '{UNREADABLE}'
        WHEN b.why <> '' THEN '{AMBIGUOUS}'
        WHEN NOT b.live THEN '{STATUS_DIFFERS}'
        WHEN b.source_currency <> b.currency AND b.source_currency <> '' AND b.currency <> ''
            THEN '{CURRENCY_DIFFERS}'
        WHEN b.most - b.source_amount > b.allowed THEN '{AMOUNT_OVER}'
        WHEN b.source_amount - b.least > b.allowed THEN '{AMOUNT_UNDER}'
        ELSE '{MATCHED}' END AS item_class
    FROM beside AS b
)
UPDATE reconcile_record AS l SET item_class = told.item_class
FROM told WHERE l.id = told.id AND l.item_class <> told.item_class
"""


UNTOLD = "Rows that are not alike: which one counts cannot be told."
NAMES = comparing.NAMES | {"COUNTS": "s.readable AND s.standing = ANY(%(live)s)"}


def link(run: Run) -> None:
    """Give each row of a run's source the operation that it belongs to, as it stands now, and its age."""
    if run.has_source:
        with comparing.whole_sets() as cursor:
            cursor.execute(LINK, comparing.values(run))


def classify(run: Run) -> None:
    """Set the rows of a run's source beside what ledger and destination come to; those are in classes."""
    rules = run.plan.third
    if not run.has_source or rules is None:
        return
    values: dict[str, Any] = comparing.values(run) | {
        "source_as_of": run.sides["source"].get("as_of", run.started_at),
        "untold": UNTOLD,
        "system": rules.covers,
        "alone": rules.alone,
    }
    with comparing.whole_sets() as cursor:
        cursor.execute(PLACE.format(**NAMES), values)
        cursor.execute(COMPARE.format(**NAMES), values)
