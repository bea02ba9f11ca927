"""What goes on paper: nothing cut off, no way to go on, black on white, and where it comes from."""

from pathlib import Path

from tests.browser.conftest import Windows
from tests.browser.flows.of_people import sealed
from tests.browser.test_looks import keep
from tests.databases import Clock
from tests.reconcile.books import HELD, Books, key_of, record
from tests.review import test_every_door as doors
from tests.review.test_every_door import DOORS, OPERATION, Place

A4_PX = 680
"""The width of a sheet without its margins of 15 mm, at 96 px an inch."""
SHOWN = """
    const wide = (part) => part.getBoundingClientRect().width > 1;
    const shown = (part) => part.checkVisibility() && !part.closest(".vh") && wide(part);
    const all = (which) => [...document.querySelectorAll(which)].filter(shown);
    const named = (part) => `${part.tagName} ${part.className.baseVal ?? part.className}`;
"""
CUT = """
    return all("body *:not(svg *)").filter((part) => part.getBoundingClientRect().right > innerWidth + 1
        || part.clientWidth && part.scrollWidth > part.clientWidth + 1
            && getComputedStyle(part).overflowX !== "visible").map(named);
"""
LEADS_ON = """
    const ways = "nav, header.top, .keys, dialog, .btn, button, input, select, textarea";
    return all(`${ways}, [download], [href$=json]`).map(named);
"""
COLOURED = """
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const brightest = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [red, green, blue, ink] = canvas.getImageData(0, 0, 1, 1).data;
        return ink ? Math.max(red, green, blue) : null;
    };
    const written = (part) => [...part.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    const wrong = (part) => written(part) && brightest(getComputedStyle(part).color) > 0x40
        || (brightest(getComputedStyle(part).backgroundColor) ?? 255) < 255;
    return all("body, body *").filter(wrong).map(named);
"""


def test_what_is_printed_is_whole_black_on_white_and_says_where_it_comes_from(
    clock: Clock, windows: Windows, tmp_path: Path
) -> None:
    place = Place(clock, tmp_path)
    evidence = DOORS[f"{OPERATION}evidence/"].scene(place, "ira")[0]
    sealed(place, "ira")
    printed = {"evidence": evidence, "sample": doors.drawn(place, "ira")[0], "duties": "/access/duties/"}
    HELD.pages = [[record(1, key=key_of("x1"), total="20000.00"), record(2, key=key_of("x2"))]]
    run = Books.configured(tmp_path).run()[0]
    printed |= {"run": f"/runs/{run.uid}/"}
    printed |= {"difference": f"/runs/{run.uid}/differences/{run.findings.earliest('pk').pk}/"}
    page, wrong = windows.of("ira", width=A4_PX, scheme="dark"), []
    page.emulate_media(media="print")
    for name, address in printed.items():
        page.goto(address)
        keep(page, f"{name}-paper")
        told = page.locator("footer").inner_text()
        if any(
            part not in told
            for part in (
                address,
                "Printed for ira",
                f"as of {clock.now().day} {clock.now():%b %Y}",
                "Times in",
            )
        ):
            wrong.append(f"{name}: whence it comes is not said: {told}")
        for what, asked in (("cut off", CUT), ("leads on", LEADS_ON), ("coloured", COLOURED)):
            wrong += [f"{name}: {what}: {one}" for one in page.evaluate(f"() => {{ {SHOWN} {asked} }}")]
    assert wrong == []
