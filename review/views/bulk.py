"""Bulk actions: freeze what the queue shows, read what would happen, confirm, and watch."""

import uuid
from collections.abc import Callable
from contextlib import suppress

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from ledger.models import Case, database_now
from ledger.rules.errors import TieoutError
from ledger.rules.leaves import Action
from review import access, cases, handing
from review.access import people_only
from review.bulk import commanding, counting, freezing, listing, reading
from review.bulk.items import told
from review.filters import Filter
from review.forms import NOT_WHOLE, GiveForm, ReasonForm, fresh
from review.models import Bulk
from review.proving import to_prove
from review.views.operation import UNCHANGED, SeeOther, person, wants_fragment


class StartForm(ReasonForm):
    """A reason, and how fast."""

    per_minute = forms.TypedChoiceField(choices=[*reading.PACES.items()], coerce=int, initial=300)


class AgreeForm(ReasonForm):
    """The same where agreeing, or stopping, says enough."""

    reason = forms.CharField(max_length=commanding.REASON_MAX, required=False)


WAYS: dict[str, tuple[type[ReasonForm], Callable[..., None]]] = {
    "start": (StartForm, commanding.start),
    "approve": (AgreeForm, commanding.approve),
    "refuse": (ReasonForm, commanding.refuse),
    "pause": (AgreeForm, commanding.pause),
    "resume": (ReasonForm, commanding.resume),
    "cancel": (AgreeForm, commanding.cancel),
}


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the latest bulk actions, or those that stand alike."""
    who, show, now = person(request), request.GET.get("show", ""), database_now()
    lines, older = listing.lately(who, show=show, before=_number(request, "before"))
    parts = listing.standing(who, now)
    context = {"section": "bulk", "now": now, "lines": lines, "older": older, "parts": parts, "show": show}
    return render(request, "review/bulks.html", context)


@people_only
@require_POST
def freeze(request: HttpRequest) -> HttpResponse:
    """Freeze what was ticked, or all that the address finds, and lead to its preview."""
    chosen = Filter.read(request.POST, access.reader(request.user))
    picked = None if request.POST.get("which") == "all" else _uuids(request.POST.getlist("pick"))
    try:
        if request.POST.get("action") == "give":
            access.require(person(request), "assign")
            pks = freezing.selected(chosen, picked, most=cases.HANDED_AT_ONCE)
            return _to_give(request, list(cases.of_operations(pks)), GiveForm())
        action = Action(request.POST.get("action", ""))
        bulk = freezing.freeze(action, person=person(request), chosen=chosen, picked=picked)
    except (TieoutError, ValueError) as error:
        messages.error(request, told(error) if isinstance(error, TieoutError) else NOT_WHOLE)
        return SeeOther(f"{reverse('queue')}?{chosen.address}" if chosen.address else reverse("queue"))
    return SeeOther(reverse("bulk", args=[bulk.uid]))


@people_only
@require_POST
def give(request: HttpRequest) -> HttpResponse:
    """Give the cases of what was ticked to a person or a team."""
    form, refusal = GiveForm(request.POST), ""
    if form.is_valid():
        try:
            given = handing.give(person=person(request), **form.cleaned_data)
            messages.success(request, given.words(form.cleaned_data["to"] or form.cleaned_data["team"]))
            address = request.POST.get("address", "")
            return SeeOther(f"{reverse('queue')}?{address}" if address else reverse("queue"))
        except TieoutError as error:
            refusal = told(error)
    found = Case.objects.open().filter(uid__in=_uuids(request.POST.getlist("listed"))[: cases.HANDED_AT_ONCE])
    return _to_give(request, list(found.select_related("operation__operation_type")), form, refusal=refusal)


def _to_give(request: HttpRequest, found: list[Case], form: GiveForm, *, refusal: str = "") -> HttpResponse:
    chosen = Filter.read(request.POST, access.reader(request.user))
    ticked = set(request.POST.getlist("chosen")) if form.is_bound else {str(case.uid) for case in found}
    now = database_now()
    context = {
        "section": "queue",
        "now": now,
        "form": form,
        "rows": [
            (case, one, str(case.uid) in ticked, cases.rests(case, now))
            for case, one in zip(found, cases.subjects(found), strict=True)
        ],
        "people": cases.takers(),
        "teams": cases.teams(),
        "address": request.POST.get("address", chosen.address),
        "refusal": refusal,
    }
    return render(request, "review/give.html", context)


def _uuids(texts: list[str]) -> list[uuid.UUID]:
    found = []
    for text in texts:
        with suppress(ValueError):
            found.append(uuid.UUID(text))
    return found


@people_only
@require_safe
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show a preview, or how far it is; a poll that has seen this much already gets nothing."""
    bulk = get_object_or_404(Bulk, uid=uid)
    if not wants_fragment(request):
        return _page(request, bulk)
    if request.GET.get("seen") == counting.mark(bulk, counting.counts(bulk)):
        return HttpResponse(status=UNCHANGED)
    page = _read(request, bulk)
    context = {"page": page, "now": page.now, "polled": True}
    context["moved"] = request.GET.get("status") != bulk.status
    return render(request, "review/_bulk.html", context)


@people_only
@require_POST
def say(request: HttpRequest, uid: uuid.UUID, way: str) -> HttpResponse:
    """Do what a button says, once, and show the page again."""
    bulk, here = get_object_or_404(Bulk, uid=uid), reverse("bulk", args=[uid])
    if way == "approve" and (proof := to_prove(request, "approve", back=here)):
        return proof
    kind, act = WAYS[way]
    form, refusal = kind(request.POST), ""
    if form.is_valid():
        try:
            act(bulk, person=person(request), **form.cleaned_data)
            return SeeOther(here)
        except TieoutError as error:
            refusal = told(error)
    elif "command_id" in form.errors:
        refusal = NOT_WHOLE
    bulk.refresh_from_db()
    return _page(request, bulk, form=form, refusal=refusal)


def _read(request: HttpRequest, bulk: Bulk) -> reading.Page:
    return reading.read(
        bulk, person(request), show=request.GET.get("show", ""), after=_number(request, "after")
    )


def _number(request: HttpRequest, name: str) -> int:
    """Return a number of the address; nought where there is none."""
    said = request.GET.get(name, "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 9 else 0


def _page(
    request: HttpRequest, bulk: Bulk, *, form: ReasonForm | None = None, refusal: str = ""
) -> HttpResponse:
    page = _read(request, bulk)
    context = {
        "section": "bulk",
        "page": page,
        "now": page.now,
        "form": form,
        "reason": form.data.get("reason", "") if form else "",
        "wrong": form.errors.get("reason", [""])[0] if form else "",
        "refusal": refusal,
        "command_id": fresh()["command_id"],
        "paces": reading.PACES.items(),
        "from": reading.source_words(bulk),
    }
    return render(request, "review/bulk.html", context)
