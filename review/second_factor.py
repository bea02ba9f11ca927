"""The second factor: who needs one, who has shown it, and how its secrets are kept."""

import base64
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter as account_adapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.totp.internal.auth import SECRET_SESSION_KEY, generate_totp_secret
from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse

from ledger.actions import submission
from ledger.rules import sealing
from ledger.rules.errors import SealError

SHOWN = "second_factor"
"""The session's note of whose second factor was shown in it: a session that is signed in anew asks anew."""
KINDS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""What is a second factor by itself; recovery codes only stand in for one."""
BOUND_TO = "second factor"
UNREADABLE = "What was kept of it cannot be opened. Use a passkey, or let an administrator reset it."


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # the library carries no complete types
    """Seals what an authenticator app and recovery codes are made from, with the installation's keys."""

    def encrypt(self, text: str) -> str:
        """Seal a secret."""
        sealed = sealing.seal(submission.payload_keys(), text.encode(), bound_to=BOUND_TO)
        return base64.b64encode(sealed).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Open a secret; a ValidationError, which the form shows, where that cannot be done."""
        try:
            token = base64.b64decode(encrypted_text)
            return sealing.unseal(submission.payload_keys(), token, bound_to=BOUND_TO).decode()
        except (SealError, ValueError):
            raise ValidationError(UNREADABLE) from None

    def build_totp_svg(self, url: str) -> str:
        """Draw nothing: the page draws the code itself, for a picture in an address is not allowed."""
        return ""

    def get_totp_issuer(self) -> str:
        """Name the installation as an app lists it."""
        return f"Tieout {super()._get_site_name()}"

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:
        """Name a passkey whose person gave it no name."""
        return f"Passkey {Authenticator.objects.filter(user_id=user.pk, type=type).count() + 1}"


class AppForm(ActivateTOTPForm):  # type: ignore[misc]
    """The library's form, whose secret waits sealed in the session until the first code is right."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.user = kwargs.pop("user")
        forms.Form.__init__(self, *args, **kwargs)
        adapter, session = MFAAdapter(), context.request.session
        kept = session.get(SECRET_SESSION_KEY) if self.is_bound else None
        self.secret = adapter.decrypt(kept) if kept else generate_totp_secret()
        session[SECRET_SESSION_KEY] = kept or adapter.encrypt(self.secret)


def needed(roles: frozenset[str]) -> bool:
    """Say whether somebody with these roles needs a second factor."""
    return not roles.isdisjoint(settings.SECOND_FACTOR_ROLES)


def there(user: User) -> bool:
    """Say whether a person has one."""
    known: bool = Authenticator.objects.filter(user_id=user.pk, type__in=KINDS).exists()
    return known


def away(request: HttpRequest, roles: frozenset[str]) -> str:
    """Return where somebody goes who has to show a second factor first; empty where nothing is missing."""
    user = request.user
    if not needed(roles) or request.session.get(SHOWN) == user.pk:
        return ""
    back = urlencode({"next": request.get_full_path()})
    if not there(user):  # type: ignore[arg-type]
        return f"{reverse('security')}?{back}"
    ways = account_adapter().get_reauthentication_methods(user)
    # A password alone has opened this session already.
    return f"{next(way['url'] for way in ways if way['id'].startswith('mfa'))}?{back}"
