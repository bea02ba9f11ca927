"""The newcomer's walk: ten tasks in the demo, and the clicks that docs/walk.md says they take."""

import re
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

from config.environment import ROOT
from tests.browser.hands import Hand
from tests.demos import Demo

MOST_CLICKS = 5
SOON_MS = 120_000
"""Ten seconds to undo, the voids, the settle time, a check; on a busy machine."""
REASON = "Reason, for the trail"


def documented() -> dict[int, int]:
    """Read how many clicks each task takes, as the table of docs/walk.md has it."""
    rows = re.findall(r"^\| (\d+) \| .* \| (\d+) \|$", (ROOT / "docs" / "walk.md").read_text(), re.MULTILINE)
    return {int(task): int(clicks) for task, clicks in rows}


def find_an_order(hand: Hand) -> None:
    """1: a customer calls about order 476."""
    hand.find("476")
    expect(hand.page.locator("main")).to_contain_text(
        re.compile(r"Durban Books holds INV-\d+|confirmed INV-\d+")
    )
    hand.picture("1-find")


def decide_an_uncertain_one(hand: Hand) -> None:
    """2: the mail service never said how its reminder ended; the customer has read it to ann on the phone."""
    hand.click("Reminder for order 398 · glenwood.example")
    hand.click("Confirm with reference")
    hand.write("Its number in Mailroom", "M-398")
    hand.write(REASON, "The customer read it to me on the phone.")
    hand.picture("2-confirm")
    hand.click("Confirm")
    told = hand.page.get_by_role("status").filter(has_text="Reminder for order 398: done on your word")
    expect(told.get_by_role("link", name="Go back to it")).to_be_visible()
    expect(hand.page.get_by_role("heading", level=1)).not_to_contain_text("398")  # the next one is open


def clean_up_duplicates(hand: Hand) -> None:
    """3: Durban Books holds order 402 four times: one is kept, and three go."""
    hand.click("Order 402 · Bluff Hardware")
    hand.click("Check Durban Books now")
    hand.click("Choose one")
    kept = re.compile("Keep INV-[0-9]+, and reverse three invoices")
    expect(hand.page.get_by_role("heading", name=kept)).to_be_visible()
    hand.write(REASON, "The older connector repeated it.")
    hand.picture("3-choose-one")
    hand.click("Confirm")
    net = hand.page.get_by_role("row", name="Net of the extras, as the check found 0.00")
    expect(net).to_be_visible(timeout=SOON_MS)


def correct_what_was_refused(hand: Hand) -> None:
    """4: Durban Books refused order 455, for its customer is blocked."""
    hand.click("Order 455 · Ballito Surf")
    hand.click("Correct it")
    hand.choose("customer.blocked", "false")
    hand.click("Review it")
    hand.write(REASON, "Ballito Surf has paid what was due.")
    hand.picture("4-correct")
    hand.click("Confirm")
    expect(hand.page.get_by_role("heading", name="Order 455 · Ballito Surf")).to_be_visible()


def ask_a_second_person(hand: Hand) -> None:
    """5: Durban Books cannot be asked about order 318; ann saw its invoice there, above her limit."""
    hand.click("Order 318 · Marine Parade Hotel")
    hand.click("Other ways to close it")
    hand.click("Confirm with reference")
    hand.write("Its number in Durban Books", "INV-1110")
    hand.write(REASON, "I see it in their list.")
    hand.picture("5-above-her-limit")
    hand.click("Confirm")
    expect(hand.page.locator("main")).to_contain_text("bob")


def approve(hand: Hand) -> None:
    """6: bob approves what ann has asked."""
    hand.click("Order 318 · Marine Parade Hotel · 18 400.00 ZAR")
    hand.picture("6-approve")
    hand.click("Approve")
    hand.click("Confirm")
    expect(hand.page.locator("main")).to_have_attribute("data-state", "completed")


def hand_over(hand: Hand) -> None:
    """7: ann leaves early and gives order 466 to bob."""
    hand.click("Order 466 · North Coast Dairy")
    hand.click("Assign or snooze")
    hand.choose("Person", "bob")
    hand.write("Note (may stay empty)", "They will call you back before five.")
    hand.picture("7-hand-over")
    hand.click("Assign")
    expect(hand.page.locator("main")).to_contain_text("bob has it")


def draw_a_sample(hand: Hand) -> None:
    """8: ira draws 25 operations of this month, and takes their evidence along."""
    hand.click("Trail")
    hand.click("Samples")
    hand.click("Count")
    hand.write("What for, for the trail", "Control 7, fourth quarter.")
    hand.click("Draw")
    hand.picture("8-sample")
    with hand.page.expect_download() as archive:
        hand.click("All packs (ZIP)")
    assert archive.value.suggested_filename.endswith(".zip")


def print_the_evidence(hand: Hand) -> None:
    """9: the auditor asks about invoice INV-1112 of order 476."""
    hand.find("476")
    hand.click("Evidence to print or keep")
    hand.picture("9-evidence")
    expect(hand.page.get_by_role("heading", name="Seal")).to_be_visible()


def settle_a_difference(hand: Hand) -> None:
    """10: the reconciliation found invoice 399, which nobody ever asked Tieout for."""
    hand.click("order/webshop/399/v1")
    hand.click("Take it in")
    hand.write(REASON, "A sale at the counter: it is ours.")
    hand.picture("10-take-in")
    hand.click("Take it in, 310.00 ZAR")
    expect(hand.page.locator("main")).to_contain_text("taken in")


TASKS: dict[int, tuple[str, Callable[[Hand], None]]] = {
    1: ("ann", find_an_order),
    2: ("ann", decide_an_uncertain_one),
    3: ("ann", clean_up_duplicates),
    4: ("ann", correct_what_was_refused),
    5: ("ann", ask_a_second_person),
    6: ("bob", approve),
    7: ("ann", hand_over),
    8: ("ira", draw_a_sample),
    9: ("ann", print_the_evidence),
    10: ("ann", settle_a_difference),
}


def signed_in(page: Page, name: str, password: str) -> Page:
    """Sign in, which counts for no task."""
    page.goto("/accounts/login/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    return page


def test_each_of_the_ten_tasks_takes_its_documented_clicks_and_five_at_most(
    demo: Demo, chromium: Browser
) -> None:
    told = demo.told()
    pages: dict[str, Page] = {}
    taken = {}
    try:
        for task, (name, work) in TASKS.items():
            if name not in pages:
                page = chromium.new_page(base_url=told["url"], viewport={"width": 1280, "height": 900})
                pages[name] = signed_in(page, name, told["people"][name])
            hand = Hand(pages[name])
            work(hand)
            taken[task] = hand.clicks
    finally:
        for page in pages.values():
            page.close()
    assert taken == documented()
    assert max(taken.values()) <= MOST_CLICKS
