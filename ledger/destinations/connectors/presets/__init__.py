"""Presets: what known destinations promise and how they are called, a TOML file each.

A file has the configuration file's lines under `[destination]` and `[operations.NAME]`; those under `[each]`
are every operation's. A line of a contract names the document that it was read in and the day, or says that
it is not published, or was not read. `[needs]` has a sentence for each line of the destination that only the
user can write, and `[operations.NAME.needs]` one for each such line of an operation, by its dotted path;
`[begun]` has lines of the destination's sections that count only where the user's file begins them.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Preset:
    """What a preset brings: the lines of a destination, those of each operation, and what it asks for."""

    name: str
    destination: dict[str, Any] = field(default_factory=dict)
    operations: dict[str, dict[str, Any]] = field(default_factory=dict)
    needs: dict[str, str] = field(default_factory=dict)
    wants: dict[str, dict[str, str]] = field(default_factory=dict)
    """What each operation needs besides, by the dotted paths of the lines."""
    begun: dict[str, dict[str, Any]] = field(default_factory=dict)


def names() -> list[str]:
    """Return the names of all presets, in order."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def read(name: str) -> Preset | None:
    """Return a preset; None where there is none of that name."""
    if name not in names():
        return None
    raw = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    each = raw.pop("each", {})
    operations = {operation: _over(each, own) for operation, own in raw.pop("operations").items()}
    wants = {operation: lines.pop("needs", {}) for operation, lines in operations.items()}
    return Preset(name, operations=operations, wants=wants, **raw)


def _over(under: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lines of both, table by table; where both write one, the second's."""
    both = {**under, **own}
    for name in under.keys() & own.keys():
        if isinstance(under[name], dict) and isinstance(own[name], dict):
            both[name] = _over(under[name], own[name])
    return both
