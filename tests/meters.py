"""A meter before a destination: it passes connections on, and counts calls as they arrive and overlap."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.ledger.wires import whole_request


@dataclass
class Meter:
    """What was measured: when each call arrived (seconds, rising), and how many were at work at once."""

    url: str = ""
    arrived: list[float] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    at_once: int = 0
    most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, request: bytes) -> None:
        """A call has arrived whole."""
        with self.lock:
            self.arrived.append(time.monotonic())
            self.requests.append(request)
            self.at_once += 1
            self.most = max(self.most, self.at_once)

    def end(self) -> None:
        """Its answer is there, and about to be passed on."""
        with self.lock:
            self.at_once -= 1


@contextmanager
def metering(target: str) -> Iterator[Meter]:
    """Measure what goes to an address; each connection is one call."""
    parts = urlsplit(target)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    meter = Meter(f"http://127.0.0.1:{listener.getsockname()[1]}")

    def one(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            request = whole_request(connection)
            if not request:
                return
            meter.begin(request)
            try:
                with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=20) as beyond:
                    beyond.sendall(request)
                    answer = beyond.recv(65536)
                    meter.end()
                    while answer:
                        connection.sendall(answer)
                        answer = beyond.recv(65536)
            except OSError:
                return

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield meter
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
