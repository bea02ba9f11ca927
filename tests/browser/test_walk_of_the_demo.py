"""The demo's own walk: signed in by name, from the queue to done, with the real worker and the real undo."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.demos import Demo

pytestmark = pytest.mark.database

UNDO_AND_SEND_MS = 90_000


def test_ann_walks_order_483_from_the_queue_to_done(demo: Demo, chromium: Browser) -> None:
    told = demo.told()
    page = chromium.new_page(base_url=told["url"])
    try:
        page.goto("/")
        page.get_by_label("Name").fill("ann")
        page.get_by_label("Password").fill(told["people"]["ann"])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="1 of 1 reconciliation ran")).to_be_visible()
        page.get_by_role("link", name="Queue", exact=True).click()
        page.get_by_role("link", name="Order 483 · Acme", exact=True).click()
        main = page.locator("main")
        expect(main).to_have_attribute("data-state", "failed")
        page.get_by_role("button", name="Check Durban Books now").click()
        page.get_by_role("button", name="Send again").click()
        page.get_by_label("Reason, for the trail").fill("Acme is waiting for it.")
        page.get_by_role("button", name="Confirm").click()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        expect(main).to_have_attribute("data-state", "completed", timeout=UNDO_AND_SEND_MS)
        expect(main).to_contain_text(re.compile(r"Durban Books confirmed INV-\d+"))
    finally:
        page.close()
    with demo.api() as api:
        operation = api.get(f"operations/{told['cases']['absent']}").json()
    assert [attempt["outcome"] for attempt in operation["attempts"]] == ["uncertain", "succeeded"]
    assert len({attempt["idempotency_key"] for attempt in operation["attempts"]}) == 1
    assert demo.holds(operation["key"]) == 1
