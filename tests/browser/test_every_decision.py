"""Each thing that cannot be undone: by mouse, by keys alone, without script; a new one without a row fails.

| by    | script | how                                                               |
|-------|--------|-------------------------------------------------------------------|
| mouse | on     | links, buttons and fields, as they stand there                    |
| keys  | on     | Tab until it is reached and seen to be; then Enter, Space, letters |
| forms | off    | the same links, buttons and fields                                |

Each is done in a scene of its own, by somebody whose it is, from a page that leads there. The database then
holds the events of one such act by them, with their reason, and no console complains.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ledger.models import Event
from review.urls import urlpatterns
from tests.browser.conftest import Windows
from tests.browser.flows.of_operations import OF_MANY, OF_OPERATIONS, OPERATION
from tests.browser.flows.of_people import OF_PEOPLE, OF_RULES
from tests.browser.flows.of_runs import OF_DIFFERENCES, OF_PERIODS, OF_RUNS, OF_SIGNATURES, Scenery
from tests.browser.flows.rows import Row
from tests.browser.hands import Hand, Keys
from tests.databases import Clock
from tests.people import ROLES, person
from tests.review.test_every_door import DOORS
from tests.sandboxes import Sandbox, running_sandbox

ROWS = OF_OPERATIONS + OF_MANY + OF_PEOPLE + OF_RULES + OF_RUNS + OF_DIFFERENCES + OF_SIGNATURES + OF_PERIODS
WAYS = {"mouse": (Hand, True), "keys": (Keys, True), "forms": (Hand, False)}
HARMLESS = {
    "seen/": "a mark of one's own",
    f"{OPERATION}check/": "asks the destination; may be asked again",
    "runs/histories/<uuid:uid>/check/": "asks the destination; may be asked again",
    "cases/<uuid:uid>/assign/": "assigned anew by the next click",
    "cases/<uuid:uid>/snooze/": "woken by the next click",
    "cases/<uuid:uid>/wake/": "snoozed again by the next click",
    "views/": "deleted by the next click",
    "views/<uuid:uid>/delete/": "an address under a name, saved again from the page that it leads to",
    "bulk/freeze/": "a preview, which does nothing",
    "runs/differences/return/": "owners and comments, which the next file or click changes",
    "compare/": "files of one's own, read and not kept",
    "compare/columns/": "files of one's own, read and not kept",
    "compare/example/": "files of one's own, read and not kept",
    "compare/keep/": "a sealed copy of one's own files, which goes by itself at its day",
    "compare/forget/": "files of one's own, which are dropped again",
    "you/": "chosen anew",
    "you/digest/": "chosen anew",
    "notices/read/": "a mark of one's own",
    "accounts/security/": "shows, and takes no form",
}
"""What takes a form and can be put right by the next click, or does nothing but look."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """Durban Books at work; each scene has orders of its own there."""
    with running_sandbox(tmp_path_factory.mktemp("shop")) as running:
        yield running


@pytest.fixture
def scenery(clock: Clock, tmp_path: Path, shop: Sandbox) -> Scenery:
    """Where the scenes are; everybody is there."""
    for name in ROLES:
        person(name)
    return Scenery(clock, tmp_path, shop=shop)


def test_whatever_takes_a_form_stands_in_the_table_or_is_put_right_by_the_next_click() -> None:
    here = {str(one.pattern) for one in urlpatterns}
    taken = {route for route, door in DOORS.items() if route in here and (door.may or door.own)}
    rows = {row.route for row in ROWS}
    assert rows | set(HARMLESS) == taken
    assert not rows & set(HARMLESS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_it_is_done_by_mouse_by_keys_and_without_script(row: Row, scenery: Scenery, windows: Windows) -> None:
    pages = {script: windows.of(row.who, script=script) for script in (True, False)}
    for way, (hand, script) in WAYS.items():
        address, form = row.scene(scenery, row.who)
        before = Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        row.do(hand(pages[script], row.begins(address)), form)
        expect(pages[script].locator("main"), way).to_contain_text(row.says)
        made = list(Event.objects.filter(pk__gt=before, actor=row.who).order_by("pk"))
        assert [one.kind for one in made] == row.kinds.split(), way
        assert [one.reason for one in made[:1]] == [row.reason][: len(made)], way
        assert row.gone(form), way
