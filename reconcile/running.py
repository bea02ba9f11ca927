"""A run from its start to its end: pull, compare, look up what is absent, tie, settle."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import DatabaseError, connection

from ledger.destinations.connectors.base import ConfigurationError, IncompletePull
from ledger.models import TieoutNow, database_now
from ledger.rules.digests import canonical
from ledger.rules.errors import Malformed, TieoutError
from reconcile import (
    absences,
    actions,
    carrying,
    comparing,
    findings,
    lateness,
    leasing,
    provenance,
    pulling,
    reports,
    reversals,
    tying,
)
from reconcile.models import UNKNOWN_ZONE, Finding, Plan, Run
from reconcile.periods import actions as periods
from reconcile.rules import ways
from reconcile.sources import comparing as rows
from reconcile.sources import pulling as source

FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(9998, 12, 31)
"""Days that a window may begin or end with: none before computers, none whose morrow cannot be told."""
STORED = 1000
"""So many findings are stored in one go."""
UNFORESEEN = "Something went wrong in Tieout ({name}); the log says what."


class NotWhole(TieoutError):
    """The run could not be made whole, and says nothing."""

    status = 503
    type = "run-not-whole"
    title = "The run could not be made whole"
    retry = "wait"


def window(plan: Plan, first: date | None, last: date | None) -> tuple[datetime, datetime]:
    """Return a half-open window in the plan's zone; a last day belongs to it. Malformed where it cannot be.

    Without days it ends now and is as long as the plan says; with one of them, that end is given.
    """
    _known_zone(plan)
    if not all(FIRST_DAY <= day <= LAST_DAY for day in (first, last) if day is not None):
        raise Malformed(f"The days of a window lie between {FIRST_DAY} and {LAST_DAY}.")
    to = database_now() if last is None else _midnight(plan, last + timedelta(days=1))
    start = to - _length(plan, to) if first is None else _midnight(plan, first)
    if start >= to:
        raise Malformed("The window is empty: it begins after its end.")
    return start, to


def _length(plan: Plan, to: datetime) -> timedelta:
    """Return how long the plan's window is; one that is longer than time itself begins with it."""
    longest = to - datetime.combine(FIRST_DAY, time.min, tzinfo=UTC)
    return timedelta(seconds=min(plan.window_s, max(longest.total_seconds(), 0)))


def _known_zone(plan: Plan) -> None:
    try:
        _ = plan.zone
    except UNKNOWN_ZONE:
        raise Malformed(f'The time zone "{plan.timezone}" of {plan.name} is not known here.') from None


def _midnight(plan: Plan, day: date) -> datetime:
    return datetime.combine(day, time.min, tzinfo=plan.zone).astimezone(UTC)


def execute(run: Run) -> list[Finding]:
    """Carry a run to its end from the step that it has come to; NotWhole, with the reason, where it has none.

    Of a dry run nothing is kept, neither here nor in the ledger, and its row is gone afterwards.
    """
    try:
        return _execute(run)
    except (IncompletePull, ConfigurationError) as error:
        why = error.reason if isinstance(error, IncompletePull) else error.detail
        leasing.fail(run, why)
        raise NotWhole(why) from None
    except BaseException as error:
        with suppress(DatabaseError):  # where that is the trouble, another process takes the run over
            leasing.fail(run, UNFORESEEN.format(name=type(error).__name__))
        raise
    finally:
        if run.dry_run:
            leasing.discard(run)


def _execute(run: Run) -> list[Finding]:
    _start_over_if_configured_since(run)
    if run.step == Run.Step.LISTING:
        source.pull(run)
        pulling.pull(run)
        run.counted = {**run.counted, "as_of": database_now().isoformat(timespec="seconds")}
        pulling.stage_ledger(run)
    found = _compare(run) if run.step == Run.Step.COMPARING else list(findings.stored(run))
    if not run.dry_run:
        actions.settle(run, found, actor=actor_of(run))
        finish(run)
    return found


def _start_over_if_configured_since(run: Run) -> None:
    """Read and compare again what was read by other rules than those that are in force now."""
    kind = run.plan.operation_type
    changed_at = max(run.plan.changed_at, kind.changed_at, kind.destination.changed_at)
    if run.step != Run.Step.SETTLING and changed_at > run.started_at:
        run.step, run.place, run.grace_s = Run.Step.LISTING, None, run.plan.grace_s
        run.sides, run.counted = {}, {}
        with leasing.held(run):
            leasing.drop_lines([run.pk])
            run.save(update_fields=["step", "place", "grace_s", "sides", "counted"])


def _compare(run: Run) -> list[Finding]:
    """Put every item into its class and write down what that comes to, in one piece."""
    _classify(run)
    if absences.confirm(run, absences.tried if run.dry_run else absences.kept(run, actor_of(run))):
        _classify(run)
    found = findings.found(run)
    leasing.keep(run)
    run.reversed, run.matched = reversals.found(run), ways.told(run)
    write(run, tying.tie(run), found)
    if not run.dry_run:
        store(run, found)
    return found


def _classify(run: Run) -> None:
    with leasing.held(run):
        comparing.classify(run)
        rows.classify(run)
        lateness.mark(run)


def actor_of(run: Run) -> str:
    """Name the run as the ledger's trail does."""
    return f"reconciliation {run.pk}"


def write(run: Run, tie: tying.Tie, found: Sequence[Finding]) -> None:
    """Write the one snapshot that page, command and export share; the digest covers these books."""
    run.classes = tying.classes(tie, found)
    run.tie = tie.stored()
    run.totals = tying.totals(tie)
    run.residual = tying.residuals(tie)
    run.made_with = provenance.made_with(run)
    run.digest = hashlib.sha256(canonical(_told(run, found))).hexdigest()


def _told(run: Run, found: Sequence[Finding]) -> dict[str, Any]:
    """Return what the books come to, without what words tell of other operations: they move by themselves."""
    document = reports.books(run, found)
    beside = ("why", "elsewhere", "came_late")
    document["findings"] = [
        {name: value for name, value in finding.items() if name not in beside}
        for finding in document["findings"]
    ]
    return {name: value for name, value in document.items() if name != "digest"}


def store(run: Run, found: Sequence[Finding]) -> None:
    """Store findings and figures before anything is settled: no case is opened for what is not on record.

    All are stored or none. Each is asked for the run's lease, which goes on with them.
    """
    run.step = Run.Step.SETTLING
    with leasing.held(run):
        for start in range(0, len(found), STORED):
            leasing.keep(run)
            Finding.objects.bulk_create(found[start : start + STORED])
        carrying.take_up(run)
        run.save(
            update_fields=[
                "step",
                "classes",
                "tie",
                "totals",
                "residual",
                "digest",
                "reversed",
                "made_with",
                "matched",
            ]
        )


def finish(run: Run) -> None:
    """End the run; the lines of earlier runs of its plan are no longer needed."""
    with leasing.held(run):
        periods.follow(run)
        Run.objects.filter(pk=run.pk).update(
            state=Run.State.DONE, lease_until=None, finished_at=TieoutNow(), settled=run.settled
        )
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM reconcile_record USING reconcile_run AS r"
                " WHERE r.id = run_id AND r.plan_id = %s AND r.id < %s",
                [run.plan_id, run.pk],
            )
    run.refresh_from_db()
