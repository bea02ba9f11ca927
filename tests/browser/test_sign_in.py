"""Signing in with a passkey, with an app, and once more before an approval; each page of it passes axe."""

import re

import httpx
from allauth.mfa.models import Authenticator
from django.test import Client
from playwright.sync_api import CDPSession, Page, expect

from ledger.models import Event
from tests import stories
from tests.browser.conftest import Windows
from tests.browser.test_interruptions import sign_in
from tests.browser.test_looks import looked_at
from tests.people import PASSWORD, person
from tests.processes import Server
from tests.review.signing import code

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def device(page: Page) -> CDPSession:
    """Give the browser a device that keeps passkeys behind a finger."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    return session


def inside(page: Page) -> None:
    expect(page.get_by_role("link", name=re.compile("sign out"))).to_be_visible()


def sign_out(page: Page) -> None:
    page.get_by_role("link", name=re.compile("sign out")).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_passkey_signs_in_by_itself_and_after_a_password(durban: stories.Durban, windows: Windows) -> None:
    # A passkey belongs to a name: an address in numbers has none.
    home = windows.server.url.replace("127.0.0.1", "localhost")
    page, wrong = windows.of(None), []
    device(page)
    page.goto(f"{home}/accounts/login/?next=/queue/")
    wrong += [f"login, {line}" for line in looked_at(page, "sign-in")]
    sign_in(page)
    page.get_by_role("link", name=re.compile("ann")).click()
    page.get_by_role("link", name="Your sign-in").click()
    wrong += [f"security, {line}" for line in looked_at(page, "security")]
    page.get_by_role("link", name="Add a passkey").click()
    wrong += [f"passkey, {line}" for line in looked_at(page, "passkey")]
    page.get_by_label("What you call it").fill("ann's laptop")
    page.get_by_label("What you call it").press("Enter")
    expect(page.get_by_text("The passkey is added")).to_be_visible()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    wrong += [f"codes, {line}" for line in looked_at(page, "recovery-codes")]
    page.get_by_role("link", name="I have kept them").click()
    expect(page.get_by_text("Passkey ann's laptop, added")).to_be_visible()
    expect(page.get_by_text("Recovery codes, 10 left")).to_be_visible()
    wrong += [f"set up, {line}" for line in looked_at(page, "security-set-up")]

    sign_out(page)
    page.get_by_role("button", name="Use a passkey instead").click()
    inside(page)
    sign_out(page)
    sign_in(page)
    expect(page.get_by_role("heading", name="Your second factor")).to_be_visible()
    wrong += [f"second, {line}" for line in looked_at(page, "second-factor")]
    page.get_by_role("button", name="Use a passkey instead").click()
    inside(page)
    own = Authenticator.objects.get(type=Authenticator.Type.WEBAUTHN)
    for name, address, says in (
        ("passkey-again", "again/", "Show that it is you, ann"),
        ("passkey-remove", f"{own.pk}/remove/", "Remove the passkey ann's laptop?"),
    ):
        page.goto(f"{home}/accounts/passkeys/{address}")
        expect(page.get_by_role("heading", name=says)).to_be_visible()
        wrong += [f"{name}, {line}" for line in looked_at(page, name)]
    page.get_by_role("button", name="Remove it").click()
    expect(page.get_by_text("ann's laptop, added")).to_have_count(0)
    assert not Authenticator.objects.exists(), "recovery codes go as well"
    assert wrong == []


def test_an_app_without_script_and_a_reset_by_an_administrator(
    durban: stories.Durban, windows: Windows
) -> None:
    page, wrong = windows.of(None, script=False), []
    page.goto("/accounts/login/?next=/accounts/app/")
    sign_in(page, "bob")
    secret = page.locator("b.key").inner_text()
    page.get_by_label("The code that the app shows").fill(code(secret))
    page.get_by_role("button", name="Set it up").click()
    recovery = page.locator("b.key").first.inner_text()
    page.get_by_role("link", name="I have kept them").click()
    sign_out(page)
    sign_in(page, "bob")
    page.get_by_label("Code of the app").fill(recovery)
    page.get_by_role("button", name="Sign in").click()
    inside(page)

    ada = windows.of("ada")
    person("eve")
    for name, address in {
        "people": "/people/",
        "app": "/accounts/app/",
        "password": "/accounts/password/",
        "again": "/accounts/reauthenticate/",
        "you": "/you/",
    }.items():
        ada.goto(address)
        wrong += [f"{name}, {line}" for line in looked_at(ada, name)]
    ada.goto("/accounts/passkeys/add/")
    ada.get_by_role("button", name="Add it").click()
    expect(ada.get_by_text("A passkey belongs to a name, and 127.0.0.1 is none")).to_be_visible()
    ada.goto("/people/")
    ada.get_by_role("link", name="Reset the second factor of bob").focus()
    ada.keyboard.press("Enter")
    expect(ada.get_by_role("heading", name="Reset bob’s second factor?")).to_be_visible()
    wrong += [f"reset, {line}" for line in looked_at(ada, "person-reset")]
    ada.get_by_label("Reason, for the trail").fill("Bob lost his phone.")
    ada.keyboard.press("Tab")
    ada.keyboard.press("Enter")
    expect(ada.get_by_text("bob has no second factor any more")).to_be_visible()
    assert Event.objects.get(kind="second_factor_reset").actor == "ada"
    page.goto("/queue/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert wrong == []


def test_wrong_passwords_are_counted_over_all_processes(server: Server) -> None:
    person("ann")
    address, wrong = "/accounts/login/", {"login": "ann", "password": "wrong"}
    with httpx.Client(base_url=server.url, headers={"Referer": server.url}) as there:

        def given(password: str) -> str:
            token = re.search('csrfmiddlewaretoken" value="([^"]+)"', there.get(address).text)
            assert token is not None
            form = {"login": "ann", "password": password, "csrfmiddlewaretoken": token[1]}
            return there.post(address, data=form, follow_redirects=True).text

        for _ in range(3):
            assert b"not correct" in Client().post(address, wrong).content
        assert all("not correct" in given("wrong") for _ in range(2))
        assert "Too many" in given(PASSWORD), "the server has seen two wrong tries, and knows of five"
        assert b"Too many" in Client().post(address, wrong | {"password": PASSWORD}).content
