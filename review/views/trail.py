"""The trail: who did what, and why."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.models import database_now
from reconcile.tables import Form
from review import trail, trail_export, trail_page
from review.access import people_only
from review.trail_filter import Chosen
from review.views.files import given
from review.views.operation import person


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show one page of the trail, the latest first."""
    page = trail_page.page(Chosen.read(request.GET.dict()))
    context = {"section": "trail", "now": database_now(), "page": page, "kinds": trail.KINDS.items()}
    return render(request, "review/trail.html", context)


@people_only
@require_safe
def table(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give what was searched for as a file."""
    return given(trail_export.table(**_kept(request)), "trail", form)


@people_only
@require_safe
def document(request: HttpRequest) -> HttpResponse:
    """Give the same as JSON."""
    return JsonResponse(trail_export.document(**_kept(request)))


def _kept(request: HttpRequest) -> dict[str, Any]:
    page = trail_page.page(Chosen.read(request.GET.dict()), shown=trail_export.MOST)
    return {"page": page, "author": person(request).get_username(), "now": database_now()}
