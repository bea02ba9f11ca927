"""A destination that moves while its list is read: it inserts, edits, voids, deletes, and shows records late.

What is done between two pages is drawn from a seed. The list goes its own way of paging, and is walked by the
product's own code (`paging.walk`), as an HTTP list would be.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx

from ledger.destinations.connectors import paging
from ledger.destinations.connectors.base import ListPage, ListRequest, Looked, LookRequest, Target
from ledger.destinations.connectors.steps import Page, Step
from ledger.rules.calls import Paging
from ledger.rules.outcomes import Answer

PAGE = 3
MADE = datetime.now(UTC) - timedelta(days=2)
"""When all records were made, whenever they are shown."""
TOMBS = "a cursor over the last change, with what is deleted"
CHANGES = ("a cursor over the last change", TOMBS)
WAYS = {
    **dict.fromkeys(CHANGES, Paging(style="cursor", next="next", parameter="cursor")),
    "after the last id": Paging(style="last_id", parameter="after", more="more"),
    "an offset with an overlap": Paging(style="offset", parameter="offset", overlap=2),
}


@dataclass(frozen=True)
class Row:
    """A record as the destination holds it."""

    id: str
    key: str
    amount: int
    status: str = "open"
    changed: int = 0
    shown: bool = True
    """The list shows it; a look-up does in any case."""
    gone: bool = False
    """It is there no more; a list that tells of it has no more than its id."""

    def listed(self) -> dict[str, Any]:
        """Write it as the destination lists it."""
        if self.gone:
            return {"id": self.id, "gone": True}
        return {
            "id": self.id,
            "metadata": {"operation": self.key},
            "total": f"{self.amount}.00",
            "currency": "ZAR",
            "status": self.status,
            "created_at": MADE.isoformat(),
        }


@dataclass
class Moving:
    """What the destination holds, what it ever held, and what becomes of it between two pages."""

    dice: random.Random = field(default_factory=random.Random)
    way: str = "a cursor over the last change"
    rows: dict[str, Row] = field(default_factory=dict)
    graves: dict[str, Row] = field(default_factory=dict)
    """What was deleted, where the list tells of that."""
    versions: dict[str, set[tuple[Decimal | None, str]]] = field(default_factory=dict)
    always: set[str] = field(default_factory=set)
    """Ids of records that were there, and shown, all the time since the list was begun."""
    there: set[str] = field(default_factory=set)
    """Ids of those that were there all the time, shown or not."""
    ticks: int = 0
    calm: bool = False
    acts: int = 0

    def put(self, row: Row) -> None:
        """Hold a record as it is now."""
        self.ticks += 1
        self.rows[row.id] = replace(row, changed=self.ticks)
        self.versions.setdefault(row.id, set()).add((Decimal(row.amount), row.status))

    def bury(self, row: Row) -> None:
        """Hold a record no more."""
        del self.rows[row.id]
        if self.way == TOMBS:
            self.ticks += 1
            self.graves[row.id] = replace(row, gone=True, shown=True, changed=self.ticks)
            self.versions[row.id].add((None, "deleted"))

    def begin(self) -> None:
        """Begin to be watched: from now on, what stays was always there."""
        self.there = set(self.rows)
        self.always = {row.id for row in self.rows.values() if row.shown}

    def move(self) -> None:
        """Do something, or a few things."""
        for _ in range(self.dice.choice((0, 1, 1, 2, 4))):
            self.acts += 1
            row = self.dice.choice(sorted(self.rows.values(), key=lambda one: one.id)) if self.rows else None
            match self.dice.choice(("insert", "edit", "void", "delete", "show")):
                case "edit" if row is not None:
                    self.put(replace(row, amount=row.amount + 1))
                case "void" if row is not None:
                    self.put(replace(row, status="void"))
                case "delete" if row is not None:
                    self.bury(row)
                    self.always.discard(row.id)
                    self.there.discard(row.id)
                case "show" if row is not None:
                    # It appears where it belongs by its old place, behind a cursor that has passed it.
                    self.rows[row.id] = replace(row, shown=True)
                case _:
                    number = 1 + len(self.versions)
                    shown = self.dice.random() < 0.8
                    self.put(Row(f"INV-{number:04}", f"nobody/{number}", 7, shown=shown))

    def fetch(self, step: Step, number: int) -> Page:
        """Give out a page, by its own way of paging."""
        if number and not self.calm:
            self.move()
        shown = [row for row in (*self.rows.values(), *self.graves.values()) if row.shown]
        body: dict[str, Any] = {}
        if self.way in CHANGES:
            shown = [row for row in sorted(shown, key=_changed) if row.changed > int(step.value or 0)]
            body["next"] = str(shown[PAGE - 1].changed) if len(shown) > PAGE else None
        elif self.way == "after the last id":
            shown = [row for row in sorted(shown, key=_id) if row.id > str(step.value or "")]
            body["more"] = len(shown) > PAGE
        else:
            shown = sorted(shown, key=_id)[int(step.value or 0) :]
        # Two of a page that overlaps were on the one before.
        size = PAGE + 2 if self.way == "an offset with an overlap" else PAGE
        return Page({}, body | {"data": [row.listed() for row in shown[:size]]})


def _changed(row: Row) -> int:
    return row.changed


def _id(row: Row) -> str:
    return row.id


NOW_THERE = Moving()


class Connector:
    """A connector by Python path to NOW_THERE, which the test fills."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def send(self, request: object) -> Answer:
        return Answer("not_sent", detail="It takes nothing.")

    def look_up(self, request: LookRequest) -> Looked:
        key = request.values["key"]
        return Looked(tuple(row.listed() for row in NOW_THERE.rows.values() if row.key == key), complete=True)

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        url = httpx.URL("http://books.test/invoices")
        listing = paging.Listing(url, WAYS[NOW_THERE.way], "data", "id", 1000, 10_000)
        yield from paging.walk(listing, NOW_THERE.fetch, place=request.place)
