"""Set-based SQL that puts every item, an operation of the window or a record of the list, into one class.

Of k standing records under one reference the operation's own, else the earliest, is compared, and k-1 are
duplicates; reversed and declined ones do not count as multiples, but for what a partial reversal left. A
standing record of an operation that failed or waits is unexpected. What is compared is an operation's pair
and has no class of its own, so that nothing counts twice.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from ledger.rules import keys, states
from ledger.rules.states import Standing, State, Verdict
from reconcile import contents, marking, offsets
from reconcile.classes import ItemClass
from reconcile.models import Run
from reconcile.rules import declared, matching, ways

STAGE_LEDGER = """
INSERT INTO reconcile_record (
    run_id, side, number, external_id, reference, amount, currency, status, standing, occurred_at, seen_at,
    readable, why, operation_id, own, state, cancelled, held, fresh, looked, contents
)
SELECT
    %(run)s, 'ledger', row_number() OVER (ORDER BY o.accepted_at, o.id), o.destination_reference, o.key,
    o.amount, o.currency, '', '', o.accepted_at, clock.now, true, '', o.id, false, o.state,
    o.cancelled_at IS NOT NULL OR (o.corrected_at IS NOT NULL AND o.state = 'failed'), o.held_at IS NOT NULL,
    o.accepted_at > clock.grace_from OR EXISTS (
        SELECT FROM ledger_attempt AS a WHERE a.operation_id = o.id AND a.claimed_at > clock.grace_from
    ) OR (
        o.after_id IS NOT NULL AND o.state = '{pending}' AND o.held_at IS NULL
        AND CASE WHEN o.next_try_at IS NULL THEN {goes_on} ELSE o.next_try_at > clock.grace_from END
    ),
    '', {contents}
FROM ledger_operation AS o
CROSS JOIN (
    SELECT now, now - make_interval(secs => %(grace_s)s) AS grace_from
    FROM (SELECT tieout_now() AS now OFFSET 0) AS read_once
) AS clock
WHERE o.operation_type_id = %(type)s AND o.accepted_at >= %(window_from)s AND o.accepted_at < %(window_to)s
"""

# Of all that come before it, the one for which the others wait: a person is asked about it, or nobody goes on
# with it. Once the first is done, what follows is due, and has its grace from then on.
GOES_ON = """
NOT EXISTS (
    WITH RECURSIVE before AS (
        SELECT f.* FROM ledger_operation AS f WHERE f.id = ledger_first(o.after_id)
        UNION ALL
        SELECT f.* FROM before AS b JOIN ledger_operation AS f ON f.id = ledger_first(b.after_id)
        WHERE b.state = '{pending}' AND b.held_at IS NULL AND b.next_try_at IS NULL
    )
    SELECT FROM before AS b
    WHERE b.held_at IS NOT NULL OR b.state = '{failed}' AND NOT EXISTS (
        SELECT FROM ledger_permit AS p
        WHERE p.operation_id = b.id AND p.spent_at IS NULL AND p.withdrawn_at IS NULL
    )
)
"""

# The window does not matter here: a record belongs to its operation, whenever that was accepted.
LINK = """
UPDATE reconcile_record AS d
SET operation_id = o.id, state = o.state,
    own = d.external_id <> '' AND d.external_id = o.destination_reference
FROM ledger_operation AS o
WHERE d.run_id = %(run)s AND d.side = 'destination' AND d.reference <> '' AND d.operation_id IS NULL
    AND o.operation_type_id = %(type)s AND o.key = d.reference
"""

# What a person has matched by hand, while its record is as it was and no other carries the operation's key.
LINK_BY_HAND = """
UPDATE reconcile_record AS d
SET operation_id = o.id, state = o.state, reference = o.key, own = true
FROM reconcile_decision AS m JOIN ledger_operation AS o ON o.id = m.operation_id
WHERE d.run_id = %(run)s AND d.side = 'destination' AND d.readable AND d.operation_id IS NULL
    AND m.plan_id = %(plan)s AND m.way = 'match' AND m.in_force_at IS NOT NULL AND m.ended_at IS NULL
    AND d.external_id = m.record ->> 'id' AND d.reference = m.record ->> 'reference'
    AND d.currency = m.record ->> 'currency' AND d.standing = m.record ->> 'standing'
    AND d.amount IS NOT DISTINCT FROM (m.record ->> 'amount')::numeric
    AND NOT EXISTS (
        SELECT FROM reconcile_record AS other
        WHERE other.run_id = d.run_id AND other.side = 'destination' AND other.reference = o.key
    )
"""

FORGET = """
UPDATE reconcile_record SET item_class = NULL, pair_id = NULL, backs_id = NULL
WHERE run_id = %(run)s AND (item_class IS NOT NULL OR pair_id IS NOT NULL OR backs_id IS NOT NULL)
"""

# Two files are compared by it as well: there the source's side stands where the ledger's does.
CLASSIFY = """
WITH ranked AS MATERIALIZED (
    SELECT d.*,
        d.standing = ANY(%(live)s) AS live,
        CASE
            WHEN d.occurred_at IS NOT NULL
                THEN d.occurred_at >= %(window_from)s AND d.occurred_at < %(window_to)s
            WHEN d.occurred_on IS NOT NULL THEN d.occurred_on BETWEEN %(first_day)s AND %(last_day)s
            ELSE true END AS in_window,
        CASE WHEN d.reference <> '' THEN row_number() OVER (
            PARTITION BY d.reference
            ORDER BY d.readable DESC, d.standing = ANY(%(live)s) DESC, d.own DESC,
                coalesce(d.occurred_at, d.occurred_on::timestamp AT TIME ZONE %(zone)s), d.number
        ) END AS place
    FROM {records} AS d
    WHERE d.run_id = %(run)s AND d.side = 'destination'
), compared AS (
    SELECT l.id, d.id AS pair_id, CASE
        WHEN NOT l.readable THEN '{UNREADABLE}'
        WHEN l.looked = '{AMBIGUOUS}' THEN '{AMBIGUOUS}'
        WHEN l.state = '{running}' THEN '{IN_FLIGHT}'
        WHEN d.id IS NULL THEN CASE
            WHEN l.cancelled THEN '{OUT_OF_SCOPE}'
            WHEN l.fresh AND l.state <> '{failed}' THEN '{IN_FLIGHT}'
            WHEN l.looked = '{absent}' THEN '{MISSING}'
            ELSE '{UNCERTAIN}' END
        WHEN NOT d.readable THEN '{UNREADABLE}'
        WHEN NOT d.live THEN CASE WHEN l.cancelled THEN '{OUT_OF_SCOPE}' ELSE '{STATUS_DIFFERS}' END
        WHEN l.state IN ('{failed}', '{pending}') THEN '{UNEXPECTED}'
        WHEN l.currency <> d.currency AND l.currency <> '' AND d.currency <> '' THEN '{CURRENCY_DIFFERS}'
        WHEN d.amount - l.amount > allowed.amount THEN '{AMOUNT_OVER}'
        WHEN l.amount - d.amount > allowed.amount THEN '{AMOUNT_UNDER}'
        WHEN {contents} THEN '{PAYLOAD_DIFFERS}'
        WHEN d.standing = '{waiting}' AND l.state = '{completed}' THEN '{STATUS_DIFFERS}'
        WHEN d.standing = '{waiting}' THEN CASE WHEN l.held THEN '{UNCERTAIN}' ELSE '{IN_FLIGHT}' END
        ELSE '{MATCHED}' END AS item_class
    FROM {records} AS l
    LEFT JOIN ranked AS d ON d.operation_id = l.operation_id AND d.place = 1
    CROSS JOIN LATERAL (
        SELECT coalesce((%(tolerance)s::jsonb ->> l.currency)::numeric, 0) AS amount
    ) AS allowed
    WHERE l.run_id = %(run)s AND l.side = 'ledger'
), of_the_ledger AS (
    UPDATE {records} AS l SET item_class = c.item_class, pair_id = c.pair_id
    FROM compared AS c WHERE l.id = c.id
)
UPDATE {records} AS d SET item_class = CASE
    WHEN NOT r.in_window AND NOT r.of_window THEN '{OUT_OF_SCOPE}'
    WHEN r.operation_id IS NULL AND r.reference ~ %(reserved)s THEN '{OUT_OF_SCOPE}'
    WHEN NOT r.readable THEN '{UNREADABLE}'
    WHEN NOT r.live AND r.id <> ALL(%(in_part)s) THEN '{OUT_OF_SCOPE}'
    WHEN r.operation_id IS NULL AND r.why <> '' THEN '{AMBIGUOUS}'
    WHEN r.place > 1 THEN '{DUPLICATE}'
    WHEN r.operation_id IS NULL OR r.state IN ('{failed}', '{pending}') THEN '{UNEXPECTED}'
    ELSE '{OUT_OF_SCOPE}' END
FROM (
    SELECT r.*, l.id IS NOT NULL AS of_window
    FROM ranked AS r
    LEFT JOIN {records} AS l
        ON l.run_id = %(run)s AND l.side = 'ledger' AND l.operation_id = r.operation_id
    WHERE NOT (r.place IS NOT DISTINCT FROM 1 AND l.id IS NOT NULL)
) AS r
WHERE d.id = r.id
"""

NAMES = {item_class.name: item_class.value for item_class in ItemClass} | {
    "failed": State.FAILED.value,
    "pending": State.PENDING.value,
    "completed": State.COMPLETED.value,
    "running": State.RUNNING.value,
    "waiting": Standing.PENDING.value,
    "absent": Verdict.ABSENT.value,
}
NEVER = "false"
LIVE = [standing.value for standing in states.LIVE]


def stage_ledger(run: Run) -> None:
    """Copy the operations of the run's window into its lines, as they stand now."""
    fields = contents.fields_of(run.plan.operation_type)
    told = contents.OF_LEDGER if fields else contents.NONE
    statement = STAGE_LEDGER.format(goes_on=GOES_ON.format(**NAMES), contents=told, **NAMES)
    with connection.cursor() as cursor:
        cursor.execute(statement, values(run) | {"contents": fields})


def forget(run: Run) -> None:
    """Take every item of the run out of its class, and every record out of its pair."""
    with connection.cursor() as cursor:
        cursor.execute(FORGET, values(run))
        if run.plan.rules:
            matching.release(cursor, values(run))


def classify(run: Run) -> None:
    """Put every item of the run into its class, afresh, with what was looked up meanwhile."""
    named = values(run)
    forget(run)
    with connection.cursor() as cursor:
        cursor.execute(LINK_BY_HAND, named)
        cursor.execute(LINK, named)
    linking = marking.linking(run.plan.operation_type)
    with whole_sets() as cursor:
        if linking is not None:
            cursor.execute(linking[0], named | linking[1])
        matching.tie(cursor, declared.of(run.plan), NAMES, named)
        in_part = [row.pk for row in offsets.in_part(run)]
        differ = contents.DIFFER if contents.fields_of(run.plan.operation_type) else NEVER
        cursor.execute(classifying("reconcile_record", differ=differ), named | {"in_part": in_part})
        if run.plan.rules:
            matching.refine(cursor, NAMES, named, differ=differ)
        if run.plan.tolerance_cap:
            ways.cap(cursor, run.plan.tolerance_cap, NAMES, run.pk)


def classifying(records: str, *, differ: str = NEVER) -> str:
    """Return the statement that classifies the lines of a table such as `reconcile_record`.

    `differ`: what tells that the contents of a record differ from what was meant.
    """
    return CLASSIFY.format(records=records, contents=differ, **NAMES)


@contextmanager
def whole_sets() -> Iterator[CursorWrapper]:
    """Join whole sets at once: lines that have just been written are not in the planner's statistics yet.

    It would take them for a handful and join them one by one, which ends for a handful only.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_nestloop = off")
        yield cursor


def values(run: Run) -> dict[str, Any]:
    """Return what the statements of a run are given."""
    return {
        "run": run.pk,
        "plan": run.plan_id,
        "type": run.plan.operation_type_id,
        "window_from": run.window_from,
        "window_to": run.window_to,
        "first_day": run.days[0],
        "last_day": run.days[1],
        "zone": run.plan.timezone,
        "grace_s": run.grace_s,
        "tolerance": json.dumps(run.plan.tolerance),
        "live": LIVE,
        "reserved": keys.RESERVED,
    }
