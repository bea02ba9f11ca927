"""Values of the configuration in the words of its file."""

import json
import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from ledger.rules.calls import RetryPolicy, ReviewPolicy
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract
from ledger.rules.events import EventRules
from ledger.rules.paths import dotted
from reconcile.configuration.sections import PlanHead, SourceHead, TypeHead
from reconcile.configuration.wording import CARRIED, UNSHOWN

_UNITS_S = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_KINDS: tuple[type[BaseModel], ...] = (
    *(Connection, EventRules, Contract, RetryPolicy, ReviewPolicy),
    *(TypeHead, PlanHead, SourceHead),
)
_DURATIONS = frozenset(
    info.alias or name for kind in _KINDS for name, info in kind.model_fields.items() if name.endswith("_s")
)
_CALLS = frozenset({"send", "lookup", "list", "void", "drill"})
_ADDRESS = re.compile(r"/|[a-z]+://")
_IN_ADDRESS = (
    (re.compile(r"//[^/?#]*@"), "//…@"),
    (re.compile(r"([?&;][^=&;#]*=)(?!\{[^{}]*\}(?:[&;#]|$))[^&;#]*"), r"\1…"),
)
"""Credentials before a host, and the values of a query but for placeholders."""

Flat = dict[tuple[str, ...], object]


def duration(seconds: float) -> str:
    """Write seconds as the file would: "30s", "10m", "24h", "35d"."""
    for unit, length in _UNITS_S:
        many = 2 * length if unit == "d" else length
        if seconds >= many and seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds * 1000:g}ms" if 0 < seconds < 1 else f"{seconds:g}s"


def flat(values: Mapping[str, object], path: tuple[str, ...] = ()) -> Flat:
    """Return the single values of a tree by their paths; what is not set, and empty tables, are left out."""
    return dict(_leaves(values, path))


def _leaves(values: Mapping[str, object], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def hidden(path: tuple[str, ...]) -> bool:
    """Say whether a value may lead to a secret, so that it is neither printed nor put on record."""
    if not UNSHOWN.isdisjoint(path):
        return True
    if path[0] == "source":
        return not CARRIED.isdisjoint(path)
    # `send.body` and `body_as` say only the form.
    return path[0] in _CALLS and not CARRIED.isdisjoint(path) and path[:2] != ("send", "body")


def shown(path: tuple[str, ...], value: object) -> str:
    """Write one value as the file would; "nothing" where it is not set."""
    if value is None:
        return "unknown" if path[-1] == "key_retention" else "nothing"
    if path[-1] in _DURATIONS and isinstance(value, int | float):
        return duration(value)
    return json.dumps(_without_secrets(value), ensure_ascii=False)


def _without_secrets(value: object) -> object:
    return address(value) if isinstance(value, str) and _ADDRESS.match(value) else value


def address(value: str) -> str:
    """Return an address or a path without credentials, and without a query's values but for placeholders."""
    for pattern, instead in _IN_ADDRESS:
        value = pattern.sub(instead, value)
    return value


def told(path: tuple[str, ...], old: object, new: object) -> list[str] | None:
    """Write both values of a change; None where no more may be said than that there is one."""
    values = [shown(path, old), shown(path, new)]
    return None if hidden(path) or values[0] == values[1] else values


def change(path: tuple[str, ...], old: object, new: object) -> str:
    """Write one change, "contract.settle 30s -> 10s"; of what may be secret, only that it changed."""
    values = told(path, old, new)
    return f"{dotted(path)} {' -> '.join(values)}" if values else f"{dotted(path)} changed"
