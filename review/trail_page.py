"""The trail as a page: what was asked for, the latest first, and how far all of it is sealed."""

from dataclasses import dataclass
from functools import cached_property

from django.db.models import QuerySet, Value
from django.urls import reverse

from ledger import audit, sight
from ledger.models import Destination, Event, Operation, Seal, folded
from ledger.rules import actors
from reconcile.differences.remarks import WRITTEN
from review import finding, trail, wording
from review.trail_filter import Chosen

SHOWN = 100
LOOKED = 100_000
"""Events that one page looks through at most; where that was not enough, it says how far it came."""
OPERATIONS = 200
_FOUND_BY = ("key", "source_reference", "destination_reference")


@dataclass(frozen=True)
class Row:
    """One event in words, and what it is about."""

    event: Event
    line: trail.Line
    about: str
    url: str

    @property
    def moved(self) -> str:
        """Say from which state to which it led."""
        states = [state for state in (self.event.state_from, self.event.state_to) if state]
        return " to ".join(states) if len(states) == 2 else ""


@dataclass(frozen=True)
class Page:
    """One page of the trail."""

    chosen: Chosen
    events: list[Event]
    floor: Event | None
    """Where it stopped looking, if that was before the end of the trail."""
    more: bool
    seal: Seal | None
    titles: dict[str, str]

    @cached_property
    def rows(self) -> list[Row]:
        """Return the events in words; no query."""
        return [self._row(event) for event in self.events]

    @property
    def older(self) -> str:
        """Return the query of the next page; empty where there is none."""
        if self.more:
            return self.chosen.at(self.events[-1].pk)
        return self.chosen.at(self.floor.pk + 1) if self.floor else ""

    def _row(self, event: Event) -> Row:
        operation = event.operation
        if operation is not None:
            there = operation.operation_type.destination.title
            return Row(
                event,
                trail.line(event, there=there),
                wording.title(operation),
                _url("operation", operation.uid),
            )
        name = str(event.data.get("destination", ""))
        about, url = besides(event)
        return Row(
            event, trail.line(event, there=self.titles.get(name, name or "the destination")), about, url
        )


def page(chosen: Chosen, *, shown: int = SHOWN) -> Page:
    """Read one page of the trail; a fixed number of queries for each way to filter it."""
    floor = None
    if (chosen.narrowed or sight.present()) and not chosen.of:
        with sight.whole():  # how far is looked, whoever looks
            through = _asked(chosen)
        floor = through.order_by("-pk").only("pk", "at")[LOOKED : LOOKED + 1].first()
    found = _narrowed(_asked(chosen), chosen)
    if floor is not None:
        found = found.filter(pk__gt=floor.pk)
    whole = found.select_related("operation__operation_type__destination").order_by("-pk")
    # Payloads are long, and nothing of them stands here.
    events = list(whole.defer("operation__payload_sealed", "operation__leaf_digests")[: shown + 1])
    titles = dict(Destination.objects.values_list("name", "title"))
    return Page(chosen, events[:shown], floor, len(events) > shown, audit.latest(), titles)


def _asked(chosen: Chosen) -> QuerySet[Event]:
    """Return the events that are looked through: whose, when, and before which."""
    of = {"": Event.objects.by_people, "software": Event.objects.by_software, "all": Event.objects.all}
    found = of[chosen.by]().between(chosen.begins, chosen.ends)
    return found.filter(pk__lt=int(chosen.before)) if chosen.before else found


def _narrowed(found: QuerySet[Event], chosen: Chosen) -> QuerySet[Event]:
    if chosen.who:
        found = found.filter(actor__in=_names(chosen.who))
    if chosen.kind:
        found = found.filter(kind=chosen.kind)
    if chosen.text:
        found = found.filter(reason__icontains=chosen.text)
    if chosen.of:
        found = found.filter(operation__in=_operations(chosen.of))
    return found


def _names(who: str) -> list[str]:
    """Return the actors that pages call so."""
    if who.casefold() == "software":
        return sorted(actors.WORKERS)
    return [who, wording.who(who), f"{actors.AUTOMATION}{who}", f"{actors.DESTINATION}{who}"]


def _operations(of: str) -> list[int]:
    """Return the operations with exactly this key, order or number of the destination, or with this id."""
    text = folded(Value(of))
    parts = [
        Operation.objects.exclude(**{name: ""}).annotate(text=folded(name)).filter(text=text)
        for name in _FOUND_BY
    ]
    if (uid := finding.uid(of)) is not None:
        parts.append(Operation.objects.annotate(text=text).filter(uid=uid))
    rows = [part.order_by().values_list("pk", flat=True)[:OPERATIONS] for part in parts]
    return list(rows[0].union(*rows[1:]))


def besides(event: Event) -> tuple[str, str]:
    """Return what an event is about that is about no operation, and its address where it has a page."""
    data = event.data
    if data.get("operation"):
        return "An operation", _url("operation", data["operation"])
    if event.kind == WRITTEN:
        return "A difference", reverse("difference", args=[data["run"], data["finding"]])
    for name, route, words in (
        ("pause", "pause", "A pause"),
        ("repeat", "repeat", "A run history"),
        ("sample", "sample", "A sample"),
        ("proposal", "proposal", "A proposal"),
        ("decision", "difference-asked", "A difference"),
        ("signoff", "signature", "A signature"),
        ("bulk", "bulk", f"Bulk action {data.get('number', '')}".strip()),
    ):
        if data.get(name):
            return words, _url(route, data[name])
    return "", ""


def _url(route: str, uid: object) -> str:
    return reverse(route, args=[uid])
