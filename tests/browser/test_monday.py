"""A Monday as a controller has it: nothing ran, the destination was cut off, then it adds up and is signed.

| when                                   | what is seen                                                      |
|----------------------------------------|-------------------------------------------------------------------|
| the due time passed, no worker ran     | red on Today and under Runs                                       |
| the list is cut off in the middle      | did not run, red, mailed; nothing missing; nobody prepares it     |
| Durban Books is back, and it runs anew | the same totals to the cent on the page, on paper and in the mail |
| ann prepares it, then tries to sign    | a second person decides                                           |
| bob signs it                           | the paper names both, when, and the digest of what was signed     |
"""

import re
from datetime import timedelta
from email.message import Message as Letter
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Page, expect

from reconcile.models import ExpectedRun, Finding, Run, SignOff
from tests.browser.conftest import WIDE, Windows
from tests.browser.test_looks import keep, looked_at, outgrown
from tests.browser.test_runs import PAPER
from tests.databases import Clock
from tests.mails import Post
from tests.people import agrees, browser_of
from tests.processes import Spawn
from tests.reconcile.books import Books
from tests.sandboxes import Sandbox
from tests.workers import Worker, until

SHOP = """
[plans.invoices.source]
name = "Web shop"
connector = "http"
base_url = "{url}"
timeout = "3s"
list = {{ path = "/orders?since={{since}}", items = "data" }}
control = {{ path = "/orders/count?since={{since}}", count = "count", total = "total" }}
record = {{ reference = "number", system = "'shop'", version = "'1'", amount = "total", date = "placed_at" }}
"""
ORDERS = (
    ("402", "1860.00", "ZAR"),
    ("466", "5580.35", "ZAR"),
    ("483", "1240.10", "ZAR"),
    ("377", "960.05", "EUR"),
)
HEADLINE = "Explained; 2 open differences, ZAR 2 585.00"
"""Order 402 stands there twice, and order 459 (725.00) was never handed over."""
TOTALS = {
    "Web shop": {"EUR 960.05", "ZAR 9 405.45"},
    "Tieout": {"EUR 960.05", "ZAR 8 680.45"},
    "Durban Books": {"EUR 960.05", "ZAR 10 540.45"},
}


@pytest.fixture
def friday(windows: Windows, sandbox: Sandbox, clock: Clock, tmp_path: Path) -> Page:
    """What the week before has left: four orders made into invoices, one of them twice, and one forgotten."""
    books = Books.configured(tmp_path, sandbox=sandbox, limit="2", source=SHOP.format(url=sandbox.url))
    for order, total, currency in (*ORDERS, ("459", "725.00", "ZAR")):
        body = {"number": order, "total": total, "currency": currency}
        assert sandbox.call("POST", "/orders", body=body).status == 201
    for order, total, currency in ORDERS:
        assert books.sent(order, amount=total, currency=currency).state == "completed"
    books.outside("402", total="1860.00")
    clock.advance(ExpectedRun.objects.get().due_at + timedelta(minutes=10) - clock.now())
    return windows.of("ann")


def plain(text: str) -> str:
    return " ".join(text.split())


def said(letter: Letter) -> str:
    text = letter.get_payload(decode=True)
    assert isinstance(text, bytes)
    return plain(f"{letter['Subject']} {text.decode()}")


def test_a_monday_from_a_run_that_never_started_to_a_signed_one(
    friday: Page, sandbox: Sandbox, post: Post, spawn: Spawn
) -> None:
    page = friday
    is_red(page, "Not started")
    sandbox.faults("truncate", "cursor=", count=None)
    Worker.started(spawn)
    cut_off(page, post)
    sandbox.clear_faults()
    run = restored(page, post)
    prepared_by_one(page)
    signed_by_another(page, run)


def is_red(page: Page, word: str) -> None:
    """Both pages say so, by word and in red."""
    for address in ("/", "/runs/"):
        page.goto(address)
        expect(page.locator("[data-state=failed]", has_text=word).first).to_be_visible()
    expect(page.get_by_text("Due times of the last two weeks")).to_contain_text("1 red")


def cut_off(page: Page, post: Post) -> None:
    """Two of five records came in; what did not is not missing."""
    until(lambda: len(post.got) == 2, what="Both mails", every_s=0.1)
    late, broken = post.got
    assert re.search("invoices, due .*: not started", said(late))
    assert "invoices did not run whole, and says nothing" in said(broken)
    run = Run.objects.get()
    assert run.state == Run.State.FAILED and not Finding.objects.exists()
    is_red(page, "Did not run")
    page.get_by_role("link", name=f"Run {run.pk}", exact=True).click()
    expect(page.get_by_text("A run that is not whole says nothing about anything")).to_be_visible()
    expect(page.get_by_text("Mailed to 1 recipient,")).to_be_visible()
    expect(page.get_by_text("Missing at")).to_have_count(0)
    page.goto(f"/runs/{run.uid}/prepare/")
    expect(
        page.get_by_text("It did not come to its end: nothing of it counts, and nobody signs it.")
    ).to_be_visible()
    keep(page, "monday-refused")


def restored(page: Page, post: Post) -> Run:
    """One more run, asked for; it says the same wherever it is read."""
    page.goto("/runs/")
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("heading", name=HEADLINE)).to_be_visible()
    expect(page.get_by_text("invoices: Web shop to Tieout to Durban Books")).to_be_visible()
    until(lambda: len(post.got) == 3, what="Its mail", every_s=0.1)
    page.reload()
    expect(page.get_by_text("Mailed to 1 recipient,")).to_be_visible()
    run, mail = Run.objects.latest("pk"), said(post.got[2])
    assert HEADLINE in mail and f"/runs/{run.uid}/" in mail
    for media in ("screen", "print"):
        page.emulate_media(media=media)
        assert totals(page) == TOTALS, media
    page.emulate_media(media="screen")
    for name, sums in TOTALS.items():
        for one in sums:
            assert f"{name} {one}" in mail, mail
    assert mail.count("unexplained ZAR 0.00") == mail.count("unexplained EUR 0.00") == 1
    return run


def totals(page: Page) -> dict[str, set[str]]:
    """What each side comes to in each currency by the table of classes, as it is seen."""
    sums: dict[str, set[str]] = {}
    for part in page.locator(".classes tbody").all():
        whole = part.get_by_role("row", name="All classes")
        for name in TOTALS:
            label = "Durban Books holds" if name == "Durban Books" else name
            cell = whole.locator(f"[data-label^='{label}']")
            expect(cell).to_be_visible()
            sums.setdefault(name, set()).add(
                plain(f"{part.locator('.group').inner_text()} {cell.inner_text()}")
            )
    return sums


def prepared_by_one(page: Page) -> None:
    """Prepares it, reads the paper with one line still empty, and is refused as the second person."""
    page.get_by_role("link", name="Prepare it").click()
    page.get_by_label("Note, kept with the signature").fill("Both differences are with finance.")
    page.get_by_role("button", name="Prepare it").click()
    expect(page.get_by_text("Prepared. It waits for another person")).to_be_visible()
    on_paper(page, "monday-prepared-paper", "Prepared by ann, ", "Reviewed by, on")
    expect(page.get_by_text("Both differences are with finance.").first).to_be_visible()
    page.get_by_role("link", name="Sign it, refuse it or take it back").click()
    expect(page.get_by_role("button", name="Sign it")).to_have_count(0)
    expect(page.get_by_role("button", name="Take it back")).to_be_visible()
    agrees("ann")  # she approves what others prepare, and has the form that they would send
    form = {"answer": "approve", "seen": page.locator("[name=seen]").input_value()}
    refused = browser_of("ann").post(page.url.removeprefix(origin(page)), form).content.decode()
    assert re.search('id="refusal".*: a second person decides', refused)
    assert not SignOff.objects.get().answer


def signed_by_another(page: Page, run: Run) -> None:
    """The same window, with somebody else before it."""
    cookie = browser_of("bob").cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": origin(page)}])
    page.goto("/approvals/")
    page.get_by_role("link", name=f"Read and sign : Run {run.pk} ").click()
    page.get_by_role("button", name="Sign it").click()
    expect(page.get_by_text("Signed. It is on record.")).to_be_visible()
    page.goto(f"/runs/{run.uid}/")
    assert looked_at(page, "monday-signed") == []
    on_paper(page, "monday-signed-paper", "Prepared by ann,", "Reviewed by bob,")
    digest = SignOff.objects.get().signed_digest
    assert digest and digest in page.get_by_role("main").inner_text()


def on_paper(page: Page, name: str, *lines: str) -> None:
    """These lines are on the sheet, whole, and no others of that kind."""
    page.set_viewport_size({"width": PAPER, "height": 1123})
    page.emulate_media(media="print")
    seen = [plain(line) for line in page.locator("ol.paper li").all_inner_texts()]
    keep(page, name)
    assert len(seen) == len(lines) and all(map(str.startswith, seen, lines)), seen
    assert all(part.is_visible() for part in page.locator("ol.paper li").all()) and outgrown(page) == []
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": WIDE, "height": 900})


def origin(page: Page) -> str:
    """Return the address of the server."""
    return "/".join(page.url.split("/")[:3])
