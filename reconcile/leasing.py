"""A run is one process's own; what stopped is taken over, and who has lost a run writes nothing more to it.

A process is taken for dead when its database session is gone, which a kill ends at once, or when it was
silent until its lease ran out. It may be alive all the same: each process that takes a run over raises the
run's `hold`, and every write asks for its own under the lock of the run's row.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import connection, models, transaction
from django.db.models.expressions import Func

from ledger.models import TieoutNow
from ledger.models.sessions import LIVES, SINCE
from ledger.rules.errors import Conflict
from reconcile.models import Plan, Run, RunQuerySet

LEASE = timedelta(minutes=5)
MARGIN = timedelta(minutes=1)
HOLDS_MAX = 10
"""How many processes may have had a run: one that ends its process each time would do so for ever."""
STOPPED = "Its process stopped before it was done, {times} times."

AT_WORK = LIVES.format(pid="run.session_pid", since="run.session_since")
ABANDONED = f"""
run.state = 'running' AND (run.lease_until <= tieout_now() OR NOT {AT_WORK})
"""
# Whose row is locked is at work, in a transaction that outlasts its lease; a sweep does not wait for its end.
LIST = """
SELECT run.id FROM reconcile_run AS run WHERE {abandoned} ORDER BY run.id FOR SHARE OF run SKIP LOCKED
"""
TAKE = """
UPDATE reconcile_run AS run
SET hold = run.hold + 1, lease_until = tieout_now() + make_interval(secs => %(lease_s)s),
    session_pid = pg_backend_pid(), session_since = {since}, nudged_at = NULL
WHERE run.id = %(run)s AND {abandoned}
RETURNING run.id
"""


class LostRun(Conflict):
    """The run was taken over while its process was still at work."""

    type = "lost-run"
    title = "The run is no longer ours"


def length(plan: Plan) -> timedelta:
    """Return how long a run may be silent: longer than a look-up that proves itself by a second call."""
    asked = [plan.operation_type.destination.reach, *([plan.third.connection] if plan.third else [])]
    return max(LEASE, 2 * timedelta(seconds=max(one.timeout_s for one in asked)) + MARGIN)


def session() -> dict[str, Func]:
    """Return what to write on a new run so that the end of this process shows."""
    pid = Func(function="pg_backend_pid", output_field=models.IntegerField())
    return {"session_pid": pid, "session_since": Func(template=SINCE, output_field=models.DateTimeField())}


def keep(run: Run) -> None:
    """Extend the lease of a run that is still ours; LostRun where another process has it or it has ended."""
    if not _extend(run):
        raise LostRun("This run was given up for dead while it was at work: another process has ended it.")


@contextmanager
def held(run: Run) -> Iterator[None]:
    """Write in one transaction in which nobody can take the run over; LostRun where somebody has.

    However long it takes, the run's lease begins with its end, unless that is the end of the run.
    """
    with transaction.atomic():
        keep(run)
        yield
        _extend(run)


def _extend(run: Run) -> bool:
    return bool(_ours(run).update(lease_until=TieoutNow() + length(run.plan)))


def abandoned() -> list[int]:
    """Return the runs that wait for a process, the oldest first.

    They have none yet, or theirs is gone or was silent for the length of its lease.
    """
    with connection.cursor() as cursor:
        cursor.execute(LIST.format(abandoned=ABANDONED))
        return [pk for (pk,) in cursor.fetchall()]


def take(run_id: int) -> Run | None:
    """Make an abandoned run this process's own; None where it is gone, at work or somebody else's."""
    plan = Plan.objects.select_related("operation_type__destination").filter(runs=run_id).first()
    if plan is None:
        return None
    with connection.cursor() as cursor:
        values = {"lease_s": length(plan).total_seconds(), "run": run_id}
        cursor.execute(TAKE.format(since=SINCE, abandoned=ABANDONED), values)
        taken = cursor.fetchone() is not None
    return Run.objects.select_related("plan__operation_type__destination").get(pk=run_id) if taken else None


def fail(run: Run, why: str) -> bool:
    """End a run that did not come to its end, with the reason; False where it is no longer ours."""
    return _end(_ours(run), why)


def stop(run: Run, why: str) -> bool:
    """End a run whoever is at work on it, who writes nothing more; False where it has ended."""
    return _end(Run.objects.running().filter(pk=run.pk), why)


def bury() -> None:
    """End what nobody is to take over: dry runs, and runs that have ended one process after another."""
    for run in Run.objects.filter(pk__in=abandoned()):
        if run.dry_run:
            discard(run)
        elif run.hold >= HOLDS_MAX:
            fail(run, STOPPED.format(times=run.hold))


def _ours(run: Run) -> RunQuerySet:
    return Run.objects.running().filter(pk=run.pk, hold=run.hold)


def _end(run: RunQuerySet, why: str) -> bool:
    with transaction.atomic():
        pks = list(run.select_for_update().values_list("pk", flat=True))
        run.filter(pk__in=pks).update(
            state=Run.State.FAILED,
            finished_at=TieoutNow(),
            lease_until=None,
            place=None,
            why_failed=why[:500],
        )
        drop_lines(pks)
    return bool(pks)


def discard(run: Run) -> None:
    """Remove a run of which nothing is to be kept."""
    with transaction.atomic():
        drop_lines([run.pk])
        Run.objects.filter(pk=run.pk).delete()


def drop_lines(pks: list[int], *, side: str | None = None) -> None:
    """Delete every line of some runs, or of one side, in one statement: the ORM would read each first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM reconcile_record WHERE run_id = ANY(%s) AND side = coalesce(%s, side)", [pks, side]
        )
