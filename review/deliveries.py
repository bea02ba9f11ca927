"""What webhooks were told, and what destinations told by theirs, as the page of deliveries shows it."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self
from urllib.parse import urlencode

from django.db.models import F, OuterRef, Subquery

from ledger import sight
from ledger.models import Delivery, Destination, Event, Heard
from review import wording
from review.instants import instant
from review.wording import Badge

SHOWN = 100
State = Delivery.State
VIEWS = {"": "All", State.WAITING: "Waiting", State.GIVEN_UP: "Given up"}
KINDS = {
    "permit.open": "Another try is allowed",
    "operation.completed": "Done",
    "operation.held": "Needs a person",
    "operation.corrected": "Corrected",
}
_BADGES = {
    State.DELIVERED: Badge("completed", "Delivered", "completed"),
    State.GIVEN_UP: Badge("failed", "Given up", "failed"),
    State.DROPPED: Badge("pending", "Nothing to tell", "absent"),
    State.WAITING: Badge("pending", "Waiting", "pending"),
}
_NOT_YET = Badge("uncertain", "Not taken yet", "uncertain")


@dataclass(frozen=True)
class Row:
    """One delivery in words."""

    delivery: Delivery
    badge: Badge
    kind: str
    operation: str
    next: str
    again: bool
    """Whether there is anything to send again."""
    before: datetime | None
    """When it was first delivered, where it was sent again since."""

    @classmethod
    def of(cls, delivery: Delivery, now: datetime, *, before: datetime | None) -> Self:
        """Say where one stands."""
        state = State(delivery.state)
        late = state is State.WAITING and delivery.tries > 0
        return cls(
            delivery=delivery,
            badge=_NOT_YET if late else _BADGES[state],
            kind=KINDS.get(delivery.kind, delivery.kind),
            operation=wording.title(delivery.operation),
            next=_next(delivery, now),
            again=late or state in (State.DELIVERED, State.GIVEN_UP),
            before=before,
        )


@dataclass(frozen=True)
class Page:
    """One page of deliveries, the latest first; `earlier` is the address of the next page, if any."""

    rows: list[Row]
    view: str
    earlier: str

    @property
    def tabs(self) -> list[tuple[str, str, bool]]:
        """Return the views: words, address and whether it is this one."""
        return [(words, f"?view={view}" if view else "", view == self.view) for view, words in VIEWS.items()]


def page(view: str, before: str, now: datetime) -> Page:
    """Read one page; what is not known in the address is taken as not given. A fixed number of queries."""
    view = view if view in VIEWS else ""
    rows = Delivery.objects.select_related("webhook", "operation__operation_type").order_by("-pk")
    if view:
        rows = rows.filter(state=view)
    last = _place(before)
    if last is not None:
        rows = rows.filter(pk__lt=last)
    found = list(rows[: SHOWN + 1])
    asked = {"view": view} if view else {}
    more = len(found) > SHOWN
    earlier = f"?{urlencode({**asked, 'before': found[SHOWN - 1].uid})}" if more else ""
    known = _delivered_before(found)
    return Page([Row.of(one, now, before=known.get(one.uid)) for one in found[:SHOWN]], view, earlier)


def told_to_us() -> list[Destination]:
    """Return the destinations that send events here, with the last one taken and how many were not signed."""
    latest = Heard.objects.filter(destination=OuterRef("pk")).order_by("-pk").values("heard_at")[:1]
    sends = Destination.objects.filter(connection__events__isnull=False).exclude(connection__events=None)
    return list(
        sends.annotate(
            last_heard=Subquery(latest),
            refused=F("unsigned__count"),
            last_refused=F("unsigned__last_at"),
        ).order_by("title")
    )


def _delivered_before(found: Sequence[Delivery]) -> dict[uuid.UUID, datetime]:
    """Return when deliveries were first delivered that were sent again afterwards, by their ids."""
    with sight.whole():
        asked = Event.objects.filter(operation=None, kind="told_again")
    asked = asked.filter(data__delivery__in=[str(one.uid) for one in found])
    first: dict[uuid.UUID, datetime] = {}
    for data in asked.order_by("id").values_list("data", flat=True):
        at = data.get("before", {}).get("delivered_at")
        if at:
            first.setdefault(uuid.UUID(data["delivery"]), datetime.fromisoformat(at))
    return first


def _next(delivery: Delivery, now: datetime) -> str:
    """Say when it is tried next: not before its receiver, which failed, is asked again."""
    due, rests = delivery.due_at, delivery.webhook.rests_until
    if due is None:
        return ""
    if rests is not None and rests > max(due, now):
        return f"{instant(rests, now)}: its receiver failed and rests"
    return "Now" if due <= now else instant(due, now)


def _place(before: str) -> int | None:
    """Return the row behind which a page begins; None for the first page."""
    try:
        uid = uuid.UUID(before)
    except ValueError:
        return None
    return Delivery.objects.filter(uid=uid).values_list("pk", flat=True).first()
