"""A person's check asks the network within their request: it is short, and few run at once."""

import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from django.db import InterfaceError, OperationalError, connection

from ledger.models import Destination, Operation
from ledger.rules.errors import NotNow
from reconcile.models import Finding, Repeat

LONGEST_S = 15.0
"""The time-out of a destination may be minutes; whoever waits before a page does not wait so long."""
AT_ONCE = 2
"""How many people's checks may wait for one destination: the web server has few threads."""

APPEARS, AGAIN = "What is found appears here by itself.", "Try again in a moment."
"""What to do about a check that is under way: only the page of an operation looks again by itself."""

OPERATION, DESTINATION, REPEAT, DIFFERENCE = 0x74696501, 0x74696502, 0x7469650B, 0x7469650E
CLICK = 0x7469650F
"""Our numbers among PostgreSQL's advisory locks, each with a second one for the row."""


@contextmanager
def turn(operation: Operation) -> Iterator[None]:
    """Hold one of a destination's places, and this operation's own; NotNow where none is free."""
    with _turn(operation.operation_type.destination, OPERATION, operation.pk, then=APPEARS):
        yield


@contextmanager
def turn_of_repeat(repeat: Repeat) -> Iterator[None]:
    """Hold the same for a trigger that ran more than once, and for the operation that it is."""
    what = (REPEAT, repeat.pk) if repeat.operation_id is None else (OPERATION, repeat.operation_id)
    with _turn(repeat.operation_type.destination, *what):
        yield


@contextmanager
def turn_of_difference(finding: Finding) -> Iterator[None]:
    """Hold the same for what a run found."""
    with _turn(finding.run.plan.operation_type.destination, DIFFERENCE, finding.pk):
        yield


@contextmanager
def one_click(command_id: uuid.UUID) -> Iterator[None]:
    """Hold a click: the same one again waits for what the first one comes to, instead of being refused."""
    key = [CLICK, command_id.int % 2**31]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", key)
    try:
        yield
    finally:
        _give_back(key)


@contextmanager
def _turn(destination: Destination, what: int, number: int, *, then: str = AGAIN) -> Iterator[None]:
    """Hold them in the database session, so that they end with it, however that comes."""
    places = [destination.pk * AT_ONCE + place for place in range(AT_ONCE)]
    with ExitStack() as held:
        if not _taken(held, what, number):
            raise NotNow(f"It is already being checked. {then}")
        if not any(_taken(held, DESTINATION, place) for place in places):
            raise NotNow(
                f"{destination.title} is already being checked for others, and has not answered yet. {AGAIN}"
            )
        yield


def _taken(held: ExitStack, what: int, number: int) -> bool:
    key = [what, number % 2**31]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", key)
        (mine,) = cursor.fetchone()
    if mine:
        held.callback(_give_back, key)
    return bool(mine)


def _give_back(key: list[int]) -> None:
    # A session that broke off has given its locks back already.
    with suppress(OperationalError, InterfaceError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)
