"""Finding by any reference, from every page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from ledger.models import database_now
from review import also, finding
from review.access import people_only
from review.row import rows


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Open the one that carries what is asked; list several, and say where there is none."""
    asked, now = finding.read(request.GET.get("q", "")), database_now()
    found, besides = finding.found(asked, now), finding.besides(asked, now)
    lines = () if found and besides.weak else besides.lines
    if len(found) + len(lines) == 1:
        return redirect(lines[0].url if lines else reverse("operation", args=[found[0].uid]))
    more = len(found) > finding.SHOWN or len(lines) > also.SHOWN
    context = {
        "sought": asked,
        "rows": [(row, "") for row in rows(found[: finding.SHOWN], now)],
        "besides": lines[: also.SHOWN],
        "more": more,
    }
    return render(request, "review/find.html", context)
