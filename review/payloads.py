"""A payload as a person reads and writes it: field by field or as JSON, and never what nobody should see.

What is hidden stays as it is stored until something else is written. In JSON a mark stands in its place that
names where it is kept, `[kept: customer.email]`; it moves with its line, and to no other field.
"""

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ledger.models import OperationType
from ledger.rules import digests, paths, placeholders, strict_json
from ledger.rules.errors import Malformed, NumberNotExact, TooLarge
from ledger.rules.redaction import is_secret

FIELDS_MAX = 150
"""Values of a payload that a form shows, each with a field of its own."""
JSON_MAX = 128 * 1024
"""Bytes of a payload that a page takes; a form sends it twice, once indented, and 1 MiB is the most."""
WORDS_SHOWN = 200
HIDDEN = "hidden"

Path = tuple[str | int, ...]

_KEPT = re.compile(r"\[kept: (.+)\]", re.DOTALL)
_UNTYPED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Private:
    """Which values of a type's payloads are hidden, and which its rules write."""

    redact: tuple[tuple[str, ...], ...]
    written: frozenset[str]

    @classmethod
    def of(cls, kind: OperationType) -> "Private":
        """Read it from the rules of an operation type."""
        send = kind.how.send
        lines = placeholders.early(send.set) if send is not None else {}
        return cls(tuple(paths.split(path) for path in kind.reviewing.redact), frozenset(lines))

    def hides(self, path: Path, value: object) -> bool:
        """Say whether a value is hidden: by its path, its name or its pattern."""
        whole = tuple(str(part) for part in path)
        named = tuple(part for part in path if isinstance(part, str))
        inside = any(whole[: len(one)] == one or named[: len(one)] == one for one in self.redact)
        return inside or is_secret(" ".join(named), words(value))

    def personal(self, path: Path, value: object) -> bool:
        """Say whether the type's rules alone hide a value: what looks like a secret is for nobody."""
        named = " ".join(part for part in path if isinstance(part, str))
        return self.hides(path, value) and not is_secret(named, words(value))

    def fields(self, payload: Mapping[str, Any]) -> dict[Path, object]:
        """Return each value by its path, but for those that the rules write."""
        found = digests.leaves(payload)
        return {path: value for path, value in found if paths.dotted(path) not in self.written and path}


def words(value: object) -> str:
    """Write a value as a person does: text as it is, everything else as JSON has it."""
    return value if isinstance(value, str) else digests.canonical(value).decode()


def kind_of(value: object) -> str:
    """Say in a word what a value is."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "text"
    if value is None:
        return "nothing"
    return "number" if isinstance(value, int | float) else "empty"


def can_be_typed(value: object) -> bool:
    """Say whether a form's field can hold a value without changing it."""
    if isinstance(value, str):
        return _UNTYPED.search(value.replace("\r\n", "\n")) is None
    return not isinstance(value, dict | list)


def reads(value: object, raw: str) -> object:
    """Return what a person wrote in place of a value, of the same type; raises Malformed."""
    raw = raw.replace("\r\n", "\n")
    if raw == words(value).replace("\r\n", "\n"):
        return value
    if isinstance(value, bool):
        if raw not in ("true", "false"):
            raise Malformed("Choose true or false.")
        return raw == "true"
    if isinstance(value, int | float):
        return _number(raw)
    if value is None:
        return raw or None
    windows = isinstance(value, str) and "\r\n" in value
    return raw.replace("\n", "\r\n") if windows else raw


def _number(raw: str) -> int | float:
    try:
        read = strict_json.loads(raw.strip().encode())
    except NumberNotExact as error:
        raise Malformed(f"This {error.detail.removeprefix('$ ')}") from None
    except Malformed:
        read = None
    if isinstance(read, bool) or not isinstance(read, int | float):
        raise Malformed("Write a number, with a point before its decimals.")
    return read


def with_values(payload: Mapping[str, Any], values: Mapping[Path, object]) -> dict[str, Any]:
    """Return a copy of a payload with other values at some of its paths."""
    made = copy.deepcopy(dict(payload))
    for path, value in values.items():
        place: Any = made
        for part in path[:-1]:
            place = place[part]
        place[path[-1]] = value
    return made


def as_json(payload: Mapping[str, Any], private: Private) -> str:
    """Write a payload as JSON for a person, with a mark in place of what is hidden."""
    fields = private.fields(payload)
    marks = {path: f"[kept: {paths.dotted(path)}]" for path in fields if private.hides(path, fields[path])}
    return json.dumps(with_values(payload, marks), indent=2, ensure_ascii=False)


def from_json(text: str, base: Mapping[str, Any], private: Private) -> dict[str, Any]:
    """Read JSON that a person wrote, with what was hidden in `base` back in its place; raises Malformed."""
    read = strict_json.loads(text.encode())
    if not isinstance(read, dict):
        raise Malformed("A payload is a JSON object: write its members in braces.")
    if len(digests.canonical(read)) > JSON_MAX:
        raise TooLarge(f"A page takes payloads of {JSON_MAX // 1024} KiB at most.")
    known = {
        paths.dotted(path): path for path, value in private.fields(base).items() if private.hides(path, value)
    }
    kept = {}
    for path, value in digests.leaves(read):
        match = _KEPT.fullmatch(value) if isinstance(value, str) else None
        if match is not None:
            kept[path] = _value(base, _source(path, known.get(match[1])))
    return with_values(read, kept)


def _source(path: Path, source: Path | None) -> Path:
    """Return from where a mark brings its value back; a hidden one stays in the field that hides it."""
    if source is not None and _names(path) == _names(source):
        return source
    raise Malformed(f"{paths.dotted(path)}: what is hidden can only stay in its own field. Write its value.")


def _names(path: Path) -> list[str]:
    return ["*" if isinstance(part, int) else part for part in path]


def _value(payload: Any, path: Path) -> object:
    for part in path:
        payload = payload[part]
    return payload


@dataclass(frozen=True)
class Change:
    """One value that differs, in words: what it was and what it is to be; `place` is its path."""

    place: str
    before: str
    after: str


def changes(before: Mapping[str, Any], after: Mapping[str, Any], private: Private) -> list[Change]:
    """Return what differs between two payloads, in the order of their paths; hidden values stay hidden."""
    old, new = private.fields(before), private.fields(after)
    moved = [path for path in {**old, **new} if not same(old, new, path)]
    return [
        Change(paths.dotted(path), told(old, path, private), told(new, path, private))
        for path in sorted(moved, key=lambda path: [(isinstance(part, str), part) for part in path])
    ]


def same(old: Mapping[Path, object], new: Mapping[Path, object], path: Path) -> bool:
    """Say whether two payloads hold the same at a path."""
    both = path in old and path in new
    return both and digests.canonical(old[path]) == digests.canonical(new[path])


def told(fields: Mapping[Path, object], path: Path, private: Private) -> str:
    """Say what stands at a path, text in quotes, and no hidden value."""
    if path not in fields:
        return "not there"
    value = fields[path]
    if private.hides(path, value):
        return HIDDEN
    said = words(value)
    short = said if len(said) <= WORDS_SHOWN else f"{said[:WORDS_SHOWN]}…"
    return f"“{short}”" if isinstance(value, str) else short
