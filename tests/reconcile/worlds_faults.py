"""Faults that somebody could make in the statements which compare and tie; generated worlds have to see each."""

# ruff: noqa: E501  # a statement's words are as long as they are

from types import ModuleType

from reconcile import comparing, contents, marking, tying
from reconcile.sources import comparing as source

Fault = tuple[ModuleType, str, str, str]
"""Where a statement stands, its name, what is taken out of it, and what stands there instead."""

# fmt: off
FAULTS: list[Fault] = [
    (comparing, "CLASSIFY", "WHEN NOT d.readable THEN '{UNREADABLE}'", ""),
    (comparing, "CLASSIFY", "WHEN l.state = '{running}' THEN '{IN_FLIGHT}'", ""),
    (comparing, "CLASSIFY", "WHEN l.cancelled THEN '{OUT_OF_SCOPE}'\n            WHEN l.fresh", "WHEN l.fresh"),
    (comparing, "CLASSIFY", "l.fresh AND l.state <> '{failed}'", "l.fresh"),
    (comparing, "CLASSIFY", "WHEN l.looked = '{absent}'", "WHEN l.looked <> ''"),
    (comparing, "CLASSIFY", "WHEN l.state IN ('{failed}', '{pending}') THEN", "WHEN l.state = '{failed}' THEN"),
    (comparing, "CLASSIFY", "WHEN l.currency <> d.currency AND l.currency <> '' AND d.currency <> '' THEN '{CURRENCY_DIFFERS}'", ""),
    (comparing, "CLASSIFY", "d.amount - l.amount > allowed.amount", "d.amount - l.amount >= allowed.amount AND d.amount <> l.amount"),
    (comparing, "CLASSIFY", "l.amount - d.amount > allowed.amount", "abs(l.amount) - abs(d.amount) > allowed.amount"),
    (comparing, "CLASSIFY", "jsonb ->> l.currency", "jsonb ->> 'ZAR'"),
    (comparing, "CLASSIFY", "WHEN {contents} THEN '{PAYLOAD_DIFFERS}'", ""),
    (contents, "DIFFER", "OR d.contents ? 'differs'", ""),
    (contents, "OF_LEDGER", "HAVING count(*) > 0", ""),
    (comparing, "CLASSIFY", "WHEN d.standing = '{waiting}' AND l.state = '{completed}' THEN '{STATUS_DIFFERS}'", ""),
    (comparing, "CLASSIFY", "CASE WHEN l.held THEN '{UNCERTAIN}' ELSE '{IN_FLIGHT}' END", "'{IN_FLIGHT}'"),
    (comparing, "CLASSIFY", "d.occurred_at < %(window_to)s", "d.occurred_at <= %(window_to)s"),
    (comparing, "CLASSIFY", "AT TIME ZONE %(zone)s", "AT TIME ZONE 'UTC'"),
    (comparing, "CLASSIFY", "d.own DESC,", ""),
    (comparing, "CLASSIFY", "d.standing = ANY(%(live)s) DESC, d.own DESC", "d.own DESC"),
    (comparing, "CLASSIFY", "r.place > 1", "r.place > 2"),
    (comparing, "CLASSIFY", "AND NOT r.of_window THEN", "THEN"),
    (comparing, "CLASSIFY", "AND r.id <> ALL(%(in_part)s) THEN", "THEN"),
    (comparing, "CLASSIFY", "r.reference ~ %(reserved)s", "false"),
    (comparing, "LINK", "d.external_id = o.destination_reference", "false"),
    (marking, "LINK", "min(id) FILTER (WHERE told)", "max(id)"),
    (comparing, "CLASSIFY", "WHEN r.operation_id IS NULL AND r.why <> '' THEN '{AMBIGUOUS}'\n    WHEN r.place > 1 THEN '{DUPLICATE}'", "WHEN r.place > 1 THEN '{DUPLICATE}'\n    WHEN r.operation_id IS NULL AND r.why <> '' THEN '{AMBIGUOUS}'"),
    (comparing, "STAGE_LEDGER", "o.accepted_at > clock.grace_from", "o.accepted_at >= clock.grace_from"),
    (comparing, "STAGE_LEDGER", "a.claimed_at > clock.grace_from", "a.claimed_at >= clock.grace_from"),
    (comparing, "STAGE_LEDGER", "o.accepted_at < %(window_to)s", "o.accepted_at <= %(window_to)s"),
    (comparing, "STAGE_LEDGER", "o.accepted_at >= %(window_from)s", "o.accepted_at > %(window_from)s"),
    (comparing, "STAGE_LEDGER", "AND o.state = 'failed')", ")"),
    (comparing, "STAGE_LEDGER", "o.next_try_at > clock.grace_from", "true"),
    (comparing, "GOES_ON", "b.held_at IS NOT NULL OR ", ""),
    (comparing, "GOES_ON", "WHERE b.state = '{pending}' AND b.held_at IS NULL", "WHERE false AND b.held_at IS NULL"),
    (tying, "SUM_UP", "count(*) AS items", "count(amount) AS items"),
    (tying, "SUM_UP", "OR d.standing = ANY(%(live)s)", "OR true"),
    (tying, "COUNT_PAIRS", "count(DISTINCT d.reference)", "count(d.reference)"),
    (source, "LINK", "s.occurred_at > clock.grace_from", "s.occurred_at >= clock.grace_from"),
    (source, "LINK", "(s.occurred_on + 1)", "(s.occurred_on + 0)"),
    (source, "LINK", "AT TIME ZONE %(zone)s", "AT TIME ZONE 'UTC'"),
    (source, "LINK", "first.key = s.reference", "first.key = s.reference AND first.state <> 'failed'"),
    (source, "PLACE", "s.occurred_at < %(window_to)s", "s.occurred_at <= %(window_to)s"),
    (source, "PLACE", "together ORDER BY s.readable DESC, s.standing = ANY(%(live)s) DESC", "together ORDER BY s.standing = ANY(%(live)s) DESC"),
    (source, "PLACE", "s.readable DESC, s.standing = ANY(%(live)s) DESC,", "s.readable DESC,"),
    (source, "PLACE", "AND d.operation_id IS NULL AND r.operation_id IS NULL", "AND false"),
    (source, "PLACE", "WHEN NOT p.in_window AND p.line_id IS NULL THEN", "WHEN NOT p.in_window THEN"),
    (source, "PLACE", "WHEN NOT p.live THEN '{OUT_OF_SCOPE}'", ""),
    (source, "PLACE", "WHEN p.place > 1 OR p.apart THEN '{AMBIGUOUS}'", "WHEN p.apart THEN '{AMBIGUOUS}'"),
    (source, "PLACE", "WHEN p.operation_id IS NOT NULL THEN '{OUT_OF_SCOPE}'", ""),
    (source, "PLACE", "WHEN p.fresh THEN '{IN_FLIGHT}'", ""),
    (source, "PLACE", "WHEN p.live AND p.apart THEN %(untold)s", "WHEN false THEN %(untold)s"),
    (source, "COMPARE", "WHEN b.readable AND NOT b.live AND b.state = '{failed}' THEN", "WHEN b.readable AND NOT b.live THEN"),
    (source, "COMPARE", "WHEN b.fresh THEN '{IN_FLIGHT}'", ""),
    (source, "COMPARE", "l.fresh OR l.occurred_at >= %(source_as_of)s", "l.fresh"),
    (source, "COMPARE", "WHEN NOT b.readable THEN '{UNREADABLE}'", ""),
    (source, "COMPARE", "WHEN b.why <> '' THEN '{AMBIGUOUS}'", ""),
    (source, "COMPARE", "WHEN NOT b.live THEN '{STATUS_DIFFERS}'", ""),
    (source, "COMPARE", "b.source_currency <> b.currency", "false"),
    (source, "COMPARE", "greatest(l.amount, d.amount)", "l.amount"),
    (source, "COMPARE", "least(l.amount, d.amount)", "d.amount"),
    (source, "COMPARE", "b.most - b.source_amount > b.allowed", "b.most - b.source_amount >= b.allowed AND b.most <> b.source_amount"),
    (tying, "OF_THE_SOURCE", "OR s.standing = ANY(%(live)s)", "OR true"),
    (tying, "COUNT_ROWS", "GROUP BY coalesce(s.operation_id::text, 'of ' || s.reference)", "GROUP BY s.id"),
]
# fmt: on
