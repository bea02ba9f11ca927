"""One's own sign-in as the page shows it: the second factor, and the sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import User
from django.http import HttpRequest

from review import sessions
from review.access import roles
from review.second_factor import needed

BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS = (
    *(("Windows", "Windows"), ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad")),
    *(("Mac OS X", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


@dataclass(frozen=True)
class Begun:
    """One session of one's own."""

    pk: int
    began_at: datetime
    seen_at: datetime
    address: str
    browser: str
    here: bool
    """It is the one that reads this."""


@dataclass(frozen=True)
class SignIn:
    """What a person has to sign in with, and where they are signed in."""

    needed: bool
    app: Authenticator | None
    passkeys: Sequence[Authenticator]
    codes_left: int | None
    """Recovery codes that are not used; None where there are none at all."""
    sessions: Sequence[Begun]
    elsewhere: bool

    @property
    def missing(self) -> bool:
        """Whether a role wants a second factor that is not there."""
        return self.needed and not self.app and not self.passkeys


def read(request: HttpRequest, user: User) -> SignIn:
    """Read it; sessions that are over go from the list."""
    known = list(Authenticator.objects.filter(user=user).order_by("pk"))
    by_kind = {one.type: one for one in known}
    codes = by_kind.get(Authenticator.Type.RECOVERY_CODES)
    begun = _sessions(user, request.session.session_key)
    return SignIn(
        needed=needed(roles(user)),
        app=by_kind.get(Authenticator.Type.TOTP),
        passkeys=[one for one in known if one.type == Authenticator.Type.WEBAUTHN],
        codes_left=len(codes.wrap().get_unused_codes()) if codes else None,
        sessions=begun,
        elsewhere=any(not one.here for one in begun),
    )


def _sessions(user: User, here: str | None) -> list[Begun]:
    rows = UserSession.objects.purge_and_list(user)
    seen = sessions.last_seen([row.session_key for row in rows])
    begun = [
        Begun(
            pk=row.pk,
            began_at=row.created_at,
            seen_at=datetime.fromtimestamp(seen.get(row.session_key, row.created_at.timestamp()), tz=UTC),
            address=row.ip,
            browser=browser(row.user_agent),
            here=row.session_key == here,
        )
        for row in rows
    ]
    return sorted(begun, key=lambda one: (one.here, one.seen_at), reverse=True)


def browser(agent: str) -> str:
    """Name a browser and its system, as far as it tells: "Firefox on Windows"."""
    which = next((name for sign, name in BROWSERS if sign in agent), "")
    system = next((name for sign, name in SYSTEMS if sign in agent), "")
    return " on ".join(filter(None, (which, system))) or "Something that does not say what it is"
