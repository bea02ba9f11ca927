"""One operation: what is known, what was found, and the buttons that follow from it."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from ledger.models import Operation, database_now
from ledger.rules.errors import TieoutError
from ledger.rules.facts import Sentence
from ledger.rules.states import State
from review import access, deciding, panel
from review.access import people_only
from review.forms import CommandForm
from review.instants import say
from review.place import Place
from review.reading import Reading, find, mark_of, read

UNCHANGED = 204


class SeeOther(HttpResponseRedirect):
    """A redirect that is always followed by GET."""

    status_code = 303


@people_only
@require_safe
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show the page; a poll that has seen this much already gets nothing."""
    if wants_fragment(request) and "seen" in request.GET and request.GET["seen"] == mark_of(uid):
        return HttpResponse(status=UNCHANGED)
    reading = read(found(uid), person(request))
    template = "review/_operation.html" if wants_fragment(request) else "review/operation.html"
    return render(request, template, context(request, reading))


@people_only
@require_POST
def check(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Ask the destination now, and come back with what it holds."""
    operation = found(uid)
    form = CommandForm(request.POST)
    try:
        if form.is_valid():
            deciding.check(operation, person=person(request), command_id=form.cleaned_data["command_id"])
        else:
            messages.error(request, "Nothing was checked: the form was not whole. Try again.")
    except TieoutError as error:
        messages.error(request, words(error))
    return back(request, operation)


@people_only
@require_POST
def undo(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Take back a permit that is not spent yet, or a correction that has not gone out."""
    operation = found(uid)
    form = CommandForm(request.POST)
    try:
        if form.is_valid():
            command_id = form.cleaned_data["command_id"]
            deciding.withdraw(operation, person=person(request), command_id=command_id)
            messages.success(request, _undone(operation))
        else:
            messages.error(request, "Nothing was undone: the form was not whole. Try again.")
    except TieoutError as error:
        messages.error(request, f"Not undone. {words(error)}")
    return back(request, operation)


def _undone(operation: Operation) -> str:
    if operation.choices.exists():
        return "Undone: nothing of it is reversed. All of them stay as they are."
    if operation.reverses_id is not None:
        return "Undone: it is cancelled, and the record stays as it is."
    what = "correction is cancelled" if operation.state == State.PENDING else "permit is withdrawn"
    return f"Undone: the {what}, and nothing was sent by it."


def found(uid: uuid.UUID) -> Operation:
    """Return the operation of an address, or answer that there is none."""
    operation = find(uid)
    if operation is None:
        raise Http404("There is no such operation.")
    return operation


def person(request: HttpRequest) -> Any:
    """Return the signed-in person of a request behind `people_only`."""
    return request.user


def wants_fragment(request: HttpRequest) -> bool:
    """Say whether htmx asks for the page's main part only."""
    return bool(request.headers.get("HX-Request")) and not request.headers.get("HX-History-Restore-Request")


def back(request: HttpRequest, operation: Operation) -> HttpResponse:
    """Redirect to the operation's page in the same filter, so that refresh and back repeat nothing."""
    query = request.GET.copy()
    query.pop("seen", None)
    address = reverse("operation", args=[operation.uid])
    target = f"{address}?{query.urlencode()}" if query else address
    return SeeOther(target)


def words(error: TieoutError) -> str:
    """Return a refusal in words, its times in the zone of the screens."""
    sentence = error.members.get("sentence")
    return say(sentence, database_now()) if isinstance(sentence, Sentence) else error.detail


def context(request: HttpRequest, reading: Reading) -> dict[str, Any]:
    """Return what the page's templates need."""
    place = Place.of(reading.operation, request.GET, reading.now, reader=access.reader(request.user))
    address = reverse("operation", args=[reading.operation.uid]) + place.carry
    return {
        "section": "queue",
        "now": reading.now,
        "reading": reading,
        "operation": reading.operation,
        "place": place,
        "panel": panel.panel(reading),
        "command_id": uuid.uuid4(),
        "may_comment": access.may(request.user, "comment"),
        "self_url": address,
        "poll_url": f"{address}&seen={reading.mark}",
    }
