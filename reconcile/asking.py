"""A person starts a run from a page, or stops one; each is told by an event."""

from django.db import transaction

from ledger.actions.changing import given
from ledger.models import Event
from ledger.rules.errors import NotNow
from reconcile import joining, leasing
from reconcile.actions import OWN_WINDOW, Days
from reconcile.models import Plan, Run

ASKED = "Asked for under Runs."


def start(plan: Plan, *, after: int, actor: str, days: Days = OWN_WINDOW) -> Run:
    """Begin a run of a plan that a worker carries out, or join what was begun since the run `after`.

    `after`: the latest run that whoever asks has seen, 0 for none: a second click is the first one's run.
    Raises AlreadyRunning where a run over other days is at work.
    """
    later = Run.objects.filter(plan=plan, pk__gt=after, dry_run=False, first_day=days[0], last_day=days[1])
    since = later.order_by("pk").first()
    if since is not None:
        return since
    with transaction.atomic():
        Plan.objects.select_for_update().get(pk=plan.pk)  # of two at once the second joins
        run, new = joining.run_later(plan, days, actor=actor)
        if new:
            _tell(run, "run_asked", actor=actor, reason=ASKED)
    return run


def stop(run: Run, *, actor: str, reason: str) -> None:
    """Stop a run that is at work; NotNow where it has ended. What it has carried to the ledger stays."""
    words = given(reason)
    with transaction.atomic():
        if not leasing.stop(run, f"{actor} stopped it: {words}"):
            raise NotNow("It has ended already.")
        _tell(run, "run_stopped", actor=actor, reason=words)


def _tell(run: Run, kind: str, *, actor: str, reason: str) -> None:
    data = {"run": str(run.uid), "plan": run.plan.name, "name": f"run {run.pk} of {run.plan.name}"}
    Event.objects.create(kind=kind, actor=actor, reason=reason, data=data)
