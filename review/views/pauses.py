"""One pause of a destination: why nothing goes there, and the button that resumes it."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from ledger.models import Pause, database_now
from ledger.rules.errors import TieoutError
from review import access, deciding
from review.access import people_only
from review.forms import ReasonForm, taken
from review.pausing import Paused
from review.views.operation import SeeOther, person, words


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show a pause, or end it with a reason."""
    pause = get_object_or_404(Pause.objects.select_related("destination", "case"), uid=uid)
    asked = taken(request, lambda form: _refused(request, pause, form))
    if asked is None:
        return SeeOther(reverse("pause", args=[uid]))
    form, refusal = asked
    pause.refresh_from_db()
    shown = {
        "section": "queue",
        "paused": Paused.of(pause, database_now()),
        "may_resume": access.may(request.user, "resume"),
        "why_not": access.why_not(request.user, "resume"),
        "form": form,
        "refusal": refusal,
        "now": database_now(),
    }
    return render(request, "review/pause.html", shown)


def _refused(request: HttpRequest, pause: Pause, form: ReasonForm) -> str:
    """Resume it; return the refusal in words, empty where it is done."""
    try:
        deciding.resume(pause, person=person(request), **form.cleaned_data)
    except TieoutError as error:
        return words(error)
    messages.success(request, f"{pause.destination.title} is resumed: what waits goes on.")
    return ""
