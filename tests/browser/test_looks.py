"""Every page, wide and narrow, light and dark: axe finds nothing, nothing sticks out, consoles are clean."""

import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from ledger import actions
from ledger.models import Case, Destination, Operation, OperationType, Pause, Webhook
from ledger.rules.leaves import Action
from reconcile import tasks
from reconcile.models import Comparison, History, Plan
from reconcile.statements import keeping
from review.bulk.commanding import start
from review.bulk.freezing import freeze, read_more
from review.filters import Filter
from tests import stories
from tests.browser.conftest import NARROW, WIDE, Windows
from tests.databases import Database
from tests.people import person
from tests.receivers import Receiver, receiving
from tests.review.test_deliveries import in_each_state
from tests.review.test_samples import days, drawn

ALL = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
COLOURS = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    "resultTypes": ["violations"],
}

LONG = "Überlandzentrale-an-der-Elbe" * 2
OUTGROWN = """() => [...document.querySelectorAll("html, body *")].filter((part) => part.tagName === "HTML"
    ? part.scrollWidth > innerWidth
    : part.scrollWidth > part.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(part).overflowX)
).map((part) => `${part.tagName} ${part.className} by ${part.scrollWidth - part.clientWidth}`)"""
UNNAMED = """() => [...document.querySelectorAll("table.cards:not(.queue)")].flatMap((table) => {
    const heads = [...table.querySelectorAll("thead th")];
    const names = heads.map((cell) => cell.querySelector(".vh") ? "" : cell.innerText);
    return [...table.querySelectorAll("tbody tr")].flatMap((row) => [...row.children].filter((cell, place) =>
        place && cell.innerText && cell.colSpan === 1 && (cell.dataset.label ?? "") !== names[place]
    ).map((cell) => `${cell.dataset.label}: ${cell.innerText}`));
})"""

# A third of its time axe reads the words of colours, each of a page's few some hundred times.
REMEMBERED = """() => {
    const colour = axe.commons.color.Color, read = colour.prototype.parseString, known = new Map();
    colour.prototype.parseString = function (words) {
        if (!known.has(words)) known.set(words, read.call(new colour(0, 0, 0), words));
        const {r, g, b, alpha} = known.get(words);
        return Object.assign(this, {r, g, b, alpha});
    };
}"""
SAID = """async (rules) => (await axe.run(rules)).violations.flatMap((rule) =>
    rule.nodes.map((node) => [node.html, node.failureSummary]))"""
PALE = """<html lang="en"><title>Pale</title><main style="background: #fff"><h1>Pale</h1>
<p style="color: #999">one</p> <p style="color: rgb(0 0 0 / 40%)">two</p> <p style="color: #222">three</p>
<div style="background: hsl(210 60% 45%)"><p style="color: #999">four</p> five</div>
<div style="background: #888"><p style="background: rgb(255 255 255 / 50%); color: #555">six</p></div>
<p style="opacity: 0.5; color: #222">seven</p> <p style="color: color(srgb 0.7 0.7 0.7)">eight</p></main>"""


@pytest.fixture
def shop() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def pages(made: dict[str, Operation]) -> dict[str, str]:
    """Name the addresses of all pages."""
    addresses = {
        "today": "/",
        "since": "/since/?news=held",
        "queue": "/queue/",
        "empty-filter": "/queue/?view=late&state=pending",
        "grouped": "/queue/?group=cause",
        "filtered": "/queue/?state=completed&reason=several&least=100&text=Umgeni",
        "find": "/find/?q=Order",
        "find-nothing": "/find/?q=INV-9",
        "logout": "/accounts/logout/",
        "you": "/you/",
        "trail": "/trail/?by=all",
        "trail-nothing": "/trail/?who=nobody",
        "samples": f"/samples/?{days(currency='ZAR')}",
        "sample": f"/samples/{drawn(days(currency='ZAR'), way='value', size='5').uid}/?again=1",
        "access": "/access/",
        "duties": "/access/duties/",
        "rules": "/approvals/rules/",
        "entities": "/approvals/entities/",
    }
    addresses |= {name: f"/operations/{operation.uid}/?place=1" for name, operation in made.items()}
    addresses["send-again"] = f"/operations/{made['absent'].uid}/send-again/"
    addresses["send-again-refused"] = f"/operations/{made['refused'].uid}/send-again/"
    addresses["confirm-with-reference"] = f"/operations/{made['uncertain'].uid}/confirm-with-reference/"
    addresses["did-not-happen"] = f"/operations/{made['absent'].uid}/did-not-happen/"
    addresses["cancel"] = f"/operations/{made['pending'].uid}/cancel/"
    addresses["hidden"] = f"/operations/{made['absent'].uid}/hidden/"
    addresses["evidence"] = f"/operations/{made['absent'].uid}/evidence/"
    addresses["missing"] = "/nothing-here/"
    return addresses


def bulk(made: dict[str, Operation]) -> dict[str, str]:
    """Name the addresses of a list that nobody has confirmed, and of one that runs."""
    ann, picked = person("ann"), [operation.uid for operation in made.values()]
    preview, runs = (freeze(Action.CHECK, person=ann, chosen=Filter(), picked=picked) for _ in range(2))
    for one in (preview, runs):
        while read_more(one):
            pass
    start(runs, person=ann, reason="Monday’s look.", command_id=uuid.uuid4(), per_minute=60)
    return {"bulk-preview": f"/bulk/{preview.uid}/", "bulk-runs": f"/bulk/{runs.uid}/", "bulks": "/bulk/"}


def test_every_page_passes_axe_and_fits(durban: stories.Durban, windows: Windows) -> None:
    made = durban.every_state()
    page = windows.of("ann")
    wrong: list[str] = []
    for name, address in (pages(made) | bulk(made)).items():
        page.goto(address)
        unfold(page)
        wrong += [f"{name}, {line}" for line in looked_at(page, name)]
    windows.complaints[:] = [line for line in windows.complaints if "404" not in line]
    assert wrong == []
    page.goto("/")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("#decisions a").nth(1)).to_be_focused()


def test_a_paused_destination_passes_axe_and_is_resumed_without_script(
    durban: stories.Durban, windows: Windows
) -> None:
    waiting = durban.invoiced(412, "980.00", subject="Cargo & Kin")
    durban.tried(durban.invoiced(455, "7315.00"), stories.UNKNOWN_TO_THEM)
    ada, address = windows.of("ada", script=False), f"/pauses/{Pause.objects.get().uid}/"
    page = windows.of("ada")
    wrong: list[str] = []
    for name, shown in (
        ("paused-queue", "/queue/"),
        ("paused", f"/operations/{waiting.uid}/"),
        ("pause", address),
    ):
        page.goto(shown)
        wrong += [f"{name}, {line}" for line in looked_at(page, name)]
    assert wrong == []
    ada.goto(address)
    ada.get_by_label("Reason").fill("The new token is in place.")
    ada.get_by_role("button", name="Resume").click()
    expect(ada.get_by_role("heading", name="Durban Books was paused")).to_be_visible()
    page.goto(address)
    assert looked_at(page, "resumed") == []


def test_two_exports_are_compared_without_script_and_every_page_of_it_passes_axe(
    database: Database, windows: Windows
) -> None:
    """On an empty system it is the first thing to do."""
    plain, page = windows.of("ann", script=False), windows.of("ann")
    wrong: list[str] = []
    for name, shown in (("empty", "/"), ("compare", "/compare/")):
        page.goto(shown)
        wrong += [f"{name}, {line}" for line in looked_at(page, name)]
    plain.goto("/")
    plain.get_by_label("1 · What should exist").set_input_files(keeping.EXAMPLES / "shop.csv")
    plain.get_by_label("2 · What exists").set_input_files(keeping.EXAMPLES / "books.csv")
    plain.get_by_role("button", name="Read both files").click()
    page.goto("/compare/")
    expect(page.get_by_role("heading", name="Reading both files")).to_be_visible()
    (pk,) = Comparison.objects.values_list("pk", flat=True)
    assert tasks.compare(pk)
    expect(page.get_by_role("heading", name="Is this how to read them?")).to_be_visible()
    wrong += [f"read, {line}" for line in looked_at(page, "compare-read")]
    plain.get_by_role("link", name="Look again").click()
    plain.get_by_role("button", name="Compare", exact=True).click()
    assert tasks.compare(pk)
    plain.get_by_role("link", name="Look again").click()
    expect(plain.get_by_role("heading", name="Explained; 9 items in 7 differences")).to_be_visible()
    page.goto("/compare/")
    unfold(page)
    wrong += [f"done, {line}" for line in looked_at(page, "compare-done")]
    assert wrong == []


def test_the_sign_in_page_passes_axe_and_fits(windows: Windows) -> None:
    page = windows.of(None)
    page.goto("/queue/")
    assert looked_at(page, "login") == []


def test_no_page_outgrows_a_window_of_any_width(durban: stories.Durban, windows: Windows) -> None:
    made = durban.every_state()
    page = windows.of("ann")
    for name in ("queue", "several", "absent"):
        page.goto(pages(made)[name])
        unfold(page)
        for width in range(360, 1601, 80):
            page.set_viewport_size({"width": width, "height": 900})
            assert outgrown(page) == [], f"{name} at {width}"


def test_no_name_is_too_long_for_a_narrow_window(
    durban: stories.Durban, windows: Windows, shop: Receiver
) -> None:
    made = durban.every_state()
    waiting = durban.invoiced(913, "123456789012.34", subject=LONG)
    in_each_state(durban, shop)
    durban.tried(durban.invoiced(914, "7315.00"), stories.UNKNOWN_TO_THEM)
    lengthened()
    page, wrong = windows.of("ada", width=NARROW), []
    shown = pages(made | {"waiting": waiting})
    shown |= {"deliveries": "/deliveries/", "register": "/register/", "runs": "/runs/"}
    shown |= {"pause": f"/pauses/{Pause.objects.get().uid}/", "approvals": "/approvals/"}
    for name, address in shown.items():
        page.goto(address)
        unfold(page)
        keep(page, f"long-{name}")
        wrong += [f"{name}: {what}" for what in outgrown(page)]
    windows.complaints[:] = [line for line in windows.complaints if "404" not in line]
    assert wrong == []


def test_what_axe_remembers_of_colours_changes_nothing_that_it_finds(chromium: Browser) -> None:
    said = []
    for remembers in (False, True):
        with chromium.new_page() as page:
            page.set_content(PALE)
            page.evaluate(AXE_SCRIPT)
            if remembers:
                page.evaluate(REMEMBERED)
            said += [page.evaluate(SAID, COLOURS) for _ in range(2)]
    assert len(said[0]) == 7
    assert said == said[:1] * 4


def looked_at(page: Page, name: str) -> list[str]:
    """Say what is wrong with a page in both widths and both schemes; only colours depend on the scheme."""
    lines = [f"no name of its column: {cell}" for cell in unnamed(page)]
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": 900})
        lines += [f"{width}: {line}" for line in found(page, ALL)]
        keep(page, f"{name}-{width}-light")
        lines += [f"{width}: too wide: {what}" for what in outgrown(page)]
    page.emulate_media(color_scheme="dark")
    lines += [f"dark: {line}" for line in found(page, COLOURS)]
    keep(page, f"{name}-{NARROW}-dark")
    page.set_viewport_size({"width": WIDE, "height": 900})
    keep(page, f"{name}-{WIDE}-dark")
    page.emulate_media(color_scheme="light")
    return lines


def found(page: Page, rules: Mapping[str, object]) -> list[str]:
    """Say what axe finds."""
    # Half a megabyte, read once in a page and not once for each question.
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
        page.evaluate(REMEMBERED)
    violations = page.evaluate("async (rules) => (await axe.run(rules)).violations", rules)
    return [f"{wrong['id']}: {wrong['nodes'][0]['html'][:200]}" for wrong in violations]


def outgrown(page: Page) -> list[str]:
    """Name what is wider than its place: the page, or what scrolls sideways in it without a hint."""
    found: list[str] = page.evaluate(OUTGROWN)
    return found


def unnamed(page: Page) -> list[str]:
    """Name the cells that a narrow window would show without, or under another column's, name."""
    found: list[str] = page.evaluate(UNNAMED)
    return found


def lengthened() -> None:
    """Give what people name long names, without a place to break them."""
    for model, field in (
        (Destination, "title"),
        (Destination, "account"),
        (Destination, "entity"),
        (OperationType, "label"),
        (Webhook, "name"),
        (Plan, "name"),
        (History, "file_name"),
    ):
        for row in model.objects.all():
            setattr(row, field, f"{LONG}{row.pk}")
            row.save(update_fields=[field])
    for case in Case.objects.open():
        actions.assign(case.uid, actor="ann", team=f"{LONG}{case.pk}", to=LONG)


def unfold(page: Page) -> None:
    """Open all that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")


def keep(page: Page, name: str) -> None:
    """Keep a picture of the whole page where somebody asked for pictures."""
    folder = os.environ.get("SHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)
