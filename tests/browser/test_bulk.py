"""Many at once in a browser: ticked, read, confirmed once and watched; by mouse, by keys, without script."""

import re

from playwright.sync_api import Page, expect

from review.bulk import running
from review.models import Bulk
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at
from tests.databases import Clock
from tests.review.test_bulk import answering
from tests.sandboxes import Sandbox
from tests.workers import one_round

HEADLINE = "#h-what"


def on(clock: Clock, bulk: Bulk) -> None:
    """Let ten seconds and more pass, and go on with all that is due then."""
    clock.advance(11)
    one_round()
    running.carry_on(bulk.pk, within_s=60)


def previewed(page: Page) -> str:
    """Return the address of the preview that is shown."""
    expect(page.locator(HEADLINE)).to_have_text("What will happen")
    return page.url


def test_a_list_is_confirmed_once_and_watched_to_its_end(
    clock: Clock, sandbox: Sandbox, windows: Windows
) -> None:
    durban = answering(clock, sandbox)
    made = [durban.absent(order) for order in range(2, 9)]
    page = windows.of("ann")
    page.goto("/queue/?view=person")
    for box in page.get_by_label(re.compile("^Tick Order")).all():
        box.check()
    page.get_by_label("With many at once").select_option("Send again")
    page.get_by_role("button", name="Preview what is ticked").click()
    address, bulk = previewed(page), Bulk.objects.get()
    other = page.context.new_page()
    other.goto(address)
    page.get_by_role("button", name="Send 7 again").click()
    expect(page.get_by_label("Reason, for the trail")).to_be_focused()  # the browser asks for it
    page.get_by_label("Reason, for the trail").fill("Books lost them.")
    page.get_by_role("button", name="Send 7 again").dblclick()
    expect(page.locator(HEADLINE)).to_have_text("Running: 0 of 7 verified there")
    other.get_by_label("Reason, for the trail").fill("In another tab.")
    other.get_by_role("button", name="Send 7 again").click()
    expect(other.locator("#refusal")).to_contain_text("It was confirmed already.")
    other.close()
    page.go_back()
    if page.get_by_role("button", name="Send 7 again").count():  # as the browser kept it, or as it is
        page.get_by_label("Reason, for the trail").fill("Again?")
        page.get_by_role("button", name="Send 7 again").click()
    page.goto(address)
    assert bulk.words.count() == 1
    running.carry_on(bulk.pk, within_s=60)
    on(clock, bulk)
    expect(page.locator("#live")).to_contain_text("5 under way, not seen there yet")
    on(clock, bulk)
    expect(page.locator(HEADLINE)).to_have_text("Running: 5 of 7 verified there")
    page.get_by_label("Reason, for the trail (may stay empty)").fill("What I was writing")
    on(clock, bulk)
    expect(page.locator("#live [role=status]")).to_contain_text("It is now ended.")
    expect(page.locator(HEADLINE)).to_have_text("Ended: 7 of 7 verified there")
    expect(page.locator("#id_reason")).to_have_value("What I was writing")
    assert {sandbox.effects(one.key) for one in made} == {1}


def test_by_keyboard_and_without_script(clock: Clock, sandbox: Sandbox, windows: Windows) -> None:
    durban = answering(clock, sandbox)
    for order in (2, 3):
        durban.absent(order)
    page = windows.of("ann")
    page.goto("/queue/?view=person")
    page.get_by_label(re.compile("^Tick Order")).first.focus()
    page.keyboard.press("Space")
    page.get_by_label("With many at once").focus()
    page.keyboard.type("Check")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    previewed(page)
    page.get_by_label("Reason, for the trail").focus()
    page.keyboard.type("A look.")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Check 1 now")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(HEADLINE)).to_have_text("Running: 0 of 1 verified there")
    page.get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(page.locator(HEADLINE)).to_have_text("Paused: 0 of 1 verified there")
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_label("Reason, for the trail")).to_be_focused()  # to go on needs one
    page.get_by_role("button", name="Cancel the rest").click()
    expect(page.locator(HEADLINE)).to_have_text("Cancelled: 0 of 1 verified there")
    page.goto("/queue/?view=person")
    page.get_by_label("With many at once").select_option("Give to somebody")
    page.get_by_role("button", name="Preview all that this view finds").click()
    expect(page.get_by_role("heading", name="Give 2 to somebody")).to_be_visible()
    assert looked_at(page, "bulk-give") == []
    plain = windows.of("bob", script=False)
    plain.goto("/queue/?view=person")
    plain.get_by_label("With many at once").select_option("Send again")
    plain.get_by_role("button", name="Preview all that this view finds").click()
    previewed(plain)
    plain.get_by_label("Reason, for the trail").fill("Books lost them.")
    plain.get_by_role("button", name="Send 2 again").click()
    expect(plain.locator(HEADLINE)).to_have_text("Running: 0 of 2 verified there")
    bulk = Bulk.objects.latest("pk")
    running.carry_on(bulk.pk, within_s=60)
    for _ in range(2):
        on(clock, bulk)
    plain.get_by_role("link", name="Refresh").click()
    expect(plain.locator(HEADLINE)).to_have_text("Ended: 2 of 2 verified there")
