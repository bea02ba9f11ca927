"""The runs' pages in a real browser: wide and narrow, light and dark, with nothing for axe to find."""

import re
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Page, expect

from ledger.models import Operation
from ledger.rules.states import Outcome
from reconcile.actions import start
from reconcile.expected.actions import foresee
from reconcile.models import Run
from reconcile.running import NotWhole, execute, window
from tests.browser.conftest import Windows
from tests.browser.test_looks import keep, looked_at, outgrown, unfold
from tests.databases import Clock
from tests.reconcile.books import HELD, Books, closed, key_of, record
from tests.sandboxes import Sandbox

PAPER = 680
"""An A4 page between its margins, in the pixels of a style sheet."""
TWELFTH, TWENTY_SIXTH, THIRTIETH = (datetime(2026, 11, day, 5, 2, tzinfo=UTC) for day in (12, 26, 30))


def november(folder: Path, clock: Clock) -> Run:
    """A month in which a bit of everything happened; three runs, the last on the thirtieth."""
    clock.set(datetime(2026, 11, 11, 8, 0, tzinfo=UTC))
    books = Books.configured(folder, performed_by="caller", grace="15m", tolerance="0.50")
    page = []
    for order in range(400, 420):
        books.claimed(str(order), Outcome.SUCCEEDED, reference=f"INV-{order}", amount=f"{order}.00")
        page.append(record(order, key=key_of(str(order)), total=f"{order}.00"))
    for order in range(501, 505):
        books.claimed(
            str(order), Outcome.SUCCEEDED, reference=f"INV-{order}", amount="47895.35", currency="EUR"
        )
        page.append(record(order, key=key_of(str(order)), total="47895.35", currency="EUR"))
    surplus = [record(n, key=key_of("402"), total="402.00") for n in (1064, 1071)]
    HELD.pages = [page, surplus]
    clock.set(TWELFTH)
    books.run()
    books.claimed("447", Outcome.SUCCEEDED, reference="INV-1131", amount="1240.00")
    books.claimed("448", Outcome.UNCERTAIN, amount="380.00")
    by_hand = record(1200, key=key_of("9001"), total="99.50")
    HELD.pages.append([record(1203, key=key_of("9002"), total="77.00")])
    HELD.pages.append([by_hand, record(1201, key=None, total="12.00"), record(1202, key=None, total="a lot")])
    clock.set(TWENTY_SIXTH)
    _, found = books.run()
    extra = next(finding for finding in found if finding.item_class == "unexpected_at_destination")
    closed(extra, actor="ann", reason="Made by hand for the branch in Pinetown.")
    clock.set(datetime(2026, 11, 30, 4, 55, tzinfo=UTC))
    HELD.pages = [page for page in HELD.pages if page and page[0]["id"] != "INV-1203"]
    books.claimed("466", Outcome.SUCCEEDED, reference="INV-466", amount="4960.00")
    books.claimed("467", Outcome.SUCCEEDED, reference="INV-467", amount="2480.40")
    books.claimed("468", Outcome.SUCCEEDED, reference="INV-468", amount=None)
    HELD.pages.append([record(466, key=key_of("466"), total="5580.00")])
    HELD.pages.append([record(467, key=key_of("467"), total="2480.00"), record(468, key=key_of("468"))])
    books.claimed("470", None, amount="3115.50")
    clock.set(THIRTIETH)
    foresee(books.plan.pk)
    run, _ = books.run()
    HELD.pages.append(None)
    try:
        books.run()
    except NotWhole:
        start_at, to = window(books.plan, None, None)
        start(books.plan, window_from=start_at, window_to=to, actor="bob")
    return run


def test_the_pages_of_runs_pass_axe_and_fit(windows: Windows, clock: Clock, tmp_path: Path) -> None:
    done = november(tmp_path, clock)
    failed, running = Run.objects.get(state="failed"), Run.objects.get(state="running")
    largest = done.findings.filter(is_open=True, currency="ZAR").order_by("-amount")[0]
    page = windows.of("vic")
    addresses = {
        "today": "/",
        "runs": "/runs/",
        "run": f"/runs/{done.uid}/",
        "run-more": f"/runs/{done.uid}/?after={largest.pk}",
        "run-failed": f"/runs/{failed.uid}/",
        "differences": "/runs/differences/",
        "differences-of-one-age": "/runs/differences/?age=0",
        "find-besides": "/find/?q=order",
        "run-running": f"/runs/{running.uid}/",
    }
    wrong: list[str] = []
    for name, address in addresses.items():
        page.goto(address)
        unfold(page)
        wrong += [f"{name}, {line}" for line in looked_at(page, name)]
    assert wrong == []
    page.goto(addresses["run"])
    for width in range(360, 1601, 80):
        page.set_viewport_size({"width": width, "height": 900})
        assert outgrown(page) == [], f"at {width}"
    page.reload()
    on_paper(page)


def test_what_is_long_is_folded_on_a_narrow_screen_alone(
    windows: Windows, clock: Clock, tmp_path: Path
) -> None:
    """The classes, currency by currency; a click opens them, and without script they stand open."""
    address = f"/runs/{november(tmp_path, clock).uid}/"
    for width, script, is_open in ((1280, True, True), (400, True, False), (400, False, True)):
        page = windows.of("vic", width=width, script=script)
        page.goto(address)
        total = page.get_by_role("rowheader", name="Counted another way").first
        expect(total).to_be_visible(visible=is_open)
        page.get_by_text("Class by class").click()
        expect(total).to_be_visible(visible=not is_open)


def on_paper(page: Page) -> None:
    """A run as it is printed: what a controller signs, with where it comes from, and nothing to click."""
    page.set_viewport_size({"width": PAPER, "height": 1123})
    asked, signed = page.get_by_text("updated_since={since}"), page.get_by_text("Prepared by, on")
    expect(asked).to_be_hidden()
    expect(signed).to_be_hidden()
    page.emulate_media(media="print")
    for seen in (asked, signed, page.get_by_text("Not tested"), page.get_by_text("Unexplained").first):
        expect(seen).to_be_visible()
    for gone in (page.locator(".top"), page.locator(".btn").first, page.get_by_text("To keep, with where")):
        expect(gone).to_be_hidden()
    assert outgrown(page) == []
    expect(page.get_by_text("12 Nov 2026 07:02 SAST").first).to_be_visible()
    due = page.locator("td[data-label=Due] time").first.evaluate(
        "it => getComputedStyle(it, '::after').content"
    )
    assert re.fullmatch(r'"\d+ Nov 2026 \d\d:\d\d SAST"', due), "on paper there is no today"
    keep(page, "run-print")
    page.emulate_media(media="screen")


def test_a_difference_is_decided_by_mouse_by_keys_and_without_script(
    windows: Windows, sandbox: Sandbox, tmp_path: Path
) -> None:
    books = Books.configured(tmp_path, sandbox=sandbox, performed_by="caller")
    books.plan.operation_type.review = {"due": "4h", "four_eyes_above": {"ZAR": "1000.00"}}
    books.plan.operation_type.save(update_fields=["review"])
    books.claimed("483", Outcome.UNCERTAIN, amount="120.00")
    large, near, small = (
        (key_of(f"hand-{n}"), books.outside(f"hand-{n}", total=total))
        for n, total in enumerate(("20000.00", "120.00", "90.00"))
    )
    run, _ = books.run()
    ann, wrong = windows.of("ann"), list[str]()
    ann.goto(f"/runs/{run.uid}/")
    ann.get_by_role("link", name="Unexpected at Durban Books").first.click()
    wrong += looked_at(ann, "difference")
    ann.get_by_role("link", name="Take it in").click()
    wrong += looked_at(ann, "difference-way")
    ann.get_by_label("Reason, for the trail").fill("An older connector made it.")
    ann.get_by_role("button", name="Take it in").dblclick()
    ann.get_by_role("link", name="Answer it").click()
    wrong += looked_at(ann, "difference-asked")
    ann.goto(f"/runs/{run.uid}/")
    ann.get_by_role("row", name=small[0]).get_by_role("link").focus()
    ann.keyboard.press("Enter")
    ann.get_by_role("link", name="Waive it").press("Enter")
    ann.get_by_label("Reason, for the trail").press_sequentially("The branch asked for it.")
    ann.keyboard.press("Tab")
    ann.keyboard.press("Enter")
    ann.get_by_text("ann waived it until").first.wait_for()
    wrong += looked_at(ann, "difference-waived")
    ann.goto(f"/runs/{run.uid}/")
    wrong += looked_at(ann, "run-waived")
    ann.get_by_role("row", name="order 483").get_by_role("link").nth(1).click()
    ann.get_by_role("link", name="Match by hand").click()
    ann.get_by_role("link", name=near[1]).click()
    wrong += looked_at(ann, "difference-match")
    assert ann.get_by_text("0.00", exact=True).is_visible()
    ann.get_by_label("Reason, for the trail").fill("The branch typed it.")
    ann.get_by_role("button", name="Match by hand").click()
    ann.get_by_text("ann matched it by hand.").first.wait_for()
    bob = windows.of("bob", script=False)
    bob.goto("/approvals/")
    bob.get_by_role("link", name=large[0]).click()
    bob.get_by_role("button", name="Approve").click()
    bob.get_by_text("Answered. It is on record.").wait_for()
    assert Operation.objects.get(key=large[0]).destination_reference == large[1]
    assert wrong == []


def test_a_run_at_work_shows_its_end_by_itself(windows: Windows, clock: Clock, tmp_path: Path) -> None:
    books = Books.configured(tmp_path, performed_by="caller")
    start_at, to = window(books.plan, None, None)
    run = start(books.plan, window_from=start_at, window_to=to, actor="ann")
    page = windows.of("ann")
    page.goto(f"/runs/{run.uid}/")
    assert page.get_by_role("heading", name="Running").is_visible()
    page.get_by_role("link", name="Stop it").focus()
    Run.objects.filter(pk=run.pk).update(records=1)
    page.get_by_text("1 record read so far").wait_for()
    expect(page.get_by_role("link", name="Stop it")).to_be_focused()
    run.refresh_from_db()
    execute(run)
    page.get_by_role("heading", name="Explained; nothing is open").wait_for()
