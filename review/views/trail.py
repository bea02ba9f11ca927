"""The trail: who did what, and why."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.models import database_now
from review import trail, trail_page
from review.access import people_only
from review.trail_filter import Chosen


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show one page of the trail, the latest first."""
    page = trail_page.page(Chosen.read(request.GET.dict()))
    context = {"section": "trail", "now": database_now(), "page": page, "kinds": trail.KINDS.items()}
    return render(request, "review/trail.html", context)
