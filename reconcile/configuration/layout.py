"""The file's outer shape: its sections, their names, and values that TOML has and we do not take."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any

from reconcile.configuration.sections import (
    Part,
    read_automation,
    read_destination,
    read_display,
    read_plan,
    read_profile,
    read_team,
    read_type,
    read_webhook,
)
from reconcile.configuration.wrongs import Path, Wrongs, choices

_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
_TYPE_NAME = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_TYPE_NAME_LENGTH = 100


@dataclass
class Layout:
    """The named sections of a file by kind, and notes for people although nothing is wrong."""

    destinations: dict[str, Part] = field(default_factory=dict)
    operation_types: dict[str, Part] = field(default_factory=dict)
    automations: dict[str, Part] = field(default_factory=dict)
    plans: dict[str, Part] = field(default_factory=dict)
    webhooks: dict[str, Part] = field(default_factory=dict)
    teams: dict[str, Part] = field(default_factory=dict)
    display: dict[str, Part] = field(default_factory=dict)
    profiles: dict[str, Part] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


_READERS: dict[str, Callable[[Part, Wrongs], None]] = {
    "destinations": read_destination,
    "operation_types": read_type,
    "automations": read_automation,
    "plans": read_plan,
    "webhooks": read_webhook,
    "teams": read_team,
    "display": read_display,
    "profiles": read_profile,
}
_ALONE = "display"
"""The kind of which there is one, without a name of its own."""


def lay_out(data: dict[str, Any], wrongs: Wrongs) -> Layout:
    """Read every named section of a file."""
    layout = Layout()
    plain = {name: _plain(value, (name,), wrongs) for name, value in data.items()}
    for kind, sections in plain.items():
        reader = _READERS.get(kind)
        if reader is None:
            wrongs.add((kind,), f"{kind} is not a section of this file.", choices(kind, _READERS))
        elif not isinstance(sections, dict):
            wrongs.add((kind,), f"{kind} is not a section.", f"Write a header: [{kind}.books].")
        else:
            for name, raw in ({kind: sections} if kind == _ALONE else sections).items():
                part = _part(kind, name, raw=raw, wrongs=wrongs)
                if part is not None:
                    getattr(layout, kind)[name] = part
                    reader(part, wrongs)
    return layout


def _part(kind: str, name: str, *, raw: Any, wrongs: Wrongs) -> Part | None:
    path: Path = (kind,) if kind == _ALONE else (kind, name)
    if not isinstance(raw, dict):
        wrongs.add(path, f"{name} is not a section.", f"Write a header: [{kind}.{name}].")
        return None
    if kind == "operation_types":
        return _type_part(name, raw, wrongs)
    if not _NAME.fullmatch(name):
        wrongs.add(path, f'The name "{name}" cannot be used.', "Write 1 to 100 of a-z, A-Z, 0-9, - and _.")
        return None
    return Part(name, path, raw)


def _type_part(name: str, raw: dict[str, Any], wrongs: Wrongs) -> Part | None:
    path: Path = ("operation_types", name)
    inner = [member for member, value in raw.items() if isinstance(value, dict) and "performed_by" in value]
    if inner and "performed_by" not in raw:
        full = f"{name}.{inner[0]}"
        remedy = f'Put the whole name in quotes: [operation_types."{full}"].'
        wrongs.add((*path, inner[0]), f"The dot parts {full} into two sections.", remedy)
        return None
    if len(name) > _TYPE_NAME_LENGTH or not _TYPE_NAME.fullmatch(name):
        remedy = 'Write names of a-z, A-Z, 0-9, - and _ with dots between, such as "invoice.create".'
        wrongs.add(path, f'The name "{name}" cannot be used.', remedy)
        return None
    return Part(name, path, raw)


def _plain(value: Any, path: Path, wrongs: Wrongs) -> Any:
    """Return a value of which only text, whole and finite numbers, truth, lists and tables are left."""
    if isinstance(value, dict):
        for name in value:
            _check_text(name, (*path, name), wrongs)
        return {name: _plain(inner, (*path, name), wrongs) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner, (*path, index), wrongs) for index, inner in enumerate(value)]
    if isinstance(value, str):
        _check_text(value, path, wrongs)
    if isinstance(value, datetime | date | time):
        wrongs.add(path, "No date or time belongs here.", "Put it in quotes if it is meant as text.")
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        wrongs.add(path, f"{value} is not a number that can be used.", "Write a finite number.")
        return 0
    return value


def _check_text(text: str, path: Path, wrongs: Wrongs) -> None:
    if any((ord(one) < 32 and one not in "\n\t") or ord(one) == 127 for one in text):
        wrongs.add(path, "The text has a control character.", "Take it out.")
