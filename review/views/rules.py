"""Rules changed on a page: read what a text would change, then propose exactly that."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from ledger.rules.errors import TieoutError
from reconcile.configuration.wrongs import Wrong
from review import access, rules
from review.access import people_only
from review.forms import RulesForm, fresh, sent, unsaid
from review.views.operation import SeeOther, person, words


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Show the form; say what a text would change; or propose it."""
    form = RulesForm(sent(request), request.FILES or None, initial=fresh())
    text, refusal, read = "", unsaid(form), rules.Read()
    wrongs: list[Wrong] = []
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        text, wrongs = rules.text_of(said["text"], said["file"].read() if said["file"] else None)
        if not wrongs:
            refusal, done = _proposed(request, form, text) if said["step"] == "propose" else ("", None)
            if done is not None:
                return done
            read, refusal = _read(request, form, text, refusal)
    shown = {
        "section": "approvals",
        "form": form,
        "text": text,
        "read": read,
        "wrongs": [*wrongs, *read.wrongs],
        "looked": bool(text) and not refusal,
        "refusal": refusal,
        "why_not": access.why_not(request.user, "propose"),
        "in_force": rules.in_force(),
    }
    return render(request, "review/rules.html", shown)


@people_only
@require_safe
def in_force(request: HttpRequest) -> HttpResponse:
    """Give the rules in force as a file."""
    response = HttpResponse(rules.in_force(), content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = 'attachment; filename="rules-in-force.toml"'
    return response


def _read(request: HttpRequest, form: RulesForm, text: str, refusal: str) -> tuple[rules.Read, str]:
    try:
        return rules.read(form.name, text, person=person(request)), refusal
    except TieoutError as error:
        return rules.Read(), refusal or words(error)


def _proposed(request: HttpRequest, form: RulesForm, text: str) -> tuple[str, HttpResponse | None]:
    """Propose it; return the refusal in words, or where to go."""
    said = form.cleaned_data
    given = {"reason": said["reason"], "command_id": said["command_id"]}
    try:
        made = rules.propose(form.name, text, said["digest"], person=person(request), **given)
    except TieoutError as error:
        return words(error), None
    messages.success(request, "Proposed. Nothing changes until an approver agrees.")
    return "", SeeOther(reverse("proposal", args=[made.uid]))
