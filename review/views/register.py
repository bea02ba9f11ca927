"""The register: each operation type and automation, what was said of it, and what was seen."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.actions.registered import registered
from review.access import people_only


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show the register as everything stands now."""
    return render(request, "review/register.html", {"section": "register", "register": registered()})
