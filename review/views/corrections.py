"""Correct an operation: write what is meant instead, read what that changes, then confirm it."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from ledger import actions
from ledger.models import Operation
from ledger.rules.errors import SealError, TieoutError
from ledger.rules.leaves import Action
from review import confirming, correcting, deciding
from review.access import people_only
from review.correcting import Sheet, Written, bound
from review.forms import NOT_WHOLE, CommandForm, CorrectForm, CorrectInDoubtForm
from review.reading import Reading, read
from review.views.operation import back, context, found, person, words

MOVED = "It has changed since you opened the form. See below where it stands now, and review it again."


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def correct(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show the form; or what was written, to be confirmed; or make the correction."""
    operation = found(uid)
    if request.method != "POST":
        return _form(request, correcting.opened(operation))
    command = CommandForm(request.POST)
    start = _start(request, operation) if command.is_valid() else None
    if start is None:
        return _form(request, correcting.opened(operation), refusal=NOT_WHOLE)
    sheet, step = correcting.opened(operation, start), request.POST.get("step")
    if step == "confirm":
        return _confirmed(request, sheet)
    if step != "edit":
        sheet = correcting.filled(sheet, request.POST.dict())
    if sheet.wrong or step in ("edit", "json", "fields"):
        return _form(request, correcting.turned(sheet, step))
    return _reviewed(request, sheet)


def _start(request: HttpRequest, operation: Operation) -> Written | None:
    """Return what this form of this person started with; None where it is not whole, or another's."""
    try:
        return Written.opened(request.POST.get("draft", ""), bound(operation, person(request)))
    except SealError:
        return None


def _reviewed(request: HttpRequest, sheet: Sheet) -> HttpResponse:
    """Ask once more, with each value that changes; or say on the form why it is no correction."""
    if sheet.start.revision != sheet.operation.revision:
        return _form(request, correcting.as_it_stands(sheet), refusal=MOVED)
    kind = _confirm_form(read(sheet.operation, person(request)))
    sealed = sheet.start.sealed(bound(sheet.operation, person(request)))
    form = kind(initial={"command_id": request.POST["command_id"], "draft": sealed})
    return _asked(request, sheet, form)


def _confirm_form(reading: Reading) -> type[CorrectForm]:
    return CorrectInDoubtForm if reading.takes_two(Action.CORRECT) else CorrectForm


def _confirmed(request: HttpRequest, sheet: Sheet) -> HttpResponse:
    """Make the correction that was reviewed, once; or show why not."""
    reading = read(sheet.operation, person(request))
    form = _confirm_form(reading)(request.POST)
    if not form.is_valid():
        return _asked(request, sheet, form)
    said = form.cleaned_data
    risk = actions.Risk(said["where"], said["looked_at"], said["risk"]) if "risk" in said else None
    given: dict[str, Any] = {name: said[name] for name in ("reason", "command_id", "who")}
    given |= {"meant": sheet.start.meant(), "revision": sheet.start.revision, "risk": risk}
    try:
        made = deciding.correct(sheet.operation, person=person(request), **given)
    except TieoutError as error:
        return _asked(request, sheet, form, refusal=words(error))
    return back(request, made if isinstance(made, Operation) else sheet.operation)


def _asked(request: HttpRequest, sheet: Sheet, form: CorrectForm, *, refusal: str = "") -> HttpResponse:
    """Show the question over the operation's page."""
    sheet.operation.refresh_from_db()
    reading = read(sheet.operation, person(request))
    door = reading.door(Action.CORRECT)
    try:
        draft = actions.drafted(sheet.operation, sheet.start.meant())
    except TieoutError as error:
        return _form(request, sheet, refusal=refusal or words(error))
    shown = context(request, reading)
    asked = {
        "back_url": shown["self_url"],
        "confirming": True,
        "question": confirming.correction(reading, sheet, draft),
        "door": door,
        "moved": sheet.start.revision != sheet.operation.revision,
        "form": form,
        "refusal": refusal or ("" if door.open else door.why),
    }
    return render(request, "review/correction_confirm.html", shown | asked)


def _form(request: HttpRequest, sheet: Sheet, *, refusal: str = "") -> HttpResponse:
    """Show the form, under a command of its own; or why there is none."""
    reading = read(sheet.operation, person(request))
    door = reading.door(Action.CORRECT)
    closed = sheet.refusal if door.open else door.why
    shown = context(request, reading)
    form = {
        "back_url": shown["self_url"],
        "sheet": sheet,
        "command_id": uuid.uuid4(),
        "draft": "" if closed else sheet.start.sealed(bound(sheet.operation, reading.person)),
        "closed": closed,
        "refusal": refusal,
    }
    return render(request, "review/correction.html", shown | form)
