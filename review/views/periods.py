"""Accounting periods: the list, one of them, its run, its preparation, and its files."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ledger.models import database_now
from ledger.rules import actors
from ledger.rules.errors import NotNow, TieoutError
from reconcile import asking
from reconcile.models import Period, Plan
from reconcile.periods import exports
from reconcile.tables import Form
from review import access, periods
from review.access import people_only
from review.forms import NoteForm, ReasonForm, taken
from review.views.files import given
from review.views.operation import SeeOther, person, words

PAGE = 50


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the periods, the latest first, of one plan or of all."""
    plan, now = request.GET.get("plan", ""), database_now()
    before = _named(request.GET.get("before", ""))
    rows = periods.listed(now, plan=plan, before=before, most=PAGE)
    context = {
        "section": "runs",
        "now": now,
        "rows": rows[:PAGE],
        "older": rows[PAGE - 1].period.uid if len(rows) > PAGE else None,
        "plan": plan,
        "plans": Plan.objects.filter(periods__isnull=False).distinct().order_by("name"),
    }
    return render(request, "review/periods.html", context)


@people_only
@require_safe
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show one period as of its cut-off, with who prepared and signed it."""
    period, now = _period(uid), database_now()
    reading = periods.Reading(period, person(request), now)
    context = {"section": "runs", "now": now, "period": period, "reading": reading}
    return render(request, "review/period.html", context | {"signature": reading.signature})


@people_only
@require_POST
def run(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Start a run over the period's days, or join the one that this page has not seen yet."""
    period = _period(uid)
    after = request.POST.get("after", "")
    try:
        access.require(person(request), "reconcile")
        if why := periods.Reading(period, person(request), database_now()).why_no_run:
            raise NotNow(why)
        seen = int(after) if after.isascii() and after.isdecimal() and len(after) < 19 else 0
        actor = actors.person(person(request).get_username())
        begun = asking.start(period.plan, after=seen, actor=actor, days=(period.first_day, period.last_day))
    except TieoutError as error:
        messages.error(request, f"Nothing was started. {words(error)}")
        return SeeOther(reverse("period", args=[period.uid]))
    return SeeOther(reverse("run", args=[begun.uid]))


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def prepare(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """State that one has looked at a period, so that another person can sign it."""
    period = _period(uid)

    def act(form: ReasonForm) -> str:
        said = form.cleaned_data
        try:
            periods.prepare(
                period, person=person(request), note=said["reason"], command_id=said["command_id"]
            )
        except TieoutError as error:
            return words(error)
        messages.success(request, "Prepared. It waits for another person’s signature, under Approvals.")
        return ""

    sent = taken(request, act, kind=NoteForm)
    if sent is None:
        return SeeOther(reverse("period", args=[period.uid]) + "#h-sign")
    form, refusal = sent
    reading = periods.Reading(period, person(request), database_now())
    shown = {"section": "runs", "period": period, "reading": reading, "form": form, "refusal": refusal}
    return render(request, "review/period_prepare.html", shown | {"why_not": reading.signature.closed})


@people_only
@require_safe
def table(request: HttpRequest, uid: uuid.UUID, form: Form) -> HttpResponseBase:
    """Give a period's report as a file, from the one snapshot."""
    period, author, now = _period(uid), person(request).get_username(), database_now()
    report = periods.Reading(period, person(request), now).report
    if report is None:
        words = "This period has no report as of its cut-off yet: there is nothing to export."
        return HttpResponse(words, status=409, content_type="text/plain; charset=utf-8")
    if form is Form.JSON:
        return JsonResponse(exports.document(report, author=author, now=now))
    rows = exports.table(report, author=author, now=now)
    return given(rows, f"period-{period.first_day:%Y-%m}-{period.plan.name}", form)


def _period(uid: uuid.UUID) -> Period:
    return get_object_or_404(Period.objects.select_related("plan__operation_type__destination"), uid=uid)


def _named(said: str) -> Period | None:
    try:
        return Period.objects.filter(uid=uuid.UUID(said)).first()
    except ValueError:
        return None
