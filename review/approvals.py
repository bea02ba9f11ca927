"""The list of what waits for a second person, and what was decided lately; a fixed number of queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from ledger.actions.deputising import Asking, askers
from ledger.models import Approval
from ledger.rules.approvals import OVERRIDES
from ledger.rules.second_person import Asker
from reconcile.models import SignOff
from review import approvers, asked, signing_off, told, waiting, wording
from review.row import Row, rows

LATELY = 20


@dataclass(frozen=True)
class Request:
    """One open request as the list shows it; `closed` says why this person cannot answer it."""

    approval: Approval
    operation: Any
    row: Row
    title: str
    asks: str
    why_two: str
    maker: str
    changes: str
    by_hand: str
    checked: bool
    """Whether what a check found is a part of it."""
    risk: str
    follows: str
    due: str
    mine: bool
    closed: str


def requests(asks: Sequence[Approval], person: User, now: datetime) -> list[Request]:
    """Return some open requests as the list shows them, in their order."""
    found_too = told.read([ask.operation_id for ask in asks])
    known = {row.operation.pk: row for row in rows(found_too, now)}
    by = askers([Asking.of(ask) for ask in asks], only=person.pk) if asks else []
    return [
        _request(ask, known[ask.operation_id], person, now, by=asker)
        for ask, asker in zip(asks, by, strict=True)
    ]


def _request(approval: Approval, row: Row, person: User, now: datetime, *, by: Asker) -> Request:
    operation = row.operation
    return Request(
        approval=approval,
        operation=operation,
        row=row,
        title=f"{wording.title(operation)} · {operation.operation_type.noun}",
        asks=asked.asks(approval),
        why_two=asked.two(approval, operation),
        maker=asked.maker(approval),
        changes=asked.changes(approval, operation),
        by_hand=asked.by_hand(approval, now),
        checked=approval.action not in OVERRIDES,
        risk=approval.data.get("risk", ""),
        follows=asked.follows(approval, operation),
        due=asked.due(approval.made_at, approval.due_at, approval.expires_at, now),
        mine=approvers.is_own(approval, person),
        closed=approvers.why_not(by, person),
    )


@dataclass(frozen=True)
class Answered:
    """One request that was answered: when, what became of it, and where it stands."""

    at: datetime
    told: tuple[str, str, str]
    """Icon, who, and what became of it."""
    title: str
    url: str
    undone_by: str = ""
    """What takes back what was approved."""


def lately() -> list[Answered]:
    """Return the latest answers about operations and signatures."""
    rows = Approval.objects.filter(decided_at__isnull=False).select_related("operation__operation_type")
    found = [
        Answered(
            row.decided_at,
            asked.past(row),
            wording.title(row.operation),
            reverse("operation", args=[row.operation.uid]),
            asked.undone_by(row),
        )
        for row in rows.order_by("-decided_at")[:LATELY]
        if row.decided_at is not None
    ]
    signed = SignOff.objects.filter(decided_at__isnull=False).select_related("plan", "period")
    found += [
        Answered(
            one.decided_at,
            signing_off.past(one),
            signing_off.named(one),
            reverse("signature", args=[one.uid]),
        )
        for one in signed.order_by("-decided_at")[:LATELY]
        if one.decided_at is not None
    ]
    return sorted(found, key=lambda one: one.at, reverse=True)[:LATELY]


def figure() -> str:
    """Return how many requests are open, as the list counts them; nothing where there are none."""
    count = str(waiting.Counts.read())
    return "" if count == "0" else count
