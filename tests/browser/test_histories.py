"""Run histories in a real browser: wide and narrow, light and dark; looked up and closed without a script."""

from pathlib import Path

from playwright.sync_api import expect

from reconcile.models import Repeat
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at, unfold
from tests.databases import Clock
from tests.reconcile.books import Books, key_of
from tests.reconcile.test_histories import MONDAY, here, written
from tests.sandboxes import Sandbox


def test_run_histories_pass_axe_and_are_answered_without_script(
    windows: Windows, clock: Clock, sandbox: Sandbox, tmp_path: Path
) -> None:
    books = Books.configured(tmp_path, sandbox=sandbox)
    page, plain = windows.of("ann"), windows.of("ann", script=False)
    page.goto("/runs/histories/")
    wrong = looked_at(page, "no-histories")
    again = "472,2026-11-23T07:06:00+02:00,success,e-8\n"
    here(written(tmp_path, MONDAY + again), "--source-version", "1")
    for _ in range(4):
        books.outside("471", total="1860.00")
    books.outside("472")
    plain.goto("/queue/")
    plain.get_by_role("link", name="shop 472 v1").click()
    plain.get_by_role("button", name="Check Durban Books now").click()
    expect(plain.get_by_role("heading", name="There once")).to_be_visible()
    plain.goto("/queue/")
    plain.get_by_role("link", name="shop 471 v1").click()
    page.goto(plain.url)
    wrong += looked_at(page, "repeat-unchecked")
    plain.get_by_role("button", name="Check Durban Books now").click()
    expect(plain.get_by_role("heading", name="Doubled at Durban Books")).to_be_visible()
    for name, address in (
        ("histories", "/runs/histories/"),
        ("repeat", plain.url),
        ("queue-repeats", "/queue/"),
        ("runs-histories", "/runs/"),
    ):
        page.goto(address)
        unfold(page)
        wrong += [f"{name}, {line}" for line in looked_at(page, name)]
    plain.get_by_label("Reason to close it").fill("Three credit notes were written.")
    plain.get_by_role("button", name="Close").click()
    expect(plain.get_by_text("Closed, with your reason in the trail.")).to_be_visible()
    page.goto(plain.url)
    wrong += looked_at(page, "repeat-closed")
    assert wrong == []
    assert not Repeat.objects.open().exists()
    assert Repeat.objects.get(reference="471").key == key_of("471")
