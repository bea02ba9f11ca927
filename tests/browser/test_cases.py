"""Whose it is, in a browser: taken by keys, put off without script, handed over; each page passes axe."""

import re

from playwright.sync_api import expect

from ledger import actions
from ledger.models import Case
from tests import stories
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at
from tests.people import person

NEXT_WEEK = 2
"""Behind the end of the key's window, whatever the time of day is; tomorrow morning is before it by day."""


def test_ann_takes_it_by_keys_puts_it_off_without_script_and_hands_it_over(
    durban: stories.Durban, windows: Windows
) -> None:
    made = durban.every_state()
    person("bob")
    absent, other = made["absent"], made["could_not_look"]
    actions.assign(other.cases.get().uid, actor="bob", to="ann")
    page, plain = windows.of("ann"), windows.of("ann", script=False)

    page.goto("/queue/?state=failed")
    page.get_by_role("link", name=re.compile("finance ?: assign or snooze Order 483")).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Take it")).to_be_visible()
    wrong = [f"case, {line}" for line in looked_at(page, "case")]
    page.get_by_role("button", name="Take it").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").get_by_text("it is ann’s now.")).to_be_visible()
    assert page.url.endswith("/queue/?state=failed"), "back to the same filter"

    page.get_by_text("Save this view").click()
    page.get_by_label("Name").fill("What failed")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("link", name="What failed")).to_be_visible()

    plain.goto(f"/operations/{absent.uid}/")
    plain.get_by_label("Comment").fill("@bob: Acme calls back tomorrow.")
    plain.get_by_role("button", name="Comment").click()
    plain.get_by_role("link", name="Assign or snooze").click()
    plain.get_by_label("Reason, for the trail").fill("Acme calls back tomorrow.")
    plain.get_by_label("Until").select_option(index=NEXT_WEEK)
    plain.get_by_role("button", name="Snooze").click()
    expect(plain.get_by_text("Something comes to its end before that")).to_be_visible()
    plain.get_by_label("I know what may end before that").check()
    plain.get_by_label("Until").select_option(index=NEXT_WEEK)
    plain.get_by_role("button", name="Snooze").click()
    expect(plain.get_by_text("snoozed until")).to_be_visible()
    for name, address in {
        "whose": f"/operations/{absent.uid}/",
        "snoozed": "/queue/?view=snoozed",
        "mine": "/queue/?view=late",
        "differs-beside": f"/operations/{made['differs'].uid}/",
        "kept": "/queue/?state=failed",
        "notices": "/notices/",
        "new-for-me": "/",
        "hand-over": "/hand-over/",
    }.items():
        page.goto(address)
        wrong += [f"{name}, {line}" for line in looked_at(page, name)]

    page.get_by_label("To whom").select_option("bob")
    page.get_by_label("Note for whoever takes them").fill("On holiday.")
    page.get_by_role("button", name="Hand over").click()
    expect(page.get_by_text("2 handed over to bob.")).to_be_visible()
    assert set(
        Case.objects.open().filter(operation__in=[absent, other]).values_list("assignee", flat=True)
    ) == {"bob"}
    bob = windows.of("bob", script=False)
    bob.goto("/")
    expect(bob.get_by_role("region", name="New for you")).to_contain_text("two items")
    bob.get_by_role("link", name="Notices 2 unread").focus()
    bob.keyboard.press("Enter")
    expect(bob.get_by_text("“On holiday.”")).to_be_visible()
    bob.get_by_role("button", name="Mark as read").focus()
    bob.keyboard.press("Enter")
    expect(bob.get_by_role("link", name="Notices", exact=True)).to_be_visible()
    assert wrong == []
