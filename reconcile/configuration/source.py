"""The text of a configuration file: read, parsed as TOML, and asked on which line a value stands."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from reconcile.configuration.positions import positions
from reconcile.configuration.wrongs import Path, Refused, Wrong

MAX_BYTES = 1024 * 1024
MOST_SYNTAX_ERRORS = 50

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
    """Read a file's text; what is not TOML is kept aside. Raises Refused where it is nested too deeply."""
    lines = text.split("\n")
    wrongs: list[Wrong] = []
    while True:
        try:
            readable = "\n".join(lines)
            return Source(name, tomllib.loads(readable), positions(readable), tuple(wrongs), text)
        except RecursionError:
            raise Refused([Wrong("The file is nested too deeply.", "Write flat sections.")]) from None
        except tomllib.TOMLDecodeError as error:
            wrong = _not_toml(error, lines)
            wrongs.append(wrong)
            if len(wrongs) == MOST_SYNTAX_ERRORS or not _left_out(wrong, lines):
                return Source(name, {}, {}, tuple(wrongs), text)


def _text(file: FilePath) -> str:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Refused([Wrong(f"There is no file {file}.", "Name the file to read.")]) from None
    except OSError as error:
        why = (error.strerror or "unknown error").lower()
        raise Refused([Wrong(f"{file} cannot be read: {why}.", "Name a file that may be read.")]) from None
    if len(content) > MAX_BYTES:
        raise Refused([Wrong(f"{file} is larger than 1 MiB.", "Spread it over several files.")])
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
