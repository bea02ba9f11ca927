"""Who is who: everybody's roles, and for administrators the second factors that they may reset."""

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from review import access, accounts
from review.access import people_only
from review.forms import ReasonForm, taken
from review.proving import to_prove
from review.views.operation import SeeOther, person, words


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """List everybody."""
    context = {
        "now": database_now(),
        "accounts": accounts.listed(person(request)),
        "administers": access.may(request.user, "people"),
    }
    return render(request, "review/people.html", context)


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def reset(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for a reason, then remove somebody's second factor."""
    if proof := to_prove(request, "people"):
        return proof
    somebody = get_object_or_404(User, pk=pk)
    asked = taken(request, lambda form: _refused(request, somebody, form))
    if asked is None:
        return SeeOther(reverse("people"))
    form, refusal = asked
    closed = access.why_not(request.user, "people")
    context = {"name": somebody.get_username(), "form": form, "refusal": refusal, "closed": closed}
    return render(request, "review/person_reset.html", context)


def _refused(request: HttpRequest, somebody: User, form: ReasonForm) -> str:
    """Reset it; return the refusal in words, empty where it is done."""
    name = somebody.get_username()
    try:
        accounts.reset_by(person(request), name, reason=form.cleaned_data["reason"])
    except TieoutError as error:
        return words(error)
    messages.success(request, f"{name} has no second factor any more, and is signed out everywhere.")
    return ""
