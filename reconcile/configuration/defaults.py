"""Presets under a file's own lines: each line that the file does not write itself comes from its preset."""

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ledger.destinations.connectors import presets
from ledger.destinations.connectors.presets import Preset
from ledger.rules.paths import dotted
from reconcile.configuration.source import Source
from reconcile.configuration.wrongs import Path, Wrongs, choices

_KINDS = {"auth": "kind", "paging": "style"}
"""Tables whose lines belong to one kind: of another kind, none of the preset's lines are meant."""


@dataclass
class Filled:
    """A file with its presets' lines under its own, and what they brought, a line each."""

    source: Source
    brought: list[str] = field(default_factory=list)


def fill(read: Source, wrongs: Wrongs) -> Filled:
    """Put presets under a file's sections; what they bring stands on the line that names the preset."""
    filled = Filled(replace(read, data=copy.deepcopy(read.data), lines=dict(read.lines)))
    used = {
        name: _of_destination(name, own, filled, wrongs) for name, own in _sections(filled, "destinations")
    }
    for name, own in _sections(filled, "operation_types"):
        _of_type(name, own, filled, wrongs=wrongs, used=used)
    return filled


def _sections(filled: Filled, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    sections = filled.source.data.get(kind)
    for name, own in sections.items() if isinstance(sections, dict) else ():
        if isinstance(own, dict):
            yield name, own


def _of_destination(name: str, own: dict[str, Any], filled: Filled, wrongs: Wrongs) -> Preset | None:
    path, asked = ("destinations", name), own.get("preset")
    preset = presets.read(asked) if isinstance(asked, str) else None
    if asked is None:
        return None
    if preset is None:
        wrongs.incomplete.add(path)
        if isinstance(asked, str):
            wrongs.add((*path, "preset"), f'There is no preset "{asked}".', choices(asked, presets.names()))
        return None
    begun = {name: lines for name, lines in preset.begun.items() if name in own}
    _put(own, {**preset.destination, **begun}, path, filled=filled, source=preset.name)
    _ask(own, preset.needs, path, wrongs)
    return preset


def _of_type(
    name: str, own: dict[str, Any], filled: Filled, *, wrongs: Wrongs, used: Mapping[str, Preset | None]
) -> None:
    path, asked, destination = ("operation_types", name), own.get("preset"), str(own.get("destination"))
    if asked is None:
        return
    preset = used.get(destination)
    if preset is not None and isinstance(asked, str) and asked in preset.operations:
        _put(own, preset.operations[asked], path, filled=filled, source=f"{preset.name} {asked}")
        _ask(own, preset.wants.get(asked, {}), path, wrongs)
        return
    wrongs.incomplete.add(path)
    if not isinstance(asked, str):
        return  # which its own reader says
    if preset is not None:
        what = f'The preset "{preset.name}" has no operation "{asked}".'
        wrongs.add((*path, "preset"), what, choices(asked, preset.operations))
    elif destination in used and ("destinations", destination) not in wrongs.incomplete:
        remedy = f'Add preset = "…" to [destinations.{destination}], or write the lines yourself. '
        what = f'The destination "{destination}" has no preset to take "{asked}" from.'
        wrongs.add((*path, "preset"), what, remedy + choices("", presets.names()))


def _ask(own: Mapping[str, Any], needs: Mapping[str, str], path: Path, wrongs: Wrongs) -> None:
    """Ask for each line that a preset needs and the file does not have, in the preset's own words."""
    for line, remedy in needs.items():
        place: Any = own
        *tables, name = line.split(".")
        for table in tables:
            place = place.get(table) if isinstance(place, dict) else None
        if not isinstance(place, dict) or name not in place:
            wrongs.add((*path, *tables, name), f"{name} is missing, and only you know it.", remedy)


def _put(own: dict[str, Any], under: Mapping[str, Any], path: Path, *, filled: Filled, source: str) -> None:
    """Write each line that is not there; a table is filled line by line, anything else stays as it is."""
    lines = filled.source.lines
    for name, value in under.items():
        place, there = (*path, name), own.get(name)
        if isinstance(there, dict) and isinstance(value, dict):
            if _same_kind(name, there, value):
                _put(there, value, place, filled=filled, source=source)
        elif name not in own:
            own[name] = copy.deepcopy(value)
            line = lines.get((*path[:2], "preset"), 0)
            for inner, leaf in _leaves(value, place):
                lines.setdefault(inner, line)
                filled.brought.append(f"{dotted(inner)} {json.dumps(leaf, ensure_ascii=False)} ({source})")
            lines.setdefault(place, line)


def _same_kind(name: str, own: Mapping[str, Any], under: Mapping[str, Any]) -> bool:
    kind = _KINDS.get(name)
    return kind is None or own.get(kind, under.get(kind)) == under.get(kind)


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    else:
        yield path, value
