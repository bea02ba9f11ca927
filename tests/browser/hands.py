"""The hand of somebody who works in the console: each click and each Enter counts, writing does not."""

import os
import re
from pathlib import Path

from playwright.sync_api import Locator, Page

# Where the walk's pictures go; nowhere, where nobody asked for them.
FOLDER = os.environ.get("WALK_PICTURES", "")
MOST_TABS = 90
REACHED = """(part) => {
    if (part !== document.activeElement) return "";
    const how = getComputedStyle(part), at = part.getBoundingClientRect();
    const seen = how.outlineStyle !== "none" && parseFloat(how.outlineWidth) >= 2;
    const over = document.elementFromPoint(at.x + at.width / 2, at.y + at.height / 2);
    if (!seen) return "focused, and nothing shows it";
    return over && (part.contains(over) || over.contains(part)) ? "reached" : "focused, and out of sight";
}"""
UNTOUCHED = "() => [document.body, null].includes(document.activeElement)"


class Hand:
    """Does one task in somebody's window, beginning at Today, and counts what it takes."""

    def __init__(self, page: Page, at: str = "/") -> None:
        self.page = page
        self.clicks = 0
        page.goto(at)

    def click(self, name: str | re.Pattern[str]) -> None:
        """Click what is called exactly so, or fits: a link, a button or what unfolds."""
        self.press(self.called(name))
        self.clicks += 1

    def called(self, name: str | re.Pattern[str]) -> Locator:
        """Return the link, the button or what unfolds that is called so."""
        link = self.page.get_by_role("link", name=name, exact=True)
        button = self.page.get_by_role("button", name=name, exact=True)
        return link.or_(button).or_(self.page.locator("summary", has_text=name)).first

    def press(self, part: Locator) -> None:
        """Press it."""
        part.click()

    def find(self, text: str) -> None:
        """Write into the field at the top of every page: a click into it, and Enter."""
        field = self.page.get_by_label("Find an order, invoice or key")
        field.click()
        field.fill(text)
        field.press("Enter")
        self.clicks += 2

    def choose(self, label: str, value: str) -> None:
        """Choose in a list: one click."""
        self.page.get_by_label(label).select_option(label=value)
        self.clicks += 1

    def tick(self, label: str) -> None:
        """Tick a box, or one of several."""
        self.page.get_by_label(label).check()
        self.clicks += 1

    def write(self, label: str | re.Pattern[str], text: str) -> None:
        """Write into a field."""
        self.page.get_by_label(label).fill(text)

    def picture(self, name: str) -> None:
        """Keep what stands before them now."""
        if FOLDER:
            self.page.mouse.move(5, 895)
            self.page.screenshot(path=Path(FOLDER) / f"{name}.png")


class Keys(Hand):
    """The same without a mouse: Tab until it is reached and seen to be, then Enter, Space and letters."""

    def press(self, part: Locator) -> None:
        """Press Enter on it."""
        self._reach(part)
        self.page.keyboard.press("Enter")

    def choose(self, label: str, value: str) -> None:
        """Go down a list."""
        field = self.page.get_by_label(label)
        self._reach(field)
        place = field.evaluate(
            "(list, words) => [...list.options].findIndex((one) => one.text.trim() === words)", value
        )
        self.page.keyboard.press("Home")
        for _ in range(place):
            self.page.keyboard.press("ArrowDown")
        assert field.evaluate("(list) => list.selectedOptions[0].text.trim()") == value

    def tick(self, label: str) -> None:
        """Press Space on a box; go to one of several by arrows."""
        field = self.page.get_by_label(label)
        if field.get_attribute("type") == "checkbox":
            self._reach(field)
            self.page.keyboard.press("Space")
        else:
            group = self.page.locator(f"[name='{field.get_attribute('name')}']")
            marked = group.and_(self.page.locator(":checked"))
            self._reach(marked if marked.count() else group.first)
            self.page.keyboard.press("Space")
            while not field.is_checked():
                self.page.keyboard.press("ArrowDown")
        assert field.is_checked()

    def write(self, label: str | re.Pattern[str], text: str) -> None:
        """Type it in the place of what stands there."""
        field = self.page.get_by_label(label)
        self._reach(field)
        if field.get_attribute("type") in ("date", "datetime-local"):
            self._date(text)
        else:
            self.page.keyboard.press("Control+A")
            self.page.keyboard.type(text)
        assert field.input_value().startswith(text)

    def _date(self, text: str) -> None:
        """Type an ISO date, and its time where it has one, as a browser in English takes them."""
        day, _, time = text.partition("T")
        year, month, of_month = day.split("-")
        self.page.keyboard.type(f"{month}{of_month}{year}")
        if time:
            hour, *rest = time.split(":")
            self.page.keyboard.press("ArrowRight")
            half = "AM" if int(hour) < 12 else "PM"
            self.page.keyboard.type(f"{(int(hour) + 11) % 12 + 1:02}{''.join(rest)}{half}")

    def _reach(self, part: Locator) -> None:
        """Go to it by Tab; from the top of a page, by its first link, past what every page has."""
        keys, wanted = self.page.keyboard, part.element_handle()
        assert wanted is not None
        if self.page.evaluate(UNTOUCHED):
            keys.press("Tab")
            # Where the page before was skipped in, this one begins there.
            if self.page.evaluate("document.activeElement.matches('.skip')"):
                keys.press("Enter")
        for _ in range(MOST_TABS):
            reached = wanted.evaluate(REACHED)
            if reached:
                break
            keys.press("Tab")
        assert reached == "reached", f"{part}: {reached or 'not reached by Tab'}"
