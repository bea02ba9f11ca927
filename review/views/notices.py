"""A person's notices, and the mark that they have read them."""

from datetime import datetime

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from ledger.models import database_now
from review.access import people_only
from review.forms import NOT_WHOLE
from review.notices import inbox
from review.views.operation import SeeOther, person


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show a person's latest notices."""
    context = {"section": "notices", "now": database_now(), "inbox": inbox.of(person(request))}
    return render(request, "review/notices.html", context)


@people_only
@require_POST
def read(request: HttpRequest) -> HttpResponse:
    """Mark as read what stood there; what has come since stays new."""
    try:
        until: datetime | None = datetime.fromisoformat(request.POST.get("until", ""))
    except ValueError:
        until = None
    if until is None or until.tzinfo is None:
        messages.error(request, NOT_WHOLE)
    else:
        inbox.mark(person(request), until)
    return SeeOther(reverse("notices"))
