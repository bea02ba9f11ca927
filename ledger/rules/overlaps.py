"""One thing made is one type: which operation types would find each other's records.

A key is kept once within its type. Where two types look for the same records in the same books, one order
that is handed to both is made twice, and neither of them can tell.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from ledger.rules import placeholders
from ledger.rules.calls import Calls, Question
from ledger.rules.connections import Connection
from ledger.rules.digests import canonical

_ASKED = frozenset({"method", "path", "query", "headers", "body", "match"})
"""What of a question decides which records come back; how pages go on and how they are read does not."""

ONE_TYPE = "One thing made is one type."


@dataclass(frozen=True)
class Place:
    """What tells whose books a destination is: two that are alike here are the same books."""

    connector: str
    address: tuple[str, ...]
    account: str

    @classmethod
    def of(cls, connector: str, account: str, reach: Connection) -> Self:
        """Read it off how a destination is reached."""
        address = (reach.base_url or "").rstrip("/"), reach.url or "", reach.path or "", reach.pattern or ""
        return cls(connector, (*address, canonical(reach.options).decode()), account)

    def beside(self, other: "Place") -> bool:
        """Say whether both are at one address, in whichever accounts."""
        return (self.connector, self.address) == (other.connector, other.address)


@dataclass(frozen=True)
class Finds:
    """What an operation type looks for, and where; `follows` what another operation has made."""

    type_name: str
    place: Place
    asks: frozenset[bytes]
    follows: bool

    @classmethod
    def of(cls, type_name: str, place: Place, how: Calls) -> Self:
        """Read it off the calls of a type."""
        asked = [one for one in (how.lookup, how.list) if one is not None]
        asks = frozenset(_ask(one, how) for one in asked if place.connector == "file" or _says(one))
        return cls(type_name, place, asks, placeholders.names_first(how))


def _says(question: Question) -> bool:
    """Say whether a question tells what is asked; else a connector of one's own alone knows it."""
    return any((question.path, question.query, question.body, getattr(question, "match", None)))


def _ask(question: Question, how: Calls) -> bytes:
    asked = question.model_dump(mode="json", include=set(_ASKED))
    return canonical({**asked, "reference": how.record and how.record.reference})


def same_records(finds: Iterable[Finds]) -> list[tuple[str, ...]]:
    """Return the names of types that look for the same records, two or more together, each lot once.

    What posts a draft that another type makes finds that one's record by design, and is no second one.
    """
    found: dict[tuple[Place, bytes, bool], set[str]] = defaultdict(set)
    for one in finds:
        for ask in one.asks:
            found[one.place, ask, one.follows].add(one.type_name)
    return sorted({tuple(sorted(names)) for names in found.values() if len(names) > 1})
