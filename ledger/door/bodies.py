"""A request's whole body, within a total deadline: a slow sender must not hold one of the few threads."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from django.http import HttpRequest

from ledger.door import sizes
from ledger.rules.errors import Malformed, TieoutError, TooSlow

PIECE = 64 * 1024
THROWN_AWAY_MAX = 32 * 1024 * 1024
"""How much of a body that is too large is read all the same, so that its sender can read the answer."""
DEADLINE_S = 15.0
BEAT_S = 1.0


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
    def over(self, connection: socket.socket | None) -> Iterator[Reading | None]:
        """Watch while a body is read from this connection; without one, nothing is watched."""
        if connection is None:
            yield None
            return
        reading = Reading(connection, time.monotonic() + DEADLINE_S)
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
    with _WATCH.over(environ.get("gunicorn.socket")) as reading:
        try:
            return _whole(request, environ["wsgi.input"], limit=sizes.body_max(request.path_info))
        except TieoutError:
            if reading is None or not reading.late:
                raise
            raise TooSlow(
                f"The request was not whole after {DEADLINE_S:.0f} seconds. Send it again."
            ) from None


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
