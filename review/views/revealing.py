"""What of a payload is hidden as personal: its fields by name, and one value for one view of the page."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from ledger.rules.errors import TieoutError
from review import revealing
from review.access import people_only
from review.forms import RevealForm, fresh, sent, unsaid
from review.views.operation import found, person, words


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Name what is hidden; show the one that was asked for, in this answer alone."""
    operation, form, refusal = found(uid), RevealForm(sent(request)), ""
    hidden = revealing.of(operation, person(request))
    if request.method == "POST" and form.is_valid():
        try:
            hidden = revealing.show(operation, person=person(request), **form.cleaned_data)
        except TieoutError as error:
            refusal = words(error)
    refusal = refusal or unsaid(form, "reason")
    context = {"section": "queue", "hidden": hidden, "operation": operation, "form": form, "refusal": refusal}
    return render(request, "review/hidden.html", context | fresh())
