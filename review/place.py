"""Where in the queue an operation stands: the next one opens in the same filter, at the same place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Self
from urllib.parse import parse_qsl, quote_plus

from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from ledger.models import Operation
from review import cursors, queue
from review.cursors import Cursor
from review.filters import VIEWS, Filter, Reader


@dataclass(frozen=True)
class Neighbour:
    """The row before or after, its address without what is carried, and its key."""

    address: str
    key: Cursor


@dataclass(frozen=True)
class Place:
    """One operation among those of an address; it keeps its place when it has left the list."""

    filter: Filter
    at: datetime
    key: Cursor | None
    number: int
    """Its number in the list; 0 where it was not opened from one."""
    here: bool
    before: Neighbour | None
    after: Neighbour | None

    @classmethod
    def of(cls, operation: Operation, query: Mapping[str, str], now: datetime, *, reader: Reader) -> Self:
        """Find an operation in the address that was carried along, by the same few queries."""
        chosen, at = Filter.read(query, reader), cursors.instant(query.get("at", ""), now)
        asked = queue.Queue(chosen, at)
        key = asked.key(operation)
        here, key = key is not None, key or Cursor.read(query.get("key", ""))
        given = query.get("place", "")
        before, after = asked.beside(key)
        known = queue.addresses([*before, *after])
        rows = [
            next((Neighbour(known[one], one) for one in near if one in known), None)
            for near in (before, after)
        ]
        number = int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0
        return cls(chosen, at, key, number, here, *rows)

    @cached_property
    def carry(self) -> str:
        """Return what every link of the page carries along, with its question mark."""
        return carry(self.filter, self.at, self.key, self.number)

    @cached_property
    def fields(self) -> SafeString:
        """Return the same for a form that asks by GET; a page has a form for each button."""
        carried = parse_qsl(self.carry.removeprefix("?"))
        return format_html_join("", '<input type="hidden" name="{}" value="{}">', carried)

    @property
    def back(self) -> str:
        """Return the address of the queue that this page was opened from."""
        address = self.filter.address
        return f"{reverse('queue')}?{address}" if address else reverse("queue")

    @property
    def words(self) -> str:
        """Name the queue that this page was opened from."""
        narrowed = ", filtered" if self.filter.narrowed else ""
        return f"Queue, {VIEWS[self.filter.view].lower()}{narrowed}"

    @property
    def previous_url(self) -> str:
        """The row before; empty where there is none."""
        return self._to(self.before, max(self.number - 1, 0))

    @property
    def next_url(self) -> str:
        """The row after; empty where there is none."""
        return self._to(self.after, self.number + 1 if self.here and self.number else self.number)

    def _to(self, row: Neighbour | None, number: int) -> str:
        return carried(row.address, carry(self.filter, self.at, row.key, number)) if row else ""


def carried(address: str, query: str) -> str:
    """Return a row's address with what it carries along: before its fragment, after what it asks already."""
    path, mark, fragment = address.partition("#")
    return f"{path}{query.replace('?', '&', 1) if '?' in path else query}{mark}{fragment}"


def carry(chosen: Filter, at: datetime, key: Cursor | None, number: int) -> str:
    """Return the query that a row's address carries: filter, instant, key and place."""
    return carrier(chosen, at)(key, number)


def carrier(chosen: Filter, at: datetime) -> Callable[[Cursor | None, int], str]:
    """Return what writes that query for each row of a page, whose filter and instant are written once."""
    address = chosen.address
    start = f"?{address}{'&' if address else ''}at={cursors.written(at)}"

    def written(key: Cursor | None, number: int) -> str:
        where = f"&key={quote_plus(str(key))}" if key else ""
        return f"{start}{where}{f'&place={number}' if number else ''}"

    return written
