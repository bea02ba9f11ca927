"""Layered retries: who repeats a call by itself, one inside the other, and how many calls that makes."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

EXAMPLES = 'write "Zapier: 3 replays", "requests: 4 calls", "connector: none" or "proxy: not known"'
CALLS_MAX = 1000
_COUNTED = re.compile(r"(?P<count>\d{1,4}) (?P<word>[a-z]+)\b.*", re.I)
_IN_ALL = frozenset({"call", "calls", "try", "tries", "attempt", "attempts"})
"""Words that count the first call, too."""
_AGAIN = frozenset(
    ("repeat", "repeats", "retry", "retries", "replay", "replays", "autoreplay", "autoreplays")
)
"""Words that count what comes after the first call."""


@dataclass(frozen=True)
class Layer:
    """One layer that may repeat a call; `calls` counts the first one, and is None where nobody knows."""

    who: str
    calls: int | None

    @classmethod
    def read(cls, said: str) -> Self:
        """Read "who: how often"; ValueError says how to write it."""
        who, colon, often = (part.strip() for part in said.partition(":"))
        counted = _COUNTED.fullmatch(often)
        if not who or not colon:
            raise ValueError(f"a layer says who repeats a call, and how often; {EXAMPLES}")
        if often.casefold() in ("none", "not known"):
            return cls(who, 1 if often.casefold() == "none" else None)
        word = counted["word"].casefold() if counted else ""
        if counted is None or word not in _IN_ALL | _AGAIN:
            raise ValueError(f'"{often}" does not say how often; {EXAMPLES}')
        calls = int(counted["count"]) + (word in _AGAIN)
        if not 1 <= calls <= CALLS_MAX:
            raise ValueError(f"a layer makes 1 to {CALLS_MAX} calls; {EXAMPLES}")
        return cls(who, calls)

    def __str__(self) -> str:
        return f"{'not known' if self.calls is None else self.calls} by {self.who}"


def calls_of(layers: Sequence[Layer]) -> int | None:
    """Return how many calls all layers make of one event at most; None where one of them is not known."""
    known = [layer.calls for layer in layers if layer.calls is not None]
    return math.prod(known) if len(known) == len(layers) else None


def multiplied(layers: Sequence[Layer]) -> str:
    """Multiply them out for people: "4 by Zapier × 2 by requests = up to 8 calls for one event"."""
    calls = calls_of(layers)
    product = " × ".join(map(str, layers))
    if calls is None:
        return f"{product}: how many calls that makes of one event is not known"
    if len(layers) == 1:
        return f"{product} for one event"
    return f"{product} = {'one call' if calls == 1 else f'up to {calls:,} calls'} for one event"
