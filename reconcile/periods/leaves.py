"""Why a period is not to be run, prepared, signed or opened again, in words; empty where it is."""

from datetime import datetime

from ledger.models import database_now
from ledger.rules.approvals import Answer
from reconcile.models import ExpectedRun, Period, PeriodReport, Run, SignOff
from reconcile.periods.reporting import MOST
from reconcile.signing import leaves
from reconcile.signing.models import Way


def latest(period: Period) -> PeriodReport | None:
    """Return the report of the latest run over a period's days that is done."""
    done = PeriodReport.objects.filter(period=period, run__state=Run.State.DONE)
    return done.select_related("run__plan__operation_type__destination", "period").order_by("-run_id").first()


def standing(period: Period) -> SignOff | None:
    """Return what is prepared or signed of a period, and was not opened again."""
    return SignOff.objects.standing().filter(period=period).first()


def why_not_run(period: Period, now: datetime) -> str:
    """Say why its days are not run for a report yet."""
    if now < period.cut_off_at:
        at = _here(period, period.cut_off_at)
        return f"Its cut-off comes first, at {at}: what is made until then still counts."
    return ""


def why_not_prepared(period: Period, report: PeriodReport | None, before: SignOff | None) -> str:
    """Say why nobody prepares a period now; `before`: what is prepared or signed of it already."""
    if before is not None and before.answer == Answer.APPROVED:
        return f"{before.decided_by} has signed it already."
    if before is not None:
        return f"{before.maker} has prepared it already: it waits for a second person."
    if report is not None and (of_run := leaves.standing(report.run)) is not None:
        did = "signed" if of_run.is_signed else "prepared"
        return f"Run {report.run_id} is {did} by itself: run the period’s days again, and prepare that."
    return why_unsignable(period, report)


def why_unsignable(period: Period, report: PeriodReport | None) -> str:
    """Say why nobody signs what a period came to."""
    if report is None:
        since = _here(period, period.cut_off_at)
        not_yet = f"No run over all its days is done since its cut-off at {since}: run them first."
        return why_not_run(period, database_now()) or not_yet
    if not report.fits:
        return f"Its cut-off was moved since run {report.run_id}: run its days again."
    if why := leaves.why_unsignable(report.run):
        return why
    if not report.ties:
        return f"{report.document['headline']}. Unexplained is not zero: nobody signs what does not add up."
    if report.open_count > MOST:
        return f"More than {MOST:,} differences were open at its cut-off: nobody has looked at each of them."
    return _why_earlier_open(period) or _why_carried_otherwise(period, report) or _why_not_reported(period)


def _why_earlier_open(period: Period) -> str:
    earlier = Period.objects.filter(plan=period.plan_id, first_day__lt=period.first_day).unsigned()
    first = earlier.order_by("first_day").first()
    return f"{first.title} is still open: it is signed first." if first else ""


def _why_carried_otherwise(period: Period, report: PeriodReport) -> str:
    """Say that what a report was carried in with is not what the period before is signed with any more."""
    carried = report.document["carried_in"]
    earlier = Period.objects.filter(plan=period.plan_id, first_day__lt=period.first_day).signed()
    before = earlier.order_by("-first_day").first()
    signed = standing(before) if before is not None and carried is not None else None
    if before is None or signed is None or signed.run.period_report.digest == carried["report"]:
        return ""
    return f"{before.title} was signed anew since run {report.run_id}: run these days again."


def _why_not_reported(period: Period) -> str:
    """Say which run that was due has not reported: a period is closed once the plan is up to date."""
    due = ExpectedRun.objects.filter(plan=period.plan_id, due_at__gte=period.starts_at).due(database_now())
    last = due.order_by("-due_at").values_list("due_at", flat=True).first()
    own = Run.objects.filter(plan=period.plan_id, first_day=None, last_day=None, dry_run=False)
    if last is None or own.filter(state=Run.State.DONE, started_at__gte=last).exists():
        return ""
    return f"The run that was due at {_here(period, last)} has not reported: run {period.plan.name} first."


def why_not_answered(asked: SignOff) -> str:
    """Say why what somebody prepared, or asked to be opened again, is not agreed to now."""
    if asked.way == Way.REOPEN:
        return _why_later_signed(asked.period) if asked.period else ""
    if asked.period is None:
        return leaves.why_unsignable(asked.run)
    report = PeriodReport.objects.filter(run=asked.run_id).select_related("period").first()
    return why_unsignable(asked.period, report)


def why_not_reopened(signed: SignOff) -> str:
    """Say why nobody asks to open a signature again now."""
    why = leaves.why_not_reopened(signed)
    return why or (_why_later_signed(signed.period) if signed.period else "")


def _why_later_signed(period: Period) -> str:
    later = Period.objects.filter(plan=period.plan_id, first_day__gt=period.first_day).signed()
    last = later.order_by("-first_day").first()
    return f"{last.title} is signed: it is opened again first." if last else ""


def _here(period: Period, at: datetime) -> str:
    return f"{at.astimezone(period.plan.zone):%Y-%m-%d %H:%M %Z}"
