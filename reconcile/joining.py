"""A second start over the same days joins the run that is at work; what has stopped is gone on with first."""

import time
from collections.abc import Callable
from contextlib import suppress

from reconcile import actions, findings, leasing, running
from reconcile.actions import AlreadyRunning, Days
from reconcile.models import Finding, Plan, Run

POLL_S = 0.5

Outcome = tuple[Run, list[Finding]]


def run_now(plan: Plan, days: Days, *, actor: str, dry_run: bool, say: Callable[[str], object]) -> Outcome:
    """Run a plan to its end and return the run with its findings; `say` is told of what else is at work.

    Raises NotWhole with the reason where it has no end, AlreadyRunning where a run over other days, or a dry
    one, is at work, Malformed where the days are no window.
    """
    running.window(plan, *days)  # refused before anything is begun or waited for
    while True:
        other = Run.objects.running().filter(plan=plan).first()
        if other is None:
            start, to = running.window(plan, *days)
            run = actions.start(
                plan, window_from=start, window_to=to, actor=actor, days=days, dry_run=dry_run
            )
            return run, running.execute(run)
        same = not dry_run and not other.dry_run and (other.first_day, other.last_day) == days
        if other.pk in leasing.abandoned() and (other.dry_run or not dry_run):
            outcome = _go_on(other, same=same, say=say)
        elif same:
            outcome = _wait(other, say=say)
        else:
            raise AlreadyRunning(actions.who_runs(plan))
        if outcome is not None:
            return outcome


def run_later(plan: Plan, days: Days, *, actor: str) -> tuple[Run, bool]:
    """Begin a run that a worker carries out, or join one over the same days; says whether it is new.

    Raises AlreadyRunning where a run over other days, or a dry one, is at work, Malformed where the days are
    no window.
    """
    start, to = running.window(plan, *days)
    try:
        run = actions.start(plan, window_from=start, window_to=to, actor=actor, days=days, waits=True)
    except AlreadyRunning:
        first, last = days
        same = Run.objects.running().filter(plan=plan, dry_run=False, first_day=first, last_day=last).first()
        if same is None:
            raise
        return same, False
    return run, True


def _go_on(other: Run, *, same: bool, say: Callable[[str], object]) -> Outcome | None:
    """Take a run over that has stopped; None where it is not what was asked for, or somebody else has it."""
    leasing.bury()
    run = leasing.take(other.pk)
    if run is None:
        return None
    say(f"Run {run.pk} of {run.plan.name} was not done and had no process; it goes on now.")
    if same:
        return run, running.execute(run)
    with suppress(running.NotWhole):  # it stands on that run
        running.execute(run)
    return None


def _wait(other: Run, *, say: Callable[[str], object]) -> Outcome | None:
    """Wait for another process's run; None where that process has stopped."""
    name = f"Run {other.pk} of {other.plan.name}"
    say(f"{name} is at work on the same; waiting for its end.")
    try:
        while other.pk not in leasing.abandoned():
            other.refresh_from_db()
            if other.state == Run.State.FAILED:
                raise running.NotWhole(other.why_failed)
            if other.state == Run.State.DONE:
                return other, list(findings.stored(other))
            time.sleep(POLL_S)
    except KeyboardInterrupt:
        raise running.NotWhole(f"The waiting was interrupted; {name} goes on.") from None
    return None
