"""What the queue calls: a line each; arguments and results are plain ids."""

import logging

from ledger.rules.errors import TieoutError
from ledger.worker import heart
from reconcile import leasing, running
from reconcile.scheduling import TASK_TIMEOUT_S
from reconcile.statements import keeping, working

log = logging.getLogger(__name__)


def carry_out(run_id: int) -> int | None:
    """Carry out a run that waits for a process; returns its number, None where it waits no more."""
    run = leasing.take(run_id)
    if run is None:
        return None
    try:
        # Both workers may be at a run: then nothing else goes through the queue, and it is not dead.
        with heart.busy(TASK_TIMEOUT_S):
            running.execute(run)
    except TieoutError as error:  # it stands on the run itself, where people see it
        log.warning("run %s of plan %s: %s", run.pk, run.plan.name, error.detail)
    return run.pk


def compare(comparison_id: int) -> bool:
    """Read or compare two dropped files; says whether there was anything to do."""
    with heart.busy(keeping.TIMEOUT_S):
        return working.carry_on(comparison_id)
