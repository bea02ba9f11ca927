"""Reconciliations: the list of runs, and one run."""

import uuid
from dataclasses import dataclass

from django.contrib import messages
from django.db.models import Count, Sum
from django.db.models.functions import Abs
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ledger.models import Pause, database_now
from ledger.rules import actors
from ledger.rules.errors import TieoutError
from reconcile import asking, exports, leasing, reports
from reconcile.models import Finding, Plan, Run
from reconcile.tables import Form
from review import access, amounts, due_times, expected, mailed, periods, wording
from review.access import people_only
from review.forms import ReasonForm, taken
from review.runs import Reading, stamp, window
from review.signing_off import Signature
from review.views.files import given
from review.views.operation import SeeOther, person, words

PAGE = 50


@dataclass(frozen=True)
class Listed:
    """A run in the list: whether it is explained, and what it left open."""

    run: Run
    icon: str
    words: str
    open: list[str]

    @property
    def window(self) -> str:
        """What it covers."""
        return window(self.run)


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List the plans with their next time, and the runs, the latest first."""
    runs = Run.objects.select_related("plan__operation_type__destination")
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        runs = runs.filter(pk__lt=int(before))
    found = list(runs.order_by("-pk")[: PAGE + 1])
    now = database_now()
    due = due_times.lately(now) if not before else []
    context = {
        "section": "runs",
        "now": now,
        "due": due,
        "red": sum(one.red for one in due),
        "plans": _plans() if not before else None,
        "why_no_run": "" if access.may(request.user, "reconcile") else access.lacking(person(request)),
        "rows": _listed(found[:PAGE]),
        "older": found[PAGE - 1].pk if len(found) > PAGE else None,
        "newest": not before,
    }
    return render(request, "review/runs.html", context)


def _plans() -> list[tuple[expected.Line, int]]:
    """Return how each plan's latest due time went, those that did not run first, and its latest run."""
    pauses = Pause.objects.open().of_all().values_list("destination", flat=True)
    lines = expected.read(database_now(), paused=set(pauses)).lines
    return [(line, line.plan.last or 0) for line in lines]


@people_only
@require_POST
def start(request: HttpRequest, name: str) -> HttpResponse:
    """Start a plan's run, or join the one that this page has not seen yet; then show it."""
    plan = get_object_or_404(Plan.objects.select_related("operation_type__destination"), name=name)
    after = request.POST.get("after", "")
    try:
        access.require(person(request), "reconcile")
        seen = int(after) if after.isascii() and after.isdecimal() and len(after) < 19 else 0
        run = asking.start(plan, after=seen, actor=actors.person(request.user.get_username()))
    except TieoutError as error:
        messages.error(request, f"Nothing was started. {words(error)}")
        return SeeOther(reverse("runs"))
    return SeeOther(reverse("run", args=[run.uid]))


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def stop(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Stop a run that is at work, with a reason."""
    run = _run(uid)
    asked = taken(request, lambda form: _stopped(request, run, form))
    if asked is None:
        return SeeOther(reverse("run", args=[run.uid]))
    form, refusal = asked
    why_not = "" if access.may(request.user, "reconcile") else access.lacking(person(request))
    if run.state != Run.State.RUNNING:
        why_not = why_not or "It has ended already."
    shown = {"section": "runs", "run": run, "form": form, "refusal": refusal, "why_not": why_not}
    return render(request, "review/run_stop.html", shown)


def _stopped(request: HttpRequest, run: Run, form: ReasonForm) -> str:
    try:
        access.require(person(request), "reconcile")
        asking.stop(run, actor=actors.person(request.user.get_username()), reason=form.cleaned_data["reason"])
    except TieoutError as error:
        return words(error)
    return ""


@people_only
@require_safe
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show one run, from its own snapshot; further differences stand on pages of their own."""
    run, now = _run(uid), database_now()
    context = {
        "section": "runs",
        "now": now,
        "run": run,
        "title": f"Run {run.pk} · {run.plan.name}",
        "by": wording.who(run.actor),
        "window": window(run),
        "ran": stamp(run.started_at),
        "there": run.plan.operation_type.destination.title,
        "previous": Run.objects.filter(plan=run.plan_id, pk__lt=run.pk).order_by("-pk").first(),
    }
    if run.state == Run.State.DONE:
        first = _named(request, run, "first")
        after = first or _named(request, run, "after")
        author = person(request).get_username()
        reading = Reading(run, now, after=after, itself=first is not None, author=author)
        context |= {
            "reading": reading,
            "headline": reports.headline(run, reading.still),
            "settled": reports.settled(run),
            "signature": Signature(run, person(request), now),
            "period": periods.of_run(run),
        }
    may_run = access.may(request.user, "reconcile")
    if run.state != Run.State.RUNNING:
        context |= {"mailed": mailed.of(run)}
    else:
        context |= {"waits": run.pk in leasing.abandoned(), "may_stop": may_run}
    if run.state == Run.State.FAILED:
        context |= {"since": _since(run), "why_no_run": "" if may_run else access.lacking(person(request))}
    return render(request, "review/run.html", context)


@people_only
@require_safe
def table(request: HttpRequest, uid: uuid.UUID, form: Form) -> HttpResponseBase:
    """Give a run's differences as a file, from the same snapshot."""
    run = _run(uid)
    if run.state != Run.State.DONE:
        return _not_whole()
    rows = exports.table(run, author=person(request).get_username(), now=database_now())
    return given(rows, f"run-{run.pk}-{run.plan.name}", form)


@people_only
@require_safe
def document(request: HttpRequest, uid: uuid.UUID) -> HttpResponseBase:
    """Give a run as the command's JSON, from the same snapshot."""
    run = _run(uid)
    if run.state != Run.State.DONE:
        return _not_whole()
    pieces = exports.document(run, author=person(request).get_username(), now=database_now())
    return StreamingHttpResponse(pieces, content_type="application/json")


def _run(uid: uuid.UUID) -> Run:
    return get_object_or_404(Run.objects.select_related("plan__operation_type__destination"), uid=uid)


def _since(run: Run) -> Run | None:
    """Return the first run after this one over the same days, if there is any."""
    later = Run.objects.filter(plan=run.plan_id, pk__gt=run.pk, dry_run=False)
    return later.filter(first_day=run.first_day, last_day=run.last_day).order_by("pk").first()


def _not_whole() -> HttpResponse:
    words = "This run has not come to an end that counts: there is nothing to export."
    return HttpResponse(words, status=409, content_type="text/plain; charset=utf-8")


def _named(request: HttpRequest, run: Run, name: str) -> Finding | None:
    """Return the open difference that an address names."""
    pk = request.GET.get(name, "")
    if not (pk.isascii() and pk.isdecimal() and len(pk) < 19):
        return None
    return run.findings.filter(pk=int(pk), is_open=True).first()


def _listed(runs: list[Run]) -> list[Listed]:
    """Tell what each run came to; one query for all that is open."""
    open_findings = Finding.objects.filter(run__in=[run.pk for run in runs], is_open=True)
    still: dict[int, list[tuple[str, int, str]]] = {}
    for run_id, currency, count, amount in (
        open_findings.order_by("currency")
        .values_list("run_id", "currency")
        .annotate(count=Count("pk"), amount_open=Sum(Abs("amount")))
    ):
        whole = amounts.whole(amount, currency) if currency else ""
        still.setdefault(run_id, []).append((currency, count, whole))
    return [_row(run, still.get(run.pk, [])) for run in runs]


def _row(run: Run, still: list[tuple[str, int, str]]) -> Listed:
    count = sum(number for _, number, _ in still)
    held = [whole for _, _, whole in still if whole]
    match run.state:
        case Run.State.RUNNING:
            return Listed(run, "running", "Running", [])
        case Run.State.FAILED:
            return Listed(run, "failed", f"Did not run: {run.why_failed}", [])
    if not run.explained:
        return Listed(run, "failed", reports.headline(run, reports.Open(0, {})), held)
    if not count:
        return Listed(run, "one_match", "Explained; nothing is open", held)
    words = f"Explained; {wording.several(count, 'open difference')}"
    return Listed(run, "differs", words, held)
