"""Whom reversed duplicates concerned, as a page and as a table."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from reconcile.tables import Form
from review import concerned
from review.access import people_only
from review.views.files import given
from review.views.operation import person


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show those of a period, by customer."""
    report = _read(request, concerned.SHOWN)
    return render(
        request, "review/concerned.html", {"section": "runs", "now": report.made_at, "report": report}
    )


@people_only
@require_safe
def table(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give the same as a file."""
    report = _read(request, concerned.MOST)
    rows = concerned.table(report, author=person(request).get_username())
    return given(rows, f"reversed-{report.first}-{report.last}", form)


def _read(request: HttpRequest, most: int) -> concerned.Report:
    return concerned.read(request.GET.get("from", ""), request.GET.get("to", ""), most=most)
