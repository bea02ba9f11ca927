"""Run histories: what was taken in, and one trigger that ran more than once."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile.histories import looking
from reconcile.models import Repeat
from review import deciding, histories
from review.access import lacking, may, people_only
from review.forms import ReasonForm, taken
from review.views.operation import SeeOther, person, words


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List what somebody has to look up, what was answered, and the files."""
    now = database_now()
    context = {"section": "runs", "now": now, "listing": histories.listing(now)}
    return render(request, "review/histories.html", context)


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show one trigger that ran more than once, or close it with a reason."""
    repeat = _found(uid)
    asked = taken(request, lambda form: _refused(request, repeat, form))
    if asked is None:
        return SeeOther(reverse("repeat", args=[uid]))
    form, refusal = asked
    return render(request, "review/repeat.html", _context(request, _found(uid), form, refusal=refusal))


@people_only
@require_POST
def check(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Ask the destination now, and come back with what it holds."""
    try:
        deciding.check_repeat(_found(uid), person=person(request))
    except TieoutError as error:
        messages.error(request, words(error))
    return SeeOther(reverse("repeat", args=[uid]))


def _found(uid: uuid.UUID) -> Repeat:
    rows = Repeat.objects.select_related("operation_type__destination", "operation", "case", "history")
    return get_object_or_404(rows, uid=uid)


def _refused(request: HttpRequest, repeat: Repeat, form: ReasonForm) -> str:
    """Close it; return the refusal in words, empty where it is done."""
    try:
        deciding.close_repeat(repeat, person=person(request), reason=form.cleaned_data["reason"])
    except TieoutError as error:
        return words(error)
    messages.success(request, "Closed, with your reason in the trail.")
    return ""


def _context(request: HttpRequest, repeat: Repeat, form: ReasonForm, *, refusal: str) -> dict[str, object]:
    now, who = database_now(), person(request)
    return {
        "section": "runs",
        "now": now,
        "reading": histories.read(repeat, now),
        "repeat": repeat,
        "no_check": looking.why_not(repeat) if may(who, "check") else lacking(who),
        "no_close": looking.why_not_closed(repeat) if may(who, "attest") else lacking(who),
        "form": form,
        "refusal": refusal,
    }
