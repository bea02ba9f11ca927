"""Reading a list to its end, page by page, or saying why that cannot be told."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

from ledger.destinations.connectors.base import IncompletePull, ListPage, Place
from ledger.rules.calls import Paging
from ledger.rules.records import search

COUNTED = frozenset({"page", "offset"})
"""Styles whose places are numbers of our own."""

_LINK = re.compile(r"<([^>]*)>([^<]*)")
_REL_NEXT = re.compile(r";\s*rel\s*=\s*(?:\"[^\"]*\bnext\b[^\"]*\"|next\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Page:
    """One answer of a list: its headers by lower-case name, its decoded body; `absent`: it said "no such"."""

    headers: dict[str, str]
    body: object
    absent: bool = False


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
    """How far a list was read."""

    pages: int = 0
    items: int = 0
    places: set[str] = field(default_factory=set)
    contents: set[bytes] = field(default_factory=set)
    first_page: list[bytes] = field(default_factory=list)


Fetch = Callable[[httpx.URL, int], Page]
"""Fetches one page, whose number counts from 0 with what is asked for first."""


def walk(listing: Listing, fetch: Fetch, *, place: Place | None = None) -> Iterator[ListPage]:
    """Yield each page and where the list goes on; raises IncompletePull where the end was not reached.

    From a place, it goes on after the page that had it; where nothing comes from there, it has not gone on,
    unless pages are counted: the one after the last is empty, and its number does not lose its meaning.
    """
    read = _Read() if place is None else _read_before(place)
    url: httpx.URL | None = _first(listing) if place is None else _at(listing, place)
    before = read.pages
    while url is not None:
        if read.pages >= listing.max_pages:
            raise IncompletePull(f"The list has more than {listing.max_pages} pages.")
        read.places.add(str(url))
        page = fetch(url, read.pages - before)
        items = [] if page.absent else items_of(page.body, listing.items)
        _refuse_restart(items, read)
        if place is not None and read.pages == before and not items and listing.paging.style not in COUNTED:
            raise IncompletePull("Nothing came where the list was to go on.")
        read.pages += 1
        read.items += len(items)
        url, why = _following(listing, page, items, read)
        if items:
            yield ListPage(items, None if url is None else _place(url, read))
        if why:
            raise IncompletePull(why)


def _following(
    listing: Listing, page: Page, items: list[object], read: _Read
) -> tuple[httpx.URL | None, str]:
    """Return the address of the next page, None at the end, or why the list cannot be read to it."""
    if read.items > listing.max_items:
        return None, f"The list has more than {listing.max_items} items."
    try:
        url = None if page.absent else _next(listing, page, items, read)
    except IncompletePull as error:
        return None, error.reason
    if url is not None and str(url) in read.places:
        return None, "The list names a page as the next one that was read before."
    return url, ""


def _place(url: httpx.URL, read: _Read) -> Place:
    """Return what a later process needs to go on: no host, for its credentials go where its own rules say.

    A link of the destination's may carry a secret of its own: it is kept no longer than the list is read.
    """
    return {
        "path": url.raw_path.decode("ascii"),
        "pages": read.pages,
        "items": read.items,
        "first_page": [digest.hex() for digest in read.first_page],
    }


def _read_before(place: Place) -> _Read:
    first_page = [bytes.fromhex(digest) for digest in place["first_page"]]
    return _Read(pages=place["pages"], items=place["items"], first_page=first_page)


def _at(listing: Listing, place: Place) -> httpx.URL:
    return listing.url.copy_with(raw_path=place["path"].encode("ascii"))


def items_of(body: object, expression: str | None) -> list[object]:
    """Return the items of an answer: a list, or a single object as a list of one; raises IncompletePull."""
    found = search(expression, body) if expression is not None else body
    if isinstance(found, list):
        return found
    if isinstance(found, dict):
        return [found]
    place = f'"{expression}"' if expression is not None else "the answer"
    raise IncompletePull(f"There is no list at {place}.")


def _first(listing: Listing) -> httpx.URL:
    paging = listing.paging
    if paging.style == "page":
        return _with(listing.url, paging, paging.first)
    if paging.style == "offset":
        return _with(listing.url, paging, 0)
    return listing.url


def _next(listing: Listing, page: Page, items: list[object], read: _Read) -> httpx.URL | None:
    """Return the address of the next page, None at the end."""
    paging = listing.paging
    match paging.style:
        case "none":
            return None
        case "cursor":
            cursor = _token(search(paging.next, page.body))
            return _with(listing.url, paging, cursor) if cursor else None
        case "link":
            return _linked(listing, page)
        case "page":
            # A page shorter than asked for proves nothing: sizes are capped without a word.
            return _with(listing.url, paging, paging.first + read.pages) if items else None
        case "offset":
            return _with(listing.url, paging, read.items) if items else None
        case "last_id":
            return _after_last(listing, page, items)


def _after_last(listing: Listing, page: Page, items: list[object]) -> httpx.URL | None:
    more = search(listing.paging.more, page.body)
    if not isinstance(more, bool):
        raise IncompletePull("The answer does not say whether there is more.")
    if not more:
        return None
    last = _token(search(listing.paging.next or listing.id, items[-1])) if items else ""
    if not last:
        raise IncompletePull("There is more, and no last id to go on from.")
    return _with(listing.url, listing.paging, last)


def _linked(listing: Listing, page: Page) -> httpx.URL | None:
    if listing.paging.next == "header":
        target = _link_header(page.headers.get("link", ""))
    else:
        target = _token(search(listing.paging.next, page.body))
    if not target:
        return None
    try:
        url = listing.url.join(target)
    except httpx.InvalidURL:
        raise IncompletePull("The list names an address that cannot be read.") from None
    # Our credentials go with the request: no other host may ask for it.
    if (url.scheme, url.host, url.port) != (listing.url.scheme, listing.url.host, listing.url.port):
        raise IncompletePull("The list goes on at another host, which is not asked.")
    return url


def _link_header(value: str) -> str:
    """Return the target of rel=next (RFC 8288), or nothing."""
    links = _LINK.findall(value)
    return next((target for target, parameters in links if _REL_NEXT.search(parameters)), "")


def _token(value: object) -> str:
    if value is None or value is False or value == "":
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise IncompletePull("What names the next page is neither text nor a number.")
    return str(value)


def _with(url: httpx.URL, paging: Paging, value: object) -> httpx.URL:
    assert paging.parameter is not None  # Paging checks it for the styles that need it
    return url.copy_set_param(paging.parameter, str(value))


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
