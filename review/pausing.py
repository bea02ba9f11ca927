"""A paused destination in words: since when, why, what waits for it, and what it has refused."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Self

from django.db.models import Q, QuerySet

from ledger import sight
from ledger.models import Event, Operation, Pause
from ledger.rules.states import State
from review import row, trail, wording
from review.built import built
from review.instants import instant

SHOWN = 50
COUNTED = 10_000


@dataclass(frozen=True)
class Paused:
    """What the page of one pause shows."""

    pause: Pause
    now: datetime
    waiting: int
    refused: list[Operation]
    more: bool
    trail: list[trail.Line]

    @classmethod
    def of(cls, pause: Pause, now: datetime) -> Self:
        """Read one pause; a fixed number of queries."""
        refused = Operation.objects.filter(attempts__refusal__pause=pause).distinct()
        found = list(refused.select_related("operation_type").order_by("pk")[: SHOWN + 1])
        with sight.whole():
            told = Event.objects.filter(operation=None, kind__in=["paused", "resumed"])
        return cls(
            pause=pause,
            now=now,
            waiting=0 if pause.resumed_at else _waiting(pause),
            refused=found[:SHOWN],
            more=len(found) > SHOWN,
            trail=[
                trail.line(event, there=pause.destination.title)
                for event in told.filter(data__pause=str(pause.uid)).order_by("pk")
            ],
        )

    @property
    def there(self) -> str:
        """The destination, by the name that people use."""
        return self.pause.destination.title

    @property
    def headline(self) -> str:
        """Say whether it is paused."""
        whom = " for automations" if self.pause.callers_only else ""
        return f"{self.there} {'was' if self.pause.resumed_at else 'is'} paused{whom}"

    @property
    def snoozed(self) -> bool:
        """Say whether its case is put off."""
        return self.pause.case.is_snoozed(self.now, None)

    @property
    def lines(self) -> list[str]:
        """Say why, since when, and what that means for what waits."""
        pause, at = self.pause, instant(self.pause.paused_at, self.now)
        whose = "an automation’s" if pause.callers_only else "our"
        cause = f"It refused {whose} credentials at {at}, with status {pause.http_status}."
        if not pause.http_status:
            cause = f"{pause.why} It is paused since {at}."
        if pause.resumed_at is not None:
            who, when = wording.who(pause.resumed_by), instant(pause.resumed_at, self.now)
            return [f"{cause} {who} resumed it at {when}."]
        stands = "software sends nothing there and checks nothing"
        if pause.callers_only:
            stands = "what automations perform there waits, and is not checked; what Tieout sends goes on"
        return [f"{cause} Until it is resumed, {stands}.", self._waits]

    @property
    def _waits(self) -> str:
        """Say how many wait."""
        count = f"{COUNTED:,}+".replace(",", " ") if self.waiting > COUNTED else self.waiting
        if not count:
            return "Nothing waits for it."
        return f"{count} operation{'s wait' if self.waiting > 1 else ' waits'} for it."

    @cached_property
    def rows(self) -> list[tuple[Operation, str, wording.Badge]]:
        """Return what it has refused: operation, name and badge."""
        badges = row.stamps(self.refused, self.now)
        return [(one, wording.title(one), badges[one.pk]) for one in self.refused]


@built
def open_pauses() -> QuerySet[Pause]:
    """Return the pauses that nobody has ended, the oldest first."""
    return Pause.objects.open().select_related("destination", "case").order_by("paused_at")


def _waiting(pause: Pause) -> int:
    """Count what goes on once it is resumed, up to a cap."""
    waits = Operation.objects.filter(
        Q(state__in=[State.PENDING, State.UNCERTAIN]),
        operation_type__destination=pause.destination_id,
        held_at=None,
    )
    if pause.callers_only:
        waits = waits.filter(operation_type__performed_by="caller")
    return waits.order_by()[: COUNTED + 1].count()
