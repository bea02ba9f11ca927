"""The pages that ask once more before something is decided, asked of a second person, or answered."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods

from ledger.models import Operation
from ledger.rules.errors import TieoutError
from ledger.rules.leaves import Action
from ledger.rules.states import State
from review import access, confirming, deciding, wording
from review.access import people_only
from review.forms import (
    NOT_WHOLE,
    AnswerForm,
    ApproveForm,
    OverrideForm,
    ReasonForm,
    ReferenceForm,
    fresh,
)
from review.place import Place
from review.proving import to_prove
from review.reading import Reading, read
from review.views.operation import SeeOther, back, context, found, person, words


@dataclass(frozen=True)
class Decision:
    """One way to decide: what it is, what a person writes for it, and what carries it out."""

    action: Action
    form: type[ReasonForm]
    act: Callable[..., object]


DECISIONS = {
    "send-again": Decision(Action.SEND_AGAIN, ReasonForm, deciding.allow),
    "confirm-with-reference": Decision(Action.CONFIRM_REFERENCE, ReferenceForm, deciding.attest),
    "did-not-happen": Decision(Action.DID_NOT_HAPPEN, ReasonForm, deciding.end),
    "cancel": Decision(Action.CANCEL, ReasonForm, deciding.cancel),
    "override": Decision(Action.OVERRIDE, OverrideForm, deciding.override),
    "approve": Decision(Action.APPROVE, ApproveForm, deciding.approve),
    "refuse": Decision(Action.REFUSE, AnswerForm, deciding.refuse),
    "take-back": Decision(Action.TAKE_BACK, AnswerForm, deciding.take_back),
}
FOR_GOOD = {
    Action.CONFIRM_REFERENCE: "done on your word",
    Action.DID_NOT_HAPPEN: "closed as not done",
    Action.CANCEL: "cancelled, and never sent",
}
"""What is said of each that leads on to the next item."""


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def decide(request: HttpRequest, uid: uuid.UUID, way: str) -> HttpResponse:
    """Ask once more, or carry the answer out and go back to the operation."""
    operation, decision = found(uid), DECISIONS[way]
    if decision.action is Action.APPROVE and (proof := to_prove(request, "approve")):
        return proof
    form, refusal = _empty(decision, operation), ""
    if request.method == "POST":
        form = decision.form(request.POST)
        if form.is_valid() and not deciding.is_for(operation, form.cleaned_data.get("approval")):
            form.add_error("approval", "It is a request about another operation.")
        if form.is_valid():
            refusal = _refused(request, operation, decision, form)
            if not refusal:
                return _onward(request, operation, decision.action)
        elif "command_id" in form.errors or "approval" in form.errors:
            form, refusal = _empty(decision, operation), NOT_WHOLE
    return _asked(request, operation, decision, form, refusal=refusal)


def _onward(request: HttpRequest, operation: Operation, action: Action) -> HttpResponse:
    """Open what comes next in the list that it was opened from, at its place, once this one has left it.

    What can be undone, or waits for a second person, stays where it is.
    """
    if _from_list(request):
        return SeeOther(reverse("approvals"))
    reading = read(found(operation.uid), person(request))
    place = Place.of(reading.operation, request.GET, reading.now, reader=access.reader(request.user))
    left = place.key is not None and not place.here and place.next_url
    if not left or action not in FOR_GOOD or not _is_closed(reading):
        return back(request, operation)
    address = reverse("operation", args=[operation.uid]) + place.carry
    link = format_html('<a href="{}">Go back to it</a>', address)
    messages.success(request, format_html("{}: {}. {}", wording.name(operation), FOR_GOOD[action], link))
    return SeeOther(place.next_url)


def _is_closed(reading: Reading) -> bool:
    ended = reading.state in (State.COMPLETED, State.FAILED) and reading.case is None
    return ended and reading.asked is None and not reading.live


def _empty(decision: Decision, operation: Operation) -> ReasonForm:
    """Return the form as it is first shown; an answer names the request that it is for."""
    initial = fresh()
    if issubclass(decision.form, AnswerForm):
        initial |= {"approval": operation.approvals.open().values_list("uid", flat=True).first()}
    return decision.form(initial=initial)


def _from_list(request: HttpRequest) -> bool:
    return request.GET.get("back") == "approvals"


def _refused(request: HttpRequest, operation: Operation, decision: Decision, form: ReasonForm) -> str:
    """Carry it out; return the refusal in words, empty where it is done."""
    try:
        decision.act(operation, person=person(request), **form.cleaned_data)
    except TieoutError as error:
        return words(error)
    return ""


def _asked(
    request: HttpRequest, operation: Operation, decision: Decision, form: ReasonForm, *, refusal: str
) -> HttpResponse:
    """Show the question over the operation's page; with its reason where the answer is no."""
    operation.refresh_from_db()
    reading = read(operation, person(request))
    door = reading.door(decision.action)
    shown = context(request, reading)
    asked = {
        **shown,
        "back_url": reverse("approvals") if _from_list(request) else shown["self_url"],
        "confirming": True,
        "question": confirming.question(reading, decision.action),
        "door": door,
        "form": form,
        "refusal": refusal or ("" if door.open else door.why),
    }
    return render(request, "review/decision.html", asked)
