"""Values of the configuration in the words of its file."""

import json
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from ledger.rules.calls import RetryPolicy, ReviewPolicy
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract
from ledger.rules.events import EventRules
from ledger.rules.paths import dotted
from reconcile.configuration.sections import PlanHead, TypeHead

_UNITS_S = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
_KINDS: tuple[type[BaseModel], ...] = (
    *(Connection, EventRules, Contract, RetryPolicy, ReviewPolicy),
    *(TypeHead, PlanHead),
)
_DURATIONS = frozenset(
    info.alias or name for kind in _KINDS for name, info in kind.model_fields.items() if name.endswith("_s")
)
_BODIES = (("lookup", "body"), ("list", "body"), ("lookup", "query"), ("list", "query"), ("send", "wrap"))
"""A text inside may be a secret by mistake, and a query is too long to be told."""
_UNSHOWN = frozenset({"auth", "headers", "options", "proxy", "secret", "tls", "url"})

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
    return not _UNSHOWN.isdisjoint(path) or path[:2] in _BODIES


def shown(path: tuple[str, ...], value: object) -> str:
    """Write one value as the file would; "nothing" where it is not set."""
    if value is None:
        return "unknown" if path[-1] == "key_retention" else "nothing"
    if path[-1] in _DURATIONS and isinstance(value, int | float):
        return duration(value)
    return json.dumps(value, ensure_ascii=False)


def change(path: tuple[str, ...], old: object, new: object) -> str:
    """Write one change, "contract.settle 30s -> 10s"; of what may be secret, only that it changed."""
    if hidden(path):
        return f"{dotted(path)} changed"
    return f"{dotted(path)} {shown(path, old)} -> {shown(path, new)}"
