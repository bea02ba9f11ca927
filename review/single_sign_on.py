"""Single sign-on: who somebody is, as the company's provider says, tied to one account for good."""

import logging
import time
from typing import Any, NoReturn

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from ledger.actions.accounts import tell_of_account

METHOD = "socialaccount"
"""What the library calls a sign-in through it."""
LEEWAY_S = 60
"""How far the provider's clock may be from ours."""
DID_NOT_WORK = "Single sign-on did not work, and nothing was done. Try again, or ask an administrator."
NOBODY = "Single sign-on knows you as {}, and no account here is called so. An administrator makes one."
ANOTHERS = "The account {} belongs to somebody else at your single sign-on. An administrator can untie it."
NO_NAME = "Single sign-on did not say who you are ({}). Ask an administrator."
TOO_OLD = "Your single sign-on let you in without asking who you are. Sign out there, then sign in again."

logger = logging.getLogger(__name__)


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # the library carries no complete types
    """Nobody is made by it, and nobody ties an account to themselves."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """Never: people are made by an administrator."""
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find whose account it is; the first sign-in ties the two, and from then on nobody else opens it."""
        claims = _claims(sociallogin)
        sociallogin.account.extra_data = {}
        if sociallogin.state.get("process") != "login":
            _refuse(request, DID_NOT_WORK)
        shown_at = claims.get("auth_time")
        limit = settings.SIGN_IN_AGAIN_MINUTES * 60 + LEEWAY_S
        if isinstance(shown_at, int | float) and time.time() - shown_at > limit:
            _refuse(request, TOO_OLD)
        if sociallogin.is_existing:
            # What else it tells of a person is nothing that we need.
            SocialAccount.objects.filter(pk=sociallogin.account.pk).update(extra_data={})
        else:
            _tie(request, sociallogin, claims)

    def on_authentication_error(self, request: HttpRequest, provider: Any, **more: Any) -> None:
        """Say so on the sign-in page; what went wrong stands in the log, by its kind alone."""
        cause = more.get("exception")
        logger.warning("Single sign-on failed: %s", type(cause).__name__ if cause else more.get("error"))
        _refuse(request, DID_NOT_WORK)


def _claims(sociallogin: SocialLogin) -> dict[str, Any]:
    told = sociallogin.account.extra_data
    return {**told.get("userinfo", {}), **told.get("id_token", {})}


def _tie(request: HttpRequest, sociallogin: SocialLogin, claims: dict[str, Any]) -> None:
    name = claims.get(settings.OIDC_CLAIM)
    confirmed = settings.OIDC_CLAIM != "email" or claims.get("email_verified") is True
    if not isinstance(name, str) or not name or not confirmed:
        _refuse(request, NO_NAME.format(settings.OIDC_CLAIM))
    with transaction.atomic():
        user = User.objects.select_for_update().filter(username=name).first()
        if user is None:
            _refuse(request, NOBODY.format(name))
        elif SocialAccount.objects.filter(user=user).exists():
            _refuse(request, ANOTHERS.format(name))
        else:
            sociallogin.connect(request, user)
            reason = "First signed in by single sign-on, which nobody else there can use for this account."
            tell_of_account(name, kind="single_sign_on", actor=name, reason=reason)


def _refuse(request: HttpRequest, why: str) -> NoReturn:
    messages.error(request, why)
    raise ImmediateHttpResponse(redirect("account_login"))


def address(back: str = "") -> str:
    """Return where it begins; empty where there is none."""
    if not settings.OIDC_ISSUER:
        return ""
    begins = reverse("openid_connect_login", kwargs={"provider_id": settings.OIDC_PROVIDER})
    return f"{begins}?{urlencode({'process': 'login', **({'next': back} if back else {})})}"
