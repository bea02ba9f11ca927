"""One bulk action as its page shows it: its counts, sums, items and what this person may do; read once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

from django.contrib.auth.models import User
from django.db.models import Count, Q, Sum
from django.db.models.functions import Abs

from ledger import sight
from ledger.models import Event, Operation, database_now
from ledger.rules.leaves import Action
from ledger.rules.states import Verdict
from review import access, amounts, approvers, filters, row, told, trail, wording
from review.bulk import commanding, freezing
from review.bulk.controls import Control, controls, doing
from review.bulk.counting import KNOWN, WRONG, Counts, counts, mark, spaced
from review.bulk.foreseeing import foreseen
from review.models import Bulk, BulkItem
from review.models.bulk import Outcome, Status
from review.wording import Badge

SHOWN = 100
PACES = {60: "60 a minute", 300: "300 a minute", 1200: "1 200 a minute", 6000: "6 000 a minute"}
_BADGES = {
    Status.PREVIEW: Badge("pending", "Preview", "pending"),
    Status.ASKED: Badge("pending", "Waits for a second person", "clock"),
    Status.RUNNING: Badge("running", "Running", "running"),
    Status.PAUSED: Badge("uncertain", "Paused", "pending"),
    Status.STOPPED: Badge("uncertain", "Stopped", "several"),
    Status.CANCELLED: Badge("failed", "Cancelled", "failed"),
    Status.DONE: Badge("pending", "Ended", "completed"),
}
_OUTCOMES = {
    Outcome.VERIFIED: Badge("completed", "Verified", "completed"),
    Outcome.UNSEEN: Badge("pending", "Done, not seen", "unchecked"),
    Outcome.HELD: Badge("uncertain", "Held", "uncertain"),
    Outcome.REFUSED: Badge("failed", "Refused", "failed"),
}
_LEFT = Badge("pending", "Left", "pending")
_UNDER_WAY = Badge("running", "Under way", "running")
_OPEN, _CLOSED = Badge("pending", "Possible", "pending"), Badge("failed", "Not possible", "failed")
SHOWS: Mapping[str, tuple[str, Q]] = {
    "": ("All", Q()),
    "open": ("Possible", Q(may=True)),
    "known": ("Known trouble", KNOWN),
    "closed": ("Not possible", Q(may=False)),
    Outcome.VERIFIED: ("Verified", Q(outcome=Outcome.VERIFIED)),
    Outcome.UNSEEN: ("Done, not seen", Q(outcome=Outcome.UNSEEN)),
    Outcome.HELD: ("Held", Q(outcome=Outcome.HELD)),
    Outcome.REFUSED: ("Refused", Q(outcome=Outcome.REFUSED)),
    "left": ("Left", Q(outcome="")),
}


@dataclass(frozen=True)
class Total:
    """One currency of the list, in its own figures: of all, and of what is open to the action."""

    currency: str
    count: int
    amount: str
    open_count: int
    open_amount: str


@dataclass(frozen=True)
class Item:
    """One line of the list."""

    number: int
    operation: Operation
    name: str
    badge: Badge
    mark: Badge
    why: str


@dataclass(frozen=True)
class Page:
    """Everything that the page of one bulk action says, as of `now`."""

    bulk: Bulk
    now: datetime
    counts: Counts
    totals: list[Total]
    places: list[str]
    new: int
    two: bool
    foreseen: list[str]
    """What will happen, in the order in which it does."""
    items: list[Item]
    show: str
    after: int
    more: int
    """The number after which the list goes on; nought where it ends."""
    controls: list[Control]
    trail: list[trail.Line]

    @property
    def badge(self) -> Badge:
        """Its status as a stamp."""
        return badge(self.bulk)

    @property
    def headline(self) -> str:
        """Say what this page is about now."""
        if self.preview:
            return "What will happen"
        asked = self.bulk.status == Status.ASKED
        return f"{self.bulk.maker} asks a second person" if asked else self.verdict

    @property
    def asks_why(self) -> bool:
        """Say whether what is usual now needs a reason; what only stops it needs none."""
        return bool(self.controls) and self.controls[0].asks_why

    @property
    def verdict(self) -> str:
        """How far it is, by what was seen at the destination."""
        at = self.counts
        unseen = f", {spaced(at.unseen)} done that cannot be looked up" if at.unseen else ""
        return f"{self.badge.words}: {spaced(at.verified)} of {spaced(at.open)} verified there{unseen}"

    @property
    def state(self) -> str:
        """The colour of its frame: proved only where all that was to be done is verified."""
        if self.bulk.status != Status.DONE:
            return self.badge.state
        return "completed" if self.counts.verified == self.counts.open else "uncertain"

    @property
    def title(self) -> str:
        """What it does, with its number."""
        return f"Bulk action {self.bulk.pk}: {name(self.bulk)}"

    @property
    def preview(self) -> bool:
        """Say whether nobody has confirmed it."""
        return self.bulk.status == Status.PREVIEW

    @property
    def begins(self) -> bool:
        """Say whether it is within the ten seconds in which it can be undone."""
        at = self.bulk.starts_at
        return self.bulk.status == Status.RUNNING and at is not None and at > self.now

    @property
    def open(self) -> bool:
        """Say whether this person can say anything now."""
        return any(not one.why_not for one in self.controls)

    @property
    def moves(self) -> bool:
        """Say whether something changes by itself, so that the page looks again."""
        if self.bulk.status == Status.PREVIEW:
            return self.counts.unread > 0
        over = self.bulk.status in (Status.DONE, Status.CANCELLED)
        return not over or (self.bulk.status == Status.CANCELLED and self.counts.under_way > 0)

    @property
    def mark(self) -> str:
        """Tells two readings apart that a person would see as different."""
        return mark(self.bulk, self.counts)

    @property
    def button(self) -> str:
        """What the button says: how many, and what."""
        return doing(Action(self.bulk.action), self.counts.open)

    @property
    def tabs(self) -> list[tuple[str, str, int, bool]]:
        """The parts of the list, each with its count."""
        at, here = self.counts, self.show
        names = ("open", "known", "closed") if self.preview else _AFTER
        parts = [("", at.frozen), *((name, getattr(at, name)) for name in names)]
        parts = [part for part in parts if part[1] or part[0] not in (Outcome.UNSEEN, "known")]
        return [
            (SHOWS[name][0], f"?show={name}" if name else "?", count, name == here) for name, count in parts
        ]


_FOUND = {
    Verdict.COULD_NOT_LOOK: "could not look",
    Verdict.DIFFERS: "it differs there",
    Verdict.SEVERAL: "it is there more than once",
}
_AFTER = (str(Outcome.VERIFIED), str(Outcome.UNSEEN), str(Outcome.HELD), str(Outcome.REFUSED), "left")


def badge(bulk: Bulk) -> Badge:
    """Return the stamp of a status."""
    return _BADGES[Status(bulk.status)]


def name(bulk: Bulk) -> str:
    """Name what is done with each."""
    return {
        Action.CHECK: "check",
        Action.SEND_AGAIN: "send again",
        Action.DID_NOT_HAPPEN: "it did not happen",
    }[Action(bulk.action)]


def read(bulk: Bulk, person: User, *, show: str = "", after: int = 0) -> Page:
    """Read what the page of a bulk action says to this person."""
    now, at = database_now(), counts(bulk)
    show = show if show in SHOWS else ""
    items = bulk.items.filter(SHOWS[show][1], number__gt=after).select_related("operation__operation_type")
    shown = list(items.order_by("number")[: SHOWN + 1])
    preview, mine = bulk.status == Status.PREVIEW, bulk.maker == person.get_username()
    with sight.whole():
        told = Event.objects.filter(operation=None, data__bulk=str(bulk.uid))
    waits = bulk.status in (Status.PREVIEW, Status.ASKED)
    two = waits and at.unread == 0 and commanding.takes_two(bulk)
    second = approvers.second_person(person if mine else _maker(bulk) or person) if two else ""
    return Page(
        bulk=bulk,
        now=now,
        counts=at,
        totals=_totals(bulk),
        places=_places(bulk),
        new=freezing.new_since(bulk, access.reader(person)) if preview and mine and not at.unread else 0,
        two=two,
        foreseen=list(foreseen(bulk, at, mine=mine, second=second)) if waits else [],
        items=_items(shown[:SHOWN], bulk, now),
        show=show,
        after=after,
        more=shown[SHOWN - 1].number if len(shown) > SHOWN else 0,
        controls=controls(bulk, person, at, now),
        trail=[trail.line(event, there="") for event in told.order_by("id")],
    )


def _maker(bulk: Bulk) -> User | None:
    return User.objects.filter(pk=bulk.maker_account or 0).first()


def _totals(bulk: Bulk) -> list[Total]:
    rows = (
        bulk.items.values("operation__currency")
        .annotate(
            count=Count("pk"),
            amount=Sum(Abs("operation__amount")),
            open_count=Count("pk", filter=Q(may=True)),
            open_amount=Sum(Abs("operation__amount"), filter=Q(may=True)),
        )
        .order_by("operation__currency")
    )
    return [_total(one) for one in rows]


def _total(one: dict[str, Any]) -> Total:
    currency = one["operation__currency"]
    zero = Decimal(0) if currency else None
    shown = [amounts.show(one[name] or zero, currency) for name in ("amount", "open_amount")]
    return Total(currency or "none", one["count"], shown[0], one["open_count"], shown[1])


def _places(bulk: Bulk) -> list[str]:
    """Name each destination and account, with how many go there."""
    there = "operation__operation_type__destination"
    rows = bulk.items.values_list(f"{there}__title", f"{there}__account").annotate(count=Count("pk"))
    return [
        f"{title}, account {account} ({spaced(count)})" for title, account, count in rows.order_by("-count")
    ]


def _items(items: list[BulkItem], bulk: Bulk, now: datetime) -> list[Item]:
    rows = told.read([item.operation_id for item in items])
    known = {one.operation.pk: one for one in row.rows(rows, now)}
    return [
        Item(
            number=item.number,
            operation=item.operation,
            name=wording.title(item.operation),
            badge=known[item.operation_id].badge,
            mark=_mark(item, bulk),
            why=item.why or _so_far(item, bulk),
        )
        for item in items
    ]


def _mark(item: BulkItem, bulk: Bulk) -> Badge:
    if item.outcome:
        return _OUTCOMES[Outcome(item.outcome)]
    if bulk.status in (Status.PREVIEW, Status.ASKED):
        return _LEFT if item.may is None else _OPEN if item.may else _CLOSED
    return _LEFT if item.acted_at is None else _UNDER_WAY


def _so_far(item: BulkItem, bulk: Bulk) -> str:
    if item.outcome or item.may is None:
        return ""
    if item.may and item.foreseen in WRONG and item.ready_at is None:
        return f"The latest check: {_FOUND[Verdict(item.foreseen)]}."
    if item.acted_at is not None:
        return "Allowed; not seen there yet."
    return "Checked: it may go ahead." if item.ready_at is not None else ""


def source_words(bulk: Bulk) -> str:
    """Say where its list comes from."""
    if bulk.picked:
        return "rows that were ticked"
    chosen = filters.Filter.read(dict(parse_qsl(bulk.source)), filters.Reader())
    narrowed = ", filtered" if chosen.narrowed else ""
    return f"all of the queue under “{filters.VIEWS[chosen.view]}”{narrowed}"
