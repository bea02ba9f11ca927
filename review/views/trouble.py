"""What people see when a request cannot be taken as it came."""

from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_htmx.http import HttpResponseClientRefresh


def csrf(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Refuse a form that is older than the sign-in; htmx is told to load the page again."""
    if request.headers.get("HX-Request"):
        return HttpResponseClientRefresh()
    came = urlsplit(request.headers.get("Referer", ""))
    back = came.path if came.netloc == request.get_host() and came.path else "/queue/"
    return render(request, "403_csrf.html", {"back": back}, status=403)
