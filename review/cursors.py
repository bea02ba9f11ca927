"""Where a page of the queue ends: the instant by which ages count, and the last row's key in its order."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Literal, Self

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KEPT = timedelta(days=1)
"""An order older than this is begun anew."""
TICK = timedelta(microseconds=1)
_LENGTH = 60

Part = Literal["i", "o"]
"""Of the items that ask for a person or are in doubt; of operations in the order of their ids."""


@dataclass(frozen=True)
class Cursor:
    """A row's key: its part of the list, its rank (the smallest first), and its id, which breaks ties."""

    part: Part
    rank: float
    pk: int
    operation: int | None = field(default=None, compare=False)
    """Whose row it is, where that was just read and it is no difference; no part of the key."""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Read what `str` wrote; None for anything else."""
        part, _, rest = text[:_LENGTH].partition("~")
        rank, _, pk = rest.partition("~")
        try:
            read, number = float(rank), int(pk)
        except ValueError:
            return None
        if part not in ("i", "o") or not isfinite(read) or not 0 <= number < 1 << 63:
            return None
        return cls("i" if part == "i" else "o", read, number)

    def __str__(self) -> str:
        return f"{self.part}~{self.rank!r}~{self.pk}"


def written(at: datetime) -> str:
    """Return an instant as an address carries it: microseconds since 1970."""
    return str((at - EPOCH) // TICK)


def instant(text: str, now: datetime) -> datetime:
    """Return the instant of an address; now, where it is none of the last day."""
    if not text.isascii() or not text.isdecimal() or len(text) > 17:
        return now
    at = EPOCH + int(text) * TICK
    return at if now - KEPT <= at <= now else now


def seconds(at: datetime) -> float:
    """Return an instant in seconds since 1970, as items have theirs."""
    return (at - EPOCH) / timedelta(seconds=1)
