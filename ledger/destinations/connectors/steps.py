"""Where a list goes on after a page, by its style and by what the destination says; nothing is guessed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from ledger.destinations.connectors.base import IncompletePull
from ledger.rules.calls import HEADER, Paging
from ledger.rules.records import search

_LINK = re.compile(r"<([^>]*)>([^<]*)")
_REL_NEXT = re.compile(r";\s*rel\s*=\s*(?:\"[^\"]*\bnext\b[^\"]*\"|next\b)", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True)
class Step:
    """What is asked for: an address at the same host, or a value in the question; neither may be at first."""

    path: str | None = None
    value: str | int | None = None


@dataclass(frozen=True)
class Page:
    """One answer of a list: headers by lower-case name, decoded body; `absent`: the status that said so."""

    headers: Mapping[str, str]
    body: object
    absent: int | None = None

    def tells(self, expression: str | None) -> object:
        """Return what stands at an expression over the body, or in a header; None where nothing does."""
        if expression is not None and expression.startswith(HEADER):
            return self.headers.get(expression.removeprefix(HEADER).strip().lower())
        return search(expression, self.body)


@dataclass(frozen=True)
class Reached:
    """How far a list was read with a page: pages and items so far, and the last item of this one."""

    pages: int
    items: int
    last: object
    empty: bool


def first(paging: Paging) -> Step:
    """Return what a list is asked for first."""
    begin = {"page": 1, "offset": 0}.get(paging.style)
    return Step(value=begin if paging.first is None else paging.first)


def following(paging: Paging, page: Page, reached: Reached, *, url: httpx.URL, id: str) -> Step | None:
    """Return what to ask for after a page, None at the end; raises IncompletePull where neither is known."""
    more = None if paging.more is None else _truth(page.tells(paging.more))
    if more is False:
        return None
    match paging.style:
        case "none":
            step = None
        case "page":
            step = _counted_page(paging, page, reached)
        case "offset":
            start = int(paging.first or 0) + reached.items - (paging.overlap or 0)
            step = None if reached.empty else Step(value=max(start, int(paging.first or 0)))
        case "last_id":
            last = None if reached.last is None else _token(search(paging.next or id, reached.last))
            step = None if last is None else Step(value=last)
        case "link":
            step = _linked(paging, page, url)
        case _:
            cursor = _token(page.tells(paging.next))
            step = None if cursor is None else Step(value=cursor)
    if more and step is None:
        what = "no last id to go on from" if paging.style == "last_id" else "nothing to go on from"
        raise IncompletePull(f"There is more, and {what}.")
    return step


def _counted_page(paging: Paging, page: Page, reached: Reached) -> Step | None:
    number = int(paging.first if paging.first is not None else 1) + reached.pages
    if paging.pages is not None:
        of = count(page.tells(paging.pages), "how many pages there are")
        if reached.empty and max(of, reached.pages) > 1:
            raise IncompletePull(f"There are {of} pages by its own count, and one of them was empty.")
        return None if reached.pages >= of else Step(value=number)
    # A page shorter than asked for proves nothing: sizes are capped without a word.
    return None if reached.empty and paging.more is None else Step(value=number)


def count(value: object, what: str) -> int:
    """Read a number that a list says of itself, as digits in a header, too; raises IncompletePull."""
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise IncompletePull(f"The answer does not say {what}.")
    return value


def _truth(value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise IncompletePull("The answer does not say whether there is more.")
    return value


def _linked(paging: Paging, page: Page, url: httpx.URL) -> Step | None:
    if paging.next == "header":
        target: object = _link_header(page.headers.get("link", ""))
    else:
        target = page.tells(paging.next)
    target = _token(target)
    if target is None:
        return None
    try:
        address = url.join(str(target))
    except httpx.InvalidURL:
        raise IncompletePull("The list names an address that cannot be read.") from None
    # Our credentials go with the request: no other host may ask for it.
    if (address.scheme, address.host, address.port) != (url.scheme, url.host, url.port):
        raise IncompletePull("The list goes on at another host, which is not asked.")
    return Step(path=address.raw_path.decode("ascii"))


def _link_header(value: str) -> str:
    """Return the target of rel=next (RFC 8288), or nothing."""
    links = _LINK.findall(value)
    return next((target for target, parameters in links if _REL_NEXT.search(parameters)), "")


def _token(value: object) -> str | int | None:
    if value is None or value is False or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise IncompletePull("What names the next page is neither text nor a number.")
    return value
