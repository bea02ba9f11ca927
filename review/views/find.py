"""Finding an operation by any of its references, from every page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from ledger.models import database_now
from review import finding
from review.access import people_only
from review.row import rows


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Open the one that carries what is asked; list several, and say where there is none."""
    asked, now = finding.read(request.GET.get("q", "")), database_now()
    found = finding.found(asked, now)
    if len(found) == 1:
        return redirect("operation", found[0].uid)
    context = {
        "sought": asked,
        "rows": [(row, "") for row in rows(found[: finding.SHOWN], now)],
        "more": len(found) > finding.SHOWN,
        "shown": finding.SHOWN,
    }
    return render(request, "review/find.html", context)
