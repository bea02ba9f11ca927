"""A person's check asks the network within their request: it is short, and few run at once."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from django.db import InterfaceError, OperationalError, connection

from ledger.models import Operation
from ledger.rules.errors import NotNow

LONGEST_S = 15.0
"""The time-out of a destination may be minutes; whoever waits before a page does not wait so long."""
AT_ONCE = 2
"""How many people's checks may wait for one destination: the web server has few threads."""

OPERATION, DESTINATION = 0x74696501, 0x74696502
"""Our numbers among PostgreSQL's advisory locks, each with a second one for the row."""


@contextmanager
def turn(operation: Operation) -> Iterator[None]:
    """Hold one of a destination's places, and this operation's own; NotNow where none is free.

    The database session holds them, so they end with it, however that comes.
    """
    destination = operation.operation_type.destination
    places = [destination.pk * AT_ONCE + place for place in range(AT_ONCE)]
    with ExitStack() as held:
        if not _taken(held, OPERATION, operation.pk):
            raise NotNow("It is already being checked. What is found appears here by itself.")
        if not any(_taken(held, DESTINATION, place) for place in places):
            raise NotNow(
                f"{destination.title} is already being checked for others, and has not answered yet. "
                "Try again in a moment."
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
