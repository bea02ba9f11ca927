"""Two people in a browser: ann asks by keys, bob approves without script; every page of it passes axe."""

import re
import uuid
from typing import Any

from playwright.sync_api import Page, expect

from ledger.models import Approval
from reconcile.proposals import actions
from review.instants import zone
from tests import stories
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at
from tests.people import person


def test_ann_overrides_by_keys_and_bob_approves_without_script(
    durban: stories.Durban, windows: Windows
) -> None:
    durban.invoice.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
    durban.invoice.save(update_fields=["review"])
    operation, large = durban.expired(398), durban.blind(318, "18400.00", subject="Marine Parade Hotel")
    page, bob = windows.of("ann"), windows.of("bob", script=False)
    wrong = _asked(page, durban, f"/operations/{operation.uid}/")

    page.goto(f"/operations/{large.uid}/confirm-with-reference/")
    page.get_by_label("Its number in Durban Books").fill("INV-7")
    page.get_by_label("Reason, for the trail").fill("The hotel's accountant has it before him.")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name="Waits for a second person")).to_be_visible()

    seen = windows.of("bob")
    for name, address in {
        "approvals": "/approvals/",
        "asked": f"/operations/{operation.uid}/",
        "approve": f"/operations/{operation.uid}/approve/",
        "proposal": f"/approvals/rules/{_proposed()}/",
        "deputies": "/approvals/deputies/",
        "role": "/approvals/roles/",
    }.items():
        seen.goto(address)
        wrong += [f"{name}, {line}" for line in looked_at(seen, name)]

    bob.goto("/approvals/")
    bob.get_by_role("link", name=re.compile("Approve ?: Reminder for order 398")).click()
    bob.get_by_role("button", name="Confirm").click()
    expect(bob.get_by_role("heading", name="2 approvals wait for a second person")).to_be_visible()
    expect(bob.get_by_text("approved the override that closes it as not done, asked by ann.")).to_be_visible()
    bob.goto(f"/operations/{operation.uid}/")
    expect(bob.locator("main")).to_have_attribute("data-state", "failed")
    bob.goto("/approvals/")
    bob.get_by_role("link", name="Give nora the role of viewer").click()
    bob.get_by_role("button", name="Approve").click()
    expect(bob.get_by_text("No change of them waits.")).to_be_visible()
    assert person("nora").groups.get().name == "viewer"
    assert wrong == []


def _proposed() -> uuid.UUID:
    """Ada proposes a role for Nora, who has none."""
    said: dict[str, Any] = {
        "actor": person("ada").username,
        "reason": "She is new.",
        "command_id": uuid.uuid4(),
    }
    return actions.propose_role(person("nora"), "viewer", give=True, **said).uid


def _asked(page: Page, durban: stories.Durban, address: str) -> list[str]:
    """Ask for an override with the keyboard alone."""
    page.goto(address)
    page.get_by_role("button", name="Override").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Go ahead without proof")
    expect(dialog).to_be_visible()
    wrong = looked_at(page, "override")
    page.get_by_role("radio", name="It did not happen").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.type("c r j k: the mailroom's outbox")
    # How a browser's date field is typed into depends on its language.
    at = durban.clock.now().astimezone(zone())
    page.get_by_label("When you looked").fill(f"{at:%Y-%m-%dT%H:%M:%S}")
    page.get_by_label("Reason, for the trail").focus()
    page.keyboard.type("Nothing was sent to them.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Waits for a second person")).to_be_visible()
    assert Approval.objects.get().data["where"] == "c r j k: the mailroom's outbox"
    return wrong
