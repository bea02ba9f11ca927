"""The due times of all plans, one by one: which were run for, which were not, and which come next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from reconcile import scheduling
from reconcile.expected import actions
from reconcile.expected.standing import RED, Standing
from reconcile.models import ExpectedRun, Run
from review.expected import DID_NOT_RUN
from review.instants import instant
from review.wording import Badge

LATELY = timedelta(days=14)
SHOWN = 200
"""How many stand on the page, the latest first."""
FOR_GOOD = "Nothing ran before the next."


@dataclass(frozen=True)
class DueTime:
    """One expected run as the page shows it."""

    row: Any
    badge: Badge
    note: str
    run: Run | None
    red: bool


def lately(now: datetime) -> Sequence[DueTime]:
    """Return the due times of the last two weeks and those to come; three queries."""
    found = ExpectedRun.objects.filter(due_at__gt=now - LATELY).answered()
    rows: list[Any] = list(found.select_related("plan").order_by("-due_at", "plan__name")[:SHOWN])
    runs = Run.objects.in_bulk({pk for row in rows for pk in (row.first, row.last) if pk})
    busy = scheduling.is_busy()
    return [_told(row, runs, now, busy=busy) for row in rows]


def _told(row: Any, runs: dict[int, Run], now: datetime, *, busy: bool) -> DueTime:
    how = actions.stands(row, runs, now, busy=busy)
    run, late = runs.get(row.first or row.last), ""
    if how is Standing.REPORTED and run is not None and run.finished_at and run.finished_at > row.report_by:
        late = "After its time to report."
    badge, note = {
        Standing.TO_COME: (Badge("pending", "To come", "pending"), ""),
        Standing.WAITS: (Badge("pending", "Waits", "pending"), ""),
        Standing.RUNNING: (Badge("running", "Running", "running"), ""),
        Standing.REPORTED: (Badge("completed", _reported(run, now), "completed"), late),
        Standing.NOT_STARTED: (Badge("failed", "Not started", "failed"), _for_good(row, now)),
        Standing.INCOMPLETE: (Badge("failed", DID_NOT_RUN, "failed"), run.why_failed if run else ""),
        Standing.LATE: (Badge("failed", "Late", "failed"), "Running past its time to report."),
    }[how]
    return DueTime(row, badge, note, run, red=how in RED)


def _reported(run: Run | None, now: datetime) -> str:
    return f"Reported {instant(run.finished_at, now)}" if run and run.finished_at else "Reported"


def _for_good(row: Any, now: datetime) -> str:
    return FOR_GOOD if row.next_due_at is not None and row.next_due_at <= now else ""
