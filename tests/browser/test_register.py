"""The register in a real browser: it passes axe, fits, prints, and needs neither a mouse nor a script."""

from pathlib import Path

from playwright.sync_api import expect

from tests import stories
from tests.browser.conftest import Windows
from tests.browser.test_looks import keep, looked_at, outgrown, unfold
from tests.registers import afternoon


def test_the_register_passes_axe_fits_and_prints_by_keyboard_and_without_script(
    durban: stories.Durban, windows: Windows, tmp_path: Path
) -> None:
    afternoon(durban, tmp_path)
    page = windows.of("vic")
    page.goto("/register/")
    keep(page, "register-folded")
    unfold(page)
    assert looked_at(page, "register") == []
    for width in range(360, 1601, 80):
        page.set_viewport_size({"width": width, "height": 900})
        assert outgrown(page) == [], f"wider than its window at {width}"
    page.emulate_media(media="print")
    keep(page, "register-print")
    assert page.locator(".seven").first.is_visible() and not page.locator(".top").is_visible()
    plain = windows.of("vic", script=False)
    plain.goto("/")
    plain.get_by_role("link", name="Register").click()
    expect(plain.get_by_role("heading", level=1)).to_have_text("2 of 5 are in order")
    answers = plain.get_by_text("What happens at the limit?").first
    expect(answers).to_be_hidden()
    plain.locator("summary").first.focus()
    plain.keyboard.press("Enter")
    expect(answers).to_be_visible()


def test_an_empty_register_teaches_and_passes_axe(windows: Windows) -> None:
    page = windows.of("vic")
    page.goto("/register/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Nothing is registered yet")
    assert looked_at(page, "register-empty") == []
