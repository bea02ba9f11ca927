"""Sessions: how long they last, what counts as being at work, and ending one's own."""

from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger.models import Event
from tests import stories
from tests.databases import Database
from tests.people import PASSWORD
from tests.review.signing import LOGIN, SECURITY, aged, signed_in, text

HALF_AN_HOUR, TWELVE_HOURS = 30 * 60, 12 * 3600


def test_a_session_ends_after_half_an_hour_without_anybody_and_after_twelve_hours_at_the_latest(
    durban: stories.Durban,
) -> None:
    page = f"/operations/{durban.silent(483).uid}/"
    ann, _ = signed_in("ann")
    aged(ann, seen_at=HALF_AN_HOUR - 60)
    assert ann.get(page, headers={"HX-Request": "true"}).status_code == 200
    assert ann.get(page).status_code == 200, "a page that polls is nobody at work; a click is"
    aged(ann, seen_at=HALF_AN_HOUR - 60)
    ann.get(page, headers={"HX-Request": "true"})
    aged(ann, seen_at=60)
    polled = ann.get(page, headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver{page}"})
    assert (polled.status_code, polled["HX-Redirect"]) == (204, f"{LOGIN}?next={page}")
    assert "nothing was done for 30 minutes" in text(ann.get(LOGIN))
    signed_in("ann", ann)
    for _ in range(24):
        aged(ann, signed_in_at=HALF_AN_HOUR, seen_at=HALF_AN_HOUR - 90)
        last = ann.get(page).status_code
    assert last == 302 and "a sign-in lasts 12 hours" in text(ann.get(LOGIN))


def test_one_sees_where_one_is_signed_in_and_ends_it_there(database: Database) -> None:
    phone = Client(
        headers={"User-Agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Safari/604.1"}
    )
    signed_in("ann", phone)
    ann, _ = signed_in("ann", Client(headers={"User-Agent": "Mozilla/5.0 (Windows NT 10.0) Firefox/140.0"}))
    bob, _ = signed_in("bob")
    shown = text(ann.get(SECURITY))
    assert "Safari on iPhone, from 127.0.0.1" in shown and "Firefox on Windows" in shown
    assert shown.count("since") == 2, "nobody else's"
    of_phone, of_bob = (
        UserSession.objects.get(session_key=client.session.session_key).pk for client in (phone, bob)
    )
    assert ann.post(f"{SECURITY}sessions/{of_bob}/end/").status_code == 404
    assert bob.get("/queue/").status_code == 200
    assert "That session is ended" in text(ann.post(f"{SECURITY}sessions/{of_phone}/end/", follow=True))
    assert phone.get("/queue/").status_code == 302 and ann.get("/queue/").status_code == 200
    signed_in("ann", phone)
    ann.post(f"{SECURITY}sessions/end/")
    assert phone.get("/queue/").status_code == 302 and ann.get("/queue/").status_code == 200


def test_what_is_over_goes_with_the_next_sign_in(database: Database) -> None:
    ada, ann = signed_in("ada")[0], signed_in("ann")[0]
    Session.objects.filter(session_key=ann.session.session_key).update(expire_date="2026-01-01T00:00:00Z")
    caches["default"].set("lapsed", [1.0], timeout=-1)
    with CaptureQueriesContext(connection) as few:
        people = text(ada.get("/people/"))
    assert people.count('data-label="Sessions">0<') == 1 and people.count('data-label="Sessions">1<') == 1
    for name in ("bob", "eve", "vic"):
        signed_in(name)
    assert not Session.objects.filter(expire_date__year=2026, expire_date__month=1).exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM tieout_cache WHERE cache_key LIKE '%lapsed'")
        assert cursor.fetchone() == (0,)
    with CaptureQueriesContext(connection) as more:
        ada.get("/people/")
    assert len(more) == len(few), "as many queries, whoever is there"


def test_behind_a_proxy_an_address_is_the_one_that_the_proxy_saw(database: Database, settings: Any) -> None:
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1
    ann, _ = signed_in("ann", Client(headers={"X-Forwarded-For": "198.51.100.1, 203.0.113.7"}))
    shown = text(ann.get(SECURITY))
    assert "from 203.0.113.7" in shown and "198.51.100.1" not in shown, "the first one anybody can write"


def test_a_password_is_changed_by_who_knows_it_and_never_to_a_common_one(database: Database) -> None:
    ann, other = signed_in("ann")[0], signed_in("ann")[0]
    address = "/accounts/password/"

    def changed(old: str, new: str) -> str:
        return text(ann.post(address, {"oldpassword": old, "password1": new, "password2": new}, follow=True))

    assert "too common" in changed(PASSWORD, "administrator")
    assert "at least 12" in changed(PASSWORD, "Xk2-short")
    assert "current password" in changed("not mine", "quiet-heron-walks-far")
    assert "Your password is changed" in changed(PASSWORD, "quiet-heron-walks-far")
    assert ann.get("/queue/").status_code == 200 and other.get("/queue/").status_code == 302
    assert Event.objects.get(kind="password_changed").actor == "ann"
