"""Why a run is not to be prepared, signed or opened again, in words; empty where it is."""

from ledger.rules.approvals import Answer
from reconcile import reports
from reconcile.models import ExpectedRun, PeriodReport, Run, RunQuerySet, SignOff

MOST = 10_000
"""Open differences of a run that is signed: each is kept with its owner."""


def standing(run: Run) -> SignOff | None:
    """Return what is prepared or signed of a run, and was not opened again."""
    return SignOff.objects.standing().filter(run=run).first()


def why_not_prepared(run: Run, before: SignOff | None) -> str:
    """Say why nobody prepares a run now; `before`: what is prepared or signed of it already."""
    if before is not None and before.answer == Answer.APPROVED:
        return f"{before.decided_by} has signed it already."
    if before is not None:
        return f"{before.maker} has prepared it already: it waits for a second person."
    report = PeriodReport.objects.filter(run=run).select_related("period").first()
    if report is not None:
        return f"It is the run of {report.period.title}: that period is prepared and signed, on its own page."
    return why_unsignable(run)


def why_unsignable(run: Run) -> str:
    """Say why nobody signs what a run came to."""
    if run.state == Run.State.RUNNING:
        return "It is still at work: only a run that is done is signed."
    if run.state != Run.State.DONE or run.dry_run:
        return "It did not come to its end: nothing of it counts, and nobody signs it."
    if not run.explained or run.totals["unexplained_items"]:
        left = reports.headline(run, reports.Open(0, {}))
        return f"{left}. Unexplained is not zero: nobody signs what does not add up."
    if why := why_looked_again(run) or _why_days_not_closed(run):
        return why
    if run.findings.filter(is_open=True).values("pk")[: MOST + 1].count() > MOST:
        return f"More than {MOST:,} differences are open: nobody has looked at each of them."
    return ""


def _why_days_not_closed(run: Run) -> str:
    """Say why days that were asked for, such as a month, are not signed yet."""
    if run.first_day is None and run.last_day is None:
        return ""
    if run.window_to > run.started_at:
        return "Its last day was not over when it ran: run it again over the same days once it is."
    due = ExpectedRun.objects.filter(plan=run.plan_id, due_at__gte=run.window_from, due_at__lt=run.window_to)
    last = due.order_by("-due_at").values_list("due_at", flat=True).first()
    own = Run.objects.filter(plan=run.plan_id, first_day=None, last_day=None, dry_run=False)
    if last is None or own.filter(state=Run.State.DONE, started_at__gte=last).exists():
        return ""
    at = f"{last.astimezone(run.plan.zone):%Y-%m-%d %H:%M %Z}"
    return f"The run that was due at {at} has not reported, nor has one since: run {run.plan.name} first."


def later_runs(run: Run) -> RunQuerySet:
    """Return the later runs of the plan over the same days, whatever has become of them."""
    return Run.objects.filter(
        plan=run.plan_id, pk__gt=run.pk, dry_run=False, first_day=run.first_day, last_day=run.last_day
    )


def why_looked_again(run: Run) -> str:
    """Say which later run has looked at the same days."""
    later = later_runs(run)
    latest = later.order_by("-pk").first()
    if latest is None:
        return ""
    if done := later.filter(state=Run.State.DONE).order_by("-pk").first():
        return f"Run {done.pk} has looked at the same days since: prepare that one."
    if latest.state == Run.State.RUNNING:
        return f"Run {latest.pk} is at work on the same days: prepare what that comes to."
    return (
        f"Run {latest.pk} has looked at the same days since, and its pull was not complete:"
        " run it again, and prepare that one."
    )


def why_not_reopened(signed: SignOff) -> str:
    """Say why nobody asks to open a signature again now."""
    if not signed.is_signed:
        return "It is not signed."
    asked = signed.reopenings.filter(answer="").first()
    return f"{asked.maker} has asked already: it waits for a second person." if asked else ""
