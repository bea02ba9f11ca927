"""One of four is kept, by keys with script and by plain forms without: void there, and that is proved."""

import re
from collections.abc import Callable
from functools import partial

from playwright.sync_api import Page, expect

from ledger.destinations import lookups, sending
from ledger.models import Operation
from tests import stories
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at
from tests.databases import Clock
from tests.sandboxes import Sandbox


def doubled(durban: stories.Durban, sandbox: Sandbox, order: int) -> Operation:
    """Our request was lost, and somebody else had made four of it."""
    operation = durban.silent(order, "865.00")
    durban.clock.advance(60)
    for turn in range(4):
        told = {"mailed_at": "Friday, 16:20"} if turn == 1 else {}
        invoice = {"total": "865.00", "currency": "ZAR", "metadata": {"operation": operation.key}, **told}
        assert sandbox.call("POST", "/invoices", body=invoice).status == 201
    return operation


def work(durban: stories.Durban, operation: Operation) -> None:
    """What the worker does once the ten seconds are over."""
    durban.clock.advance(11)
    for reversal in operation.reversals.all():
        sending.send(reversal.pk)
    lookups.look(durban.again(operation), actor="worker", reason="What was reversed is looked at.")


def chosen(page: Page, keep: str, *, by_keys: bool) -> None:
    """Choose one and confirm it."""
    row = page.get_by_label(f"Keep {keep}")
    if by_keys:
        row.focus()
        page.keyboard.press("Space")
        page.get_by_role("button", name="Choose one").focus()
        page.keyboard.press("Enter")
    else:
        row.check()
        page.get_by_role("button", name="Choose one").click()
    expect(page.get_by_role("heading", name=f"Keep {keep}, and reverse three invoices?")).to_be_visible()
    expect(page.get_by_text("customer told: Friday, 16:20")).to_be_visible()
    page.get_by_label("Reason, for the trail").fill("The older connector repeated it.")
    if by_keys:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    else:
        page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()


def test_ann_keeps_one_of_four_by_keys_and_without_script(
    clock: Clock, sandbox: Sandbox, windows: Windows
) -> None:
    durban = stories.Durban(clock, sandbox.url)
    kind, record = durban.invoice, stories.CALLS["record"]
    void = {"path": "/invoices/{destination_reference}/void"}
    kind.calls = stories.CALLS | {"void": void, "record": record | {"sent": "mailed_at"}}
    kind.save(update_fields=["calls"])
    wrong: list[str] = []
    for order, script in ((471, True), (472, False)):
        operation = doubled(durban, sandbox, order)
        first = 1101 if script else 1105
        page = windows.of("ann", script=script)
        look: Callable[[str], list[str]] = partial(looked_at, page) if script else lambda name: []
        page.goto(f"/operations/{operation.uid}/")
        page.get_by_role("button", name="Check Durban Books now").click()
        expect(page.get_by_text(f"INV-{first + 1} is suggested")).to_be_visible()
        wrong += look("several")
        chosen(page, f"INV-{first}", by_keys=script)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone: nothing of it is reversed")).to_be_visible()
        chosen(page, f"INV-{first}", by_keys=script)
        wrong += look("several-chosen")
        work(durban, operation)
        page.goto(f"/operations/{operation.uid}/")
        expect(page.locator("main")).to_have_attribute("data-state", "completed")
        expect(page.get_by_text("Kept: the only one that is left")).to_be_visible()
        expect(page.get_by_role("row", name=re.compile("Net of the extras"))).to_contain_text("0.00")
        wrong += look("several-reversed")
        page.get_by_role("link", name="Void invoice").first.click()
        expect(page.get_by_role("heading", name=f"INV-{first + 1} is reversed")).to_be_visible()
        wrong += look("reversal")
        assert [one["id"] for one in sandbox.records(operation.key)] == [f"INV-{first}"]
    assert not wrong, wrong
