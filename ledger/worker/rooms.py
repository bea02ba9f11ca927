"""How much of what is due is taken up in one pass: little where a destination is called only so fast.

So its thousands do not fill the queue before those of others, and each of its types comes round.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from ledger.actions import pacing
from ledger.destinations.pacing import WAIT_S
from ledger.models import Destination, Pace, TieoutNow
from ledger.rules.errors import RulesUnreadable

AHEAD_S = 1.0
"""For how long the work is given out ahead; the next pass comes about then."""

PER_PLACE = 5
"""How many calls are given out for each place at once: most are shorter than the time until the next pass."""


@dataclass(frozen=True)
class Room:
    """A destination with a rate, or at rest: its types, how many tasks to give out, and whether it rests."""

    destination_id: int
    types: tuple[int, ...]
    tasks: int
    rests: bool

    def shares(self) -> Iterator[tuple[int, int]]:
        """Yield types, in an order by chance, with an equal part of the tasks for each, at least one."""
        order = random.sample(self.types, len(self.types))
        part = max(1, math.ceil(self.tasks / max(len(order), 1)))
        left = self.tasks
        for kind in order:
            if left <= 0:
                return
            yield kind, min(part, left)
            left -= part


def rooms() -> list[Room]:
    """Return the destinations of which not everything is taken up at once."""
    resting = set(Pace.objects.filter(rests_until__gt=TieoutNow()).values_list("destination_id", flat=True))
    found = []
    for destination in Destination.objects.prefetch_related("types"):
        try:
            rate = destination.reach.rate
        except RulesUnreadable:
            continue  # it is paused for that
        limited = rate.per_second is not None or rate.concurrency is not None
        if limited or destination.pk in resting:
            rests = destination.pk in resting
            types = tuple(kind.pk for kind in destination.types.all())
            found.append(Room(destination.pk, types, 0 if rests else _tasks(destination), rests))
    return found


def _tasks(destination: Destination) -> int:
    rate = destination.reach.rate
    tasks = math.inf
    if rate.per_second is not None:
        waits = pacing.turn_s(destination.pk) > WAIT_S
        tasks = 0 if waits else math.ceil(rate.per_second * AHEAD_S)
    if rate.concurrency is not None:
        tasks = min(tasks, PER_PLACE * rate.concurrency)
    return int(tasks)
