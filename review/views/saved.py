"""Views of the queue that people keep under a name."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from ledger.rules.errors import TieoutError
from review import saved
from review.access import people_only
from review.forms import SavedViewForm
from review.views.operation import SeeOther, person


@people_only
@require_POST
def save(request: HttpRequest) -> HttpResponse:
    """Keep an address of the queue under a name, and go back there."""
    form = SavedViewForm(request.POST)
    try:
        if form.is_valid():
            saved.keep(person(request), **form.cleaned_data)
            messages.success(request, f"Saved as “{form.cleaned_data['name']}”.")
        else:
            messages.error(request, f"Not saved. {next(iter(form.errors.values()))[0]}")
    except TieoutError as error:
        messages.error(request, f"Not saved. {error.detail}")
    return _queue(form.data.get("address", ""))


@people_only
@require_POST
def delete(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Forget a view of one's own."""
    gone = saved.forget(person(request), uid)
    if gone:
        messages.success(request, f"“{gone}” is deleted. What it listed is as it was.")
    else:
        messages.error(request, saved.NOT_YOURS)
    return _queue("")


def _queue(address: str) -> HttpResponse:
    query = saved.tidy(address)
    return SeeOther(f"{reverse('queue')}?{query}" if query else reverse("queue"))
