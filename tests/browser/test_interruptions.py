"""What comes between: an ended sign-in, another tab's, the way back. Said, nothing lost, nothing twice."""

import re

from django.contrib.sessions.models import Session
from playwright.sync_api import Page, expect

from ledger.models import Operation, Permit
from tests import stories
from tests.browser.conftest import Windows
from tests.people import PASSWORD, person

WRITTEN = "Acme is waiting for it, and called twice."


def sign_in(page: Page, name: str = "ann") -> None:
    person(name)
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def to_sign_in(page: Page) -> None:
    expect(page.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()
    expect(page.get_by_text("If you have just sent something, nothing was done.")).to_be_visible()


def asked(page: Page) -> str:
    """What stands in the question's field; waits until the question is asked."""
    expect(page.locator("dialog[data-modal]")).to_be_visible()
    return page.get_by_label("Reason, for the trail").input_value()


def ready(durban: stories.Durban) -> Operation:
    return durban.looked(durban.absent(483), stories.ABSENT, actor="ann")


def test_41_a_sign_in_that_ends_while_a_page_looks_again_leads_there_and_back(
    durban: stories.Durban, windows: Windows
) -> None:
    operation = durban.absent(483)
    durban.allowed(operation)
    page = windows.of("ann")
    page.goto(f"/operations/{operation.uid}/?view=late")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    Session.objects.all().delete()
    to_sign_in(page)  # by itself: the page looks again every two seconds
    sign_in(page)
    expect(page).to_have_url(re.compile(rf"/operations/{operation.uid}/\?view=late$"))
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: the permit is withdrawn")).to_be_visible()
    assert operation.events.filter(kind="withdrawn").count() == 1


def test_what_was_written_stays_when_a_sign_in_ends_and_another_tab_signs_in(
    durban: stories.Durban, windows: Windows
) -> None:
    operation = ready(durban)
    page, way = windows.of("ann"), f"/operations/{operation.uid}/send-again/?view=late"
    page.goto(way)
    assert asked(page) == ""
    page.get_by_label("Reason, for the trail").fill(WRITTEN)
    Session.objects.all().delete()
    page.get_by_role("button", name="Confirm").click()
    to_sign_in(page)
    assert not Permit.objects.exists()
    sign_in(page)
    expect(page).to_have_url(re.compile(r"send-again/\?view=late$"))
    assert asked(page) == WRITTEN

    other = page.context.new_page()
    other.goto("/accounts/logout/")
    other.get_by_role("button", name="Sign out").click()
    other.goto("/accounts/login/?next=/queue/")
    sign_in(other)
    expect(other).to_have_url(re.compile("/queue/"))
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="This page is older than your sign-in")).to_be_visible()
    assert not Permit.objects.exists()
    assert [said for said in windows.complaints if "403" not in said] == []
    windows.complaints.clear()
    page.get_by_role("link", name="Open the page again").click()
    expect(page).to_have_url(re.compile(r"send-again/\?view=late$"))
    assert asked(page) == WRITTEN
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert Permit.objects.get().reason == WRITTEN


def test_another_persons_words_are_nobody_elses_and_the_way_back_does_nothing_twice(
    durban: stories.Durban, windows: Windows
) -> None:
    operation = ready(durban)
    page = windows.of("ann")
    page.goto(f"/operations/{operation.uid}/send-again/")
    assert asked(page) == ""
    page.get_by_label("Reason, for the trail").fill(WRITTEN)
    Session.objects.all().delete()
    page.get_by_role("button", name="Confirm").click()
    to_sign_in(page)
    durban.looked(operation, stories.ABSENT, actor="bob")  # so that he may, too
    sign_in(page, "bob")
    assert asked(page) == "", "what ann wrote is not bob's"
    page.get_by_label("Reason, for the trail").fill("Acme asks.")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.go_back()
    expect(page.locator("dialog[data-modal]")).to_be_visible()
    confirm = page.get_by_role("button", name="Confirm")
    if confirm.count():
        confirm.click()
    assert Permit.objects.get().reason == "Acme asks."
    page.goto(f"/operations/{operation.uid}/")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()


def test_a_check_from_before_another_tabs_sign_in_says_that_nothing_was_done(
    durban: stories.Durban, windows: Windows
) -> None:
    operation = durban.silent(483)
    page = windows.of("ann")
    page.goto(f"/operations/{operation.uid}/")
    button = page.get_by_role("button", name="Check Durban Books now")
    expect(button).to_be_visible()
    page.context.clear_cookies(name="csrftoken")
    page.context.add_cookies([{"name": "csrftoken", "value": "x" * 32, "url": windows.server.url}])
    button.click()
    expect(page.get_by_text("Nothing was done: this page was older than your sign-in.")).to_be_visible()
    assert not operation.lookups.exists()
