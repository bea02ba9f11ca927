"""Where in the queue an operation stands: the next one opens in the same filter, at the same place."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from django.urls import reverse

from ledger.models import Operation
from review import queue
from review.filters import VIEWS, Filter


@dataclass(frozen=True)
class Place:
    """One operation among those of an address; it keeps its place when it has left the list."""

    filter: Filter
    number: int
    total: int
    here: bool
    before: UUID | None
    after: UUID | None

    @classmethod
    def of(cls, operation: Operation, query: Mapping[str, str], now: datetime) -> Self:
        """Find an operation in the address that was carried along; one query."""
        chosen = Filter.read(query)
        uids = list(queue.rows(chosen, now).values_list("uid", flat=True)[: queue.SHOWN])
        given = query.get("place", "")
        if operation.uid in uids:
            index, here = uids.index(operation.uid), True
        else:
            index, here = (
                min(int(given) - 1 if given.isdecimal() and given.isascii() else 0, len(uids)),
                False,
            )
        index = max(index, 0)
        following = uids[index + 1 if here else index :]
        return cls(
            filter=chosen,
            number=index + 1,
            total=len(uids),
            here=here,
            before=uids[index - 1] if index else None,
            after=following[0] if following else None,
        )

    @property
    def carry(self) -> str:
        """Return what every link of the page carries along, with its question mark."""
        return carry(self.filter, self.number)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Return the same for a form that asks by GET."""
        return parse_qsl(self.carry.removeprefix("?"))

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
        """The operation before; empty where there is none."""
        return self._to(self.before, self.number - 1)

    @property
    def next_url(self) -> str:
        """The operation after; empty where there is none."""
        return self._to(self.after, self.number + 1 if self.here else self.number)

    def _to(self, uid: UUID | None, number: int) -> str:
        return f"{reverse('operation', args=[uid])}{carry(self.filter, number)}" if uid else ""


def carry(chosen: Filter, number: int) -> str:
    """Return the query that an operation's address carries: filter and place."""
    place = urlencode({"place": number})
    return f"?{chosen.address}&{place}" if chosen.address else f"?{place}"
