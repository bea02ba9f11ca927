"""What runs find of signed periods otherwise than it was signed: it goes to the next open period.

Each record and row that bore a date of the period is kept with its report. A later run that covers days of a
signed period compares its own lines with them; the signed period itself never changes.
"""

from datetime import date
from typing import Any

from django.db import connection

from ledger.models import Event
from reconcile.comparing import LIVE, whole_sets
from reconcile.models import LateItem, Period, PeriodLine, PeriodReport, Plan, Run, SignOff
from reconcile.periods import months

LINES = """
SELECT side, name, row_number() OVER (
        PARTITION BY side, name ORDER BY amount, currency, number
    ) AS nth, reference, amount, CASE WHEN amount IS NULL THEN '' ELSE currency END AS currency,
    standing = '' OR standing = ANY(%(live)s) AS stands, day,
    day BETWEEN %(first_day)s AND %(last_day)s AS inside
FROM (
    SELECT r.*, coalesce(nullif(external_id, ''), reference) AS name,
        coalesce(occurred_on, (occurred_at AT TIME ZONE %(zone)s)::date) AS day
    FROM reconcile_record AS r
    WHERE run_id = %(run)s AND side IN ('destination', 'source')
) AS lines
WHERE name <> '' AND day IS NOT NULL
"""
KEEP = """
INSERT INTO reconcile_periodline (report_id, side, name, nth, reference, amount, currency, stands, day)
SELECT %(report)s, side, name, nth, reference, amount, currency, stands, day
FROM ({lines}) AS kept WHERE inside
"""
FORGET = """
DELETE FROM reconcile_periodline WHERE report_id IN (
    SELECT t.id FROM reconcile_periodreport AS t
    WHERE t.period_id = %(period)s AND t.id <> %(report)s AND NOT EXISTS (
        SELECT FROM reconcile_signoff AS s
        WHERE s.run_id = t.run_id AND s.way = 'sign' AND s.answer IN ('', 'approved')
    )
)
"""
# Of what is gone only the days tell that this run has asked for as a whole.
FOUND = """
WITH here AS MATERIALIZED ({lines}), found AS MATERIALIZED (
    SELECT side, name, nth, coalesce(n.reference, t.reference) AS reference, n.amount,
        coalesce(n.currency, '') AS currency, coalesce(n.day, t.day) AS day, t.amount AS was_amount,
        coalesce(t.currency, '') AS was_currency, CASE
            WHEN t.id IS NULL THEN 'new' WHEN n.name IS NULL THEN 'gone'
            WHEN t.stands AND NOT n.stands THEN 'voided' WHEN n.stands AND NOT t.stands THEN 'again'
            WHEN NOT n.inside THEN 'moved' ELSE 'changed' END AS kind
    FROM (SELECT * FROM reconcile_periodline WHERE report_id = %(report)s) AS t
    FULL JOIN here AS n USING (side, name, nth)
    WHERE CASE
        WHEN t.id IS NULL THEN n.inside
        WHEN n.name IS NULL THEN t.day > %(asked_from)s AND (t.side = 'destination' OR %(has_source)s)
        ELSE NOT n.inside
            OR (t.amount, t.currency, t.stands) IS DISTINCT FROM (n.amount, n.currency, n.stands) END
)
"""
OVER = """{found}
UPDATE reconcile_lateitem AS late SET over_in_id = %(run)s
WHERE late.report_id = %(report)s AND late.over_in_id IS NULL
    AND (late.day > %(asked_from)s AND (late.side = 'destination' OR %(has_source)s) OR EXISTS (
        SELECT FROM here AS h WHERE (h.side, h.name, h.nth) = (late.side, late.name, late.nth)
    ))
    AND NOT EXISTS (
        SELECT FROM found AS f
        WHERE (f.side, f.name, f.nth) = (late.side, late.name, late.nth)
            AND (f.kind, f.currency) = (late.kind, late.currency)
            AND f.amount IS NOT DISTINCT FROM late.amount
    )
"""
ADD = """{found}
INSERT INTO reconcile_lateitem (report_id, into_id, side, name, nth, reference, kind, amount, currency,
    was_amount, was_currency, day, found_in_id)
SELECT %(report)s, %(into)s, side, name, nth, reference, kind, amount, currency, was_amount,
    was_currency, day, %(run)s
FROM found AS f
WHERE NOT EXISTS (
    SELECT FROM reconcile_lateitem AS late
    WHERE late.report_id = %(report)s AND late.over_in_id IS NULL
        AND (f.side, f.name, f.nth) = (late.side, late.name, late.nth)
)
"""


def bounds(plan: Plan, first: date) -> dict[str, Any]:
    """Return the columns of a plan's period as the plan is configured now."""
    said = plan.period
    grace, calendar = said.get("grace_business_days", 0), said.get("holidays", "")
    cut_off = months.cut_off(first, grace=grace, calendar=calendar)
    return {
        "last_day": months.last_of(first),
        "timezone": plan.timezone,
        "starts_at": months.begins(first, plan.zone),
        "ends_at": months.begins(months.after(first), plan.zone),
        "grace_business_days": grace,
        "holidays": calendar,
        "cut_off_at": months.begins(cut_off, plan.zone),
    }


def keep(report: PeriodReport) -> None:
    """Keep what of the other sides bears a date of the period, line by line; earlier unsigned reports' go."""
    with connection.cursor() as cursor:
        cursor.execute(KEEP.format(lines=LINES), _values(report.run, report.period) | {"report": report.pk})
        cursor.execute(FORGET, {"period": report.period_id, "report": report.pk})


def compare(run: Run) -> None:
    """Compare what a run has staged with what was signed of the periods that it covers days of."""
    signed = Period.objects.filter(
        plan=run.plan, starts_at__lt=run.window_to, ends_at__gt=run.window_from
    ).signed()
    for period in signed.order_by("first_day"):
        standing = SignOff.objects.standing().get(period=period)
        report = PeriodReport.objects.get(run=standing.run_id)
        if not _kept(report):
            continue
        values = _values(run, period) | {"report": report.pk, "into": next_open(period).pk}
        with whole_sets() as cursor:
            found = FOUND.format(lines=LINES)
            cursor.execute(OVER.format(found=found), values)
            cursor.execute(ADD.format(found=found), values)
            count = cursor.rowcount
        if count:
            _tell(run, period, count)


def _kept(report: PeriodReport) -> bool:
    """Say whether its lines were kept: those of reports of before were not."""
    held = any(side["count"] for side in report.document["totals"].values() if isinstance(side, dict))
    return not held or PeriodLine.objects.filter(report=report).exists()


def next_open(period: Period) -> Period:
    """Return the first later period that nobody has prepared; the month after the last one where none is."""
    later = Period.objects.filter(plan=period.plan_id, first_day__gt=period.first_day).order_by("first_day")
    standing = SignOff.objects.standing().exclude(period=None).values("period")
    found = later.exclude(pk__in=standing).first()
    if found is not None:
        return found
    last = later.last() or period
    first = months.after(last.first_day)
    return Period.objects.create(plan=period.plan, first_day=first, **bounds(period.plan, first))


def _values(run: Run, period: Period) -> dict[str, Any]:
    return {
        "run": run.pk,
        "live": LIVE,
        "zone": period.timezone,
        "first_day": period.first_day,
        "last_day": period.last_day,
        "asked_from": run.days[0],
        "has_source": run.has_source,
    }


def _tell(run: Run, period: Period, count: int) -> None:
    data = {
        "plan": run.plan.name,
        "name": f"{period.title} of {run.plan.name}",
        "period": str(period.uid),
        "run": str(run.uid),
        "count": count,
    }
    reason = f"Run {run.pk}: {count} no longer as signed."
    Event.objects.create(kind="period_drifted", actor=f"reconciliation {run.pk}", reason=reason, data=data)


def living(period: Period) -> Any:
    """Return what of a period is no longer as it was signed."""
    return LateItem.objects.living().filter(report__period=period).order_by("name", "pk")
