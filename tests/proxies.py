"""A proxy of bare sockets: it opens tunnels (CONNECT) and passes plain requests on, or refuses to."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from tests.ledger.wires import Wire, serving


@contextmanager
def proxying(*, refuses: str = "", before: Callable[[], None] = lambda: None) -> Iterator[Wire]:
    """Serve as a proxy; with `refuses` it answers that line to everything, and `before` is called first."""

    def handle(connection: socket.socket, request: bytes) -> None:
        before()
        method, target, _ = request.split(b"\r\n", 1)[0].decode().split(" ")
        if refuses:
            connection.sendall(f"HTTP/1.1 {refuses}\r\nContent-Length: 0\r\n\r\n".encode())
        elif method == "CONNECT":
            host, _, port = target.rpartition(":")
            with socket.create_connection((host, int(port)), timeout=10) as beyond:
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                _join(connection, beyond)
        else:
            parts = urlsplit(target)
            with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=10) as beyond:
                beyond.sendall(request.replace(target.encode(), parts.path.encode(), 1))
                _pass(beyond, connection)

    with serving(handle) as wire:
        yield wire


def _join(one: socket.socket, other: socket.socket) -> None:
    """Pass bytes both ways until both sides are done."""
    back = threading.Thread(target=_pass, args=(other, one), daemon=True)
    back.start()
    _pass(one, other)
    back.join(10)


def _pass(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
