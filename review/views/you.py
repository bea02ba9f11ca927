"""The page of whoever is signed in: what they have chosen for themselves, and the way out."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from ledger.models import database_now
from review import access, zones
from review.access import people_only
from review.forms import DigestForm
from review.notices import choosing
from review.views.operation import SeeOther, person


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Show a person's own choices, and keep the time zone that they choose."""
    if request.method == "POST":
        if zones.choose(person(request), request.POST.get("zone", "")):
            messages.success(request, "Kept. Every page shows times in this zone from now on.")
            return SeeOther(reverse("you"))
        messages.error(request, "This time zone is not one of those that are offered.")
    return _page(request, choosing.form_of(person(request)))


@people_only
@require_POST
def digest(request: HttpRequest) -> HttpResponse:
    """Keep when a person's digest comes, and to which address."""
    form = DigestForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    messages.success(request, choosing.keep(person(request), form.cleaned_data))
    return SeeOther(reverse("you"))


def _page(request: HttpRequest, form: DigestForm) -> HttpResponse:
    context = {
        "now": database_now(),
        "chosen": access.zone_name(request.user),
        "installation": settings.DISPLAY_ZONE.key,
        "zones": zones.offered(),
        "digest": form,
        "mail": settings.MAIL,
    }
    return render(request, "review/you.html", context)
