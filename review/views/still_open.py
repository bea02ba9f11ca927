"""All that is open, of whatever run: the page, and how old it is as a file."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.models import database_now
from reconcile.differences import ageing
from reconcile.tables import Form
from review.access import people_only
from review.still_open import Chosen, Old, Reading
from review.views.files import given
from review.views.operation import person


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show how old everything is that is open, and the differences that the address asks for."""
    now, after = database_now(), request.GET.get("after", "")
    begun = int(after) if after.isascii() and after.isdecimal() and len(after) < 19 else None
    reading = Reading(Old.of(now), Chosen.read(request.GET), now, after=begun)
    return render(request, "review/still_open.html", {"section": "runs", "now": now, "reading": reading})


@people_only
@require_safe
def ages(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give how old everything is as a file."""
    old = Old.of(database_now())
    table = ageing.table(old.ageing, old.display, author=person(request).get_username())
    return given(table, "age-of-open-differences", form)
