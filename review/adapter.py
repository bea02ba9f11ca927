"""What Tieout wants otherwise of django-allauth: nobody signs up, and a sign-in that is recent is enough."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.core.internal import ratelimit
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from ledger.rules import actors
from review import sessions

# All who sign in from one address are counted one after the other. The library waits a second for that, and
# then answers as if there had been too many.
ratelimit.CACHE_LOCK_WAIT_TIMEOUT = 10


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]  # the library carries no complete types
    """People are made by an administrator."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def is_reauthentication_required(self, *, app: str, **more: Any) -> bool:
        """Unless the person has signed in, or shown who they are, within the stated minutes."""
        return not sessions.recent(context.request)

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        # The library counts for each host that a request names: every allowed one would be five tries more.
        return str(credentials.get("username", "")).lower()

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Lead back to the page of one's own sign-in."""
        return reverse("security")

    def pre_login(self, request: HttpRequest, user: Any, **more: Any) -> HttpResponse | None:
        """Let nobody in who is called as software is, as if the account were switched off."""
        if actors.is_software(user.get_username()):
            user.is_active = False  # here only: it is not saved
        response: HttpResponse | None = super().pre_login(request, user, **more)
        return response

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        """Say so on the sign-in page: there is no page of its own for it."""
        why = "This account is switched off. Ask an administrator to switch it on again."
        try:
            actors.person(user.get_username())
        except actors.NotAPersonsName as error:
            why = error.detail
        messages.error(request, why)
        return redirect("account_login")
