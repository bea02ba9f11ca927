"""The text of a configuration file: read, parsed as TOML, and asked on which line a value stands."""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from reconcile.configuration.positions import MOST_LEVELS, TooDeep, positions
from reconcile.configuration.wrongs import Path, Refused, Wrong

MAX_BYTES = 1024 * 1024
MOST_SYNTAX_ERRORS = 50
MOST_DOTS = 200
"""On one line: to read names that are joined by dots takes time and memory by the square of their number."""
LARGEST = 2**63 - 1
"""What TOML promises of whole numbers; a longer one has no end in time, or no way into words."""

_PLACE = re.compile(
    r"(?P<what>.*) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$", re.DOTALL
)
_BARE_DURATION = re.compile(r"=\s*\d[\d.]*\s*(?:ms|s|m|h|d)\b")
_BARE_TRUTH = re.compile(r"=\s*(?:True|False|TRUE|FALSE|yes|no|on|off)\b")
_BARE_TEXT = re.compile(r"=\s*[A-Za-z_]")
_TWICE = ("Cannot overwrite", "Cannot declare", "Cannot mutate", "Cannot redefine", "Duplicate")


@dataclass(frozen=True)
class Source:
    """A file's data, what of its text is not TOML, and where everything stands."""

    name: str
    data: dict[str, Any]
    lines: dict[Path, int]
    not_toml: tuple[Wrong, ...] = ()
    text: str = field(default="", repr=False)

    def located(self, wrongs: Iterable[Wrong]) -> list[Wrong]:
        """Return what is wrong with the line of each: its own, else that of the section it belongs to."""
        return [wrong if wrong.line else replace(wrong, line=self._line(wrong.path)) for wrong in wrongs]

    def _line(self, path: Path) -> int | None:
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read(file: FilePath) -> Source:
    """Read a file; what is not TOML in it is kept aside. Raises Refused where it is not there or not text."""
    return parsed(file.name, _text(file))


def parsed(name: str, text: str) -> Source:
    """Read a file's text; what is not TOML is kept aside. Raises Refused where it goes beyond a limit."""
    lines = text.split("\n")
    if wrongs := list(_dotted(lines)):
        raise Refused(wrongs)
    while True:
        try:
            readable = "\n".join(lines)
            data = tomllib.loads(readable)
            places = positions(readable)
        except RecursionError:
            raise Refused([_too_deep(_deep(lines))]) from None
        except TooDeep as error:
            raise Refused([_too_deep(error.line)]) from None
        except tomllib.TOMLDecodeError as error:
            wrong = _not_toml(error, lines)
            wrongs.append(wrong)
            if len(wrongs) == MOST_SYNTAX_ERRORS or not _left_out(wrong, lines):
                return Source(name, {}, {}, tuple(wrongs), text)
        except ValueError:  # of a number with more digits than are ever read
            raise Refused([*wrongs, _too_large(line=_unread(lines))]) from None
        else:
            read = Source(name, data, places, tuple(wrongs), text)
            if beyond := read.located(_beyond(read)):
                raise Refused([*wrongs, *beyond])
            return read


def _too_large(path: Path = (), line: int | None = None) -> Wrong:
    return Wrong(
        "This number is too large.", f"Write one from -{LARGEST} to {LARGEST}.", path=path, line=line
    )


def _too_deep(line: int) -> Wrong:
    return Wrong(
        f"The file is nested too deeply: {MOST_LEVELS} levels at most.", "Write flat sections.", line=line
    )


def _dotted(lines: list[str]) -> Iterator[Wrong]:
    """Name lines with so many dots that they are not to be read at all."""
    for number, line in enumerate(lines, start=1):
        if line.count(".") > MOST_DOTS:
            yield Wrong(
                f"More than {MOST_DOTS} dots stand on this line.", "Spread it over lines.", line=number
            )


def _deep(lines: list[str]) -> int:
    """Return the line on which more is open than may be, counted as if no text held a bracket."""
    depth = 0
    for number, line in enumerate(lines, start=1):
        opened = sum(map(line.count, "[{"))
        if depth + opened > MOST_LEVELS:
            return number
        depth = max(0, depth + opened - sum(map(line.count, "]}")))
    return _last(lines)


def _unread(lines: list[str]) -> int:
    """Return the line at which reading, from the top, ends with something else than a fault of syntax."""

    def ends(number: int) -> bool:
        try:
            tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            return False
        except ValueError:
            return True
        return False

    return bisect_left(range(1, len(lines)), True, key=ends) + 1


def _beyond(read: Source) -> Iterator[Wrong]:
    """Name what TOML can say and nothing here can hold: endless numbers, and the character zero."""
    rest: list[tuple[Path, Any]] = [((), read.data)]
    while rest:
        path, value = rest.pop()
        if isinstance(value, dict):
            rest.extend(((*path, name), inner) for name, inner in value.items())
            for name in (name for name in value if "\0" in name):
                line = read.lines.get((*path, name))
                yield Wrong("This name holds the character zero.", "Leave it out.", line=line)
        elif isinstance(value, list):
            rest.extend(((*path, index), inner) for index, inner in enumerate(value))
        elif isinstance(value, int) and abs(value) > LARGEST:
            yield _too_large(path=path)
        elif isinstance(value, str) and "\0" in value:
            yield Wrong(
                "This text holds a control character, the character zero.", "Leave it out.", path=path
            )


def _text(file: FilePath) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Refused([Wrong(f"There is no file {file}.", "Name the file to read.")]) from None
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        raise Refused([Wrong(f"{file} cannot be read: {why}.", "Name a file that may be read.")]) from None
    return decoded(content)


def decoded(content: bytes) -> str:
    """Return the text of a file; raises Refused where it is too long or not UTF-8."""
    if len(content) > MAX_BYTES:
        raise Refused([Wrong("The file is larger than 1 MiB.", "Spread it over several files.")])
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"The byte {content[error.start]:#04x} is not UTF-8."
        raise Refused([Wrong(what, "Save the file as UTF-8.", line=line)]) from None


def _not_toml(error: tomllib.TOMLDecodeError, lines: list[str]) -> Wrong:
    place = _PLACE.match(str(error))
    what = place["what"] if place else str(error)
    line = int(place["line"]) if place and place["line"] else _last(lines)
    column = int(place["column"]) if place and place["column"] else None
    what = re.sub(r"'?\\n'?", "end of line", what).rstrip(".")
    return Wrong(
        f"This is not TOML: {what[:1].lower()}{what[1:]}.",
        _remedy(what, lines[line - 1]),
        line=line,
        column=column,
    )


def _last(lines: list[str]) -> int:
    """Return the number of the last line with something on it."""
    return max((number for number, line in enumerate(lines, start=1) if line.strip()), default=1)


def _remedy(what: str, line: str) -> str:
    if what.startswith(_TWICE):
        return "A name may stand once; remove or rename one of the two."
    if _BARE_DURATION.search(line):
        return 'Put the duration in quotes, such as "30s".'
    if _BARE_TRUTH.search(line):
        return "Write true or false, in small letters and without quotes."
    if what.startswith(("Unclosed", "Unterminated", "Illegal character")):
        return "Close what was opened before: each quote, bracket and brace."
    if _BARE_TEXT.search(line):
        return 'Put text in quotes, such as "books".'
    return (
        'Write [section] or name = value, text in quotes; a name with a dot is quoted, too: "invoice.create".'
    )


def _left_out(wrong: Wrong, lines: list[str]) -> bool:
    """Leave a wrong line out, to come to the next; False where nothing after it can be trusted."""
    unclosed = any(word in wrong.what for word in ("unclosed", "unterminated"))
    if wrong.line is None or unclosed or not lines[wrong.line - 1].strip():
        return False
    first = wrong.line - 1
    last = first + 1
    if lines[first].lstrip().startswith("["):
        # Without its header, a section's lines would be read as part of the one before.
        while last < len(lines) and not lines[last].lstrip().startswith("["):
            last += 1
    lines[first:last] = [""] * (last - first)
    return True
