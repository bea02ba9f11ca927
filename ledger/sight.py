"""Whose rows a reading sees: everybody's, or those of some legal entities alone.

Who is limited is so around all that answers them (`limited`). Every question that begins at a model's
`objects` then leaves out what belongs to others: rows, counts and totals alike, and what is acted on is found
by the same questions. What is reached from a row that was found (its tries) is not asked for again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.db import connection, models
from django.db.models import Q

Entities = frozenset[str] | None
"""Names of legal entities; None is all of them."""

NOTHING = [0]
"""The number of no row at all: Django makes no SQL of an empty list."""


_THERE = """
SELECT there.id, there.name, kind.id, kind.name
FROM ledger_destination AS there LEFT JOIN ledger_operationtype AS kind ON kind.destination_id = there.id
WHERE there.entity = ANY(%s)
"""


class Sight:
    """What somebody sees; asked for once, where the first question needs it."""

    def __init__(self, entities: Callable[[], Entities]) -> None:
        self._entities = entities

    @cached_property
    def entities(self) -> Entities:
        """The legal entities; None where all are seen."""
        return self._entities()

    @cached_property
    def _there(self) -> list[tuple[int, str, int | None, str | None]]:
        # By itself: what begins at `objects` asks this.
        with connection.cursor() as cursor:
            cursor.execute(_THERE, [sorted(self.entities or ())])
            found: list[tuple[int, str, int | None, str | None]] = cursor.fetchall()
        return found

    @cached_property
    def content(self) -> object:
        """All that its conditions are made of: two with the same content see the same."""
        return self.entities, tuple(self._there)

    @property
    def destinations(self) -> list[int]:
        """The destinations of these entities."""
        return sorted({pk for pk, _, _, _ in self._there}) or NOTHING

    @property
    def places(self) -> list[str]:
        """What these destinations are called in addresses and files."""
        return sorted({name for _, name, _, _ in self._there})

    @property
    def types(self) -> list[int]:
        """The operation types that go there."""
        return sorted(pk for _, _, pk, _ in self._there if pk is not None) or NOTHING

    @property
    def names(self) -> list[str]:
        """What these types are called."""
        return sorted(name for _, _, _, name in self._there if name is not None)

    def among(self, name: str) -> Q:
        """Ask that a list of type names has some, and none but these; an empty one stands for every type."""
        return Q(**{f"{name}__contained_by": self.names}) & ~Q(**{name: []})


_sight: ContextVar[Sight | None] = ContextVar("sight", default=None)


def present() -> Sight | None:
    """Return what is seen here; None where that is everything."""
    sight = _sight.get()
    return sight if sight is not None and sight.entities is not None else None


@contextmanager
def limited(sight: Sight | None) -> Iterator[None]:
    """See what this sight sees; None is everything."""
    token = _sight.set(sight)
    try:
        yield
    finally:
        _sight.reset(token)


def whole() -> Any:
    """See everything: for what a decision rests on, and for what belongs to a row that was found."""
    return limited(None)


def _questions(manager: models.Manager[Any]) -> Any:
    """Begin a question at a model's `objects`, or at the rows of another one."""
    found: Any = models.Manager.get_queryset(manager)
    sight = present()
    return found if sight is None else found.kept_to(sight)


class Seen:
    """Of a QuerySet whose rows belong to legal entities: `kept_to` leaves out what a sight does not see."""

    if not TYPE_CHECKING:  # the types of managers are told from Django's own

        @classmethod
        def as_manager(cls):
            """Return a manager that leaves out what is not seen here."""
            manager = super().as_manager()
            type(manager).get_queryset = _questions  # the class was made for this one
            return manager
