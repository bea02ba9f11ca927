"""The trail as it was searched, to keep: as a table and as JSON, with where it comes from in front."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ledger.models import Event
from reconcile import tables
from review import trail_page
from review.evidence.parts import plain

MOST = 10_000
"""Events in one file; where there are more, it says so."""
COLUMNS = (
    "event",
    "at",
    "actor",
    "kind",
    "did",
    "reason",
    "state_from",
    "state_to",
    "operation",
    "operation_id",
    "about",
)


def about(page: trail_page.Page, *, author: str, now: datetime) -> tables.About:
    """Say where it comes from, and whether it is all of it."""
    return tables.About(
        what="Trail",
        asked=page.chosen.words,
        as_of=now,
        author=author,
        count=len(page.events),
        more={
            "complete": "no: earlier ones were left out" if page.older else "yes",
            "seal": str(page.seal or "none yet"),
        },
    )


def table(page: trail_page.Page, *, author: str, now: datetime) -> tables.Table:
    """Return the events as a table, the latest first."""
    rows = (tuple(row.values()) for row in _rows(page))
    return tables.Table(about(page, author=author, now=now), COLUMNS, rows)


def document(page: trail_page.Page, *, author: str, now: datetime) -> dict[str, Any]:
    """Return the same as JSON has it, with what each event carries."""
    events = [
        {name: plain(value) for name, value in row.items()} | {"data": event.data}
        for row, event in zip(_rows(page), page.events, strict=True)
    ]
    return {"about": about(page, author=author, now=now).document, "events": events}


def _rows(page: trail_page.Page) -> Iterator[dict[str, Any]]:
    for row in page.rows:
        event: Event = row.event
        operation = event.operation
        told = (
            event.pk,
            event.at,
            event.actor,
            event.kind,
            row.line.did,
            event.reason,
            event.state_from,
            event.state_to,
        )
        of = (operation.key, str(operation.uid)) if operation else ("", "")
        yield dict(zip(COLUMNS, (*told, *of, row.about), strict=True))
