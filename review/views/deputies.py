"""Deputies: who stands in for whom, named with start, end and reason, and ended."""

import uuid

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from ledger.models import Deputy, database_now
from ledger.rules.errors import TieoutError
from review import access, deciding
from review.access import people_only
from review.forms import DeputyForm, ReasonForm, fresh, sent, unsaid
from review.views.operation import SeeOther, person, words


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """Show who stands in for whom, or name a deputy."""
    form, refusal = DeputyForm(sent(request), initial=fresh()), ""
    if request.method == "POST" and form.is_valid():
        try:
            deciding.name_deputy(person=person(request), **form.cleaned_data)
        except TieoutError as error:
            refusal = words(error)
        else:
            return SeeOther(reverse("deputies"))
    return _shown(request, form, refusal or unsaid(form, "starts_at", "ends_at", "reason"))


@people_only
@require_POST
def end(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """End it from now on."""
    one, form = get_object_or_404(Deputy, uid=uid), ReasonForm(request.POST)
    if not form.is_valid():
        return _shown(request, DeputyForm(initial=fresh()), "Write a reason; it stays in the trail.")
    try:
        deciding.end_deputy(one, person=person(request), reason=form.cleaned_data["reason"])
    except TieoutError as error:
        return _shown(request, DeputyForm(initial=fresh()), words(error))
    return SeeOther(reverse("deputies"))


def _shown(request: HttpRequest, form: DeputyForm, refusal: str) -> HttpResponse:
    me, everybody = person(request), User.objects.filter(is_active=True).order_by("username")
    context = {
        "section": "approvals",
        "form": form,
        "refusal": refusal,
        "present": Deputy.objects.present(database_now()).order_by("starts_at"),
        "principals": everybody if access.may(me, "propose") else [me],
        "people": everybody,
        "command_id": uuid.uuid4(),
        "why_not": "" if access.may(me, "deputise") else access.lacking(me),
    }
    return render(request, "review/deputies.html", context)
