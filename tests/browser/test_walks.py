"""The walk queue, operation, check, send again, confirm, done: with script, without it, and by keys."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from ledger.destinations import lookups, sending
from ledger.models import Attempt, Operation, Permit
from ledger.rules.states import State
from tests import stories
from tests.browser.conftest import Windows
from tests.databases import Clock
from tests.people import PASSWORD, person
from tests.sandboxes import Sandbox


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> stories.Durban:
    return stories.Durban(clock, sandbox.url)


@pytest.fixture
def lost(durban: stories.Durban, sandbox: Sandbox) -> Operation:
    """An invoice whose request was lost on the way; the check has found another one before."""
    known = durban.invoiced(402)
    sending.send(known.pk)
    lookups.look(known, actor="worker", reason="A look.")
    sandbox.faults("drop_before", "POST /invoices")
    operation = durban.invoiced(483)
    sending.send(operation.pk)
    durban.clock.advance(60)
    return durban.again(operation)


def main(page: Page, state: str, verdict: str | None = None) -> None:
    """Wait until the page says this."""
    expect(page.locator("main")).to_have_attribute("data-state", state)
    if verdict is not None:
        expect(page.locator("main")).to_have_attribute("data-verdict", verdict)


def walk(page: Page, goes_out: Callable[[], None]) -> None:
    """Go from the queue to done."""
    page.goto("/queue/")
    page.get_by_role("link", name="Order 483 · Acme", exact=True).click()
    main(page, "uncertain", "")
    page.get_by_role("button", name="Check Durban Books now").click()
    main(page, "failed", "absent")
    page.get_by_role("button", name="Send again").click()
    page.get_by_label("Reason, for the trail").fill("Acme is waiting for it.")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("heading", name=re.compile("Allowed; takes effect at"))).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    goes_out()


def test_the_whole_walk_with_script(
    durban: stories.Durban, lost: Operation, windows: Windows, sandbox: Sandbox
) -> None:
    page = windows.of("ann")

    def goes_out() -> None:
        expect(page.get_by_text(re.compile(r"\d s to undo"))).to_be_visible()
        durban.clock.advance(11)
        expect(page.get_by_role("heading", name=re.compile("not sent yet"))).to_be_visible()
        sending.send(lost.pk)

    walk(page, goes_out)
    main(page, "completed", "")  # by itself: the page looks again every two seconds
    expect(page.get_by_role("heading", name="Done", exact=True)).to_be_visible()
    expect(page.locator(".decide")).to_contain_text("Durban Books confirmed INV-")
    expect(page).to_have_title(re.compile("done · Tieout"))
    assert sandbox.effects(lost.key) == 1
    assert Attempt.objects.filter(operation=lost).count() == 2


def test_the_whole_walk_without_script(
    durban: stories.Durban, lost: Operation, windows: Windows, sandbox: Sandbox
) -> None:
    page = windows.of("ann", script=False)

    def goes_out() -> None:
        durban.clock.advance(11)
        sending.send(lost.pk)
        page.get_by_role("link", name="Refresh").click()

    walk(page, goes_out)
    main(page, "completed", "")
    assert sandbox.effects(lost.key) == 1


def test_undo_without_script_sends_nothing(
    durban: stories.Durban, lost: Operation, windows: Windows, sandbox: Sandbox
) -> None:
    page = windows.of("ann", script=False)
    walk(page, lambda: page.get_by_role("button", name="Undo").click())
    expect(page.get_by_text("Undone: the permit is withdrawn")).to_be_visible()
    durban.clock.advance(11)
    sending.send(lost.pk)
    assert Attempt.objects.filter(operation=lost).count() == 1


def test_the_whole_walk_by_keys(durban: stories.Durban, lost: Operation, windows: Windows) -> None:
    durban.invoiced(1)
    page = windows.of("ann")
    page.goto("/queue/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Order 483 · Acme", exact=True)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    main(page, "uncertain")
    page.keyboard.press("c")
    main(page, "failed", "absent")
    page.keyboard.press("r")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_label("Reason, for the trail")).to_be_focused()
    page.keyboard.type("c r j k ? are letters here")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("place=2"))
    page.keyboard.press("/")
    expect(page.get_by_label("Find an order, invoice or key")).to_be_focused()
    page.keyboard.type("order")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("operations carry “order”"))).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Order 1 · Acme", exact=True)).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("order 483")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/operations/{lost.uid}/"))
    assert Permit.objects.get().reason == "c r j k ? are letters here"


def test_a_key_right_after_a_dialog_is_not_lost(lost: Operation, windows: Windows) -> None:
    page = windows.of("ann")
    page.goto("/queue/")
    # For one frame the focus may stay in the field of a dialog that has closed.
    page.evaluate(
        """() => {
            const help = document.querySelector("#help"), field = help.querySelector("input");
            help.showModal();
            field.focus();
            help.close();
            field.dispatchEvent(new KeyboardEvent("keydown", { key: "j", bubbles: true }));
        }"""
    )
    expect(page.get_by_role("link", name="Order 483 · Acme", exact=True)).to_be_focused()


def test_the_dialog_is_modal_and_escape_goes_back(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    page = windows.of("ann")
    address = f"/operations/{lost.uid}/confirm-with-reference/?place=1"
    page.goto(address)
    assert page.locator("dialog[data-modal]").evaluate("(dialog) => dialog.matches(':modal')")
    expect(page.get_by_label("Its number in Durban Books")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(rf"/operations/{lost.uid}/\?at=\d+.*&place=1$"))


def test_30_a_double_click_on_confirm_is_one_permit(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    operation = durban.looked(lost, stories.ABSENT, actor="ann")
    for script in (True, False):
        page = windows.of("ann", script=script)
        page.goto(f"/operations/{operation.uid}/send-again/")
        page.get_by_label("Reason, for the trail").fill("Again.")
        page.get_by_role("button", name="Confirm").dblclick(no_wait_after=True)
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
        assert Permit.objects.open().count() == 1
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone: the permit is withdrawn").first).to_be_visible()
    assert Permit.objects.count() == 2


def test_30_two_tabs_refresh_and_back_are_one_permit(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    operation = durban.looked(lost, stories.ABSENT, actor="ann")
    address = f"/operations/{operation.uid}/send-again/"
    first, second = windows.of("ann"), windows.of("ann")
    for page in (first, second):
        page.goto(address)
        page.get_by_label("Reason, for the trail").fill("Again.")
    first.get_by_role("button", name="Confirm").click()
    expect(first.get_by_role("button", name="Undo")).to_be_visible()
    second.get_by_role("button", name="Confirm").click()
    expect(second.get_by_text("Already allowed by ann; it takes effect at")).to_be_visible()
    first.reload()
    first.go_back()
    expect(first.get_by_text("Already allowed by ann; it takes effect at")).to_be_visible()
    assert Permit.objects.count() == 1


def test_41_a_page_that_waits_survives_signing_out_elsewhere(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    durban.started(durban.invoiced(485))
    running = Operation.objects.get(source_reference="485")
    page = windows.of("ann")
    page.goto(f"/operations/{running.uid}/?place=1")
    main(page, "running")
    page.context.clear_cookies()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page).to_have_url(re.compile("next="))


def test_41_a_page_older_than_the_sign_in_is_opened_again_and_does_nothing(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    page = windows.of("ann")
    page.goto(f"/operations/{lost.uid}/")
    page.evaluate("document.body.setAttribute('hx-headers', '{}')")
    page.evaluate("document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach((f) => f.remove())")
    page.get_by_role("button", name="Check Durban Books now").click()
    expect(page.locator("[name=csrfmiddlewaretoken]").first).to_be_attached()
    windows.complaints.clear()
    main(page, "uncertain", "")
    assert not lost.lookups.filter(actor="ann").exists()


def test_a_person_signs_in_and_out(durban: stories.Durban, lost: Operation, windows: Windows) -> None:
    person("ann")
    page = windows.of(None)
    page.goto(f"/operations/{lost.uid}/")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    main(page, "uncertain")
    page.get_by_role("link", name="ann · reviewer").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_viewer_sees_all_and_can_press_nothing(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    page = windows.of("vic")
    page.goto(f"/operations/{lost.uid}/")
    button = page.get_by_role("button", name="Check Durban Books now")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_text("Your role looks only.").first).to_be_visible()
    button.click(force=True)
    page.keyboard.press("c")
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile(rf"/operations/{lost.uid}/$"))
    assert not lost.lookups.filter(actor="vic").exists()


def test_keys_can_be_switched_off(durban: stories.Durban, lost: Operation, windows: Windows) -> None:
    page = windows.of("ann")
    page.goto("/queue/")
    page.keyboard.press("?")
    page.get_by_label("Use single keys in this browser").uncheck()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    expect(page.locator(".queue [aria-current]")).to_have_count(0)
    page.reload()
    page.keyboard.press("j")
    expect(page.locator(".queue [aria-current]")).to_have_count(0)


def test_an_operation_page_prints_without_its_controls(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    page = windows.of("ann")
    page.goto(f"/operations/{lost.uid}/")
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Check Durban Books now")).to_be_hidden()
    expect(page.get_by_text("We sent it at").first).to_be_visible()


def test_37_the_queue_is_walked_page_by_page_and_the_place_is_kept(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    """By keys and by mouse: over a page's end, into an operation, to the next, through an action, back."""
    durban.invoiced(1)
    durban.has_thousands_alike(120, state=State.PENDING)
    where = ".crumbs span.soft"
    keys, mouse = windows.of("ann"), windows.of("ann", script=False)
    keys.clock.install()
    keys.goto("/queue/?view=open")
    durban.expired(900)
    keys.clock.run_for(21_000)
    expect(keys.get_by_role("link", name=re.compile("Show 1 new since"))).to_be_visible()
    expect(keys.locator(".q-key a").first).to_have_text("Order 483 · Acme")
    expect(keys.locator(".q-key a")).to_have_count(50)
    for _ in range(51):
        keys.keyboard.press("j")
    expect(keys.get_by_text("From number 51.")).to_be_visible()
    keys.keyboard.press("j")
    keys.keyboard.press("Enter")
    expect(keys.locator(where)).to_have_text("number 51")
    keys.keyboard.press("j")
    expect(keys.locator(where)).to_have_text("number 52")
    mouse.goto("/queue/?view=open&state=uncertain")
    mouse.get_by_role("link", name="Order 483 · Acme", exact=True).click()
    expect(mouse.locator(where)).to_have_text(re.compile("number [12]$"))
    number = mouse.locator(where).inner_text()
    mouse.get_by_role("button", name="Check Durban Books now").click()
    main(mouse, "failed", "absent")
    expect(mouse.locator(where)).to_have_text("no longer in this list")
    expect(mouse).to_have_url(re.compile(rf"state=uncertain&.*place={number[-1]}$"))
    mouse.get_by_role("link", name="Queue, all open, filtered").click()
    expect(mouse).to_have_url(re.compile(r"/queue/\?state=uncertain$"))


def test_37_what_is_decided_is_said_and_the_next_one_opens(
    durban: stories.Durban, lost: Operation, windows: Windows
) -> None:
    """With and without script: the same filter, the same place, and a way back."""
    for order in (901, 902, 903):
        durban.absent(order)
    for order, script in ((901, True), (902, False)):
        page = windows.of("ann", script=script)
        page.goto("/queue/?view=person&order=age")
        page.get_by_role("link", name=f"Order {order} · Acme", exact=True).click()
        page.get_by_text("Other ways to close it").click()
        page.get_by_role("button", name="It did not happen", exact=True).click()
        page.get_by_label("Reason, for the trail").fill("Acme wants it no more.")
        page.get_by_role("button", name="Confirm").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(f"Order {order + 1}")
        expect(page.locator(".crumbs span.soft")).to_have_text("number 1")
        expect(
            page.get_by_role("status").filter(has_text=f"Order {order}: closed as not done.")
        ).to_be_visible()
        page.get_by_role("link", name="Go back to it").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(f"Order {order}")
        main(page, "failed")
