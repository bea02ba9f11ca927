"""The one writer of periods: made by the runs that find something in a month, reported as of the cut-off."""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from typing import Any

from django.db import connection, transaction

from ledger.actions.changing import given, once
from ledger.rules.errors import Conflict, NotNow
from reconcile.expected.actions import foresee
from reconcile.expected.times import Unscheduled
from reconcile.models import LateItem, Period, PeriodReport, Plan, Run, SignOff
from reconcile.periods import drifting, leaves, months, reporting
from reconcile.signing import actions as signing
from reconcile.signing.models import Way
from reconcile.sums import amount_text

# In which months of the plan's zone anything of a run's window lies, on whichever side.
WITH_ITEMS = """
SELECT DISTINCT date_trunc('month', coalesce(occurred_on::timestamp, occurred_at AT TIME ZONE %(zone)s))::date
FROM reconcile_record
WHERE run_id = %(run)s AND (
    occurred_at >= %(window_from)s AND occurred_at < %(window_to)s
    OR occurred_on BETWEEN %(first_day)s AND %(last_day)s
)
"""


def follow(run: Run) -> None:
    """Make the periods that a run found anything in, and report the one whose days it is over.

    The run is at work, holds its lease in this transaction, and its lines are staged and classified.
    """
    _as_configured(run.plan)
    for first in _with_items(run):
        Period.objects.get_or_create(
            plan=run.plan, first_day=first, defaults=drifting.bounds(run.plan, first)
        )
    drifting.compare(run)
    days = {"first_day": run.first_day, "last_day": run.last_day}
    period = Period.objects.filter(plan=run.plan, **days).first()
    if period is None or run.started_at < period.cut_off_at or run.window_to != period.ends_at:
        return
    if run.window_from == period.starts_at and not PeriodReport.objects.filter(run=run).exists():
        period.plan = run.plan
        report = reporting.made(run, period, beside=_beside(period))
        report.save()
        drifting.keep(report)


def _with_items(run: Run) -> Iterator[date]:
    """Return the months that have no period yet, and in which this run's lines lie."""
    opening = run.plan.period.get("first", "")
    begins = months.first(opening) if opening else date.min
    touched = {day for day in months.touched(run.window_from, run.window_to, run.plan.zone) if day >= begins}
    touched -= set(run.plan.periods.values_list("first_day", flat=True))
    if not touched:
        return
    with connection.cursor() as cursor:
        first_day, last_day = run.days
        values: dict[str, Any] = {"run": run.pk, "zone": run.plan.timezone, "first_day": first_day}
        values |= {"last_day": last_day, "window_from": run.window_from, "window_to": run.window_to}
        cursor.execute(WITH_ITEMS, values)
        yield from sorted(touched & {day for (day,) in cursor.fetchall()})


def _as_configured(plan: Plan) -> None:
    """Let the periods that nobody has prepared follow the plan's zone, grace and holidays."""
    standing = SignOff.objects.standing().filter(period__plan=plan).values("period")
    mine = Period.objects.filter(plan=plan).exclude(pk__in=standing).order_by("first_day")
    for period, wanted in _apart((one, drifting.bounds(plan, one.first_day)) for one in mine):
        if any(getattr(period, name) != value for name, value in wanted.items()):
            Period.objects.filter(pk=period.pk).update(**wanted)


def _apart(moved: Iterable[tuple[Period, dict[str, Any]]]) -> Iterator[tuple[Period, dict[str, Any]]]:
    """Yield periods, given by their months, so that none is moved over the next one before that has moved."""
    held: list[tuple[Period, dict[str, Any]]] = []
    for period, wanted in moved:
        held.append((period, wanted))
        if wanted["ends_at"] <= period.ends_at:
            yield from reversed(held)
            held = []
    yield from reversed(held)


def _beside(period: Period) -> dict[str, Any]:
    """Return what a report tells beside the run's own figures: what is carried in, and what is late."""
    earlier = Period.objects.filter(plan=period.plan_id, first_day__lt=period.first_day).order_by(
        "-first_day"
    )
    previous = earlier.first()
    signed = leaves.standing(previous) if previous else None
    if previous is None or signed is None or not signed.is_signed:
        return {"carried_in": None, "late": _late(period)}
    report = PeriodReport.objects.get(run=signed.run_id)
    return {
        "late": _late(period),
        "carried_in": {
            "from": f"{previous.first_day:%Y-%m}",
            "report": report.digest,
            "count": report.open_count,
            "headline": report.document["headline"],
        },
    }


def _late(period: Period) -> list[dict[str, Any]]:
    """Return what was found of signed periods since, and belongs to this one."""
    rows = LateItem.objects.living().filter(into=period).select_related("report__period")
    return [
        {
            "of": f"{one.report.period.first_day:%Y-%m}",
            "side": one.side,
            "id": one.name,
            "reference": one.reference,
            "kind": one.kind,
            "was": one.was_amount and amount_text(one.was_amount, one.was_currency),
            "now": one.amount and amount_text(one.amount, one.currency),
            "currency": one.currency or one.was_currency,
        }
        for one in rows.order_by("pk")[: reporting.MOST]
    ]


def prepare(period: Period, *, actor: str, note: str, command_id: uuid.UUID) -> SignOff:
    """State that one has looked at what a period came to, so that another person can sign it.

    Raises NotNow, with the reason, where it is not to be signed.
    """
    words = given(note) if note.strip() else signing.LOOKED
    clicked = SignOff.objects.filter(command_id=command_id)
    with suppress(Unscheduled):  # where no worker runs, nothing else tells what was due and has not reported
        foresee(period.plan_id)

    def make() -> SignOff:
        # Periods of one plan are signed one after the other: who comes second is told who was first.
        Plan.objects.select_for_update(no_key=True).get(pk=period.plan_id)
        if same := clicked.first():
            return same
        kept = Period.objects.select_related("plan").get(pk=period.pk)
        report = leaves.latest(kept)
        why = leaves.why_not_prepared(kept, report, leaves.standing(kept))
        if why or report is None:
            raise NotNow(why)
        said: dict[str, Any] = {"actor": actor, "words": words, "command_id": command_id}
        return signing.made(report.run, Way.SIGN, period=kept, **said)

    with transaction.atomic():
        found = once(clicked, make)
    if (found.period_id, found.way, found.maker) != (period.pk, Way.SIGN, actor):
        raise Conflict("This command was already used for something else; open the page again.")
    return found
