"""A difference: its page, what is decided about it, and a second person's answer."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile.differences.matching import Pair
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding
from review import access, difference, settling
from review.access import people_only
from review.forms import (
    NOT_WHOLE,
    MatchForm,
    ProposalForm,
    ReasonForm,
    SettleForm,
    fresh,
    sent,
    unsaid,
)
from review.proving import to_prove
from review.views.operation import SeeOther, person, words

END = "end"
"""The way that ends a waiver before its time."""


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, uid: uuid.UUID, pk: int) -> HttpResponse:
    """Show a difference; with a way, ask once more, or decide it and go back to the page."""
    finding = _found(uid, pk)
    way, refusal = request.POST.get("way") or request.GET.get("way", ""), ""
    form = _form(request, way)
    if request.method == "POST" and form.is_valid():
        refusal = _refused(request, finding, way, form)
        if not refusal:
            return SeeOther(request.path)
    elif "command_id" in form.errors:
        form, refusal = _form(request, way, empty=True), NOT_WHOLE
    page = difference.Page(finding, person(request), database_now())
    lacks = "" if access.may(request.user, "settle") else access.lacking(person(request))
    door = page.door(way)
    chosen = page.chosen(request.POST.get("other") or request.GET.get("other", ""))
    shown = {
        "section": "runs",
        "now": page.now,
        "page": page,
        "door": door,
        "ends": way == END,
        "chosen": chosen,
        "by_two": door is not None and not door.why and page.by_two(chosen),
        "amount": chosen.amount if chosen else page.amount,
        "follows": difference.FOLLOWS[door.way].format(there=page.there) if door else "",
        "form": form,
        "refusal": refusal or (door.why if door else ""),
        "why_not": lacks,
    }
    return render(request, "review/difference.html", shown)


def _found(uid: uuid.UUID, pk: int) -> Finding:
    read = Finding.objects.select_related("run__plan__operation_type__destination", "operation", "case")
    return get_object_or_404(read, pk=pk, run__uid=uid)


def _form(request: HttpRequest, way: str, *, empty: bool = False) -> ReasonForm:
    kind: type[ReasonForm] = (
        {Way.WAIVE: SettleForm, Way.MATCH: MatchForm}.get(Way(way), ReasonForm)
        if (way in list(Way))
        else ReasonForm
    )
    sent = request.POST if request.method == "POST" and not empty else None
    return kind(sent, initial=fresh())


def _refused(request: HttpRequest, finding: Finding, way: str, form: ReasonForm) -> str:
    """Carry it out; return the refusal in words, empty where it is done."""
    try:
        if way == END:
            settling.end_waiver(finding, person=person(request), reason=form.cleaned_data["reason"])
            messages.success(request, "The waiver is ended: it is open again.")
            return ""
        if way == Way.MATCH:
            made = _matched(request, finding, form)
        else:
            made = settling.settle(finding, way, person=person(request), **form.cleaned_data)
    except TieoutError as error:
        return words(error)
    asked = "Asked. It waits for a second person, under Approvals; nothing is done until then."
    messages.success(request, "Done. It is on record." if made.in_force_at else asked)
    return ""


def _matched(request: HttpRequest, finding: Finding, form: ReasonForm) -> Decision:
    said = dict(form.cleaned_data)
    pair = Pair.of(finding, _found_of(finding, said.pop("other")))
    return settling.match(pair.missing, pair.extra, person=person(request), **said)


def _found_of(finding: Finding, pk: int) -> Finding:
    read = Finding.objects.select_related("run__plan__operation_type__destination", "operation", "case")
    return get_object_or_404(read, pk=pk, run__plan=finding.run.plan_id)


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def answer(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show a request about a difference, or answer it."""
    read = Decision.objects.select_related("finding__run__plan__operation_type__destination", "plan")
    decision = get_object_or_404(read, uid=uid)
    if request.method == "POST" and (proof := to_prove(request, "approve")):
        return proof
    form, refusal = ProposalForm(sent(request)), ""
    if request.method == "POST" and form.is_valid():
        refusal = _answered(request, decision, form)
        if not refusal:
            return SeeOther(reverse("approvals"))
        decision.refresh_from_db()
    now = database_now()
    shown = {
        "section": "approvals",
        "now": now,
        "asked": difference.request(decision, person(request), now),
        "page": difference.Page(decision.finding, person(request), now),
        "form": form,
        "refusal": refusal or unsaid(form),
        "ended": "" if decision.waits else difference.told(decision, now)[1],
        "follows": difference.FOLLOWS.get(Way(decision.way), ""),
    }
    return render(request, "review/difference_asked.html", shown)


def _answered(request: HttpRequest, decision: Decision, form: ProposalForm) -> str:
    """Answer it; return the refusal in words, empty where it is done."""
    try:
        settling.answer(decision, person=person(request), **form.cleaned_data)
    except TieoutError as error:
        return words(error)
    messages.success(request, "Answered. It is on record.")
    return ""
