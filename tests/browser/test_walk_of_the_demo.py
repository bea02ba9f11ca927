"""The five-minute demonstration as docs/demonstration.md tells it: on the demo, by two people at once.

Two exports show order 471 four times; an order that was sent once although two people pressed, three repeats
reversed, an approval that ends because a record has changed, and a run that shows both halves, net 0.00.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from reconcile.statements import keeping
from tests.demos import Demo

pytestmark = pytest.mark.database

SENT_MS = 120_000
"""Ten seconds to undo, the send or the voids, the settle time, a check; on a busy machine."""


@contextmanager
def signed_in(chromium: Browser, told: dict[str, Any], name: str) -> Iterator[Page]:
    """Open a window of somebody, by name and password."""
    context = chromium.new_context(base_url=told["url"])
    try:
        page = context.new_page()
        page.goto("/")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(told["people"][name])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link", name="Queue", exact=True)).to_be_visible()
        yield page
    finally:
        context.close()


def opened(page: Page, order: str) -> None:
    """Find an order by its number, from whatever page, and look at the destination."""
    page.get_by_label("Find an order, invoice or key").fill(order)
    page.keyboard.press("Enter")
    link = page.get_by_role("main").get_by_role("link", name=re.compile(rf"^{order}\b"))
    expect(page.get_by_role("heading", name=re.compile(order)).or_(link.first).first).to_be_visible()
    if link.count():
        link.first.click()


def why(page: Page, reason: str) -> None:
    page.get_by_label("Reason, for the trail").fill(reason)


def test_the_five_minute_demonstration(demo: Demo, chromium: Browser) -> None:
    told = demo.told()
    with signed_in(chromium, told, "ann") as ann, signed_in(chromium, told, "bob") as bob:
        two_exports(ann)
        ann.get_by_role("link", name="Today", exact=True).click()
        expect(ann.get_by_role("heading", name="No reconciliation was due yet, 1 has run")).to_be_visible()
        ann.get_by_label("Find an order, invoice or key").fill("459")
        ann.keyboard.press("Enter")
        expect(ann.get_by_role("heading", name=re.compile("459"), level=1)).to_contain_text("725.00")
        opened(ann, "Order 476")
        expect(ann.get_by_role("main")).to_have_attribute("data-state", "completed")
        sent_by_two(ann, bob)
        one_is_kept(ann, "Order 471", "three invoices")
        expect(ann.get_by_role("button", name="Undo")).to_be_visible()
        above_the_limit(ann, bob, told)
        opened(ann, "Order 483")
        expect(ann.get_by_role("main")).to_have_attribute("data-state", "completed", timeout=SENT_MS)
        for order in ("Order 471", "Order 480"):
            opened(ann, order)
            expect(ann.get_by_text("Kept: the only one that is left")).to_be_visible(timeout=SENT_MS)
        next_run(ann)
    with demo.api() as api:
        operation = api.get(f"operations/{told['cases']['absent']}").json()
    assert [attempt["outcome"] for attempt in operation["attempts"]] == ["uncertain", "succeeded"]
    assert len({attempt["idempotency_key"] for attempt in operation["attempts"]}) == 1
    for number in (483, 471, 480):
        assert demo.holds(f"order/webshop/{number}/v1") == 1, number


def two_exports(page: Page) -> None:
    """What should exist, and what does? No set-up."""
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_label("1 · What should exist").set_input_files(keeping.EXAMPLES / "shop.csv")
    page.get_by_label("2 · What exists").set_input_files(keeping.EXAMPLES / "books.csv")
    page.get_by_role("button", name="Read both files").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    doubled = page.get_by_role("row", name=re.compile("Order 471"))
    expect(doubled).to_contain_text("carry it: 3 too many.")
    expect(doubled).to_contain_text("37, 38, 39, 40")


def sent_by_two(ann: Page, bob: Page) -> None:
    """Both have looked, both have the dialog open, and both press: ann twice."""
    for page in (ann, bob):
        opened(page, "Order 483")
        page.get_by_role("button", name="Check Durban Books now").click()
        page.get_by_role("button", name="Send again").click()
        why(page, "Acme is waiting for it.")
    bob.evaluate("setTimeout(() => document.querySelector('dialog .primary').click(), 100)")
    ann.get_by_role("button", name="Confirm").dblclick(no_wait_after=True)
    refused = []
    for page in (ann, bob):
        told = page.get_by_role("alert")
        expect(page.get_by_role("button", name="Undo").or_(told).first).to_be_visible()
        if told.count():
            expect(told).to_contain_text("Already allowed by")
            page.get_by_role("link", name="Go back").click()
            refused.append(page)
    assert len(refused) == 1, "one of them was first"


def one_is_kept(page: Page, order: str, many: str) -> None:
    """Choose the one that is suggested."""
    opened(page, order)
    page.get_by_role("button", name="Check Durban Books now").click()
    page.get_by_role("button", name="Choose one").click()
    expect(
        page.get_by_role("heading", name=re.compile(f"Keep INV-[0-9]+, and reverse {many}"))
    ).to_be_visible()
    why(page, "The older connector repeated it.")
    page.get_by_role("button", name="Confirm").click()


def above_the_limit(ann: Page, bob: Page, told: dict[str, Any]) -> None:
    """Bob's approval of his own is refused, and of ann's it is void where a record has changed; then anew."""
    his_own(bob)
    one_is_kept(ann, "Order 480", "two invoices")
    expect(ann.get_by_role("heading", name="Waits for a second person")).to_be_visible()
    a_record_changes(told)
    approve(bob)
    expect(bob.get_by_role("alert")).to_contain_text("It is void since")
    expect(bob.get_by_role("alert")).to_contain_text("What is there changed: INV-")
    bob.get_by_role("link", name="Go back").click()
    one_is_kept(ann, "Order 480", "one invoice")
    approve(bob)


def his_own(bob: Page) -> None:
    """He is an approver and asks himself. Nobody offers it to him; an address typed by hand says why."""
    one_is_kept(bob, "Order 480", "two invoices")
    expect(bob.get_by_role("heading", name="Waits for a second person")).to_be_visible()
    bob.goto(f"{bob.url.partition('?')[0]}approve/")
    expect(bob.get_by_role("alert")).to_contain_text("You asked for it yourself: a second person decides")
    bob.get_by_role("link", name="Go back").click()
    bob.get_by_role("button", name="Take it back").click()
    why(bob, "Ann knows the customer.")
    bob.get_by_role("button", name="Confirm").click()
    expect(bob.get_by_role("heading", name="Waits for a second person")).to_be_hidden()


def a_record_changes(told: dict[str, Any]) -> None:
    """Somebody credits one of them at the destination."""
    key = {"key": "order/webshop/480/v1"}
    there = httpx.get(f"{told['sandbox']}/_effects", params=key, timeout=10).json()["effects"]
    assert httpx.post(f"{told['sandbox']}/invoices/{there[0]['id']}/credit", timeout=10).status_code == 200


def approve(page: Page) -> None:
    page.get_by_role("link", name=re.compile("^Approvals")).click()
    page.get_by_role("link", name=re.compile("^Approve ?: Order 480")).click()
    page.get_by_role("button", name="Confirm").click()


def next_run(page: Page) -> None:
    """It shows both halves of what was reversed."""
    page.get_by_role("link", name="Runs", exact=True).click()
    page.get_by_role("button", name=re.compile("^Run now ?: invoices")).click()
    expect(page.get_by_role("heading", name="Reversed, net 0.00")).to_be_visible(timeout=SENT_MS)
    for order, surplus in (("Order 471", "2 595.00"), ("Order 480", "12 650.00")):
        row = page.get_by_role("row", name=re.compile(order)).filter(has_text="its reversal")
        expect(row).to_contain_text(f"+{surplus}".replace(" ", "\u00a0"))
        expect(row).to_contain_text(f"−{surplus}".replace(" ", "\u00a0"))
        expect(row).to_contain_text("0.00\u00a0ZAR")
