"""What Tieout wants otherwise of django-allauth: nobody signs up, and there are two pages, not twenty."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect


class Adapter(DefaultAccountAdapter):  # type: ignore[misc]  # the library carries no complete types
    """People are made by an administrator."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        """Say so on the sign-in page: there is no page of its own for it."""
        messages.error(request, "This account is switched off. Ask an administrator to switch it on again.")
        return redirect("account_login")
