"""Whose a case is: its page, giving it on, putting it off, handing over, and remarks on an operation."""

import uuid
from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from ledger.models import Case, database_now
from ledger.rules.errors import TieoutError
from review import access, cases, handing
from review.access import people_only
from review.forms import AssignForm, CommentForm, HandOverForm, SnoozeForm, sent, unsaid
from review.views.operation import SeeOther, back, found, person, words

SHOWN = 200


@people_only
@require_safe
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show whose a case is, and what can be done about that."""
    return _page(request, _case(uid))


@people_only
@require_POST
def assign(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Give a case to a person or a team."""
    case, form = _case(uid), AssignForm(request.POST)
    if not form.is_valid():
        return _page(request, case, refusal=unsaid(form), assign=form)
    return _done(request, case, lambda: _assigned(request, case, form), assign=form)


def _assigned(request: HttpRequest, case: Case, form: AssignForm) -> str:
    given = {**form.cleaned_data, "to": form.cleaned_data["to"] or ""}
    if not handing.assign(case, person=person(request), **given):
        what = "it is theirs already" if given["to"] else "choose a person, or another team"
        return f"{cases.subject(case).name}: {what}; nothing was changed."
    name = cases.subject(case).name
    return (
        f"{name}: it is {given['to']}’s now." if given["to"] else f"{name}: its team’s now, and nobody’s yet."
    )


@people_only
@require_POST
def snooze(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Put a case off."""
    case, form = _case(uid), SnoozeForm(request.POST)
    if not form.is_valid():
        return _page(request, case, snooze=form)
    return _done(request, case, lambda: _snoozed(request, case, form), snooze=form)


def _snoozed(request: HttpRequest, case: Case, form: SnoozeForm) -> str:
    handing.snooze(case, person=person(request), **form.cleaned_data)
    return f"{cases.subject(case).name}: snoozed. Whatever happens to it wakes it before that."


@people_only
@require_POST
def wake(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Take a case up again."""
    case = _case(uid)
    return _done(request, case, lambda: _woken(request, case))


def _woken(request: HttpRequest, case: Case) -> str:
    already = "" if handing.wake(case, person=person(request)) else " already"
    return f"{cases.subject(case).name}: awake{already}."


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def hand_over(request: HttpRequest) -> HttpResponse:
    """Hand the open cases of one person over to another."""
    mine = person(request).get_username()
    form = HandOverForm(sent(request), initial={"of": request.GET.get("of", mine)[:150]})
    refusal = ""
    if request.method == "POST" and form.is_valid():
        try:
            count = handing.hand_over(person=person(request), **form.cleaned_data)
            messages.success(request, f"{count} handed over to {form.cleaned_data['to']}.")
            return SeeOther(f"{reverse('hand-over')}?of={form.cleaned_data['of']}")
        except TieoutError as error:
            refusal = words(error)
    of = str(form["of"].value() or mine) if "of" not in form.errors else mine
    rows, now = list(cases.of_person(of)[: SHOWN + 1]), database_now()
    shown = {
        "section": "queue",
        "now": now,
        "form": form,
        "of": of,
        "loads": cases.loads(),
        "rows": [
            (case, subject, cases.rests(case, now))
            for case, subject in zip(rows[:SHOWN], cases.subjects(rows[:SHOWN]), strict=True)
        ],
        "more": len(rows) > SHOWN,
        "asked": next((one.uid for one in rows if str(one.uid) == request.GET.get("case")), None),
        "people": [name for name in cases.takers() if name != of],
        "refusal": refusal or unsaid(form, *(("chosen", "note") if rows else ())),
        "why_not": handing.why_not(person(request), of),
    }
    return render(request, "review/hand_over.html", shown)


@people_only
@require_POST
def comment(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Write a remark on an operation."""
    operation, form = found(uid), CommentForm(request.POST)
    try:
        if form.is_valid():
            handing.comment(operation, person=person(request), **form.cleaned_data)
        else:
            messages.error(request, f"Nothing was written. {next(iter(form.errors.values()))[0]}")
    except TieoutError as error:
        messages.error(request, words(error))
    return back(request, operation)


def _case(uid: uuid.UUID) -> Case:
    read = Case.objects.select_related("operation__operation_type__destination", "pause__destination")
    return get_object_or_404(read, uid=uid)


def _done(
    request: HttpRequest,
    case: Case,
    act: Callable[[], str],
    *,
    assign: AssignForm | None = None,
    snooze: SnoozeForm | None = None,
) -> HttpResponse:
    """Do it and go back to where it was asked; or say on the case's page why not."""
    try:
        messages.success(request, act())
    except TieoutError as error:
        return _page(request, _case(case.uid), refusal=words(error), assign=assign, snooze=snooze)
    return SeeOther(_from(request) or cases.subject(case).url)


def _from(request: HttpRequest) -> str:
    """Return the page of ours that the case was opened from; empty where none is named."""
    named = request.POST.get("back") or request.GET.get("back", "")
    return named if named.startswith("/") and url_has_allowed_host_and_scheme(named, None) else ""


def _page(
    request: HttpRequest,
    case: Case,
    *,
    refusal: str = "",
    assign: AssignForm | None = None,
    snooze: SnoozeForm | None = None,
) -> HttpResponse:
    may = access.may(request.user, "assign")
    sheet = cases.Sheet.of(case, database_now())
    snooze = snooze or SnoozeForm()
    shown = {
        "section": "queue",
        "now": sheet.now,
        "sheet": sheet,
        "case": case,
        "back": _from(request) or sheet.subject.url,
        "assign": assign or AssignForm(initial={"to": case.assignee, "team": case.owner}),
        "snooze": snooze,
        "moments": sheet.moments(snooze["until"].value() or ""),
        "refusal": refusal,
        "why_not": "" if may else access.lacking(person(request)),
        "not_yours": handing.why_not(person(request), case.assignee) if case.assignee else "",
        "from_another": handing.from_another(case, person(request), ""),
    }
    return render(request, "review/case.html", shown)
