"""Correct it in a browser: by mouse, by keys, without script; each page passes axe, and was looked at."""

import re

from playwright.sync_api import Page, expect

from ledger.models import Operation
from tests import stories
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at
from tests.review.test_correct import meant, refused


def made_of(operation: Operation) -> Operation:
    return operation.corrections.latest("correction_number")


def test_33_34_35_ann_corrects_a_refused_one_and_the_original_never_runs_again(
    durban: stories.Durban, windows: Windows
) -> None:
    operation = refused(durban)
    page = windows.of("ann")
    page.goto(f"/operations/{operation.uid}/")
    page.get_by_role("button", name="Correct it").click()
    expect(page.get_by_role("heading", name="Write what is meant instead")).to_be_visible()
    name = page.get_by_role("textbox", name="customer.name text")
    marks = page.get_by_text("changed", exact=True)
    expect(marks.and_(page.locator(":visible"))).to_have_count(0)
    name.fill("Ballito Surf (Pty) Ltd")
    expect(marks.and_(page.locator(":visible"))).to_have_count(1)
    wrong = [f"form, {line}" for line in looked_at(page, "correct")]
    page.get_by_role("button", name="Review it").click()
    dialog = page.get_by_role("dialog", name="Correct the invoice")
    expect(dialog).to_contain_text("order/webshop/455/v1/c1")
    wrong += [f"dialog, {line}" for line in looked_at(page, "correct-confirm")]
    page.get_by_role("button", name="Change it").click()
    expect(name).to_have_value("Ballito Surf (Pty) Ltd")
    page.get_by_role("button", name="Write it as JSON").click()
    expect(page.get_by_label("Payload as JSON")).to_have_value(_holding("[kept: customer.email]"))
    wrong += [f"json, {line}" for line in looked_at(page, "correct-json")]
    page.get_by_role("button", name="Review it").click()
    dialog.get_by_label("Reason, for the trail").fill("The customer was renamed.")
    dialog.get_by_role("button", name="Confirm").dblclick()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    wrong += [f"made, {line}" for line in looked_at(page, "corrected")]
    assert operation.corrections.count() == 1
    durban.clock.advance(11)
    durban.tried(made_of(operation), stories.done("INV-9"))
    expect(page.locator("main")).to_have_attribute("data-state", "completed")  # by itself
    page.goto(f"/operations/{operation.uid}/")
    expect(page.locator(".decide")).to_contain_text("It was corrected and never runs again.")
    expect(page.get_by_role("button", name="Send again")).to_have_attribute("aria-disabled", "true")
    assert durban.again(operation).held_at is None
    assert wrong == []


def _holding(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


def test_by_keys_and_without_script(durban: stories.Durban, windows: Windows) -> None:
    one, other = refused(durban), refused(durban, order=456)
    keys = windows.of("ann")
    keys.goto(f"/operations/{one.uid}/")
    _press(keys, "Correct it")
    keys.get_by_role("textbox", name="total text").focus()
    keys.keyboard.press("Control+A")
    keys.keyboard.type("7000.00")
    keys.keyboard.press("Enter")
    keys.get_by_label("Reason, for the trail").focus()
    keys.keyboard.type("c r j k: a wrong price")
    _press(keys, "Confirm")
    expect(keys.get_by_role("button", name="Undo")).to_be_visible()
    assert meant(made_of(one))["total"] == "7000.00"
    bare = windows.of("ann", script=False)
    bare.goto(f"/operations/{other.uid}/")
    bare.get_by_role("button", name="Correct it").click()
    bare.get_by_role("combobox", name="paid true or false").select_option("true")
    bare.get_by_role("button", name="Review it").click()
    bare.get_by_label("Reason, for the trail").fill("It was paid.")
    bare.get_by_role("button", name="Confirm").click()
    bare.get_by_role("button", name="Undo").click()
    expect(bare.get_by_text("Undone: the correction is cancelled")).to_be_visible()
    assert made_of(other).cancelled_at is not None


def _press(page: Page, name: str) -> None:
    """Press a button with the keyboard alone."""
    page.get_by_role("button", name=name).focus()
    page.keyboard.press("Enter")
