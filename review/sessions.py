"""Sessions in the database: whose they are, how long they last, and when who they are was last shown."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY, logout
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db import connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

SIGNED_IN, PROVED, SEEN = "signed_in_at", "proved_at", "seen_at"
"""In seconds since 1970: it began; its person has shown who they are; they have done something."""
SEEN_EVERY_S = 60
NOTHING_DONE = "You were signed out: nothing was done for {} minutes."
OVER = "You were signed out: a sign-in lasts {} hours."


class SessionStore(db.SessionStore):
    """Django's own, which would ask PostgreSQL for a name that no text there can be."""

    def _validate_session_key(self, key: str | None) -> bool:
        # What is no name of a session is refused before it is looked for: a NUL would be an error.
        known: bool = super()._validate_session_key(key)  # type: ignore[misc]  # the stubs leave it out
        return bool(known and key and key.isascii() and key.isalnum())


class Limits:
    """Ends a session that has lasted long enough, or in which nobody has done anything for too long."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Look at the session, where there is one, before anybody answers in it."""
        if settings.SESSION_COOKIE_NAME in request.COOKIES and SESSION_KEY in request.session:
            why = _looked_at(request.session, polls=_polls(request))
            if why:
                logout(request)
                messages.info(request, why)
        return self.get_response(request)


def _polls(request: HttpRequest) -> bool:
    """Say whether the page asks by itself: that is not somebody at work."""
    return request.method == "GET" and "HX-Request" in request.headers


def _looked_at(session: SessionBase, *, polls: bool) -> str:
    """Note that somebody is at work; say why the session is over where it is."""
    now = time.time()
    if SIGNED_IN not in session:
        # It began under a release that did not write this down.
        began(session)
    if now - session[SIGNED_IN] >= settings.SESSION_COOKIE_AGE:
        return OVER.format(settings.SESSION_COOKIE_AGE // 3600)
    if now - session[SEEN] >= settings.SESSION_IDLE_MINUTES * 60:
        return NOTHING_DONE.format(settings.SESSION_IDLE_MINUTES)
    if not polls and now - session[SEEN] >= SEEN_EVERY_S:
        session[SEEN] = now
    return ""


def began(session: SessionBase) -> None:
    """Note that a person has signed in."""
    session[SIGNED_IN] = session[PROVED] = session[SEEN] = time.time()


def proved(session: SessionBase) -> None:
    """Note that the person has shown once more who they are."""
    session[PROVED] = time.time()


def recent(request: HttpRequest) -> bool:
    """Say whether the person has shown who they are within the last `SIGN_IN_AGAIN_MINUTES`."""
    shown: float = request.session.get(PROVED, -math.inf)
    return time.time() - shown < settings.SIGN_IN_AGAIN_MINUTES * 60


def last_seen(keys: list[str]) -> dict[str, float]:
    """Return when somebody was last at work in each of these sessions, in seconds since 1970."""
    opened = ((row.session_key, row.get_decoded()) for row in Session.objects.filter(session_key__in=keys))
    return {key: data[SEEN] for key, data in opened if SEEN in data}


def end_all(user_pk: int) -> int:
    """End every session of a person, wherever it began; return how many there were."""
    keys = list(_of(user_pk))
    Session.objects.filter(session_key__in=keys).delete()
    return len(keys)


def forget_ended() -> None:
    """Remove what is over: sessions, and limits of signing in that have lapsed; nothing else ever does."""
    now = timezone.now()
    Session.objects.filter(expire_date__lt=now).delete()
    with connection.cursor() as cursor:
        # The table of the cache in the settings.
        cursor.execute("DELETE FROM tieout_cache WHERE expires < %s", [now])


def _of(user_pk: int) -> Iterator[str]:
    # What is in a session is not searched by the database: all that live are read, some hundred of them.
    for row in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        data: dict[str, Any] = row.get_decoded()
        if data.get(SESSION_KEY) == str(user_pk):
            yield row.session_key
