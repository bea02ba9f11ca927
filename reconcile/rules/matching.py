"""Set-based SQL that ties records to operations by a plan's rules, where the reference has left both alone.

The rules go in their order. Where a record fits one operation and that operation fits this record alone, they
are tied; where either fits several, both are ambiguous, and no later rule decides. Records and operations
that are alike in all that a rule asks are taken together and counted: a thousand alike are one step.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db.backends.utils import CursorWrapper

from ledger.rules import money
from ledger.rules.states import State
from reconcile.rules.declared import NO_REFERENCE, NUMBER_THERE, OURS, Rule

POSSIBLE = [State.COMPLETED.value, State.UNCERTAIN.value, State.RUNNING.value]
"""States in which an operation may have left something there."""

RELEASE = """
UPDATE reconcile_record SET
    operation_id = CASE WHEN side = 'destination' THEN NULL ELSE operation_id END,
    state = CASE WHEN side = 'destination' THEN '' ELSE state END,
    own = false,
    reference = CASE WHEN side = 'destination' THEN carried ELSE reference END,
    readable = CASE WHEN side = 'destination' THEN carried <> '' ELSE readable END,
    why = CASE WHEN side <> 'destination' THEN why WHEN carried = '' THEN %(no_reference)s ELSE '' END,
    carried = '', rule = '', several = '', grouped = '', sum_apart = NULL, becomes = ''
WHERE run_id = %(run)s AND rule <> ''
"""

# Operations outside the window are asked as well, as far as the rule's days go: a record of the window may be
# theirs. One that is known there by a number is found by that number, or by nothing. Nought is an amount,
# and none is another: as NaN it is like itself alone.
FREE = """ours AS MATERIALIZED (
    SELECT o.*, dense_rank() OVER (ORDER BY {parts}) AS n
    FROM (
        SELECT o.id, o.key, l.id AS line_id, o.state,
            coalesce(l.fresh, false) OR o.state = 'running' AS waits, o.currency,
            coalesce(o.amount, 'NaN') AS amount, {our_parts}
        FROM ledger_operation AS o
        LEFT JOIN (
            SELECT DISTINCT operation_id FROM reconcile_record
            WHERE run_id = %(run)s AND side = 'destination' AND operation_id IS NOT NULL
        ) AS there ON there.operation_id = o.id
        LEFT JOIN reconcile_record AS l
            ON l.run_id = %(run)s AND l.side = 'ledger' AND l.operation_id = o.id
        WHERE o.operation_type_id = %(type)s AND o.state = ANY(%(possible)s) AND o.cancelled_at IS NULL
            AND there.operation_id IS NULL AND coalesce(l.rule, '') = '' AND o.id <> ALL(%(spoken_for)s)
            AND (%(any_time)s OR o.accepted_at >= %(reach_from)s AND o.accepted_at < %(reach_to)s)
            AND (%(any_number)s OR o.destination_reference = '')
    ) AS o WHERE {told}
), theirs AS MATERIALIZED (
    SELECT d.*, dense_rank() OVER (ORDER BY {parts}) AS n
    FROM (
        SELECT d.id, coalesce(nullif(d.external_id, ''), 'line ' || d.number) AS shown,
            d.currency, coalesce({stands_for}, 'NaN') AS amount, {their_parts},
            CASE WHEN d.occurred_at IS NOT NULL
                THEN d.occurred_at >= %(window_from)s AND d.occurred_at < %(window_to)s
            ELSE d.occurred_on BETWEEN %(first_day)s AND %(last_day)s END AS in_window
        FROM reconcile_record AS d
        WHERE d.run_id = %(run)s AND d.side = 'destination' AND d.operation_id IS NULL AND d.rule = ''
            AND d.readable = (d.why = '') AND d.why IN ('', %(no_reference)s)
            AND d.standing = ANY(%(live)s) AND d.reference !~ %(reserved)s
    ) AS d WHERE {told}
)"""
"""What the reference, and every rule before, has left alone: operations and records."""

TIE = """
WITH {free},  our AS MATERIALIZED (
    SELECT n, {parts}, count(*) AS many, min(id) AS first,
        (array_agg(key ORDER BY key))[1:3] AS shown
    FROM ours GROUP BY n, {parts}
), their AS MATERIALIZED (
    SELECT n, {parts}, count(*) AS many, min(id) AS first,
        (array_agg(shown ORDER BY shown))[1:3] AS shown
    FROM theirs GROUP BY n, {parts}
), pairs AS MATERIALIZED (
    SELECT a.n AS our_n, b.n AS their_n FROM {our_days} AS a JOIN their AS b ON {alike}
), of_ours AS MATERIALIZED (
    SELECT our_n AS n, sum(b.many) FILTER (WHERE place = 1) AS several,
        (array_agg(one ORDER BY one))[1:3] AS named
    FROM pairs JOIN their AS b ON b.n = their_n
    CROSS JOIN LATERAL unnest(b.shown) WITH ORDINALITY AS named (one, place)
    GROUP BY our_n
), of_theirs AS MATERIALIZED (
    SELECT their_n AS n, sum(a.many) FILTER (WHERE place = 1) AS several,
        (array_agg(one ORDER BY one))[1:3] AS named
    FROM pairs JOIN our AS a ON a.n = our_n
    CROSS JOIN LATERAL unnest(a.shown) WITH ORDINALITY AS named (one, place)
    GROUP BY their_n
), sole AS MATERIALIZED (
    SELECT a.first AS our_id, b.first AS their_id
    FROM pairs
    JOIN of_ours ON of_ours.n = our_n AND of_ours.several = 1
    JOIN of_theirs ON of_theirs.n = their_n AND of_theirs.several = 1
    JOIN our AS a ON a.n = our_n
    JOIN their AS b ON b.n = their_n
), unclear_ours AS MATERIALIZED (
    SELECT ours.id, ours.line_id, of_ours.several, of_ours.named FROM ours JOIN of_ours USING (n)
    WHERE ours.id NOT IN (SELECT our_id FROM sole)
), tied AS (
    UPDATE reconcile_record AS d
    SET operation_id = o.id, state = o.state, reference = o.key, carried = d.reference, rule = %(rule)s,
        own = d.external_id <> '' AND d.external_id = o.destination_reference, readable = true, why = ''
    FROM sole JOIN ledger_operation AS o ON o.id = sole.our_id
    WHERE d.id = sole.their_id
), unclear_there AS (
    UPDATE reconcile_record AS d
    SET carried = d.reference, rule = %(rule)s, readable = true, why = said.words, several = said.words
    FROM theirs JOIN of_theirs AS f USING (n)
    CROSS JOIN LATERAL (SELECT {several_operations} AS words) AS said
    WHERE d.id = theirs.id AND theirs.id NOT IN (SELECT their_id FROM sole)
), unclear_here AS (
    UPDATE reconcile_record AS l SET rule = %(rule)s, several = said.words
    FROM unclear_ours AS f CROSS JOIN LATERAL (SELECT {several_records} AS words) AS said
    WHERE l.id = f.line_id
)
SELECT id FROM unclear_ours WHERE line_id IS NULL
"""
# A group is all that has one key in one currency; its sums are the same, or nothing of it is matched. One of
# which something may still come is in flight, and one of which the window has nothing is none of its. Outside
# the window it goes on from part to part, and ends where more than the rule's days lie between two of them,
# or twice as many days away: from then on the list is asked for.
GROUP = """
WITH {free}, far AS MATERIALIZED (
    SELECT {parts}, day,
        CASE WHEN day < %(first_day)s THEN -1 WHEN day > %(last_day)s THEN 1 ELSE 0 END AS way,
        greatest(%(first_day)s - day, day - %(last_day)s, 0) AS days
    FROM (
        SELECT {parts}, day FROM ours WHERE amount <> 'NaN'
        UNION SELECT {parts}, day FROM theirs WHERE amount <> 'NaN'
    ) AS either
), step AS (
    SELECT *, days - coalesce(lag(days) OVER (PARTITION BY {parts}, way ORDER BY days), 0) AS gap FROM far
), near AS MATERIALIZED (
    SELECT {parts}, day, days <= 2 * %(days)s
        AND max(gap) OVER (PARTITION BY {parts}, way ORDER BY days) <= %(days)s AS goes_on
    FROM step
), of_ours AS MATERIALIZED (
    SELECT ours.* FROM ours JOIN near USING ({parts}, day) WHERE amount <> 'NaN' AND goes_on
), of_theirs AS MATERIALIZED (
    SELECT theirs.* FROM theirs JOIN near USING ({parts}, day) WHERE amount <> 'NaN' AND goes_on
), groups AS MATERIALIZED (
    SELECT n, {parts}, a.ours, b.theirs, b.amount - a.amount AS apart, a.waits, a.undone
    FROM (
        SELECT {parts}, count(*) AS ours, sum(amount) AS amount, bool_or(waits) AS waits,
            bool_or(line_id IS NOT NULL) AS here, bool_or(state <> '{completed}') AS undone
        FROM of_ours GROUP BY {parts}
    ) AS a JOIN (
        SELECT min(n) AS n, {parts}, count(*) AS theirs, sum(amount) AS amount, bool_or(in_window) AS here
        FROM of_theirs GROUP BY {parts}
    ) AS b USING ({parts})
    WHERE a.here OR b.here
), judged AS MATERIALIZED (
    SELECT g.*, CASE WHEN apart = 0 THEN '{MATCHED}' WHEN waits THEN '{IN_FLIGHT}'
        WHEN apart > 0 THEN '{AMOUNT_OVER}' ELSE '{AMOUNT_UNDER}' END AS becomes, {words} AS grouped
    FROM groups AS g
), there AS (
    UPDATE reconcile_record AS d
    SET carried = d.reference, reference = j.grouped, rule = %(rule)s, readable = true, why = '',
        grouped = j.grouped, sum_apart = j.apart, becomes = j.becomes
    FROM of_theirs AS t JOIN judged AS j USING ({parts})
    WHERE d.id = t.id
), here AS (
    UPDATE reconcile_record AS l
    SET rule = %(rule)s, grouped = j.grouped, sum_apart = j.apart, becomes = CASE
        WHEN j.apart <> 0 OR o.state = '{completed}' THEN j.becomes
        WHEN o.state = '{running}' THEN '{IN_FLIGHT}' ELSE '{UNCERTAIN}' END
    FROM of_ours AS o JOIN judged AS j USING ({parts})
    WHERE l.id = o.line_id
)
SELECT o.id FROM of_ours AS o JOIN judged USING ({parts}) WHERE o.line_id IS NULL
"""
GROUPED = "UPDATE reconcile_record SET item_class = becomes WHERE run_id = %(run)s AND becomes <> ''"
EACH_DAY = "(SELECT *, day + generate_series(-%(days)s, %(days)s) AS on_day FROM our)"
FITS = """left(format(
    'Rule %%s fits %%s {what}%%s: %%s%%s.', %(rule)s, f.several, CASE WHEN f.several > 1 THEN 's' ELSE '' END,
    array_to_string(f.named, ', '),
    CASE WHEN f.several > cardinality(f.named)
        THEN ' and ' || f.several - cardinality(f.named) || ' more' ELSE '' END
), 300)"""

# A rule lets amounts differ as it says. It is no evidence that completes what is in doubt: a person confirms.
REFINE = """
UPDATE reconcile_record AS l SET item_class = CASE
    WHEN l.several <> '' THEN '{AMBIGUOUS}'
    WHEN {contents} THEN '{PAYLOAD_DIFFERS}'
    WHEN d.standing = '{waiting}' AND l.state = '{completed}' THEN '{STATUS_DIFFERS}'
    WHEN d.standing = '{waiting}' THEN CASE WHEN l.held THEN '{UNCERTAIN}' ELSE '{IN_FLIGHT}' END
    WHEN l.state = '{completed}' THEN '{MATCHED}'
    ELSE '{UNCERTAIN}' END
FROM reconcile_record AS own
LEFT JOIN reconcile_record AS d ON d.run_id = %(run)s AND d.id = own.pair_id AND d.rule <> ''
WHERE own.run_id = %(run)s AND own.side = 'ledger' AND own.id = l.id AND (own.several <> '' OR (
    d.id IS NOT NULL AND own.item_class IN ('{AMOUNT_OVER}', '{AMOUNT_UNDER}', '{MATCHED}')
))
"""


def release(cursor: CursorWrapper, values: Mapping[str, Any]) -> None:
    """Take every record of a run from the operation to which a rule has tied it, and be clear about all."""
    cursor.execute(RELEASE, {**values, "no_reference": NO_REFERENCE})


def tie(
    cursor: CursorWrapper, rules: Sequence[Rule], names: Mapping[str, str], values: Mapping[str, Any]
) -> None:
    """Tie what the rules tell, one rule after the other; `values`: what every statement of a run is given."""
    spoken_for: list[int] = []
    for rule in rules:
        statement, own = tying(rule, names)
        reach = timedelta(days=(rule.days or 0) * (2 if rule.split else 1) + 1)
        cursor.execute(
            statement,
            {
                **values,
                **own,
                "possible": POSSIBLE,
                "no_reference": NO_REFERENCE,
                "spoken_for": spoken_for,
                "reach_from": values["window_from"] - reach,
                "reach_to": values["window_to"] + reach,
            },
        )
        spoken_for += [pk for (pk,) in cursor.fetchall()]


def refine(
    cursor: CursorWrapper, names: Mapping[str, str], values: Mapping[str, Any], *, differ: str
) -> None:
    """Let classes follow from what rules have tied, or have left unclear; `names`: those of the classes.

    `differ`: what tells that the contents of a record differ from what was meant.
    """
    cursor.execute(REFINE.format(contents=differ, **names), values)
    cursor.execute(GROUPED, values)


def tying(rule: Rule, names: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Return the statement of one rule, and the values that are its own."""
    values: dict[str, Any] = {
        "rule": rule.name,
        "any_time": rule.days is None,
        "any_number": rule.renumbered or NUMBER_THERE in rule.on,
        "tolerance": json.dumps(rule.tolerance),
        "percent": rule.percent,
        "days": rule.days,
        "decimals": json.dumps({code: places for code, places in money.DECIMALS.items() if places != 2}),
    }
    values |= {f"place_{number}": place for number, place in enumerate(rule.on.values())}
    values |= {f"field_{number}": field for number, field in enumerate(rule.on)}
    marks = [f"mark_{number}" for number in range(len(rule.on))]
    told = [f"{mark} <> ''" for mark in marks]
    if rule.split:
        return _grouping(rule, ["currency", *marks], told, names), values
    parts = ["currency", "amount", "day", *marks]
    told += ["day IS NOT NULL"] if _dated(rule) else []
    statement = TIE.format(
        free=_free(rule, parts, told),
        parts=", ".join(parts),
        our_days=EACH_DAY if _dated(rule) else "our",
        alike=" AND ".join(_alike(rule, marks)),
        several_operations=FITS.format(what="operation"),
        several_records=FITS.format(what="record"),
    )
    return statement, values


def _free(rule: Rule, parts: Sequence[str], told: Sequence[str]) -> str:
    return FREE.format(
        parts=", ".join(parts),
        our_parts=", ".join(_our_parts(rule)),
        stands_for="d.gross, d.amount" if rule.split else "d.amount",
        their_parts=", ".join(_their_parts(rule)),
        told=" AND ".join(told) or "true",
    )


def _grouping(rule: Rule, parts: Sequence[str], told: Sequence[str], names: Mapping[str, str]) -> str:
    """Return the statement of a rule that takes all of one key together; its words fit into a reference."""
    said = ", ".join(f"%(field_{number})s || ' = ' || mark_{number}" for number in range(len(rule.on)))
    words = f"concat_ws(', ', {said})"
    short = f"CASE WHEN length({words}) > 180 THEN left({words}, 140) || ' ' || md5({words}) ELSE {words} END"
    free, joined = _free(rule, parts, told), ", ".join(parts)
    return GROUP.format(free=free, parts=joined, words=f"{short} || ' ' || g.currency", **names)


def _dated(rule: Rule) -> bool:
    return rule.days is not None


def _our_parts(rule: Rule) -> Iterator[str]:
    yield f"{'(o.accepted_at AT TIME ZONE %(zone)s)::date' if _dated(rule) else 'NULL::date'} AS day"
    for number, field in enumerate(rule.on):
        yield f"btrim(o.{OURS[field]}) AS mark_{number}"


def _their_parts(rule: Rule) -> Iterator[str]:
    day = "coalesce(d.occurred_on, (d.occurred_at AT TIME ZONE %(zone)s)::date)"
    if rule.split:
        day = f"coalesce({day}, %(first_day)s)"  # what tells no day counts as in the window
    yield f"{day if _dated(rule) else 'NULL::date'} AS day"
    for number in range(len(rule.on)):
        yield f"btrim(coalesce(d.marks ->> %(place_{number})s, '')) AS mark_{number}"


def _alike(rule: Rule, marks: Sequence[str]) -> Iterator[str]:
    yield "a.currency = b.currency"
    yield from (f"a.{mark} = b.{mark}" for mark in marks)
    if _dated(rule):
        yield "a.on_day = b.day"
    if rule.exact:
        yield "a.amount = b.amount"
        return
    allowed = "coalesce((%(tolerance)s::jsonb ->> a.currency)::numeric, 0)"
    if rule.percent is not None:
        places = "coalesce((%(decimals)s::jsonb ->> a.currency)::int, 2)"
        allowed = f"trunc(abs(a.amount) * %(percent)s::numeric / 100, {places})"
    yield f"(a.amount = b.amount OR abs(a.amount - b.amount) <= {allowed})"
