"""Changes of rules, roles and limits: what is proposed, line by line, and the second person's answer."""

import uuid
from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile.models import Proposal
from reconcile.proposals import limits
from review import access, deciding, proposing
from review.access import people_only
from review.forms import EntitiesForm, ProposalForm, RoleForm, fresh, sent, unsaid
from review.proving import to_prove
from review.views.operation import SeeOther, person, words


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show a proposal, or answer it."""
    proposal = get_object_or_404(Proposal.objects.defer("meant_sealed"), uid=uid)
    if request.method == "POST" and (proof := to_prove(request, "approve")):
        return proof
    form, refusal = ProposalForm(sent(request)), ""
    if request.method == "POST" and form.is_valid():
        refusal = _answered(request, proposal, form)
        if not refusal:
            return SeeOther(reverse("approvals"))
        proposal.refresh_from_db()
    shown = proposing.of(proposal, person(request), database_now())
    context = {"section": "approvals", "shown": shown, "form": form}
    context["refusal"] = refusal or unsaid(form)
    return render(request, "review/proposal.html", context)


def _answered(request: HttpRequest, proposal: Proposal, form: ProposalForm) -> str:
    """Answer it; return the refusal in words, empty where it is done."""
    try:
        deciding.answer_proposal(proposal, person=person(request), **form.cleaned_data)
    except TieoutError as error:
        return words(error)
    messages.success(request, "Answered. It is on record.")
    return ""


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def role(request: HttpRequest) -> HttpResponse:
    """Propose to give somebody a role, or to take it."""
    form, refusal = RoleForm(sent(request), initial=fresh()), ""
    if request.method == "POST" and form.is_valid():
        refusal, made = _proposed(request, form, deciding.propose_role)
        if made is not None:
            return SeeOther(reverse("proposal", args=[made.uid]))
    context = {
        "section": "approvals",
        "form": form,
        "refusal": refusal or unsaid(form, "reason"),
        "people": User.objects.filter(is_active=True).order_by("username").prefetch_related("groups"),
        "why_not": access.why_not(request.user, "propose"),
    }
    return render(request, "review/role.html", context)


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def entities(request: HttpRequest) -> HttpResponse:
    """Propose which legal entities somebody sees."""
    form, refusal = EntitiesForm(sent(request), initial=fresh()), ""
    if request.method == "POST" and form.is_valid():
        refusal, made = _proposed(request, form, deciding.propose_limit)
        if made is not None:
            return SeeOther(reverse("proposal", args=[made.uid]))
    context = {
        "section": "approvals",
        "form": form,
        "refusal": refusal or unsaid(form, "reason"),
        "people": proposing.limits_of_people(),
        "known": limits.entities(),
        "chosen": request.POST.getlist("entities"),
        "whose": form["person"].value() or request.GET.get("of", ""),
        "why_not": access.why_not(request.user, "propose"),
    }
    return render(request, "review/entities.html", context)


def _proposed(
    request: HttpRequest, form: RoleForm | EntitiesForm, propose: Callable[..., Proposal]
) -> tuple[str, Proposal | None]:
    said = form.cleaned_data
    try:
        made = propose(person=person(request), whose=said.pop("person"), **said)
    except TieoutError as error:
        return words(error), None
    return "", made
