"""What a run over a period's days came to as of the cut-off: compared again, without what was made later.

The run's own lines are compared anew inside a savepoint, without the records and rows that bear a later date,
by the very statements of the run; then all of it is taken back, and the report alone is kept.
"""

import hashlib
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection, transaction

from ledger.models import Case
from ledger.rules.digests import canonical
from reconcile import comparing, findings, reports, tying
from reconcile.models import Finding, Period, PeriodReport, Run
from reconcile.sources import comparing as rows
from reconcile.sums import SOURCE, Side, Totals, amount_text, read_totals, store_totals

MOST = 10_000
"""Open differences that a report names; one with more is not signed."""
LATER = "(occurred_at >= %(cut_off)s OR occurred_on >= %(day)s)"
# What was compared with a later record, or stood in one group with it, was not there yet; nor was what fits
# several later ones. The ledger's own side stays as it is.
NOT_YET = """
WITH later AS MATERIALIZED (
    SELECT * FROM reconcile_record WHERE run_id = %(run)s AND side = 'destination' AND {later}
), ours AS MATERIALIZED (
    SELECT * FROM reconcile_record WHERE run_id = %(run)s AND side = 'ledger' AND state <> '{running}'
), gone AS (
    SELECT ours.id, later.id AS later_id FROM later JOIN ours ON ours.pair_id = later.id
    UNION ALL
    SELECT ours.id, first.id FROM (
        SELECT rule, grouped, min(id) AS id FROM later WHERE grouped <> '' GROUP BY rule, grouped
    ) AS first JOIN ours USING (rule, grouped)
    UNION ALL
    SELECT ours.id, NULL FROM (SELECT DISTINCT rule FROM later WHERE several <> '') AS unclear
    JOIN ours USING (rule) WHERE ours.several <> ''
)
UPDATE reconcile_record AS l
SET looked = '{absent}', external_id = '', fresh = false, why = 'Not there at the cut-off: ' || coalesce(
    left(d.external_id, 100) || ' is dated ' || coalesce(d.occurred_on::text,
    to_char(d.occurred_at AT TIME ZONE %(zone)s, 'YYYY-MM-DD HH24:MI')) || ', after it.',
    'what rule ' || l.rule || ' fits is dated after it.')
FROM gone LEFT JOIN later AS d ON d.id = later_id
WHERE l.id = gone.id
"""
LEAVE_OUT = """
WITH later AS (
    DELETE FROM reconcile_record
    WHERE run_id = %(run)s AND side IN ('destination', 'source') AND {later}
    RETURNING side, standing, amount, CASE WHEN amount IS NULL THEN '' ELSE currency END AS currency
)
SELECT side, currency, count(*), count(*) FILTER (WHERE standing = '' OR standing = ANY(%(live)s)),
    coalesce(sum(amount) FILTER (WHERE standing = '' OR standing = ANY(%(live)s)), 0)
FROM later GROUP BY 1, 2
"""


@dataclass(frozen=True)
class _Later:
    """What of one side and currency was made after the cut-off."""

    side: str
    currency: str
    lines: int
    standing: Side


def made(run: Run, period: Period, *, beside: Mapping[str, Any]) -> PeriodReport:
    """Return the report of a period by the run over its days, whose lines are still staged; it is not stored.

    `beside`: what else the document tells, such as what is carried in.
    """
    as_of, found, later = _compared(run, period)
    document = {
        "period": shown(period),
        "run": {"id": str(run.uid), "number": run.pk, "digest": run.digest},
        **{name: value for name, value in reports.figures(as_of).items() if name != "digest"},
        "tie_out": _tie_out(as_of),
        "headline": reports.headline(as_of, reports.Open.of(found)),
        "open": [reports.finding_shown(finding) for finding in found[:MOST]],
        "open_count": len(found),
        "after_cut_off": [
            {
                "side": one.side,
                "currency": one.currency,
                "lines": one.lines,
                "standing": one.standing.count,
                "amount": amount_text(one.standing.amount, one.currency) if one.currency else None,
            }
            for one in later
        ],
        "not_tested": _not_tested(run),
        **beside,
    }
    return PeriodReport(
        period=period,
        run=run,
        as_of_at=period.cut_off_at,
        ties=as_of.explained and not any(Decimal(left) for left in as_of.residual.values()),
        open_count=len(found),
        document=document,
        digest=hashlib.sha256(canonical(document)).hexdigest(),
    )


def shown(period: Period) -> dict[str, Any]:
    """Return which period it is, and its cut-off, as the outside reads it."""
    return {
        "id": str(period.uid),
        "month": f"{period.first_day:%Y-%m}",
        "from": period.starts_at.isoformat(),
        "to": period.ends_at.isoformat(),
        "zone": period.timezone,
        "cut_off": period.cut_off_at.isoformat(),
        "grace_business_days": period.grace_business_days,
        "holidays": period.holidays,
    }


def _not_tested(run: Run) -> list[str]:
    return [
        *run.made_with["not_tested"],
        "What was changed or voided after the cut-off is told as it was when the run read it.",
        "What tells no date counts as there at the cut-off.",
    ]


def _tie_out(run: Run) -> dict[str, Any]:
    return {name: run.tie[name] for name in ("lines", *tying.run_sides(run), "currencies")}


def _compared(run: Run, period: Period) -> tuple[Run, list[Finding], list[_Later]]:
    as_of = copy(run)
    with transaction.atomic():
        later = _left_out(run, period)
        if later:
            comparing.classify(run)
            rows.classify(run)
            _count_less(as_of, later)
        found = _open(as_of, period)
        tie = tying.tie(as_of)
        as_of.classes = tying.classes(tie, found)
        as_of.tie, as_of.totals, as_of.residual = tie.stored(), tying.totals(tie), tying.residuals(tie)
        transaction.set_rollback(True)
    return as_of, found, later


def _open(run: Run, period: Period) -> list[Finding]:
    """Return what was open: what a person had closed before the cut-off was not."""
    found = findings.found(run)
    cases = Case.objects.filter(pk__in={one.case_id for one in found if one.case_id})
    over = set(cases.filter(closed_at__lt=period.cut_off_at).values_list("pk", flat=True))
    return [one for one in found if one.case_id not in over]


def _left_out(run: Run, period: Period) -> list[_Later]:
    values = comparing.values(run) | {"cut_off": period.cut_off_at, "day": _day(period)}
    with connection.cursor() as cursor:
        cursor.execute(NOT_YET.format(later=LATER, **comparing.NAMES), values)
        cursor.execute(LEAVE_OUT.format(later=LATER), values)
        return [
            _Later(side, currency, lines, Side(count, amount))
            for side, currency, lines, count, amount in sorted(cursor.fetchall())
        ]


def _day(period: Period) -> date:
    """Return the day in the plan's zone that begins with the cut-off."""
    at: datetime = period.cut_off_at
    return at.astimezone(period.plan.zone).date()


def _count_less(run: Run, later: list[_Later]) -> None:
    """Take what was made later out of the totals that the pull counted, record by record."""
    run.counted, run.sides = dict(run.counted), dict(run.sides)
    for one in later:
        totals: Totals = read_totals(run.counted[one.side])
        held = totals.setdefault(one.currency, Side())
        held.count -= one.standing.count
        held.amount -= one.standing.amount
        run.counted[one.side] = store_totals(totals)
        if one.side == SOURCE:
            told = run.sides[SOURCE]
            run.sides[SOURCE] = told | {"rows": told["rows"] - one.lines}
        else:
            run.records -= one.lines
