"""The hand of somebody who works in the console: each click and each Enter counts, writing does not."""

import os
from pathlib import Path

from playwright.sync_api import Page

# Where the walk's pictures go; nowhere, where nobody asked for them.
FOLDER = os.environ.get("WALK_PICTURES", "")


class Hand:
    """Does one task in somebody's window, beginning at Today, and counts what it takes."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        page.goto("/")

    def click(self, name: str) -> None:
        """Click what is called exactly so: a link, a button or what unfolds."""
        link = self.page.get_by_role("link", name=name, exact=True)
        button = self.page.get_by_role("button", name=name, exact=True)
        link.or_(button).or_(self.page.locator("summary", has_text=name)).first.click()
        self.clicks += 1

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

    def write(self, label: str, text: str) -> None:
        """Write into a field."""
        self.page.get_by_label(label).fill(text)

    def picture(self, name: str) -> None:
        """Keep what stands before them now."""
        if FOLDER:
            self.page.mouse.move(5, 895)
            self.page.screenshot(path=Path(FOLDER) / f"{name}.png")
