"""What people see when a request cannot be taken as it came."""

import sys
from urllib.parse import urlsplit

from django.contrib import messages
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django_htmx.http import HttpResponseClientRefresh

from ledger.rules.errors import RulesUnreadable

OLDER = "Nothing was done: this page was older than your sign-in. It is fresh now."


def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Refuse a form that is older than the sign-in; htmx is told to load the page again, which says so."""
    if request.headers.get("HX-Request"):
        messages.error(request, OLDER)
        return HttpResponseClientRefresh()
    came = urlsplit(request.headers.get("Referer", ""))
    back = "/queue/"
    if came.netloc == request.get_host() and came.path:
        back = f"{came.path}?{came.query}" if came.query else came.path
    return render(request, "403_csrf.html", {"back": back}, status=403)


def malformed(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Refuse what no page sends: a form that breaks off, or has more fields than any has."""
    return render(request, "400.html", status=400)


def broken(request: HttpRequest) -> HttpResponse:
    """Say that something broke, without asking the database; where it or stored rules broke, say so: 503."""
    error = sys.exc_info()[1]
    down = isinstance(error, OperationalError | InterfaceError)
    words = error.detail if isinstance(error, RulesUnreadable) else ""
    page = render_to_string("500.html", {"down": down, "words": words})
    return (
        HttpResponse(page, status=503, headers={"Retry-After": "10"})
        if down or words
        else HttpResponse(page, status=500)
    )
