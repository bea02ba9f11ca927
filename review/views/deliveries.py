"""What webhooks were told, and the button that tells once more."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from review import access, deciding, deliveries
from review.access import people_only
from review.views.operation import SeeOther, person, words


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the latest deliveries, and what destinations told."""
    now = database_now()
    shown = {
        "section": "deliveries",
        "now": now,
        "page": deliveries.page(request.GET.get("view", ""), request.GET.get("before", ""), now),
        "told_to_us": deliveries.told_to_us(),
        "closed": access.why_not(request.user, "redeliver"),
    }
    return render(request, "review/deliveries.html", shown)


@people_only
@require_POST
def again(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Let one be sent again, and come back to the same view."""
    try:
        if deciding.tell_again(uid, person=person(request)):
            messages.success(request, "It is sent again within seconds, under the same id. Reload to see.")
        else:
            messages.success(request, "It is due already: the worker sends it within seconds.")
    except TieoutError as error:
        messages.error(request, words(error))
    view = request.POST.get("view", "")
    query = f"?view={view}" if view in deliveries.VIEWS and view else ""
    return SeeOther(f"{reverse('deliveries')}{query}")
