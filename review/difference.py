"""One difference as its page reads it: what was found, what can be done about it, and what was decided."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from ledger import sight
from ledger.models import Event
from reconcile.carrying import ABSENT
from reconcile.classes import ItemClass
from reconcile.differences import actions, leaves, matching, remarking
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding, Remark
from review import access, amounts, approvers, asked, beside, contents, opening, trail, wording
from review.instants import instant, zone
from review.runs import Difference

WAIVED_FOR = timedelta(days=30)
DOES = {Way.MATCH: "Match by hand", Way.TAKE_IN: "Take it in", Way.WAIVE: "Waive it", Way.CLOSE: "Close it"}
FOLLOWS = {
    Way.TAKE_IN: "An operation is made of the record: its reference is the key, its amount the amount. "
    "It is done by that evidence, and nothing is ever sent for it. {there} is asked once more first.",
    Way.MATCH: "The operation is done, with that number, on your word. Later runs compare the two, while "
    "the record stays as it is and no other carries the operation’s own reference; else it is undone.",
    Way.WAIVE: "It stays as it is, in every total and in the tie-out, which names it as waived. Its case is "
    "put off until then. A run that finds it gone, or otherwise than now, ends that before.",
    Way.CLOSE: "Its case is closed, and nothing more is done about it. It stays listed as closed; a run that "
    "finds it otherwise than now opens it again.",
}

DIFFERING = {
    ItemClass.AMOUNT_OVER,
    ItemClass.AMOUNT_UNDER,
    ItemClass.CURRENCY_DIFFERS,
    ItemClass.PAYLOAD_DIFFERS,
    ItemClass.STATUS_DIFFERS,
}
"""Classes of one operation compared with one record."""


@dataclass(frozen=True)
class Door:
    """One way to decide: its words, its address, and why it is closed to this person."""

    way: Way
    does: str
    url: str
    why: str


@dataclass(frozen=True)
class Page:
    """What the page of one difference shows to one person."""

    finding: Finding
    person: User
    now: datetime

    @cached_property
    def line(self) -> Difference:
        """The difference as the table of its run has it."""
        return Difference.of(self.finding, self.finding.run, self.now)

    @property
    def there(self) -> str:
        """The destination's own name."""
        return self.finding.run.plan.operation_type.destination.title

    @property
    def url(self) -> str:
        """Its address."""
        return address(self.finding)

    @property
    def snoozed(self) -> bool:
        """Say whether it is put off."""
        return bool(
            self.finding.case
            and self.finding.case.is_snoozed(
                self.now, self.finding.operation.revision if self.finding.operation else None
            )
        )

    @property
    def amount(self) -> str:
        """What it comes to."""
        return amounts.whole(self.finding.amount, self.finding.currency)

    @property
    def meaning(self) -> str:
        """What its class means."""
        return ItemClass(self.finding.item_class).sentence(self.there, self.source)

    @property
    def source(self) -> str:
        """The source's own name; empty where the run has read none."""
        run = self.finding.run
        return str(run.sides["source"]["name"]) if run.has_source else ""

    @property
    def row(self) -> tuple[str, str, str] | None:
        """What the source has of it: key, status there, amount."""
        one = self.finding.source
        if one is None:
            return None
        status = one["status"] or one["standing"]
        return one["id"] or one["key"] or "", status, amounts.whole(one["amount"], one["currency"])

    @property
    def never_submitted(self) -> bool:
        """Say whether only the source has it."""
        return self.finding.item_class == ItemClass.NEVER_SUBMITTED

    @property
    def records(self) -> list[tuple[str, str, str, str]]:
        """What the destination held: id, where it is opened, status there, amount."""
        there = self.finding.run.plan.operation_type.destination
        return [
            (
                one["id"],
                opening.url(there, one["id"]),
                one["status"] or one["standing"],
                amounts.whole(one["amount"], one["currency"]),
            )
            for one in self.finding.destination
        ]

    @property
    def meant(self) -> list[tuple[str, str, str]]:
        """The operations that a rule has taken together: id, key, amount."""
        return [
            (one["id"], one["key"], amounts.whole(one["amount"], one["currency"]))
            for one in self.finding.meant or ()
        ]

    @property
    def compared(self) -> list[beside.Compared]:
        """What was meant beside the record that a run compared, where the two differ."""
        one, operation = self.finding, self.finding.operation
        if operation is None or one.item_class not in DIFFERING or not one.destination:
            return []
        told = beside.side_by_side(operation, one.destination[0], known=operation.destination_reference)
        return [*told, *(contents.beside(one, operation, self.person) if one.contents else [])]

    @cached_property
    def latest(self) -> Finding | None:
        """The same difference as the latest run that looked has it."""
        return leaves.current(self.finding)

    @property
    def later(self) -> str:
        """The page of that one, where it is another."""
        moved = self.latest is not None and self.latest.pk != self.finding.pk
        return address(self.latest) if moved and self.latest else ""

    @cached_property
    def decisions(self) -> list[Decision]:
        """What was decided about it, the latest first."""
        return list(leaves.about(self.finding).order_by("-pk")[:20])

    @property
    def standing(self) -> Decision | None:
        """The decision that waits or is in force, if there is one."""
        return next((one for one in self.decisions if one.ended_at is None and one.stands), None)

    @property
    def said(self) -> list[tuple[str, str, Decision]]:
        """Each decision in words, with its icon."""
        return [(*told(one, self.now), one) for one in self.decisions]

    @cached_property
    def doors(self) -> list[Door]:
        """The ways to decide; those that do not fit what was found are left out, closed ones say why."""
        lacks = "" if access.may(self.person, "settle") else access.lacking(self.person)
        closed = lacks or leaves.why_closed(self.finding, self.latest, self.standing)
        return [
            Door(way, DOES[way], f"{self.url}?way={way}", closed or self._why_unfit(way))
            for way in self._fitting()
        ]

    @property
    def decided(self) -> str:
        """Say once why every way is closed, where somebody has decided already; empty where it is not so."""
        whys = {door.why for door in self.doors}
        return whys.pop() if self.standing and len(whys) == 1 else ""

    def _why_unfit(self, way: Way) -> str:
        return matching.why_unfit(self.finding) if way is Way.MATCH else leaves.why_unfit(self.finding, way)

    def _fitting(self) -> Iterator[Way]:
        bare = self.finding.operation_id is None
        unexpected = self.finding.item_class == ItemClass.UNEXPECTED
        if bare and unexpected:
            yield Way.TAKE_IN
        if (bare and unexpected) or (not bare and self.finding.item_class in ABSENT):
            yield Way.MATCH
        yield Way.WAIVE
        if bare or self.finding.by_source:
            yield Way.CLOSE

    def door(self, way: str) -> Door | None:
        """Return the door of that way."""
        return next((door for door in self.doors if door.way == way), None)

    @cached_property
    def candidates(self) -> list["Candidate"]:
        """What it could be matched with."""
        return [Candidate(pair, self.finding) for pair in matching.candidates(self.finding)]

    def chosen(self, other: str) -> "Candidate | None":
        """Return the one of them that an address names."""
        return next((one for one in self.candidates if str(one.other.pk) == other), None)

    def by_two(self, chosen: "Candidate | None") -> bool:
        """Say whether this person's decision waits for a second one."""
        settled = chosen.pair.missing if chosen is not None else self.finding
        return leaves.takes_two(settled, self.person.get_username())

    @property
    def until(self) -> str:
        """The day that a waiver is first offered to end on."""
        return f"{(self.now + WAIVED_FOR).astimezone(zone()):%Y-%m-%d}"

    @cached_property
    def remarks(self) -> list[Remark]:
        """What was written about it, the latest first."""
        return list(remarking.about(self.finding)[:20])

    @property
    def trail(self) -> list[trail.Line]:
        """The events of its decisions."""
        known = [str(one.uid) for one in self.decisions]
        with sight.whole():
            events = Event.objects.filter(operation=None, data__decision__in=known).order_by("pk")
        return [trail.line(event, there=self.there) for event in events]


@dataclass(frozen=True)
class Candidate:
    """What is missing and a record of nobody's, as they are shown beside each other on the page of one."""

    pair: matching.Pair
    begun: Finding

    @property
    def other(self) -> Finding:
        """The one that the page is not of."""
        missing, extra = self.pair.missing, self.pair.extra
        return extra if self.begun.pk == missing.pk else missing

    @property
    def meant(self) -> str:
        """The operation, as people call it, with its amount."""
        missing = self.pair.missing
        name = wording.name(missing.operation) if missing.operation is not None else missing.reference
        return f"{name}, {_amount(missing)}"

    @property
    def there(self) -> str:
        """The record, with its amount."""
        extra = self.pair.extra
        return f"{extra.destination[0]['id']}, {_amount(extra)}"

    @property
    def shown(self) -> str:
        """The other one."""
        return self.there if self.other is self.pair.extra else self.meant

    @property
    def amount(self) -> str:
        """What the decision settles: what was meant."""
        return amounts.whole(self.pair.missing.amount, self.pair.missing.currency)

    @property
    def differs(self) -> str:
        """What is there less what was meant."""
        apart = self.pair.apart
        return "not comparable" if apart is None else amounts.signed(apart, self.pair.extra.currency)


def _amount(finding: Finding) -> str:
    return amounts.whole(finding.amount, finding.currency) or "no amount"


def address(finding: Finding) -> str:
    """Return where a difference is decided."""
    return reverse("difference", args=[finding.run.uid, finding.pk])


def told(decision: Decision, now: datetime) -> tuple[str, str]:
    """Return the icon and the words of what became of a decision."""
    by, did = decision.maker, does(decision, now)
    if decision.ended_at is not None:
        return "back", f"{by} {did}. It ended: {decision.why_ended}"
    if decision.in_force_at is not None:
        agreed = f", and {decision.decided_by} agreed" if decision.decided_by else ""
        return "completed", f"{by} {did}{agreed}."
    if decision.decided_at is not None:
        whose = wording.who(decision.decided_by)
        return "failed", f"{by} asked; {whose} ended it: {decision.why}"
    over = decision.expires_at <= now
    return "clock", f"{by} asks a second person{': nobody answered in time' if over else ''}."


def does(decision: Decision, now: datetime) -> str:
    """Say what was decided, after the maker's name."""
    match Way(decision.way):
        case Way.WAIVE:
            assert decision.until is not None  # a constraint
            return f"waived it until {instant(decision.until, now)}"
        case Way.CLOSE:
            return "closed it"
        case Way.TAKE_IN:
            return "took it in"
        case Way.MATCH:
            return "matched it by hand"


def asks(decision: Decision, now: datetime) -> str:
    """Say what is asked, after "asks"."""
    match Way(decision.way):
        case Way.WAIVE:
            assert decision.until is not None  # a constraint
            return f"to waive a difference until {instant(decision.until, now)}"
        case Way.CLOSE:
            return "to close a difference"
        case Way.TAKE_IN:
            return "to take a record in"
        case Way.MATCH:
            return "to match by hand"


def named(decision: Decision) -> str:
    """Name what a decision is about, with its amount."""
    amount = amounts.whole(decision.amount, decision.currency)
    return f"{decision.name} · {amount}" if amount else decision.name


def waiting(rows: Iterable[Decision], person: User, now: datetime) -> list[dict[str, Any]]:
    """Return open requests about differences as the list shows them."""
    return [request(one, person, now, whole=False) for one in rows]


def request(decision: Decision, person: User, now: datetime, *, whole: bool = True) -> dict[str, Any]:
    """Return one request as the list and its page show it; `closed` says why this person cannot answer."""
    closed = approvers.why_not(actions.asked_by(decision), person) if whole else ""
    return {
        "decision": decision,
        "title": named(decision),
        "asks": asks(decision, now),
        "until": asked.due(decision.made_at, decision.due_at, decision.expires_at, now),
        "mine": approvers.is_own(decision, person),
        "closed": closed,
    }
