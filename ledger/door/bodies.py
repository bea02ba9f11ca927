"""A request's whole body, within a total deadline: a slow sender must not hold one of the few threads."""

import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError

from ledger.door import sizes
from ledger.rules.errors import Malformed, TieoutError, TooSlow

PIECE = 64 * 1024
THROWN_AWAY_MAX = 32 * 1024 * 1024
"""How much of a body that is too large is read all the same, so that its sender can read the answer."""
DEADLINE_S = 15.0
STREAMED_DEADLINE_S = 120.0
"""How long files may take that a page takes: they are many times as large as any request."""
BEAT_S = 1.0
MARK = "\ufffd"
"""What stands for bytes that are no text."""
NOT_UTF_8 = "The form is not in UTF-8, as every page sends it: nothing was done. Open the page again."


@dataclass(eq=False)
class Reading:
    """A body that is being read; `late` says that its time was over."""

    connection: socket.socket
    until: float
    late: bool = False

    def end(self) -> None:
        """Let whoever reads see the end; the answer can still be written."""
        self.late = True
        try:
            self.connection.shutdown(socket.SHUT_RD)
        except OSError:
            pass  # it is gone already


class Watch:
    """Ends what takes too long: one thread of each process, which sleeps while no body is read.

    A time-out of the socket is not enough, for it begins again with each byte.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: set[Reading] = set()
        self._thread: threading.Thread | None = None
        self._sleeps = False

    @contextmanager
    def over(self, connection: socket.socket | None, *, within_s: float) -> Iterator[Reading | None]:
        """Watch while a body is read from this connection; without one, nothing is watched."""
        if connection is None:
            yield None
            return
        reading = Reading(connection, time.monotonic() + within_s)
        with self._changed:
            self._open.add(reading)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="bodies", daemon=True)
                self._thread.start()
            elif self._sleeps:
                self._changed.notify()
        try:
            yield reading
        finally:
            with self._changed:
                self._open.discard(reading)

    def _run(self) -> None:
        with self._changed:
            while True:
                self._sleeps = not self._open
                self._changed.wait(BEAT_S if self._open else None)
                now = time.monotonic()
                for reading in [one for one in self._open if one.until <= now]:
                    reading.end()
                    self._open.discard(reading)


_WATCH = Watch()


def whole(request: HttpRequest) -> bytes:
    """Read a body to its end; raises TooSlow, TooLarge or Malformed.

    Bodies that come in chunks are read as well, which Django takes for empty ones.
    """
    environ = request.environ  # type: ignore[attr-defined]  # every request is WSGI's
    with _WATCH.over(environ.get("gunicorn.socket"), within_s=DEADLINE_S) as reading:
        try:
            return _whole(request, environ["wsgi.input"], limit=sizes.body_max(request.path_info))
        except TieoutError:
            if reading is None or not reading.late:
                raise
            raise _too_slow(DEADLINE_S) from None


def refuse_other_text(request: HttpRequest, body: bytes) -> None:
    """Refuse a form whose text is no UTF-8; raises Malformed.

    Django would put a mark in the place of what it cannot read, and the trail would keep that for ever.
    """
    if request.content_type == "application/x-www-form-urlencoded":
        try:
            unquote_to_bytes(body).decode()
        except UnicodeDecodeError:
            raise Malformed(NOT_UTF_8) from None
    elif request.content_type == "multipart/form-data" and MARK.encode() not in body:
        texts = (text for _, texts in request.POST.lists() for text in texts)
        if any(MARK in text for text in texts):
            raise Malformed(NOT_UTF_8)


def _too_slow(within_s: float) -> TooSlow:
    return TooSlow(f"The request was not whole after {within_s:.0f} seconds. Send it again.")


class Streamed(io.RawIOBase):
    """A form with files, read as it is taken apart; half a file is never taken for whole."""

    def __init__(self, source: BinaryIO, length: int) -> None:
        """Read so many bytes from a source."""
        self._source, self._left = source, length
        self.broke_off = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what fits; MultiPartParserError where the source ends before its end."""
        wanted = min(len(buffer), self._left)
        try:
            data = self._source.read(wanted) if wanted else b""
        except Exception:  # noqa: BLE001  # each server has a class of its own for a connection that broke
            data = b""
        if wanted and not data:
            self.broke_off = True
            raise MultiPartParserError("The request broke off before its end.")
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


@contextmanager
def streamed(request: HttpRequest, *, limit: int) -> Iterator[Callable[[], TieoutError | None]]:
    """Let a form with files be read as it is taken apart; TooLarge before any of it is read.

    Gives what tells afterwards why it did not come to its end, if it did not.
    """
    environ = request.environ  # type: ignore[attr-defined]  # every request is WSGI's
    announced = request.META.get("CONTENT_LENGTH") or ""
    length = int(announced) if announced.isdigit() else 0
    if length > limit:
        _throw_away(environ["wsgi.input"], length)
        raise sizes.too_large(limit)
    with _WATCH.over(environ.get("gunicorn.socket"), within_s=STREAMED_DEADLINE_S) as reading:
        body = Streamed(environ["wsgi.input"], length)
        request._stream = body  # type: ignore[assignment]  # Django reads a form by `read` alone

        def why_not_whole() -> TieoutError | None:
            if not body.broke_off:
                return None
            late = reading is not None and reading.late
            return _too_slow(STREAMED_DEADLINE_S) if late else Malformed("The request broke off.")

        yield why_not_whole


def _whole(request: HttpRequest, source: BinaryIO, *, limit: int) -> bytes:
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdigit():
        announced = int(length)
    elif request.META.get("wsgi.input_terminated"):
        announced = None
    else:
        announced = 0
    wanted = limit + 1 if announced is None else min(announced, limit + 1)
    body = _read(source, wanted)
    if len(body) > limit:
        _throw_away(source, THROWN_AWAY_MAX if announced is None else announced - len(body))
        raise sizes.too_large(limit)
    if announced is not None and len(body) < announced:
        raise Malformed("The request broke off before its end.")
    return body


def _read(source: BinaryIO, size: int) -> bytes:
    try:
        return source.read(size) if size else b""
    except Exception:  # noqa: BLE001  # each server has a class of its own for a body that is not HTTP
        raise Malformed("The body's transfer coding cannot be read.") from None


def _throw_away(source: BinaryIO, size: int) -> None:
    left = min(size, THROWN_AWAY_MAX)
    while left > 0:
        piece = _read(source, min(PIECE, left))
        if not piece:
            return
        left -= len(piece)
