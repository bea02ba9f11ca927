"""Reading a list to its end, page by page, or saying why that cannot be told."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

from ledger.destinations.connectors import steps
from ledger.destinations.connectors.base import IncompletePull, ListPage, Place
from ledger.destinations.connectors.steps import Page, Step
from ledger.rules.calls import COUNTED, Paging
from ledger.rules.records import search


@dataclass(frozen=True)
class Listing:
    """How a list is read: where it starts, how it goes on, where the items are, and how far at most."""

    url: httpx.URL
    paging: Paging
    items: str | None
    id: str
    max_pages: int
    max_items: int


@dataclass
class _Read:
    """How far a list was read; digests of ids stand for the items of the page before."""

    pages: int = 0
    items: int = 0
    distinct: int = 0
    total: int | None = None
    """How many items it had by its own count, on the first page that said so."""
    steps: set[Step] = field(default_factory=set)
    contents: set[bytes] = field(default_factory=set)
    first_page: list[bytes] = field(default_factory=list)
    before: list[bytes] = field(default_factory=list)


Fetch = Callable[[Step, int], Page]
"""Fetches one page, whose number counts from 0 with what is asked for first."""


def walk(listing: Listing, fetch: Fetch, *, place: Place | None = None) -> Iterator[ListPage]:
    """Yield each page and where the list goes on; raises IncompletePull where the end was not reached.

    From a place, it goes on after the page that had it; where nothing comes from there, it has not gone on,
    unless pages are counted: the one after the last is empty, and its number does not lose its meaning.
    """
    begun = (steps.first(listing.paging), _Read()) if place is None else _goes_on_at(place)
    step: Step | None = begun[0]
    read = begun[1]
    read.steps.add(Step(path=listing.url.raw_path.decode("ascii")))
    before = read.pages
    while step is not None:
        if read.pages >= listing.max_pages:
            raise IncompletePull(f"The list has more than {listing.max_pages} pages.")
        read.steps.add(step)
        page = fetch(step, read.pages - before)
        _refuse_broken_end(listing, page, read)
        items = [] if page.absent else items_of(page.body, listing)
        items = _after_overlap(listing, items, read)
        _refuse_restart(items, read)
        if place is not None and read.pages == before and not items and listing.paging.style not in COUNTED:
            raise IncompletePull("Nothing came where the list was to go on.")
        _count(listing, items, read)
        step, why = _following(listing, page, items, read)
        if items:
            yield ListPage(items, None if step is None else _place(step, read))
        if why:
            raise IncompletePull(why)


def _refuse_broken_end(listing: Listing, page: Page, read: _Read) -> None:
    """Refuse "no such" where the list said that it goes on: only numbers of ours can be past its end."""
    paging = listing.paging
    told = paging.style not in COUNTED or paging.more or paging.pages or paging.overlap
    if page.absent and read.pages and told:
        raise IncompletePull("The list was to go on, and what it goes on with is not there.")


def _following(listing: Listing, page: Page, items: list[object], read: _Read) -> tuple[Step | None, str]:
    """Return what is asked for next, None at the end, or why the list cannot be read to it."""
    if read.items > listing.max_items:
        return None, f"The list has more than {listing.max_items} items."
    reached = steps.Reached(read.pages, read.items, items[-1] if items else None, not items)
    try:
        step = None
        if not page.absent:
            _note_total(listing, page, read)
            step = steps.following(listing.paging, page, reached, url=listing.url, id=listing.id)
        if step is None:
            _refuse_short(read)
    except IncompletePull as error:
        return None, error.reason
    # All that there is so far is shared with the next page, which then begins where this one did.
    shared = 0 < read.items <= (listing.paging.overlap or 0)
    if step in read.steps and not shared:
        return None, "The list names a page as the next one that was read before."
    return step, ""


def _count(listing: Listing, items: list[object], read: _Read) -> None:
    """Count a page; an item that stood on the page before, because rows were pushed on, is no further one."""
    ids = [_digest(search(listing.id, item)) for item in items]
    read.pages += 1
    read.items += len(items)
    read.distinct += sum(one not in read.before for one in ids)
    read.before = (read.before + ids)[-max(len(ids), listing.paging.overlap or 1) :]


def _after_overlap(listing: Listing, items: list[object], read: _Read) -> list[object]:
    """Return a page without the items that it shares with the one before, which prove that no row moved."""
    overlap = min(listing.paging.overlap or 0, read.items, len(read.before))
    if not overlap:
        return items
    ids = [_digest(search(listing.id, item)) for item in items[:overlap]]
    if ids != read.before[-overlap:]:
        raise IncompletePull("The list moved while it was read: a page does not begin where the last ended.")
    return items[overlap:]


def _note_total(listing: Listing, page: Page, read: _Read) -> None:
    """Note how many items the list says it has; refuse fewer than before where rows have numbers."""
    if listing.paging.total is None:
        return
    total = steps.count(page.tells(listing.paging.total), "how many items there are")
    if read.total is not None and total < read.total and listing.paging.style in COUNTED:
        raise IncompletePull("Records went while the list was read, so that one may have been passed over.")
    read.total = total


def _refuse_short(read: _Read) -> None:
    if read.total is not None and read.distinct < read.total:
        raise IncompletePull(f"The list has {read.total} items by its own count, and {read.distinct} came.")


def _place(step: Step, read: _Read) -> Place:
    """Return what a later process needs to go on: no host, for its credentials go where its own rules say.

    A link of the destination's may carry a secret of its own: it is kept no longer than the list is read.
    """
    return {
        "path": step.path,
        "value": step.value,
        "pages": read.pages,
        "items": read.items,
        "distinct": read.distinct,
        "total": read.total,
        "first_page": [digest.hex() for digest in read.first_page],
        "before": [digest.hex() for digest in read.before],
    }


def _goes_on_at(place: Place) -> tuple[Step, _Read]:
    """Read where an earlier process was; one of an older version is begun anew."""
    try:
        read = _Read(
            pages=place["pages"],
            items=place["items"],
            distinct=place["distinct"],
            total=place["total"],
            first_page=[bytes.fromhex(digest) for digest in place["first_page"]],
            before=[bytes.fromhex(digest) for digest in place["before"]],
        )
        return Step(place["path"], place["value"]), read
    except (KeyError, TypeError, ValueError):
        raise IncompletePull("Where the list was to go on cannot be read.") from None


def items_of(body: object, listing: Listing) -> list[object]:
    """Return the items of an answer: a list, or a single record as a list of one; raises IncompletePull."""
    expression = listing.items
    found = search(expression, body) if expression is not None else body
    if isinstance(found, list):
        return found
    if isinstance(found, dict) and search(listing.id, found) is not None:
        return [found]
    place = f'"{expression}"' if expression is not None else "the answer"
    raise IncompletePull(
        f"There is no list at {place}{', and no record' if isinstance(found, dict) else ''}."
    )


def _refuse_restart(items: list[object], read: _Read) -> None:
    """Refuse a page that came before: a list that starts again is never read to its end.

    Pages may overlap by a row that an insert has pushed on; the first row, or half of a page, is no overlap.
    """
    if not items:
        return
    digests = [_digest(item) for item in items]
    whole = hashlib.sha256(b"".join(digests)).digest()
    again = sum(digest in read.first_page for digest in digests)
    if whole in read.contents or (
        read.first_page and (read.first_page[0] in digests or again * 2 > len(items))
    ):
        raise IncompletePull("The list started again instead of going on.")
    read.contents.add(whole)
    read.first_page = read.first_page or digests


def _digest(item: object) -> bytes:
    return hashlib.sha256(json.dumps(item, sort_keys=True, default=str).encode()).digest()[:16]
