"""Signing in as a person does, with codes as an app makes them."""

import re
from typing import Any

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value, yield_hotp_counters_from_time
from django.contrib.sessions.models import Session
from django.test import Client

from tests.people import PASSWORD, person

LOGIN, SECOND, SECURITY = "/accounts/login/", "/accounts/second/", "/accounts/security/"


def signed_in(name: str, client: Client | None = None, **more: str) -> tuple[Client, Any]:
    """Give name and password; return the client and what it was answered."""
    person(name)
    client = client or Client()
    return client, client.post(LOGIN, {"login": name, "password": PASSWORD, **more})


def text(answer: Any) -> str:
    """What a page says."""
    return str(answer.content.decode())


def code(secret: str, step: int = 0) -> str:
    """What an app shows now, or `step` half minutes from now."""
    now = list(yield_hotp_counters_from_time())[1]
    return str(format_hotp_value(hotp_value(secret, now + step)))


def with_app(client: Client) -> tuple[str, list[str]]:
    """Set up an app as its page says; return its secret and the recovery codes."""
    shown = re.search(r'by hand: <b class="key">(\w+)</b>', text(client.get("/accounts/app/")))
    assert shown is not None
    done = client.post("/accounts/app/", {"code": code(shown[1])}, follow=True)
    codes = re.findall(r'<li><b class="key">(\d{8})</b></li>', text(done))
    assert len(codes) == 10, text(done)
    return shown[1], codes


def aged(client: Client, **seconds: float) -> None:
    """Let what a session notes have happened so many seconds earlier."""
    session = client.session
    for name, earlier in seconds.items():
        session[name] -= earlier
    session.save()


def kept_in_sessions() -> str:
    """All that is written down in sessions."""
    return " ".join(str(row.get_decoded()) for row in Session.objects.all())
