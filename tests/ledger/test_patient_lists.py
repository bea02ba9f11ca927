"""A list that is told to wait comes again, within its budget, and reads on where it was.

| an answer to a page                        | the list                                                     |
|--------------------------------------------|--------------------------------------------------------------|
| 429 or 503 with Retry-After                | asks for the same page again after that                      |
| 429 without it                             | pauses half a second, and twice as long each further time    |
| 503 without it, any other status           | is not whole                                                 |
| asks for longer than a list waits          | is not whole, at once                                        |
| its rate, of what no destination stands for | calls keep their distance                                   |
"""

from typing import Any

import pytest

from ledger.destinations import pacing
from ledger.destinations.connectors import http
from ledger.destinations.connectors.base import IncompletePull, ListPage, Target
from ledger.destinations.connectors.http import HttpConnector
from ledger.destinations.pacing import NoRoom, OwnTurns
from ledger.rules.connections import Connection
from tests.ledger.test_http_lists import PAGES, by_cursor, listing, scripted
from tests.ledger.wires import connector, serving

BUSY: dict[str, Any] = {"error": "slow down"}


class Slept:
    """A clock that only sleep moves on."""

    def __init__(self) -> None:
        self.now, self.each = 1000.0, list[float]()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.each += [seconds] if seconds else []
        self.now += seconds


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Slept:
    clock = Slept()
    monkeypatch.setattr(http, "time", clock)
    monkeypatch.setattr(pacing, "time", clock)
    return clock


def pulled(*busy: tuple[str, ...]) -> list[ListPage]:
    """List from what answers so before its second page."""
    left = list(busy)

    def answer(path: str, query: dict[str, str]) -> object:
        if "cursor" in query and left:
            status, *headers = left.pop(0)
            return (status, BUSY, *headers)
        return by_cursor(path, query)

    with serving(scripted(answer)) as wire:
        return list(connector(wire.url).pages(listing()))


def test_a_page_is_asked_for_again_after_as_long_as_it_says(slept: Slept) -> None:
    pages = pulled(("429 Slow", "Retry-After: 7"), ("503 Busy", "Retry-After: 30"))
    assert [page.items for page in pages] == PAGES and slept.each == [7, 30]


def test_without_a_time_each_pause_is_twice_the_one_before(slept: Slept) -> None:
    pages = pulled(*[("429 Slow",)] * 4)
    assert [page.items for page in pages] == PAGES and slept.each == [0.5, 1, 2, 4]


def test_a_list_waits_no_longer_than_its_budget(slept: Slept) -> None:
    with pytest.raises(IncompletePull, match=r"status 429\. It asks to wait for longer than a list waits"):
        pulled(("429 Slow", "Retry-After: 151"))
    assert slept.each == []
    with pytest.raises(IncompletePull, match="for longer than a list waits"):
        pulled(*[("429 Slow", "Retry-After: 60")] * 9)
    assert slept.each == [60, 60]


def test_a_failure_that_asks_for_nothing_is_not_asked_again(slept: Slept) -> None:
    for status in ("503 Down", "500 No"):
        with pytest.raises(IncompletePull, match=rf"answered with status {status[:3]}\.$"):
            pulled((status,))
    with pytest.raises(IncompletePull):
        pulled(("500 No", "Retry-After: 1"))
    assert slept.each == []


def test_a_source_is_called_as_often_as_its_rate_and_left_alone_when_it_asks(slept: Slept) -> None:
    turns = OwnTurns("Web shop", 4)
    with serving(scripted(by_cursor)) as wire:
        target = Target("invoices", "Web shop", "", Connection(base_url=wire.url), turns)
        assert len(list(HttpConnector(target).pages(listing()))) == len(PAGES)
    assert slept.each == [0.25] * (len(PAGES) - 1)
    turns.mind(100)
    with pytest.raises(NoRoom, match="Web shop has asked to wait"), turns.room(wait_s=99):
        pass
