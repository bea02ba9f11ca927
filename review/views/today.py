"""The first screen, what has changed since it was last looked at, and the mark that says so."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from ledger.models import Operation, database_now
from reconcile.models import ExpectedRun, History, Run
from review import since
from review.access import people_only
from review.forms import NOT_WHOLE
from review.today import Today
from review.views.operation import SeeOther, person


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show today; invite on an empty system, on which no run has been missed either."""
    now = database_now()
    has_begun = any(kind.objects.exists() for kind in (Operation, History, Run))
    if not has_begun and not ExpectedRun.objects.due(now).exists():
        return render(request, "review/empty.html", {"section": "today"})
    context = {"section": "today", "now": now, "today": Today.of(person(request), now)}
    return render(request, "review/today.html", context)


@people_only
@require_safe
def changes(request: HttpRequest) -> HttpResponse:
    """List what is behind one number of what has changed."""
    now = database_now()
    found = since.listed(person(request), now, request.GET)
    return render(request, "review/since.html", {"section": "today", "now": now, "found": found})


@people_only
@require_POST
def seen(request: HttpRequest) -> HttpResponse:
    """Note that this person has seen what stood there."""
    until = request.POST.get("until", "")
    if until.isdecimal() and until.isascii() and len(until) < 19:
        since.mark(person(request), int(until))
    else:
        messages.error(request, NOT_WHOLE)
    return SeeOther(reverse("home"))
