"""What the queue calls: a line each; arguments and results are plain ids."""

import logging

from ledger.rules.errors import TieoutError
from ledger.worker import heart
from reconcile import actions, leasing, running, scheduling
from reconcile.models import Plan, Run
from reconcile.scheduling import TASK_TIMEOUT_S

ACTOR = "schedule"

log = logging.getLogger(__name__)


def run_plan(plan_id: int) -> int | None:
    """Run a plan over its own window; returns the run's number, None where another run is at work."""
    plan = Plan.objects.select_related("operation_type__destination").get(pk=plan_id)
    if Run.objects.running().exclude(plan=plan).exists():
        scheduling.put_off(plan)
        return None
    try:
        start, to = running.window(plan, None, None)
        run = actions.start(plan, window_from=start, window_to=to, actor=ACTOR)
    except TieoutError as error:  # another run is at work, or its zone is not known here
        log.warning("plan %s was not run: %s", plan.name, error.detail)
        return None
    return _carry_out(run)


def resume(run_id: int) -> int | None:
    """Go on with a run whose process has stopped; returns its number, None where somebody else has it."""
    run = leasing.take(run_id)
    return None if run is None else _carry_out(run)


def _carry_out(run: Run) -> int:
    try:
        # Both workers may be at a run: then nothing else goes through the queue, and it is not dead.
        with heart.busy(TASK_TIMEOUT_S):
            running.execute(run)
    except TieoutError as error:  # it stands on the run itself, where people see it
        log.warning("run %s of plan %s: %s", run.pk, run.plan.name, error.detail)
    return run.pk
