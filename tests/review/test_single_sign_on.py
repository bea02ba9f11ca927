"""Single sign-on: it opens the account that is called so, ties the two for good, and makes and shares none.

| who comes                                        | what happens                                         |
|--------------------------------------------------|------------------------------------------------------|
| known by name, for the first time                | in; from then on by the provider's own id            |
| the same id under another name                   | in, as who they were                                 |
| another id under that name                       | refused: a name that was given anew opens nothing    |
| nobody here, switched off, without the name      | refused, in words; no account is made                |
| who was let in there long ago, or wants to tie   | refused                                              |
"""

import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from ledger.models import Event
from tests.databases import Database
from tests.people import person
from tests.providers import CLIENT, SECRET, Provider, providing
from tests.review.signing import LOGIN, SECURITY, aged, signed_in, text

SSO = "/accounts/sso/"


@pytest.fixture
def provider(database: Database, settings: Any) -> Iterator[Provider]:
    with providing() as made:
        app = {
            "client_id": CLIENT,
            "secret": SECRET,
            "name": "Durban ID",
            "settings": {"server_url": made.url},
        }
        settings.OIDC_ISSUER, settings.OIDC_NAME = made.url, "Durban ID"
        of_ours: dict[str, Any] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]
        apps = [{"provider_id": settings.OIDC_PROVIDER, **app}]
        settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {**of_ours, "APPS": apps}}
        yield made


def comes(
    provider: Provider, client: Client | None = None, query: str = "?process=login"
) -> tuple[Client, Any]:
    """Go there and come back; return the client and what was answered in the end."""
    client = client or Client()
    sent = client.get(SSO + query)["Location"]
    assert sent.startswith(f"{provider.url}/go?")
    return client, client.get(f"{SSO}callback/", provider.came_back(sent), follow=True)


def inside(client: Client) -> bool:
    return client.get("/queue/").status_code == 200


def test_the_first_sign_in_ties_an_account_to_one_id_for_good(provider: Provider) -> None:
    person("ann")
    provider.says("ann", "id-1", email="ann@example.com", phone_number="+27 31")
    page = text(Client().get(f"{LOGIN}?next=/approvals/"))
    assert f'href="{SSO}?process=login&amp;next=%2Fapprovals%2F">Through Durban ID' in page
    ann, _ = comes(provider, query="?process=login&next=/approvals/")
    assert inside(ann) and ann.get(SECURITY).status_code == 200
    assert provider.asked["max_age"] == "900" and provider.asked["code_challenge_method"] == "S256"
    assert SocialAccount.objects.get().extra_data == {}, "what else it tells is not kept"
    assert Event.objects.get(kind="single_sign_on").actor == "ann"
    provider.says("anna.smith", "id-1", auth_time=time.time() - 60)
    assert inside(comes(provider)[0]) and SocialAccount.objects.get().extra_data == {}
    provider.says("ann", "id-2")
    other, answer = comes(provider)
    assert not inside(other) and "belongs to somebody else" in text(answer)
    call_command("person", "ann", "--untie", "--reason", "A new account there.")
    assert not inside(ann) and inside(comes(provider, other)[0])
    provider.says("ann", "id-1")
    assert not inside(comes(provider)[0])
    assert Event.objects.get(kind="single_sign_on_untied").reason == "A new account there."
    assert SocialAccount.objects.count() == 1 and Event.objects.filter(kind="single_sign_on").count() == 2


def test_nobody_is_made_and_nobody_is_let_in_who_should_not_be(
    provider: Provider, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    person("ann")
    User.objects.filter(pk=person("vic").pk).update(is_active=False)
    caplog.set_level(logging.INFO)
    for claims, words in (
        ({"name": "zoe", "sub": "id-9"}, "no account here is called so"),
        ({"name": "", "sub": "id-9"}, "did not say who you are"),
        ({"name": "vic", "sub": "id-8"}, "switched off"),
        ({"name": "ann", "sub": "id-1", "auth_time": time.time() - 3600}, "without asking who you are"),
    ):
        provider.says(**claims)
        client, answer = comes(provider)
        assert words in text(answer) and not inside(client), claims
    settings.OIDC_CLAIM = "email"
    provider.says("x", "id-7", email="ann", email_verified=False)
    assert "did not say who you are (email)" in text(comes(provider)[1])
    settings.OIDC_CLAIM = "preferred_username"
    provider.says("ann", "id-1")
    provider.audience = "another client"
    client, answer = comes(provider)
    assert "Single sign-on did not work" in text(answer) and not inside(client)
    assert "OAuth2Error" in caplog.text and SECRET not in caplog.text and "t0ken" not in caplog.text
    provider.audience = CLIENT
    stray = Client().get(f"{SSO}callback/", {"code": "c0de", "state": "of nobody"}, follow=True)
    assert "Single sign-on did not work" in text(stray)
    assert User.objects.count() == 2 and not SocialAccount.objects.filter(user__username="ann").exists()


def test_whoever_is_signed_in_ties_no_id_of_their_own_to_the_account(provider: Provider) -> None:
    ann, _ = signed_in("ann")
    provider.says("mallory", "id-6")
    for way in ("connect", "redirect"):
        _, answer = comes(provider, ann, f"?process={way}")
        assert "Single sign-on did not work" in text(answer)
    assert not SocialAccount.objects.exists()


def test_a_provider_that_is_away_is_said(provider: Provider, settings: Any) -> None:
    apps = [
        {
            "provider_id": settings.OIDC_PROVIDER,
            "client_id": "x",
            "settings": {"server_url": "http://127.0.0.1:1"},
        }
    ]
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"APPS": apps}}
    assert "Single sign-on did not work" in text(Client().get(f"{SSO}?process=login", follow=True))


def test_the_second_factor_is_ours_unless_it_is_said_to_be_theirs(provider: Provider, settings: Any) -> None:
    settings.SECOND_FACTOR_ROLES = frozenset({"approver"})
    person("bob")
    provider.says("bob", "id-3")
    bob, _ = comes(provider)
    assert bob.get("/queue/")["Location"].startswith(SECURITY)
    settings.OIDC_SECOND_FACTOR = True
    assert inside(comes(provider)[0])
    assert signed_in("bob")[0].get("/queue/")["Location"].startswith(SECURITY), "not after a password"


def test_who_has_no_password_comes_and_shows_who_they_are_through_it(provider: Provider) -> None:
    call_command("person", "bob", "--role", "administrator", "--no-password")
    provider.says("bob", "id-3")
    bob, _ = comes(provider)
    assert inside(bob) and bob.get("/accounts/password/")["Location"] == SECURITY
    page = f"/people/{person('ann').pk}/reset/"
    aged(bob, proved_at=16 * 60)
    assert bob.get(page)["Location"] == f"{SSO}?process=login&next={page.replace('/', '%2F')}"
    comes(provider, bob)
    assert bob.get(page).status_code == 200
    assert signed_in("bob")[1].status_code == 200, "no password opens it"
