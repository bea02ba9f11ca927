"""A played destination that speaks HTTP on this machine, and misbehaves at the step that is asked for."""

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ledger.destinations.conformance.scenes import PAGES, REFUSALS, Held, Play, Scene, Stage
from ledger.destinations.connectors.base import ConfigurationError, Target
from ledger.rules import placeholders
from ledger.rules.calls import Calls
from ledger.rules.connections import Connection

PAGE = 2
"""How many records the double gives at once."""
LONG_S = 5.0
"""How long a silent double keeps a connection open: longer than any deadline of the kit."""
_FOR_PEOPLE = b"<!DOCTYPE html><title>Sign in</title>"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """All that it names, decoded."""
        return unquote(f"{self.path} {' '.join(self.query.values())} {self.body.decode(errors='replace')}")


class HttpDouble:
    """Plays a destination by the rules of an operation type; override what yours does otherwise.

    `reach` points a connector at the double, `makes` says which requests may leave something behind, `answer`
    gives status and JSON of one request.
    """

    scenes = frozenset(Scene)

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    def reach(self, reach: Connection, url: str) -> Connection:
        """Return how the destination is reached, pointed at the double."""
        if reach.base_url is None:
            raise ConfigurationError(
                "Nothing says where it connects to: write a double whose reach() points it there."
            )
        auth = None if reach.auth is not None and reach.auth.kind == "oauth2" else reach.auth
        return reach.model_copy(update={"base_url": url, "proxy": None, "tls": None, "auth": auth})

    def makes(self, request: Request) -> bool:
        """Say whether a request may leave something behind at the destination."""
        return request.method not in _READING

    def answer(self, request: Request, play: Play) -> tuple[int, object]:
        """Return status and body for a request."""
        if play.asked == "send":
            return 201, self._sent(request)
        held = [
            one
            for one in play.held
            if play.ignores_filter or play.asked == "list" or one.reference in request.text
        ]
        return 200, self._page(held, request, play)

    def record(self, held: Held) -> dict[str, Any]:
        """Return one record as the destination would give it."""
        map = self.calls.record  # noqa: A001 - as everywhere
        record: dict[str, Any] = {}
        assert map is not None  # without it nothing is asked
        _put(record, map.id, f"R-{held.number}")
        _put(record, map.reference, held.reference)
        if map.amount is not None:
            _put(record, map.amount, "1240.00" if map.amount_unit == "major" else 124000)
        if map.currency is not None:
            _put(record, map.currency, "ZAR")
        if map.status is not None:
            _put(record, map.status, (map.done_statuses or ("open",))[0])
        return record

    def _sent(self, request: Request) -> object:
        record = self.record(Held(KEY, 1)) if self.calls.record else {"id": "R-1"}
        item = self.calls.send.item if self.calls.send else None
        return _put({}, item, record) if item is not None else record

    def _page(self, held: list[Held], request: Request, play: Play) -> object:
        call = self.calls.list if play.asked == "list" else self.calls.lookup
        assert call is not None  # it was asked
        paging, records = call.paging, [self.record(one) for one in held]
        if paging.style == "none":
            return records if call.items is None else _put({}, call.items, records)
        if paging.style != "cursor" or paging.where == "body" or call.items is None:
            raise ConfigurationError(
                f'Pages in style "{paging.style}" are not played: write a double of your own.'
            )
        start = int(request.query.get(str(paging.parameter), 0))
        body = _put({}, call.items, records[start : start + PAGE])
        return _put(body, str(paging.next), str(start + PAGE) if start + PAGE < len(records) else None)

    @contextmanager
    def playing(self, play: Play, target: Target) -> Iterator[Stage]:
        """Serve on a port of this machine until the scene is over."""
        with _Server(self, play) as server:
            reach = self.reach(target.reach, server.url)
            server.stage = Stage(replace(target, reach=reach, pace=None))
            yield server.stage


NOT_NOW_S = 3600
"""For how long a played limit lasts: longer than who reads a list waits for a page."""
KEY = "conformance/1"
"""The key of the operation that is played."""


def _put(body: dict[str, Any], path: str | None, value: object) -> dict[str, Any]:
    """Write a value where a simple expression reads it; raises ConfigurationError for any other."""
    if path is None or not all(name.isidentifier() for name in path.split(".")):
        raise ConfigurationError(
            f'Nothing can be played for the expression "{path}": write a double of your own.'
        )
    placeholders.put(body, path, "")
    place = body
    *above, last = path.split(".")
    for name in above:
        place = place[name]
    place[last] = value
    return body


class _Server:
    """One listener and one thread: connections come one after the other, one request each."""

    def __init__(self, double: HttpDouble, play: Play) -> None:
        self.double, self.play = double, play
        self.stage: Stage | None = None
        self._first: bytes | None = None
        self._stop = threading.Event()

    def __enter__(self) -> "_Server":
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        if self.play.scene is Scene.REFUSES and self.play.at == 1:
            self._listener.close()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(LONG_S)

    def _serve(self) -> None:
        number = 0
        while not self._stop.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(LONG_S)
                request = read(connection)
                if request is not None:
                    number += 1
                    self._answer(connection, request, number)

    def _answer(self, connection: socket.socket, request: Request, number: int) -> None:
        assert self.stage is not None  # nobody knows the address before
        self.stage.requests.append((f"{request.method} {request.path}", self.double.makes(request)))
        self.stage.in_transaction = self.stage.in_transaction or self.stage.watch()
        scene = self.play.scene if number == self.play.at else Scene.ANSWERS
        try:
            status, body = self.double.answer(request, self.play)
        except ConfigurationError as error:
            self.stage.trouble = error.detail
            return
        content = json.dumps(body).encode()
        if self.play.scene is Scene.RESTARTS:
            content = self._first = self._first or content
        if self.play.scene is Scene.REFUSES and number == self.play.at - 1:
            self._listener.close()  # before the answer, so that nobody can be quicker
        self._misbehave(connection, scene, status, content)

    def _misbehave(self, connection: socket.socket, scene: Scene, status: int, content: bytes) -> None:
        if scene is Scene.RESETS:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif scene is Scene.SILENT:
            self._stop.wait(LONG_S)
        elif scene is Scene.DRIPS:
            connection.sendall(_head(200, 1_000_000))
            while not self._stop.wait(0.05):
                connection.sendall(b" ")
        elif scene is Scene.GARBLES:
            connection.sendall(_head(200, 9) + b'{"id": \xff\xfe')
        elif scene is Scene.FAILS:
            connection.sendall(_head(500, 2) + b"{}")
        elif scene in REFUSALS:
            wait_s = NOT_NOW_S if scene is Scene.LIMITS else None
            connection.sendall(_head(REFUSALS[scene], 2, wait_s=wait_s) + b"{}")
        elif scene in PAGES:
            connection.sendall(_head(PAGES[scene], len(_FOR_PEOPLE), "text/html") + _FOR_PEOPLE)
        elif scene is Scene.BREAKS_OFF:
            connection.sendall(_head(status, len(content)) + content[: len(content) // 2])
        else:
            connection.sendall(_head(status, len(content)) + content)


def _head(status: int, length: int, kind: str = "application/json", *, wait_s: int | None = None) -> bytes:
    lines = (
        f"HTTP/1.1 {status} Played",
        f"Content-Type: {kind}",
        f"Content-Length: {length}",
        *([] if wait_s is None else [f"Retry-After: {wait_s}"]),
        "Connection: close",
    )
    return "\r\n".join((*lines, "", "")).encode()


def read(connection: socket.socket) -> Request | None:
    """Read one request; None where none came."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    while len(body) < int(headers.get("content-length", 0)):
        part = connection.recv(65536)
        if not part:
            break
        body += part
    method, target, *_ = first.split(" ")
    parts = urlsplit(target)
    return Request(method, unquote(parts.path), dict(parse_qsl(parts.query)), headers, body)
