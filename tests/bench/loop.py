"""What every calling process does: work until the time is over, and say how often it was done.

Standard library only: the peer's callers run in an environment of their own.
"""

import json
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

Unit = Callable[[str], None]
"""Does one operation under this key, from its claim to its outcome; a key that is done is answered so."""


def serve(make: Callable[[str], Unit]) -> None:
    """Read orders, one JSON line each, and answer each with how many were done in how many seconds."""
    units: dict[str, Unit] = {}
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        name = order["work"]
        unit = units[name] if name in units else units.setdefault(name, make(name))
        done, elapsed = worked(unit, seconds=order["seconds"], duplicates=order["duplicates"])
        print(json.dumps({"done": done, "elapsed": elapsed}), flush=True)


def worked(unit: Unit, *, seconds: float, duplicates: bool) -> tuple[int, float]:
    """Do units for so many seconds, one at least; gives how many, and the seconds they really took."""
    keys = mixed() if duplicates else new()
    at_once = getattr(unit, "at_once", 1)  # what gathers some first is not stopped before they are done
    done, began = 0, time.perf_counter()
    while not done or done % at_once or time.perf_counter() - began < seconds:
        unit(next(keys))
        done += 1
    return done, time.perf_counter() - began


def new() -> Iterator[str]:
    """Keys that nobody has."""
    while True:
        yield f"order/webshop/{uuid.uuid4().hex}/v1"


def mixed() -> Iterator[str]:
    """One new key, then nine times one that is done: nine of ten are duplicates."""
    known: list[str] = []
    for key in new():
        known.append(key)
        yield key
        for number in range(9):
            yield known[number % len(known)]
