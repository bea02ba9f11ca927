"""A file without a name on the disk: whoever dies takes it along, and nobody else can open it."""

import io
import os
import tempfile
from collections.abc import Iterable
from typing import Any, Self

BUFFER = 128 * 1024


class Unlinked:
    """A file that is put together once, and opened as often as it is read; `name` is what words call it."""

    def __init__(self, name: str, parts: Iterable[bytes]) -> None:
        """Write its parts where temporary files stand; it is gone once this is closed."""
        self.name = name
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by whoever made this
        try:
            self._file.writelines(parts)
            self._file.flush()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Give it to read."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Let it go."""
        self._file.close()

    def opened(self) -> io.BufferedReader:
        """Open it at its beginning, however far others have read."""
        return io.BufferedReader(_Again(self._file.fileno()), BUFFER)


class _Again(io.RawIOBase):
    def __init__(self, number: int) -> None:
        self._number, self._at = number, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: os.fstat(self._number).st_size}
        self._at = begin[whence] + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self._number, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
