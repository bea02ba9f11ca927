"""Who may do what: nothing without a sign-in, looking with a role, deciding as a reviewer; refusals first."""

import re
import uuid
from functools import partial
from typing import Any, get_args
from unittest.mock import patch

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import Group, User
from django.db import OperationalError
from django.test import Client

from ledger.models import Event, Operation
from review.access import Right, may
from tests import stories
from tests.databases import Database
from tests.ledger.sessions import at_once
from tests.people import PASSWORD, ROLES, browser_of, person

WAYS = ("send-again", "confirm-with-reference", "did-not-happen", "cancel", "correct")


def addresses(operation: Operation) -> list[str]:
    page = f"/operations/{operation.uid}/"
    return ["/", "/queue/", page, *(f"{page}{way}/" for way in WAYS)]


def test_nobody_sees_anything_before_signing_in(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    for address in addresses(operation):
        response = Client().get(address)
        assert response.status_code == 302
        assert response["Location"].startswith("/accounts/login/?next=")


@pytest.mark.parametrize(
    "name", [r'"abcdefgh\000"', r'"\000\000\000\000\000\000\000\000"', "abcd-efgh", "x" * 5000, "ä" * 9, '""']
)
def test_a_cookie_that_nobody_was_given_is_nobodys(database: Database, name: str) -> None:
    """One with a NUL in it was an error of the database's, and a page of ours that said so."""
    visitor = Client(headers={"Cookie": f"sessionid={name}"})
    assert visitor.get("/queue/")["Location"].startswith("/accounts/login/?next=")
    assert visitor.get("/accounts/login/").status_code == 200
    person("ann")
    signed_in = visitor.post("/accounts/login/", {"login": "ann", "password": PASSWORD})
    assert (signed_in.status_code, signed_in["Location"]) == (302, "/")
    assert re.fullmatch("[a-z0-9]{32}", signed_in.cookies["sessionid"].value)


def test_a_signed_out_htmx_request_is_sent_to_the_sign_in_page_and_not_swapped(
    durban: stories.Durban,
) -> None:
    """Known failure 41: a sign-in page was swapped into a table cell."""
    operation = durban.silent(483)
    page = f"/operations/{operation.uid}/"
    response = Client().get(
        page, headers={"HX-Request": "true", "HX-Current-URL": f"http://testserver{page}?view=late"}
    )
    assert response.status_code == 204
    assert response["HX-Redirect"] == f"/accounts/login/?next={page}%3Fview%3Dlate"
    assert response.content == b""


def test_a_person_without_a_role_sees_no_figures(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    nora = browser_of("nora")
    for address in addresses(operation):
        response = nora.get(address)
        assert response.status_code == 403
        assert b"Your account has no role yet." in response.content
        assert b"1 240.00" not in response.content


def test_a_viewer_sees_the_page_and_why_the_buttons_are_closed(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    page = browser_of("vic").get(f"/operations/{operation.uid}/").content.decode()
    assert "Your role looks only." in page
    assert "May have happened" in page
    assert "hx-post" not in page, "no button of a viewer posts anything"


def test_a_viewer_decides_nothing_whatever_is_posted(durban: stories.Durban) -> None:
    operation = durban.looked(durban.absent(483), stories.ABSENT, actor="vic")
    vic, before = browser_of("vic"), Event.objects.count()
    form = {"reason": "I want to.", "reference": "INV-1", "command_id": str(uuid.uuid4())}
    for way in (*WAYS, "check", "undo"):
        response = vic.post(f"/operations/{operation.uid}/{way}/", form, follow=True)
        assert response.status_code == 200
        assert "Your role looks only." in response.content.decode()
    assert Event.objects.count() == before
    assert durban.again(operation).revision == operation.revision


def test_what_each_role_may_do(database: Database) -> None:
    """An approver has a reviewer's rights too; administrators, and superusers as such, decide no items."""
    for name in ("vic", "ada", "nora"):
        User.objects.filter(pk=person(name).pk).update(is_superuser=True)
    rights: tuple[Right, ...] = get_args(Right)
    found = {name: [right for right in rights if may(person(name), right)] for name in ROLES}
    assert found == {
        "ann": [*rights[:16]],
        "bob": [*rights[:19], "certify", "reveal"],
        "eve": [*rights[:19], "certify", "reveal"],
        "kim": [*rights[:19], "certify", "reveal"],
        "vic": ["look"],
        "dan": ["look"],
        "ada": [
            "look",
            "reconcile",
            "deputise",
            "hand_over",
            "share",
            "resume",
            "redeliver",
            "people",
            "propose",
        ],
        "nora": [],
        "ira": ["look", "sample", "reveal"],
    }


def test_a_person_who_was_switched_off_is_signed_out(durban: stories.Durban) -> None:
    ann = browser_of("ann")
    user = person("ann")
    user.is_active = False
    user.save(update_fields=["is_active"])
    assert ann.get("/queue/").status_code == 302


def test_an_unknown_operation_is_a_page_that_says_so(database: Database) -> None:
    response = browser_of("ann").get(f"/operations/{uuid.uuid4()}/")
    assert response.status_code == 404
    assert b"There is no such page" in response.content


def test_a_decision_by_get_does_nothing(durban: stories.Durban) -> None:
    operation = durban.looked(durban.absent(483), stories.ABSENT, actor="ann")
    ann = browser_of("ann")
    for way in ("check", "undo"):
        assert ann.get(f"/operations/{operation.uid}/{way}/").status_code == 405
    assert ann.get(f"/operations/{operation.uid}/send-again/").status_code == 200
    assert not operation.permits.exists()


def test_a_form_without_its_token_is_refused_in_words(durban: stories.Durban) -> None:
    operation = durban.looked(durban.absent(483), stories.ABSENT, actor="ann")
    ann = browser_of("ann", csrf=True)
    form = {"reason": "Again.", "command_id": str(uuid.uuid4())}
    address = f"/operations/{operation.uid}/send-again/"
    response = ann.post(address, form)
    assert response.status_code == 403
    assert b"older than your sign-in" in response.content
    response = ann.post(address, form, headers={"HX-Request": "true"})
    assert response["HX-Refresh"] == "true"
    assert not operation.permits.exists()


def test_a_form_that_is_too_large_is_refused_in_words(database: Database) -> None:
    answer = browser_of("ann").post("/queue/", {"reason": "x" * (1024 * 1024)})
    assert (answer.status_code, answer["Content-Type"]) == (413, "text/plain; charset=utf-8")
    assert answer.content.startswith(b"The request is larger than 1024 KiB.")


def test_signing_in_is_paused_after_five_wrong_passwords(database: Database) -> None:
    person("ann")
    form = {"login": "ann", "password": "wrong"}
    answers = [Client().post("/accounts/login/", form) for _ in range(6)]
    assert [answer.status_code for answer in answers][:5] == [200] * 5
    assert b"Too many" in answers[5].content


def test_an_office_behind_one_address_signs_in_at_once_and_a_guesser_is_stopped(
    database: Database, settings: Any
) -> None:
    """Twenty on a Monday at eight, some mistyping once: one waits for the other, and none is turned away."""
    names = [f"colleague{number}" for number in range(20)]
    for name in names:
        word = PBKDF2PasswordHasher().encode(PASSWORD, "salt", 20_000)
        User.objects.create(username=name, password=word).groups.add(Group.objects.get(name="viewer"))
    for name in names[:10]:
        assert Client().post("/accounts/login/", {"login": name, "password": "mistyped"}).status_code == 200

    def signs_in(name: str) -> str:
        return str(Client().post("/accounts/login/", {"login": name, "password": PASSWORD}).status_code)

    assert at_once([partial(signs_in, name) for name in names]) == ["302"] * 20
    assert signs_in(names[0]) == "302", "and again"
    # One who tries a word with many names is stopped by the address, whatever the names.
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "login_failed": "3/h/ip"}
    for number in range(3):
        Client().post("/accounts/login/", {"login": f"nobody{number}", "password": "guess"})
    stopped = Client().post("/accounts/login/", {"login": names[0], "password": PASSWORD})
    assert stopped.status_code == 200 and b"Too many" in stopped.content


def test_a_database_that_does_not_answer_is_said(database: Database) -> None:
    ann = browser_of("ann")
    ann.raise_request_exception = False
    with patch("review.views.queue.database_now", side_effect=OperationalError("gone")):
        response = ann.get("/queue/")
    assert response.status_code == 503
    assert "database does not answer" in response.content.decode()


def test_pages_are_kept_by_no_cache(durban: stories.Durban) -> None:
    response = browser_of("ann").get("/queue/")
    assert "no-store" in response["Cache-Control"]


def test_signing_in_by_name_leads_to_where_one_wanted(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    person("ann")
    client = Client()
    address = f"/operations/{operation.uid}/"
    response = client.get(address, follow=True)
    assert b"Sign in" in response.content
    wrong = client.post("/accounts/login/", {"login": "ann", "password": "no", "next": address})
    assert wrong.status_code == 200
    assert b"not correct" in wrong.content
    form = {"login": "ann", "password": "a long word for tests", "next": address}
    assert client.post("/accounts/login/", form)["Location"] == address
