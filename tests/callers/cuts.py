"""A line to the server that breaks: the request arrives, and nothing or a part of its answer comes back."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.callers.writing import Request
from tests.ledger.wires import reset, serving


@dataclass
class Line:
    """A proxy in front of the server: `passes` is how many bytes of an answer come through."""

    host: str
    url: str = ""
    passes: int = 0
    lost: list[bytes] = field(default_factory=list)

    def lose(self, request: Request) -> Any:
        """Send a request whose answer is lost; gives status and body that were on their way."""
        headers = {**request.headers, "Host": self.host}
        try:
            got = httpx.post(f"{self.url}/api/v1/{request.path}", content=request.content, headers=headers)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            head, _, body = self.lost.pop().partition(b"\r\n\r\n")
            return int(head.split(b" ", 2)[1]), body
        raise AssertionError(f"The answer came through: {got.text}")


@contextmanager
def breaking(server_url: str) -> Iterator[Line]:
    """Put a line before the server that lets each request through and loses its answer once it is whole."""
    beyond = urlsplit(server_url)
    line = Line(beyond.netloc)

    def handle(connection: socket.socket, request: bytes) -> None:
        with socket.create_connection((beyond.hostname or "", beyond.port or 80), timeout=30) as server:
            last = request.replace(b"\r\nConnection: keep-alive", b"\r\nConnection: close", 1)
            server.sendall(last)
            answer = b"".join(iter(lambda: server.recv(65536), b""))
        line.lost.append(answer)
        connection.sendall(answer[: line.passes])
        reset(connection)

    with serving(handle) as wire:
        line.url = wire.url
        yield line
