"""A run is prepared, signed by another person, and opened again by two."""

import uuid
from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile import reports
from reconcile.models import Run, SignOff
from reconcile.periods import leaves as closing
from reconcile.signing.models import Way
from review import access, periods, signing_off
from review.access import people_only
from review.forms import NoteForm, ReasonForm, SignatureForm, sent, taken, unsaid
from review.proving import to_prove
from review.views.operation import SeeOther, person, words

READ = ("run__plan__operation_type__destination", "plan", "of", "period__plan")


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def prepare(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """State that one has looked at a run, so that another person can sign it."""
    run = get_object_or_404(Run.objects.select_related("plan__operation_type__destination"), uid=uid)

    def act(form: ReasonForm) -> str:
        said = form.cleaned_data
        try:
            signing_off.prepare(
                run, person=person(request), note=said["reason"], command_id=said["command_id"]
            )
        except TieoutError as error:
            return words(error)
        messages.success(request, "Prepared. It waits for another person’s signature, under Approvals.")
        return ""

    sent = taken(request, act, kind=NoteForm)
    if sent is None:
        return SeeOther(reverse("run", args=[run.uid]) + "#h-sign")
    form, refusal = sent
    signature = signing_off.Signature(run, person(request), database_now())
    done = run.state == Run.State.DONE
    shown = {
        "section": "runs",
        "run": run,
        "headline": reports.headline(run, reports.Open.stored(run)) if done else "",
        "not_tested": signing_off.not_tested(run) if done else [],
        "form": form,
        "refusal": refusal,
        "why_not": signature.closed,
    }
    return render(request, "review/run_prepare.html", shown)


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def reopen(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Ask a second person to open a signed run again."""
    signed = get_object_or_404(SignOff.objects.select_related(*READ), uid=uid, way=Way.SIGN)

    def act(form: ReasonForm) -> str:
        try:
            signing_off.reopen(signed, person=person(request), **form.cleaned_data)
        except TieoutError as error:
            return words(error)
        messages.success(request, "Asked. It stays signed until a second person agrees, under Approvals.")
        return ""

    sent = taken(request, act)
    if sent is None:
        return SeeOther(signing_off.page(signed) + "#h-sign")
    form, refusal = sent
    shown = {
        "section": "runs",
        "signed": signed,
        "name": signing_off.named(signed),
        "page": signing_off.page(signed),
        "form": form,
        "refusal": refusal,
        "why_not": access.why_not(request.user, "prepare") or closing.why_not_reopened(signed),
    }
    return render(request, "review/run_reopen.html", shown)


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show what is to be signed, or was, and answer it."""
    one = _found(uid)
    if request.method == "POST" and (proof := to_prove(request, "approve")):
        return proof
    form, refusal = SignatureForm(sent(request)), ""
    if request.method == "POST" and form.is_valid():
        refusal = _answered(request, one, form)
        if not refusal:
            return SeeOther(reverse("approvals"))
        one = _found(uid)
    now = database_now()
    shown = {
        "section": "approvals",
        "now": now,
        "asked": signing_off.request(one, person(request), now),
        "headline": signing_off.headline(one),
        "page": signing_off.page(one),
        "at_cut_off": (closed := _at_cut_off(request, one, now)),
        "not_tested": closed.not_tested if closed else signing_off.not_tested(one.run),
        "form": form,
        "refusal": refusal or unsaid(form, "reason"),
        "ended": signing_off.ended(one, now),
        "open": signing_off.listed(one, now),
    }
    return render(request, "review/signature.html", shown)


@people_only
@require_safe
def document(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Give what was signed, as it was then, with its digest."""
    one = _found(uid)
    if one.signed is None:
        text = "Nothing was signed here."
        return HttpResponse(text, status=409, content_type="text/plain; charset=utf-8")
    return JsonResponse({"signed": one.signed, "sha256": one.signed_digest})


def _at_cut_off(request: HttpRequest, one: SignOff, now: datetime) -> periods.Reading | None:
    """Read the period's report that is signed; None where a run is, or another report stands by now."""
    if one.period is None or one.way != Way.SIGN:
        return None
    reading = periods.Reading(one.period, person(request), now)
    return reading if reading.report is not None and reading.report.run_id == one.run_id else None


def _found(uid: uuid.UUID) -> SignOff:
    return get_object_or_404(SignOff.objects.select_related(*READ), uid=uid)


def _answered(request: HttpRequest, one: SignOff, form: SignatureForm) -> str:
    """Answer it; return the refusal in words, empty where it is done."""
    try:
        signing_off.answer(one, person=person(request), **form.cleaned_data)
    except TieoutError as error:
        return words(error)
    signed = form.cleaned_data["answer"] == "approve" and one.way == Way.SIGN
    messages.success(request, "Signed. It is on record." if signed else "Answered. It is on record.")
    return ""
