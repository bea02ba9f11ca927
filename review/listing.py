"""A page of the queue as its template writes it: rows with their addresses, tabs, and the ways on."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from review import cursors, scaling
from review.counting import Counts, figure
from review.cursors import Cursor
from review.filters import VIEWS, Filter
from review.instants import instant
from review.place import carrier
from review.queue import LOOKED_THROUGH, SHOWN, Page, Queue
from review.row import Row
from review.row import listed as read


@dataclass(frozen=True)
class Listed:
    """One page: its rows, each with what its address carries along, and the pages before and after."""

    rows: list[tuple[Row, str]]
    first_number: int
    before: str
    after: str
    sought: str
    """Where it stopped looking before the page was full, in words; else empty."""


@dataclass(frozen=True)
class News:
    """How many have come in since the page was made: words, where they are, and where to ask again."""

    count: int
    words: str
    address: str
    poll: str


@dataclass(frozen=True)
class Tab:
    """One built-in view: its words, its address, how much it holds, and whether it is the present one."""

    words: str
    address: str
    figure: str
    current: bool


def listed(queue: Queue, page: Page, now: datetime, *, number: int) -> Listed:
    """Read a page whose first row has this number in its order; one query at most."""
    carry = carrier(queue.chosen, queue.at)
    rows = [
        (row, carry(entry.key, place) if row.operation is not None else "")
        for place, (row, entry) in enumerate(zip(read(page.entries, now), page.entries, strict=True), number)
    ]
    several = f"{LOOKED_THROUGH:,}".replace(",", "\u00a0")
    what = "operations" if queue.chosen.view == "latest" else "operations that wait for their turn"
    return Listed(
        rows=rows,
        first_number=number,
        before=_to(queue, "before", page.before, number=max(number - SHOWN, 1)),
        after=_to(queue, "after", page.after, number=number + len(rows)),
        sought=f"{several} more {what} were looked through for this page." if page.sought else "",
    )


def news(queue: Queue, now: datetime, *, ask: bool = True) -> News:
    """Say how many are new under the filter; one query, or none where nobody asks."""
    count = queue.new() if ask else 0
    many = f"{SHOWN}+" if count > SHOWN else str(count)
    address = queue.chosen.address
    where = urlencode({"at": cursors.written(queue.at), "new": count})
    return News(
        count=count,
        words=f"Show {many} new since {instant(queue.at, now)}",
        address=f"{reverse('queue')}?{address}" if address else reverse("queue"),
        poll=f"{reverse('queue')}?{'&'.join(part for part in (address, where) if part)}",
    )


def number(text: str) -> int:
    """Read the number of a page's first row; 1 for anything else."""
    return max(int(text), 1) if text.isascii() and text.isdecimal() and len(text) < 10 else 1


def head(counted: Counts) -> str:
    """Say how much asks for somebody."""
    person, late = counted.views["person"], counted.views["late"]
    needs, are = "needs" if person == 1 else "need", "is" if late == 1 else "are"
    what = f"{figure(person)} {needs} a person, {figure(late)} {are} late."
    snoozed = counted.views["snoozed"]
    if snoozed:
        are = "is" if snoozed == 1 else "are"
        what += f" {figure(snoozed)} {are} snoozed: counted in each tab, listed under Snoozed and Late."
    return f"{what} Each amount in its own currency; nothing is added across."


def scale(queue: Queue, counted: Counts) -> str:
    """Say by what amounts are compared, where the order compares them."""
    if queue.chosen.view == "latest" or queue.chosen.order not in ("risk", "amount"):
        return ""
    if queue.chosen.currency:
        return ""
    if queue.chosen.order == "amount":
        return "Ordered by the figures of each currency." if len(counted.currencies) > 1 else ""
    return scaling.words(queue.display, counted.currencies, queue.scale)


def tabs(chosen: Filter, counted: Counts) -> list[Tab]:
    """Return the built-in views."""
    return [
        Tab(
            words,
            chosen.at(view).address,
            figure(counted.views[view]) if view in counted.views else "",
            view == chosen.view,
        )
        for view, words in VIEWS.items()
    ]


def _to(queue: Queue, name: str, key: Cursor | None, *, number: int) -> str:
    if key is None:
        return ""
    where = urlencode({"at": cursors.written(queue.at), name: str(key), "n": number})
    parts = [part for part in (queue.chosen.address, where) if part]
    return f"{reverse('queue')}?{'&'.join(parts)}"
