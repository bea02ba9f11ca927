"""Choose one of several records to keep: asked once more, then kept, and the others reversed."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from ledger.models import Operation
from ledger.rules.errors import TieoutError
from ledger.rules.leaves import Action
from review import deciding, several
from review.access import people_only
from review.forms import NOT_WHOLE, ChooseForm, fresh
from review.reading import read
from review.views.operation import back, context, found, person, words


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Ask once more about the record that is to be kept, or carry it out and go back to the operation."""
    operation = found(uid)
    if request.method != "POST":
        return _asked(request, operation, request.GET.get("keep", ""), form=None)
    form, refusal = ChooseForm(request.POST), NOT_WHOLE
    if form.is_valid():
        try:
            deciding.choose(operation, person=person(request), **form.cleaned_data)
        except TieoutError as error:
            refusal = words(error)
        else:
            return back(request, operation)
    whole = {"command_id", "keep", "seen"}.isdisjoint(form.errors)
    if whole and form.errors:
        refusal = ""
    keep = request.POST.get("keep", "")
    return _asked(request, operation, keep, form=form if whole else None, refusal=refusal)


def _asked(
    request: HttpRequest, operation: Operation, keep: str, *, form: ChooseForm | None, refusal: str = ""
) -> HttpResponse:
    """Show the question over the operation's page; with its reason where the answer is no."""
    operation.refresh_from_db()
    reading = read(operation, person(request))
    door, asked = reading.door(Action.CHOOSE), several.question(reading, keep)
    seen = reading.latest.content_digest if reading.latest else ""
    shown = context(request, reading)
    more = {
        "back_url": shown["self_url"],
        "confirming": True,
        "question": asked,
        "door": door,
        "moved": not several.stands(reading, keep),
        "form": form or ChooseForm(initial=fresh() | {"keep": keep, "seen": seen}),
        "refusal": refusal or ("" if door.open else door.why),
    }
    return render(request, "review/decision.html", {**shown, **more})
