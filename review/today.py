"""The first screen: what ran, what waits for whom, what has changed, and what is in trouble."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Self

from django.contrib.auth.models import User
from django.db.models import Case as Choice
from django.db.models import Count, Q, Sum, Value, When
from django.urls import reverse

from ledger.models import Case
from ledger.rules.states import CaseKind
from review import (
    access,
    approvals,
    asks,
    expected,
    instants,
    narrowing,
    pausing,
    queue,
    since,
    troubles,
    wording,
)
from review.ages import CLASSES, Ages, Part
from review.bulk import listing
from review.cursors import seconds
from review.filters import Filter
from review.notices import inbox
from review.place import carry
from review.row import Row, listed
from review.still_open import Old

SHOWN = 6
APPROVALS = 4
NOTICES = 4
COUNTED = 10_000
"""The most that is counted of what waits; what is at risk of it is added up to its end."""
PERSON = Filter(view="person", order="due")
"""The queue of what waits for a person, as it is linked from here."""
MINE = replace(PERSON, who="me")
ESCALATED = Filter(view="escalated", order="due")


@dataclass(frozen=True)
class Today:
    """All that the first screen shows one person, at a fixed number of queries."""

    now: datetime
    runs: expected.Expected
    decisions: list[tuple[Row, str]]
    """What waits for a person, those that are due first, each with what its address carries."""
    waiting: str
    """How many wait for a person; bounded, as the next two are."""
    mine: str
    """How many of them this person has taken, or was given."""
    snoozed: str
    """How many of all are put off: they stand in every total, and not among the rows."""
    mine_snoozed: str
    """How many of this person's are."""
    escalated: str
    """How many went to a next level because nobody answered in time."""
    repeated: str
    """How many triggers ran more than once; bounded."""
    lists: list[listing.Part]
    """What of many at once waits for somebody, or does not move."""
    asks: list[asks.Ask]
    asked: str
    ages: list[tuple[Ages, int]]
    """The money at risk of what waits for a person, by currency, and how many of each are snoozed."""
    without_amount: int
    old: Old
    """How old the differences are that are open."""
    since: since.Since
    notices: inbox.Inbox
    """What is new for this person."""
    troubles: list[troubles.Trouble]

    @classmethod
    def of(cls, person: User, now: datetime) -> Self:
        """Read it for one person."""
        pauses = pausing.open_pauses()
        held, asked_now = _ages(now), approvals.figure()
        waiting, snoozed = _count(PERSON.whole, now)
        mine, mine_snoozed = _count(replace(MINE.whole, reader=access.reader(person)), now)
        runs = expected.read(now, paused={one.destination_id for one in pauses if not one.callers_only})
        return cls(
            now=now,
            runs=runs,
            decisions=_decisions(now),
            waiting=waiting,
            mine=mine,
            snoozed=snoozed,
            mine_snoozed=mine_snoozed,
            escalated=_count(ESCALATED, now)[0],
            repeated=_repeated(),
            lists=listing.standing(person, now),
            asks=asks.first(person, now, most=APPROVALS) if asked_now else [],
            asked=asked_now,
            ages=[
                (Ages.of(currency, parts), sum(part.resting for part in parts))
                for currency, parts in sorted(held.items())
                if currency
            ],
            without_amount=sum(part.count for part in held.get("", [])),
            old=Old.of(now),
            since=since.read(person, now),
            notices=inbox.of(person, most=NOTICES, unread_only=True),
            troubles=troubles.read(now, pauses, runs),
        )

    @property
    def when(self) -> str:
        """Name the time and the day, in the reader's zone: "07:02 SAST, Monday 30 November 2026"."""
        there = self.now.astimezone(instants.zone())
        zone = instants.named(self.now, instants.zone())
        return f"{there:%H:%M} {zone}, {there:%A} {there.day} {there:%B %Y}"

    @property
    def at_risk(self) -> str:
        """Say what is at risk of what waits for a person now, currency by currency: the sum of its queue."""
        return ", ".join(f"{ages.currency}\u00a0{ages.amount}" for ages, _ in self.ages)

    @property
    def grouped(self) -> str:
        """Return where that sum stands by cause and destination."""
        return f"{reverse('queue')}?{replace(PERSON, group='cause').address}"

    @property
    def queues(self) -> list[tuple[str, str]]:
        """The queues of what waits, in words that count them, with their addresses."""
        all_ = [
            (self.waiting, f"All {_items(self.waiting)}", PERSON.whole),
            (self.snoozed, f"{self.snoozed} of them snoozed", PERSON.resting),
            (self.mine, f"Mine {_items(self.mine)}", MINE.whole),
            (self.mine_snoozed, f"{self.mine_snoozed} of mine snoozed", MINE.resting),
            (self.escalated, f"Escalated {_items(self.escalated)}", ESCALATED),
        ]
        return [(words, f"{reverse('queue')}?{chosen.address}") for count, words, chosen in all_ if count]


def _items(count: str) -> str:
    return f"{count} item{'s' * (count != '1')}"


def _decisions(now: datetime) -> list[tuple[Row, str]]:
    """Return the first rows of the queue of what waits for a person, as the queue shows them."""
    asked = queue.Queue(PERSON, now)
    entries = queue.entries(asked.keys(None, length=SHOWN).found)
    rows = zip(listed(entries, now), entries, strict=True)
    return [
        (row, carry(PERSON, now, entry.key, number) if row.operation is not None else "")
        for number, (row, entry) in enumerate(rows, 1)
    ]


def _count(chosen: Filter, now: datetime) -> tuple[str, str]:
    """Say how many stand in a queue, and how many of them are snoozed: "14", "10 000+"; empty for none."""
    some = narrowing.items(chosen, [], now).values("rests_s")[: COUNTED + 1]
    found = some.aggregate(
        every=Count("rests_s"), resting=Count("rests_s", filter=Q(rests_s__gt=now.timestamp()))
    )
    every, resting = (wording.bounded(found[name], COUNTED) for name in ("every", "resting"))
    return every if found["every"] else "", resting if found["resting"] else ""


def _repeated() -> str:
    cases = Case.objects.open().filter(operation=None, kind=CaseKind.REPEATED)
    count = cases.values("pk")[: COUNTED + 1].count()
    return wording.bounded(count, COUNTED) if count else ""


def _ages(now: datetime) -> dict[str, list[Part]]:
    """Add up all that waits for a person, snoozed or not, by currency and age."""
    ages = [
        When(since_s__lte=seconds(now - timedelta(days=start)), then=Value(place))
        for place, (start, _) in reversed(list(enumerate(CLASSES)))
        if start
    ]
    found = (
        narrowing.items(PERSON.whole, [], now)
        .order_by()
        .values_list("currency", Choice(*ages, default=Value(0)))
        .annotate(
            count=Count("pk"),
            whole=Sum("at_risk"),
            resting=Count("pk", filter=Q(rests_s__gt=now.timestamp())),
        )
    )
    held: dict[str, dict[int, tuple[int, Decimal, int]]] = defaultdict(dict)
    for currency, age, count, whole, resting in found:
        held[currency][age] = count, whole or Decimal(0), resting
    return {currency: list(_parts(currency, by_age)) for currency, by_age in held.items()}


def _parts(currency: str, by_age: dict[int, tuple[int, Decimal, int]]) -> Iterable[Part]:
    # The queue's filters count in hours.
    hours = [str(24 * start) if start else "" for start, _ in CLASSES]
    for place, (_, days) in enumerate(CLASSES):
        count, whole, resting = by_age.get(place, (0, Decimal(0), 0))
        younger = hours[place + 1] if place + 1 < len(hours) else ""
        there = replace(PERSON.whole, currency=currency, age=hours[place], younger=younger)
        yield Part(days, count, whole, f"{reverse('queue')}?{there.address}" if currency else "", resting)
