"""What has changed since a person last marked the first screen as seen: by people, and by software.

Read off the trail, newest first and 10 000 events at most. An event that commits late, under a number below
the mark, is not told of here; whatever it asks for stands in the queue all the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Greatest
from django.urls import reverse

from ledger import sight
from ledger.models import Event, Operation, TieoutNow
from ledger.models.evidence import EventQuerySet
from ledger.rules.states import State
from review import trail, trail_page, wording
from review.models import Reader

COUNTED = 10_000
SHOWN = 8
LISTED = 200
A_DAY = timedelta(days=1)
"""How far back a person sees who has never marked anything."""
NO_NEWS = ("looked", "known", "accepted", "claimed", "started", "extended", "let_go", "waits", "recorded")
"""What people do, or hand in through an automation's name, that changes nothing by itself."""
NEWS: dict[str, tuple[Q, str, str]] = {
    "held": (Q(kind="held"), "stopped for a person", "Stopped for a person"),
    "uncertain": (
        Q(state_to=State.UNCERTAIN) & ~Q(state_from=State.UNCERTAIN),
        "got no answer that proves anything",
        "No answer that proves anything",
    ),
    "failed": (Q(state_to=State.FAILED), "did not happen", "Did not happen"),
    "completed": (
        Q(state_to=State.COMPLETED) & ~Q(state_from=State.COMPLETED),
        "done",
        "Done",
    ),
    "closed": (Q(kind="closed"), "in order again, their cases closed", "In order again, its case closed"),
    "paused": (Q(kind="paused"), "pauses of destinations", "A destination was paused"),
    "ended": (
        Q(kind__in=["lapsed", "ask_lapsed", "ask_voided"]),
        "permits or requests ended unused",
        "A permit or a request ended unused",
    ),
    "late": (Q(kind__in=["late", "stray"]), "reported late", "Reported late"),
}
"""What software did: which events, in words after a number, and in words alone."""


@dataclass(frozen=True)
class Change:
    """One line: what was done, how often, by whom, and where that is listed."""

    at: datetime
    who: str
    did: str
    count: int
    address: str
    what: str = ""
    """What it was done to, where that is one thing."""

    def of(self, event: Event | None) -> Self:
        """Lead to the one thing that an event is about, where that has a page."""
        operation = event.operation if event else None
        if event is None or operation is None:
            words, address = trail_page.besides(event) if event else ("", "")
            return replace(self, what=words, address=address) if words else self
        name = " · ".join(part for part in (wording.name(operation), operation.subject) if part)
        return replace(self, what=name, address=reverse("operation", args=[operation.uid]))


@dataclass(frozen=True)
class Since:
    """What has changed; `until` is the last event that was counted, for the mark."""

    mark: datetime | None
    people: list[Change]
    software: list[Change]
    until: int
    counted: str
    """How many events were looked through, where that is not all."""


@dataclass(frozen=True)
class Listed:
    """The events behind one number, newest first."""

    title: str
    lines: list[tuple[trail.Line, Operation | None, tuple[str, str]]]
    """Each with its operation, or else with the words and the address of what it is about."""
    more: bool


def read(person: User, now: datetime) -> Since:
    """Read what has changed since this person's mark, or within a day; a fixed number of queries."""
    mark, at = _mark(person)
    events = _events(mark, now)
    found = events.by_software().aggregate(**_counts())
    people = list(
        events.by_people()
        .exclude(Q(actor=person.get_username()) | Q(kind__in=NO_NEWS))
        .order_by()
        .values("actor", "kind")
        .annotate(count=Count("pk"), last=Max("pk"), at=Max("at"))
        .order_by("-last")[:SHOWN]
    )
    newest = _newest()
    single = [row["last"] for row in people if row["count"] == 1]
    single += [found[f"{name}_last"] for name in NEWS if found[f"{name}_count"] == 1]
    known = _known(single)
    return Since(
        mark=at,
        people=[_by_person(row, known) for row in people],
        software=_by_software(found, known),
        until=newest,
        counted=f"{COUNTED:,}".replace(",", "\u00a0") if mark is not None and newest - mark > COUNTED else "",
    )


def mark(person: User, until: int) -> None:
    """Note that a person has seen what stood there up to an event; a mark never goes back."""
    until = min(until, _newest())
    reader, made = Reader.objects.get_or_create(
        person=person, defaults={"seen_event": until, "seen_at": TieoutNow()}
    )
    if not made:
        Reader.objects.filter(pk=reader.pk).update(
            seen_event=Greatest("seen_event", until), seen_at=TieoutNow()
        )


def listed(person: User, now: datetime, query: Mapping[str, str]) -> Listed:
    """List the events behind one number of the first screen; what is not known in the address lists all."""
    events, title = _events(_mark(person)[0], now), "What people did"
    news, who, kind = (query.get(name, "") for name in ("news", "who", "kind"))
    if news in NEWS:
        condition, _, title = NEWS[news]
        events = events.by_software().filter(condition)
    elif "\0" not in who + kind:
        events = events.by_people().exclude(Q(actor=person.get_username()) | Q(kind__in=NO_NEWS))
        events = events.filter(**{name: value for name, value in (("actor", who), ("kind", kind)) if value})
        title = f"{who} {trail.did(kind)}" if who and kind else title
    found = list(_whole(events).order_by("-pk")[: LISTED + 1])
    lines = [(_line(event), event.operation, trail_page.besides(event)) for event in found[:LISTED]]
    return Listed(title, lines, more=len(found) > LISTED)


def _newest() -> int:
    with sight.whole():
        return Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _mark(person: User) -> tuple[int | None, datetime | None]:
    row = Reader.objects.filter(person=person).values_list("seen_event", "seen_at").first()
    return row or (None, None)


def _events(mark: int | None, now: datetime) -> EventQuerySet:
    """Return the events since a mark, or of a day; never more than the cap, read off the end of the trail."""
    with sight.whole():  # the cap is on what is read, whoever reads
        since = Event.objects.filter(pk__gt=mark) if mark is not None else Event.objects.all()
    latest = Event.objects.filter(pk__in=since.order_by("-pk").values("pk")[:COUNTED])
    return latest if mark is not None else latest.filter(at__gte=now - A_DAY)


def _counts() -> dict[str, Count | Max]:
    found: dict[str, Count | Max] = {}
    for name, (condition, _, _) in NEWS.items():
        found[f"{name}_count"] = Count("pk", filter=condition)
        found[f"{name}_last"] = Max("pk", filter=condition)
        found[f"{name}_at"] = Max("at", filter=condition)
    return found


def _whole(events: QuerySet[Event]) -> QuerySet[Event]:
    return events.select_related("operation__operation_type__destination")


def _known(pks: list[int]) -> dict[int, Event]:
    return {event.pk: event for event in _whole(Event.objects.filter(pk__in=pks))}


def _line(event: Event) -> trail.Line:
    operation = event.operation
    there = operation.operation_type.destination.title if operation else "a destination"
    return trail.line(event, there=there)


def _by_person(row: Mapping[str, Any], known: Mapping[int, Event]) -> Change:
    event = known.get(row["last"])
    change = Change(
        at=row["at"],
        who=row["actor"],
        did=_line(event).did if event else trail.did(row["kind"]),
        count=row["count"],
        address=f"{reverse('since')}?{urlencode({'who': row['actor'], 'kind': row['kind']})}",
    )
    return change.of(event)


def _by_software(found: Mapping[str, Any], known: Mapping[int, Event]) -> list[Change]:
    changes = []
    for name, (_, several, alone) in NEWS.items():
        count = found[f"{name}_count"]
        if count:
            address = f"{reverse('since')}?{urlencode({'news': name})}"
            change = Change(found[f"{name}_at"], "", alone if count == 1 else several, count, address)
            changes.append(change.of(known.get(found[f"{name}_last"])))
    return changes
