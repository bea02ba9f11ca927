"""The trail: who did what, and why."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.models import database_now
from review import trail, trail_export, trail_page
from review.access import people_only
from review.trail_filter import Chosen
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
def table(request: HttpRequest) -> HttpResponseBase:
    """Give what was searched for as CSV."""
    rows = trail_export.csv_of(**_kept(request))
    response = StreamingHttpResponse(rows, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="trail.csv"'
    return response


@people_only
@require_safe
def document(request: HttpRequest) -> HttpResponse:
    """Give the same as JSON."""
    return JsonResponse(trail_export.document(**_kept(request)))


def _kept(request: HttpRequest) -> dict[str, Any]:
    page = trail_page.page(Chosen.read(request.GET.dict()), shown=trail_export.MOST)
    return {"page": page, "author": person(request).get_username(), "now": database_now()}
