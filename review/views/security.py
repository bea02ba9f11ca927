"""One's own sign-in: the second factor, the password, the sessions."""

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from ledger.models import database_now
from review import security
from review.access import signed_in_only
from review.views.operation import SeeOther, person


@signed_in_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show what one signs in with, and where one is signed in."""
    back = request.GET.get("next", "")
    here = url_has_allowed_host_and_scheme(back, allowed_hosts=None)
    context = {"now": database_now(), "sign_in": security.read(request, person(request)), "back": back * here}
    return render(request, "review/security.html", context)


@signed_in_only
@require_POST
def end(request: HttpRequest, pk: int) -> HttpResponse:
    """End one session of one's own."""
    get_object_or_404(UserSession, pk=pk, user=person(request)).end()
    messages.success(request, "That session is ended: its next click leads to the sign-in page.")
    return SeeOther(reverse("security"))


@signed_in_only
@require_POST
def end_others(request: HttpRequest) -> HttpResponse:
    """End all sessions of one's own but this one."""
    for other in UserSession.objects.filter(user=person(request)):
        if other.session_key != request.session.session_key:
            other.end()
    messages.success(request, "All other sessions of yours are ended.")
    return SeeOther(reverse("security"))
