"""Opening a statement's file: as bytes or as text, within the limits, and by what it begins with."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import TextIO

from ledger.destinations.connectors.base import regular
from reconcile.histories.files import FileRefused, encoding_of
from reconcile.statements.stating import How
from reconcile.statements.unlinked import Unlinked

BYTES_MAX = 200 * 2**20
LINE_MAX = 2**16
HEAD = 4096
"""How many bytes tell the form."""


@dataclass(frozen=True)
class File:
    """A file that was opened once: its checksum (SHA-256), its size in bytes, and what it begins with."""

    path: Path | Unlinked
    how: How
    checksum: str
    size: int
    head: bytes

    @property
    def name(self) -> str:
        """What words call it."""
        return self.path.name

    def raw(self) -> BufferedReader:
        """Open it as bytes."""
        return _opened(self.path)

    def encoding(self) -> str:
        """Return how its text is written; FileRefused where what is stated is not what its mark says."""
        with _opened(self.path) as raw:
            return encoding_of(raw, self.name, stated=self.how.encoding, option=self.how.option("encoding"))

    @contextmanager
    def text(self, encoding: str) -> Iterator[TextIO]:
        """Open it as text; FileRefused where some of it is not in the encoding."""
        try:
            with (
                _opened(self.path) as raw,
                TextIOWrapper(raw, encoding=encoding, errors="strict", newline="") as text,
            ):
                yield text
        except OSError as error:
            raise FileRefused(f"{self.name} cannot be opened: {error.strerror}.") from None
        except UnicodeError as error:
            why = error.reason if isinstance(error, UnicodeDecodeError) else str(error)
            where = f"line {line}: " if (line := self._undecoded(encoding)) else ""
            raise FileRefused(
                f"{self.name} is not {encoding.upper()} throughout ({where}{why}). Say how it is written with"
                f" {self.how.option('encoding')}, such as cp1252; it is decided once for the whole file."
            ) from None

    def _undecoded(self, encoding: str) -> int:
        """Return the first line that is not in an encoding whose lines end with one byte; 0 where none is."""
        if encoding.startswith("utf-16"):
            return 0
        number = 0
        with _opened(self.path) as raw:
            while (line := raw.readline(LINE_MAX)) and len(line) < LINE_MAX:
                number += 1
                try:
                    line.decode(encoding)
                except UnicodeError:
                    return number
        return 0


def opened(path: Path | Unlinked, how: How) -> File:
    """Open a file and see what it is; FileRefused where it is empty, too large, or cannot be opened."""
    try:
        with _opened(path) as raw:
            size = raw.seek(0, 2)
            if not size:
                raise FileRefused(f"{path.name} is empty.")
            if size > BYTES_MAX:
                raise FileRefused(f"{path.name} is larger than 200 MB. Export fewer days at a time.")
            raw.seek(0)
            head = raw.read(HEAD)
            raw.seek(0)
            return File(path, how, hashlib.file_digest(raw, "sha256").hexdigest(), size, head)
    except OSError as error:
        raise FileRefused(f"{path.name} cannot be opened: {error.strerror}.") from None


def lines(text: TextIO, name: str) -> Iterator[str]:
    """Yield the lines of a text; FileRefused where one is longer than any export's."""
    number = 0
    while line := text.readline(LINE_MAX):
        number += 1
        if len(line) == LINE_MAX:
            raise FileRefused(
                f"Line {number} of {name} has {LINE_MAX} characters or more: that is no export."
            )
        yield line


def _opened(path: Path | Unlinked) -> BufferedReader:
    return path.opened() if isinstance(path, Unlinked) else open(path, "rb", opener=regular)
