"""Faults that somebody could make in the statements which compare and tie; generated worlds have to see each."""

# ruff: noqa: E501  # a statement's words are as long as they are

from types import ModuleType

from reconcile import comparing, marking, tying

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
]
# fmt: on
