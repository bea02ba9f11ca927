"""The evidence of one operation, to print and as JSON."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from review import evidence
from review.access import people_only
from review.views.operation import found, person


@people_only
@require_safe
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show the pack as a page that is made for paper."""
    pack = evidence.read(found(uid), person(request))
    return render(request, "review/evidence.html", {"section": "queue", "now": pack.made_at, "pack": pack})


@people_only
@require_safe
def document(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Give the pack as JSON, to keep."""
    pack = evidence.read(found(uid), person(request))
    response = HttpResponse(pack.written(), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="evidence-{uid}.json"'
    return response
