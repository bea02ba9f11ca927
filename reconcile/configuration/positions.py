"""The line on which each value of a TOML text stands; the standard library's reader does not keep it."""

import re
import tomllib

from reconcile.configuration.wrongs import Path

MOST_LEVELS = 20
"""How deep a value may lie: each name of its path is one level, and each place in an array."""

_SPACE = re.compile(r"[ \t]*")
_FILLER = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TEXT = re.compile(
    r"""  \"{3} (?:[^\\]|\\.)*? \"{3} (?!\")
      |  '{3} .*? '{3} (?!')
      |  \" (?:[^"\\\n]|\\.)* \"
      |  ' [^'\n]* '
    """,
    re.VERBOSE | re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


class TooDeep(ValueError):
    """A value lies deeper than MOST_LEVELS; `line` says where."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}")


def positions(text: str) -> dict[Path, int]:
    """Return the line (from 1) of every table, array and value of a text that `tomllib` has read.

    Raises TooDeep.
    """
    return _Scanner(text.replace("\r\n", "\n")).scan()  # as `tomllib` reads it


class _Scanner:
    """Walks once through a text that is known to be TOML."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.tables: dict[Path, int] = {}
        # Counted on as the walk goes on, so that a long file is not counted again for each value.
        self.counted, self.line = 0, 1

    def scan(self) -> dict[Path, int]:
        prefix: Path = ()
        while self._skip(_FILLER) < len(self.text):
            if self.text[self.at] == "[":
                prefix = self._header()
            else:
                self._pair(prefix)
        return self.lines

    def _header(self) -> Path:
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        line, names = self._line(), self._key()
        self._skip(_SPACE)
        self.at += 2 if many else 1
        path = self._record((), names[:-1] if many else names, line)
        if not many:
            return path
        table = (*path, names[-1])
        self.tables[table] = self.tables.get(table, -1) + 1
        self.lines.setdefault(table, line)
        return self._record(path, names[-1:], line)

    def _pair(self, prefix: Path) -> None:
        line, names = self._line(), self._key()
        self._skip(_SPACE)
        self.at += 1
        self._value(self._record(prefix, names, line))

    def _value(self, path: Path) -> None:
        if len(path) > MOST_LEVELS:
            raise TooDeep(self._line())
        self._skip(_SPACE)
        opening = self.text[self.at]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline_table(path)
        elif opening in "\"'":
            self._take(_TEXT)
        else:
            self._take(_SCALAR)

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self.text[self._skip(_FILLER)] != "]":
            self.lines.setdefault((*path, index), self._line())
            self._value((*path, index))
            index += 1
            self._comma()
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        while self.text[self._skip(_FILLER)] != "}":
            self._pair(path)
            self._comma()
        self.at += 1

    def _comma(self) -> None:
        if self.text[self._skip(_FILLER)] == ",":
            self.at += 1

    def _key(self) -> list[str]:
        names = []
        while True:
            self._skip(_SPACE)
            if self.text[self.at] in "\"'":
                names.append(_unquoted(self._take(_TEXT)))
            else:
                names.append(self._take(_BARE_KEY))
            self._skip(_SPACE)
            if self.text[self.at] != ".":
                return names
            self.at += 1

    def _record(self, path: Path, names: list[str], line: int) -> Path:
        if len(path) + len(names) > MOST_LEVELS:
            raise TooDeep(line)
        for name in names:
            path = (*path, name)
            self.lines.setdefault(path, line)
            if path in self.tables:
                path = (*path, self.tables[path])
                self.lines.setdefault(path, line)
        return path

    def _skip(self, pattern: re.Pattern[str]) -> int:
        self._take(pattern)
        return self.at

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None, f"not TOML at offset {self.at}"
        self.at = match.end()
        return match[0]

    def _line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line


def _unquoted(text: str) -> str:
    value = tomllib.loads(f"text = {text}")["text"]
    assert isinstance(value, str)
    return value
