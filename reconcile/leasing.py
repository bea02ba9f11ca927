"""A run is its process's own while the lease lives; what stopped without a word is said to have failed."""

from datetime import timedelta

from django.db import connection, transaction

from ledger.models import TieoutNow
from ledger.rules.errors import Conflict
from reconcile.models import Plan, Run, RunQuerySet

LEASE = timedelta(minutes=5)
MARGIN = timedelta(minutes=1)
STOPPED = "Its process stopped before it was done."


class LostRun(Conflict):
    """The run was taken for dead while its process was still at work."""

    type = "lost-run"
    title = "The run is no longer ours"


def length(plan: Plan) -> timedelta:
    """Return how long a run may be silent: longer than a look-up that proves itself by a second call."""
    return max(LEASE, 2 * timedelta(seconds=plan.operation_type.destination.reach.timeout_s) + MARGIN)


def keep(run: Run) -> None:
    """Extend the lease of a run that is still ours; LostRun where it is not."""
    ours = Run.objects.filter(pk=run.pk, state=Run.State.RUNNING, lease_until__gt=TieoutNow())
    if not ours.update(lease_until=TieoutNow() + length(run.plan)):
        raise LostRun("The run was given up for dead while it was at work; start it again.")


def fail(run: Run, why: str) -> bool:
    """End a run that did not come to its end, with the reason; False where somebody else ended it."""
    return _end(Run.objects.running().filter(pk=run.pk), why)


def bury() -> int:
    """Fail every run whose lease ran out; returns how many there were."""
    abandoned = Run.objects.running().filter(lease_until__lte=TieoutNow())
    return sum(_end(abandoned.filter(pk=pk), STOPPED) for pk in abandoned.values_list("pk", flat=True))


def _end(run: RunQuerySet, why: str) -> bool:
    with transaction.atomic():
        pks = list(run.select_for_update().values_list("pk", flat=True))
        run.filter(pk__in=pks).update(
            state=Run.State.FAILED, finished_at=TieoutNow(), lease_until=None, why_failed=why[:500]
        )
        _drop_lines(pks)
    return bool(pks)


def discard(run: Run) -> None:
    """Remove a run of which nothing is to be kept."""
    with transaction.atomic():
        _drop_lines([run.pk])
        Run.objects.filter(pk=run.pk).delete()


def _drop_lines(pks: list[int]) -> None:
    # By hand: the ORM would read every line first, to see what its pair takes along.
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM reconcile_record WHERE run_id = ANY(%s)", [pks])
