"""Dotted paths into JSON values, such as `lines.0.total`, that never mean two things.

A member name stands as it is, unless that could be mistaken: an empty name, and one with a dot, a double
quote, a backslash, white space, a leading `$` or an unprintable character, is written as a JSON string:
`meta."a.b".total`. What begins with a bare `$` is ours (`$amount`): no member of a payload has that path.
"""

import json
import re
from collections.abc import Iterable

ROOT = "$"

_BARE = re.compile(r"[^\s.\"\\$][^\s.\"\\]*")
_SEGMENT = re.compile(r'"(?:[^"\\]|\\.)*"|[^."\\]+')


def dotted(segments: Iterable[str | int]) -> str:
    """Write member names and list positions as one path; the path of the whole value is `$`."""
    return ".".join(_segment(segment) for segment in segments) or ROOT


def split(path: str) -> tuple[str, ...]:
    """Read a dotted path back into its names, positions as digits; raises ValueError if it is none."""
    if path == ROOT:
        return ()
    segments, end = [], -1
    while end < len(path):
        match = _SEGMENT.match(path, end + 1)
        if match is None or path[match.end() : match.end() + 1] not in (".", ""):
            raise ValueError(
                f'"{path}" is not a path: write names with dots between, odd names in double quotes'
            )
        segments.append(json.loads(match[0]) if match[0].startswith('"') else match[0])
        end = match.end()
    return tuple(segments)


def _segment(segment: str | int) -> str:
    if isinstance(segment, int):
        return str(segment)
    if segment.isascii() and segment.isidentifier():
        return segment  # most names are, and it is known at once
    bare = _BARE.fullmatch(segment) is not None and segment.isprintable()
    return segment if bare else json.dumps(segment, ensure_ascii=not segment.isprintable())
