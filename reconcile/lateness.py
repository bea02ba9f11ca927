"""Records that came late, beside whatever class they are in: no total and no tie-out asks for it.

A record came late where the run before should have had it: its own time lies in that run's window, and more
than the plan's grace before that run looked. It stays so from run to run. Late as well is a record that was
made later than the grace after the last try of its operation.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Sum

from reconcile.comparing import whole_sets
from reconcile.models import Record, Run
from reconcile.sums import amount_text

BY_RUN, BY_GRACE = "run", "grace"

# What tells only its day was there when the day was over.
MISSED = """
UPDATE reconcile_record AS d SET came_late = 'run', missed_by = %(before)s
WHERE d.run_id = %(run)s AND d.side = 'destination' AND d.external_id <> ''
    AND CASE
        WHEN d.occurred_at IS NOT NULL THEN d.occurred_at >= %(from)s AND d.occurred_at < %(until)s
        WHEN d.occurred_on IS NOT NULL THEN d.occurred_on >= %(first_day)s
            AND (d.occurred_on + 1)::timestamp AT TIME ZONE %(zone)s < %(until)s
        ELSE false END
    AND NOT EXISTS (
        SELECT FROM reconcile_record AS b
        WHERE b.run_id = %(before)s AND b.side = 'destination' AND b.external_id = d.external_id
    )
"""
STAYS = """
UPDATE reconcile_record AS d SET came_late = b.came_late, missed_by = b.missed_by
FROM reconcile_record AS b
WHERE b.run_id = %(before)s AND b.side = 'destination' AND b.came_late = 'run'
    AND d.run_id = %(run)s AND d.side = 'destination' AND d.external_id = b.external_id
"""
SLOW = """
UPDATE reconcile_record AS d SET came_late = 'grace'
FROM reconcile_record AS l
WHERE l.run_id = %(run)s AND l.side = 'ledger' AND l.pair_id = d.id
    AND d.run_id = %(run)s AND d.side = 'destination' AND d.came_late = ''
    AND d.occurred_at > l.occurred_at + make_interval(secs => %(grace_s)s)
    AND d.occurred_at > (
        SELECT max(a.claimed_at) FROM ledger_attempt AS a WHERE a.operation_id = l.operation_id
    ) + make_interval(secs => %(grace_s)s)
"""


def mark(run: Run) -> None:
    """Mark the records that came late; the caller has the run, and its lines are in pairs."""
    with whole_sets() as cursor:
        before = _before(run)
        if before is not None:
            values = _values(run, before)
            cursor.execute(MISSED, values)
            cursor.execute(STAYS, values)
        cursor.execute(SLOW, {"run": run.pk, "grace_s": run.grace_s})


def _before(run: Run) -> Run | None:
    """Return the latest run that is done, while what it listed is kept and the rules are the same."""
    done = Run.objects.filter(plan=run.plan_id, state=Run.State.DONE, dry_run=False, pk__lt=run.pk)
    before = done.order_by("-pk").first()
    kind = run.plan.operation_type
    if before is None or max(kind.changed_at, kind.destination.changed_at) > before.started_at:
        return None
    listed = Record.objects.filter(run=before, side=Record.Side.DESTINATION)
    return before if listed.exists() or not before.records else None


def _values(run: Run, before: Run) -> dict[str, Any]:
    told = before.sides.get(Record.Side.DESTINATION, {}).get("as_of")
    looked_at = before.started_at if told is None else datetime.fromisoformat(told)
    return {
        "run": run.pk,
        "before": before.pk,
        "from": before.window_from,
        "until": min(before.window_to, looked_at - timedelta(seconds=before.grace_s)),
        "first_day": before.days[0],
        "zone": run.plan.timezone,
    }


def counted(run: Run) -> dict[str, Any]:
    """Return how many records of a run came late, and what they come to by currency; its lines are staged."""
    late = Record.objects.filter(run=run, side=Record.Side.DESTINATION).exclude(came_late="")
    sums = list(late.order_by().values("currency").annotate(number=Count("pk"), sum=Sum("amount")))
    return {
        "records": sum(one["number"] for one in sums),
        "amounts": {
            one["currency"]: amount_text(one["sum"], one["currency"])
            for one in sums
            if one["currency"] and one["sum"] is not None
        },
    }


def words(run: Run, record: Record | None) -> str:
    """Say that a record came late, and by what that is known; empty where it did not."""
    if record is None or not record.came_late:
        return ""
    if record.occurred_at is None:
        of = f"{record.occurred_on}"
    else:
        of = f"{record.occurred_at.astimezone(run.plan.zone):%Y-%m-%d %H:%M %Z}"
    if record.came_late == BY_RUN:
        return f"Came late: it is of {of}, and run {record.missed_by} did not have it."
    return f"Came late: made {of}, later than the plan’s grace after the last try."
