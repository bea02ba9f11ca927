"""How fast a destination is called by all workers together: places for calls at once, and turns for each.

A place is a lock of the database session, so it is free again when its process ends, however that comes. A
turn is an instant that the database gives to one caller.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

from django.db import DatabaseError, InterfaceError, connection

from ledger.actions import pacing
from ledger.models import Destination
from ledger.rules.errors import Conflict

PLACE = 0x74696503
"""Our number among PostgreSQL's advisory locks; the second one is the destination's and the place's."""
PLACES_MAX = 1000
AGAIN_S = 0.05
WAIT_S = 0.3
"""How long a worker waits for room before it leaves an operation for later: others wait behind it."""
LIST_WAIT_S = 150.0
"""How long a list waits for room before each page; with the page it stays below what a run may be silent."""
REST_MAX_S = 900.0
"""How long everybody waits at most because one was told to; that one waits as long as was said."""
MIND = (429, 503)
"""Statuses whose Retry-After (RFC 9110, 10.2.3) is meant for everybody."""

logger = logging.getLogger(__name__)


class NoRoom(Conflict):
    """A destination may not be called now: its rate is used up, or it has asked to wait."""

    type = "no-room"
    title = "The destination is called as often as it may be"


class Turns(Protocol):
    """When one caller may call, and whom it lets know that all are to wait."""

    def turn(self, *, within_s: float) -> None:
        """Wait for the next turn and use it; raises NoRoom where that is not within so many seconds."""

    def room(self, *, wait_s: float) -> AbstractContextManager[None]:
        """Hold a place and have a turn for one call; raises NoRoom where that takes more than `wait_s`."""

    def mind(self, retry_after_s: float) -> None:
        """Wait from now on, as an answer asks for in seconds."""


class OwnTurns:
    """The turns of one process at what no destination of ours stands for, as what a plan's source is."""

    def __init__(self, title: str, per_second: float | None) -> None:
        self._title, self._gap_s = title, 0.0 if per_second is None else 1 / per_second
        self._next = time.monotonic()

    def turn(self, *, within_s: float) -> None:
        """Wait for the next turn and use it; raises NoRoom where that is not within so many seconds."""
        self._wait(within_s)
        self._next = max(self._next, time.monotonic()) + self._gap_s

    @contextmanager
    def room(self, *, wait_s: float) -> Iterator[None]:
        """Have a turn for one call, which is still to be used."""
        self._wait(wait_s)
        yield

    def mind(self, retry_after_s: float) -> None:
        """Wait from now on, as an answer asks for in seconds."""
        self._next = max(self._next, time.monotonic() + retry_after_s)

    def _wait(self, within_s: float) -> None:
        wait_s = self._next - time.monotonic()
        if wait_s > within_s:
            raise NoRoom(f"{self._title} has asked to wait, or is called as often as its rate allows.")
        time.sleep(max(wait_s, 0))


class Pace:
    """The turns of one caller at one destination; where that has no rate, every moment is a turn."""

    def __init__(self, destination: Destination) -> None:
        per_second = destination.reach.rate.per_second
        self._destination = destination
        self._gap_s = 0.0 if per_second is None else 1 / per_second
        self._turns: list[float] = []

    def reserve(self, turns: int, *, within_s: float) -> None:
        """Take turns in a row, of which the first comes within so many seconds; raises NoRoom."""
        pk = self._destination.pk
        if self._gap_s == 0:
            wait_s: float | None = pacing.rests_s(pk)
            if wait_s is not None and wait_s > within_s:
                wait_s = None
        else:
            wait_s = pacing.take_turns(pk, turns=turns, gap_s=self._gap_s, within_s=within_s)
        if wait_s is None:
            raise NoRoom(self._why())
        first = time.monotonic() + wait_s
        self._turns += [first + number * self._gap_s for number in range(turns)]

    def wait(self, *, within_s: float) -> None:
        """Wait for the next turn without using it; raises NoRoom where that is not within so many seconds."""
        if not self._turns:
            self.reserve(1, within_s=max(within_s, 0))
        time.sleep(max(self._turns[0] - time.monotonic(), 0))

    def turn(self, *, within_s: float) -> None:
        """Wait for the next turn and use it; raises NoRoom where that is not within so many seconds."""
        self.wait(within_s=within_s)
        self._turns.pop(0)

    @contextmanager
    def room(self, *, wait_s: float) -> Iterator[None]:
        """Hold a place and have a turn for one call; raises NoRoom where that takes more than `wait_s`."""
        with place(self._destination, wait_s=wait_s):
            self.wait(within_s=wait_s)
            yield

    def mind(self, retry_after_s: float) -> None:
        """Let everybody wait, as an answer asks for in seconds."""
        try:
            pacing.rest(self._destination.pk, for_s=min(retry_after_s, REST_MAX_S))
        except (DatabaseError, InterfaceError):
            logger.warning("%s has asked to wait, and others could not be told", self._destination.name)

    def _why(self) -> str:
        if pacing.rests_s(self._destination.pk) > 0:
            return f"{self._destination.title} has asked to wait: it is left alone until that is over."
        return f"{self._destination.title} is called as often as its rate allows: there was no room in time."


@contextmanager
def admitted(destination: Destination, *, wait_s: float, calls: int = 1) -> Iterator[Pace]:
    """Hold a place at a destination, and its next turns; raises NoRoom where that takes over `wait_s`."""
    until = time.monotonic() + wait_s
    with place(destination, wait_s=wait_s):
        pace = Pace(destination)
        pace.reserve(calls, within_s=max(until - time.monotonic(), 0))
        yield pace


@contextmanager
def place(destination: Destination, *, wait_s: float) -> Iterator[None]:
    """Hold one of a destination's places for calls at once; raises NoRoom where none is free in time."""
    places = destination.reach.rate.concurrency
    if places is None:
        yield
        return
    until = time.monotonic() + wait_s
    while (key := _taken(destination, places)) is None:
        if time.monotonic() >= until:
            raise NoRoom(
                f"{destination.title} is called as many times at once as its rate allows ({places})."
            )
        time.sleep(AGAIN_S)
    try:
        yield
    finally:
        # A session that broke off has given its locks back already.
        with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [PLACE, key])


def _taken(destination: Destination, places: int) -> int | None:
    with connection.cursor() as cursor:
        for number in range(places):
            key = (destination.pk * PLACES_MAX + number) % 2**31
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [PLACE, key])
            if cursor.fetchone()[0]:
                return key
    return None
