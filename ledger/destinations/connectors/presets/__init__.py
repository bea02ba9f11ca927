"""Presets: what known destinations promise and how they are called, a TOML file each.

A file has the configuration file's lines under `[destination]` and `[operations.NAME]`. A line of a contract
names the document that it was read in and the day, or says that it is not published. `[needs]` says what only
the user can tell of a destination: a sentence for each line that is asked for.
"""

import tomllib
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


def names() -> list[str]:
    """Return the names of all presets, in order."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def read(name: str) -> Preset | None:
    """Return a preset; None where there is none of that name."""
    if name not in names():
        return None
    return Preset(name, **tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8")))
