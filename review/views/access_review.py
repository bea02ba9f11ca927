"""Who may do what, gone through by a person; auditors' terms; and the duties of a month."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile.proposals import limits
from reconcile.tables import Form
from review import access, access_review, auditing, duties
from review.access import people_only
from review.forms import ReasonForm, TermForm, fresh, sent, taken, unsaid
from review.models import AuditorTerm
from review.proving import to_prove
from review.views.files import given
from review.views.operation import SeeOther, person, words

PROPOSED = "Proposed. It waits for an approver, under Approvals."


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Show who may do what, and keep a person's word that they went through it."""
    asked = taken(request, lambda form: _reviewed(request, form))
    if asked is None:
        return SeeOther(reverse("access"))
    form, refusal = asked
    context = {
        "section": "trail",
        "now": database_now(),
        "page": access_review.page(),
        "form": form,
        "refusal": refusal,
        "why_not": access.why_not(request.user, "certify"),
        "gives": access.may(request.user, "people"),
    }
    return render(request, "review/access.html", context)


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def give(request: HttpRequest) -> HttpResponse:
    """Let somebody audit, from one day to another."""
    if proof := to_prove(request, "people"):
        return proof
    form, refusal = TermForm(sent(request), initial=fresh()), ""
    if request.method == "POST" and form.is_valid():
        refusal = _given(request, form)
        if not refusal:
            return SeeOther(reverse("access"))
    refusal = refusal or unsaid(form, "first", "last", "reason")
    why_not = auditing.why_not(person(request))
    people = User.objects.filter(is_active=True).order_by("username").prefetch_related("groups")
    context = {"section": "trail", "form": form, "refusal": refusal, "people": people, "why_not": why_not}
    context |= {"known": limits.entities(), "chosen": request.POST.getlist("entities")}
    return render(request, "review/term.html", context)


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def end(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a reason, then end a term before its day."""
    term = get_object_or_404(AuditorTerm, pk=pk)
    asked = taken(request, lambda form: _ended(request, pk, form))
    if asked is None:
        return SeeOther(reverse("access"))
    form, refusal = asked
    why_not = auditing.why_not(person(request))
    context = {"section": "trail", "now": database_now(), "term": term, "form": form, "refusal": refusal}
    return render(request, "review/term_end.html", {**context, "why_not": why_not})


@people_only
@require_safe
def month(request: HttpRequest) -> HttpResponse:
    """Show who could do, and who did, what is kept apart, in one month."""
    report = duties.read(request.GET.get("month", ""))
    return render(
        request, "review/duties.html", {"section": "trail", "now": report.made_at, "report": report}
    )


@people_only
@require_safe
def table(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give the same as a file."""
    report = duties.read(request.GET.get("month", ""))
    return given(duties.table(report, author=person(request).get_username()), f"duties-{report.value}", form)


def _reviewed(request: HttpRequest, form: ReasonForm) -> str:
    said = {"words": form.cleaned_data["reason"], "shown": request.POST.get("shown", "")}
    try:
        access_review.review(person=person(request), command_id=form.cleaned_data["command_id"], **said)
    except TieoutError as error:
        return words(error)
    messages.success(request, "Reviewed, and on record.")
    return ""


def _given(request: HttpRequest, form: TermForm) -> str:
    said = dict(form.cleaned_data)
    try:
        made = auditing.give(said.pop("whose"), person=person(request), **said)
    except TieoutError as error:
        return words(error)
    given = "Given. It ends by itself." if isinstance(made, AuditorTerm) else PROPOSED
    messages.success(request, given)
    return ""


def _ended(request: HttpRequest, pk: int, form: ReasonForm) -> str:
    try:
        auditing.end(pk, person=person(request), reason=form.cleaned_data["reason"])
    except TieoutError as error:
        return words(error)
    messages.success(request, "Ended. They are signed out.")
    return ""
