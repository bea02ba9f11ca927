"""The second factor: demanded by role, kept sealed, asked for at each sign-in, reset by an administrator.

| who                           | what opens the pages                                                    |
|-------------------------------|-------------------------------------------------------------------------|
| a role that needs none        | the password, or the second factor that they have set up all the same    |
| a role that needs one, none   | nothing, until one is set up                                            |
| a role that needs one, set up | password and code; also in a session that began before it was set up    |
"""

import json
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client

from ledger.models import Event
from ledger.rules.leaves import Action
from reconcile.proposals.actions import propose_role
from review.bulk.freezing import freeze
from review.filters import Filter
from tests import stories
from tests.databases import Database
from tests.people import browser_of, person
from tests.review.signing import (
    LOGIN,
    SECOND,
    SECURITY,
    aged,
    code,
    kept_in_sessions,
    signed_in,
    text,
    with_app,
)
from tests.review.test_every_door import APPROVE, DOORS, Place, extra_asked, prepared


@pytest.fixture(autouse=True)
def _enforced(database: Database, settings: Any) -> None:
    settings.SECOND_FACTOR_ROLES = frozenset({"approver", "administrator"})


def kinds(name: str) -> list[tuple[str, str]]:
    told = Event.objects.filter(data__person=name).values_list("kind", "actor")
    return list(told)


def test_who_needs_one_reaches_nothing_before_it_is_set_up() -> None:
    for name in ("vic", "ann"):
        assert signed_in(name)[0].get("/queue/").status_code == 200
    for name in ("bob", "ada"):
        client, answer = signed_in(name)
        assert answer["Location"] == "/"
        for address in ("/queue/", "/approvals/", "/people/"):
            assert client.get(address)["Location"] == f"{SECURITY}?next=%2F{address.strip('/')}%2F"
        polled = client.get("/queue/", headers={"HX-Request": "true"})
        assert polled.status_code == 204 and polled["HX-Redirect"].startswith(SECURITY)
        assert "Your role needs a second factor." in text(client.get(SECURITY))
    with_app(client)
    assert client.get("/queue/").status_code == 200


def test_an_app_is_set_up_sealed_and_its_codes_are_asked_for_and_serve_once() -> None:
    bob, _ = signed_in("bob")
    secret, codes = with_app(bob)
    stored = json.dumps(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored + kept_in_sessions() and codes[0] not in stored
    assert "seed" in stored and "00" * 20 not in stored
    told = "".join(f"{event.reason}{event.data}" for event in Event.objects.all())
    assert secret not in told and kinds("bob") == [("second_factor_added", "bob")] * 2
    again = text(bob.get("/accounts/codes/"))
    assert "shown to nobody again" in again and not any(one in again for one in codes)
    assert bob.get("/accounts/app/")["Location"] == "/accounts/app/remove/", "nor is the secret shown again"

    client, answer = signed_in("bob", next="/approvals/")
    assert answer["Location"].startswith(SECOND) and client.get("/queue/").status_code == 302
    assert "Incorrect code" in text(client.post(SECOND, {"code": "000000"}))
    opened = client.post(SECOND, {"code": code(secret, 1)})
    assert opened["Location"] == "/approvals/" and client.get("/approvals/").status_code == 200
    other, _ = signed_in("bob")
    assert "Incorrect code" in text(other.post(SECOND, {"code": code(secret, 1)})), "a code serves once"
    assert other.post(SECOND, {"code": codes[3]}).status_code == 302
    assert kinds("bob")[-1] == ("recovery_code_used", "bob")
    third, _ = signed_in("bob")
    assert "Incorrect code" in text(third.post(SECOND, {"code": codes[3]})), "so does a recovery code"


def test_the_secret_waits_sealed_while_it_is_being_set_up() -> None:
    bob, _ = signed_in("bob")
    page = text(bob.get("/accounts/app/"))
    kept = kept_in_sessions()
    assert "mfa.totp.secret" in kept
    secret = page.split('by hand: <b class="key">')[1].split("<")[0]
    assert secret not in kept and "no-store" in bob.get("/accounts/app/")["Cache-Control"]
    wrong = text(bob.post("/accounts/app/", {"code": "000000"}))
    assert "Incorrect code" in wrong


def test_a_session_from_before_shows_the_factor_first() -> None:
    early, _ = signed_in("bob")
    secret, _ = with_app(signed_in("bob")[0])
    sent = early.get("/approvals/")
    assert sent["Location"] == "/accounts/second/again/?next=%2Fapprovals%2F"
    assert early.get(sent["Location"]).status_code == 200
    shown = early.post(sent["Location"], {"code": code(secret, 1), "next": "/approvals/"})
    assert shown["Location"] == "/approvals/" and early.get("/approvals/").status_code == 200


def test_five_wrong_codes_lock_it_wherever_they_come_from() -> None:
    secret, _ = with_app(signed_in("bob")[0])
    for _ in range(5):
        assert "Incorrect code" in text(signed_in("bob")[0].post(SECOND, {"code": "000000"}))
    last = signed_in("bob")[0].post(SECOND, {"code": code(secret, 1)})
    assert last.status_code == 200 and "Too many" in text(last)


def test_an_administrator_resets_it_with_a_reason_and_nobody_else_does() -> None:
    with_app(bob := signed_in("bob")[0])
    ada = signed_in("ada")[0]
    with_app(ada)
    page, form = (
        f"/people/{person('bob').pk}/reset/",
        {"reason": "Bob lost his phone.", "command_id": str(uuid.uuid4())},
    )
    assert "app" in text(ada.get("/people/")) and page in text(ada.get("/people/"))
    refused = text(signed_in("ann")[0].post(page, form))
    assert "An administrator resets it: accounts are theirs." in refused
    assert page not in text(signed_in("ann")[0].get("/people/"))
    own = text(ada.post(f"/people/{person('ada').pk}/reset/", {**form, "command_id": str(uuid.uuid4())}))
    assert "Another administrator resets yours" in own
    aged(ada, proved_at=16 * 60)
    assert ada.post(page, form)["Location"].startswith("/accounts/reauthenticate/?next=%2Fpeople%2F")
    aged(ada, proved_at=-16 * 60)
    assert Authenticator.objects.filter(user__username="bob").count() == 2
    assert "signed out everywhere" in text(ada.post(page, form, follow=True))
    assert not Authenticator.objects.filter(user__username="bob").exists()
    event = Event.objects.get(kind="second_factor_reset")
    assert (event.actor, event.reason, event.data["person"]) == ("ada", "Bob lost his phone.", "bob")
    trail = text(ada.get("/trail/"))
    assert "reset a second factor: bob." in trail and "“Bob lost his phone.”" in trail
    assert "“Set up" not in trail, "what software writes is nobody's own words"
    assert bob.get("/queue/")["Location"].startswith(LOGIN), "a session of his lives on no longer"
    anew, answer = signed_in("bob")
    assert answer["Location"] == "/" and anew.get("/queue/")["Location"].startswith(SECURITY)
    assert (
        ada.get("/approvals/").status_code == 200
        and not person("ada").groups.filter(name="approver").exists()
    )


def test_removing_the_last_one_closes_the_pages_again() -> None:
    bob, _ = signed_in("bob")
    with_app(bob)
    assert bob.post("/accounts/app/remove/", {})["Location"] == SECURITY
    assert not Authenticator.objects.exists(), "recovery codes alone are no factor"
    assert bob.get("/queue/")["Location"].startswith(SECURITY)
    assert kinds("bob")[-1] == ("second_factor_removed", "bob")


def test_what_was_sealed_under_a_lost_key_opens_nothing(settings: Any) -> None:
    secret, codes = with_app(signed_in("bob")[0])
    settings.PAYLOAD_KEYS = "k9:" + "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
    client, _ = signed_in("bob")
    for given in (code(secret, 1), codes[0], "000000"):
        assert "cannot be opened" in text(client.post(SECOND, {"code": given}))
    assert client.get("/queue/").status_code == 302


def test_another_persons_note_in_a_session_opens_nothing() -> None:
    """What is noted of one person's factor is not taken for another's who signs in in the same browser."""
    client, _ = signed_in("bob")
    with_app(client)
    client.force_login(
        User.objects.get(username="bob"), backend="allauth.account.auth_backends.AuthenticationBackend"
    )
    person("eve")
    session = client.session
    session["second_factor"] = person("eve").pk
    session.save()
    assert client.get("/queue/").status_code == 302


def test_whoever_approves_has_shown_lately_who_they_are(
    durban: stories.Durban, settings: Any, tmp_path: Path
) -> None:
    settings.SECOND_FACTOR_ROLES = frozenset()
    operation = durban.expired(398)
    page = f"/operations/{operation.uid}/approve/?back=approvals"
    bob, _ = signed_in("bob")
    assert bob.get(page).status_code == 200
    aged(bob, proved_at=16 * 60)
    for sent in (bob.get(page), bob.post(page, {"reason": "Yes."})):
        assert sent["Location"].startswith("/accounts/reauthenticate/?next=%2Foperations%2F")
    assert bob.get(page.replace("approve", "refuse")).status_code == 200, "a no may come at any time"
    wrong = bob.post(sent["Location"], {"password": "no"})
    assert wrong.status_code == 200 and "incorrect" in text(wrong).lower()
    shown = bob.post(sent["Location"], {"password": "a long word for tests", "next": page})
    assert shown["Location"] == page and bob.get(page).status_code == 200
    form = {"reason": "Yes.", "command_id": str(uuid.uuid4()), "answer": "approve"}
    wish: dict[str, Any] = {"actor": person("ada").username, "reason": "New.", "command_id": uuid.uuid4()}
    nora = propose_role(person("nora"), "viewer", give=True, **wish)
    bulk = freeze(Action.CHECK, person=person("ann"), chosen=Filter(), picked=[operation.uid])
    uids = {"operations": operation.uid, "approvals": nora.uid, "bulk": bulk.uid}
    aged(bob, proved_at=16 * 60)
    doors = [one for one, door in DOORS.items() if door.may == APPROVE and one.partition("/")[0] in uids]
    place = Place(durban.clock, tmp_path, _durban=durban)
    own = {"differences": extra_asked(place, "bob")[0], "signatures": prepared(place, "bob")[0]}
    for door in [one for one in doors if "refuse" not in one]:
        address = f"/{door}".replace("<uuid:uid>", str(uids[door.partition("/")[0]]))
        address = own.get(door.split("/")[1], address)
        (back,) = parse_qs(urlsplit(bob.post(address, form)["Location"]).query)["next"]
        assert bob.get(back).status_code in (200, 302), "where they are led back to can be shown"
    assert browser_of("vic").get(page).status_code == 200, "who may not is told so, not asked for a password"
    assert isinstance(bob, Client)
