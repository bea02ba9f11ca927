"""What signing in leaves behind: the session's times, the second factor that was shown, and events."""

from typing import Any

from allauth.account.signals import authentication_step_completed, password_changed
from allauth.mfa import signals
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest

from ledger.actions.accounts import tell_of_account
from review import sessions, single_sign_on
from review.second_factor import KINDS, SHOWN, there

NAMES = {
    Authenticator.Type.TOTP: "an authenticator app",
    Authenticator.Type.WEBAUTHN: "a passkey",
    Authenticator.Type.RECOVERY_CODES: "recovery codes",
}


def connect() -> None:
    """Listen to the library, which has no other way to be asked."""
    user_logged_in.connect(_signed_in, dispatch_uid="a session begins")
    authentication_step_completed.connect(_proved, dispatch_uid="a person shows who they are")
    signals.authenticator_used.connect(_used, dispatch_uid="a second factor is shown")
    signals.authenticator_added.connect(_added, dispatch_uid="a second factor is set up")
    signals.authenticator_reset.connect(_renewed, dispatch_uid="recovery codes are made anew")
    signals.authenticator_removed.connect(_removed, dispatch_uid="a second factor is removed")
    password_changed.connect(_changed, dispatch_uid="a password is changed")


def _signed_in(request: HttpRequest, **_: Any) -> None:
    sessions.began(request.session)
    sessions.forget_ended()


def _proved(request: HttpRequest, user: Any, method: str, *, reauthenticated: bool = False, **_: Any) -> None:
    if reauthenticated:
        sessions.proved(request.session)
    if method == single_sign_on.METHOD and settings.OIDC_SECOND_FACTOR:
        request.session[SHOWN] = user.pk


def _used(request: HttpRequest, user: Any, authenticator: Authenticator, **_: Any) -> None:
    request.session[SHOWN] = user.pk
    if authenticator.type == Authenticator.Type.RECOVERY_CODES:
        _tell(user, "recovery_code_used", "Signed in with a recovery code instead of the second factor.")


def _added(request: HttpRequest, user: Any, authenticator: Authenticator, **_: Any) -> None:
    if authenticator.type in KINDS:
        request.session[SHOWN] = user.pk
    _tell(user, "second_factor_added", f"Set up {_name(authenticator)}.")


def _renewed(user: Any, authenticator: Authenticator, **_: Any) -> None:
    _tell(user, "second_factor_added", f"Made {_name(authenticator)} anew.")


def _removed(request: HttpRequest, user: Any, authenticator: Authenticator, **_: Any) -> None:
    if not there(user):
        request.session.pop(SHOWN, None)
    _tell(user, "second_factor_removed", f"Removed {_name(authenticator)}.")


def _changed(user: Any, **_: Any) -> None:
    _tell(user, "password_changed", "Changed their own password.")


def _name(authenticator: Authenticator) -> str:
    return NAMES[Authenticator.Type(authenticator.type)]


def _tell(user: Any, kind: str, reason: str) -> None:
    tell_of_account(user.get_username(), kind=kind, actor=user.get_username(), reason=reason)
