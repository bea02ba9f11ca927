"""A real browser on a real server: Debian's chromium without its windows, driven by Playwright."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests import stories
from tests.databases import Clock, Database
from tests.people import browser_of
from tests.processes import LOGS, Server, Standing

# Playwright keeps an event loop in this thread, and the tests read rows beside it.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

# The shell is the same engine without a browser around it, at half the processor time.
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium-headless-shell")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A page lives for seconds: what a script gains by being optimized costs more than it runs.
    "--js-flags=--no-opt --no-maglev --always-sparkplug",
)
WIDE, NARROW = 1360, 400
# A busy machine is no failure.
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for the whole run."""
    if not Path(CHROMIUM).exists():
        pytest.fail(f"No browser at {CHROMIUM}: install Debian's chromium-headless-shell, or set CHROMIUM.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Windows:
    """Opens windows of people at the server; what their consoles complain of is kept."""

    chromium: Browser
    server: Server
    opened: list[BrowserContext] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def of(
        self,
        name: str | None,
        *,
        width: int = WIDE,
        scheme: str = "light",
        script: bool = True,
    ) -> Page:
        """Open a window of this person (None: of nobody who is signed in)."""
        context = self.chromium.new_context(
            base_url=self.server.url,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            java_script_enabled=script,
        )
        self.opened.append(context)
        if name:
            cookie = browser_of(name).cookies[settings.SESSION_COOKIE_NAME].value
            context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": self.server.url}]
            )
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: self._hear(message.type, message.text))
        page.on("pageerror", lambda error: self._hear("error", str(error)))
        return page

    def _hear(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(f"{kind}: {text}")


@pytest.fixture
def database(standing: Standing) -> Iterator[Database]:
    """A database of this test alone, which the server has that all of them ask."""
    with standing.database() as clone:
        yield clone


@pytest.fixture
def server(standing: Standing, database: Database, request: pytest.FixtureRequest) -> Server:
    """The standing server on this test's database."""
    server = standing.at_work(database)
    request.node.stash[LOGS] = standing.logs
    return server


@pytest.fixture
def windows(chromium: Browser, server: Server) -> Iterator[Windows]:
    """Windows at a server on this test's database; a complaint in a console fails the test."""
    made = Windows(chromium, server)
    yield made
    for context in made.opened:
        context.close()
    assert made.complaints == []


@pytest.fixture
def durban(clock: Clock) -> stories.Durban:
    """Two operation types at Durban."""
    return stories.Durban(clock)
