"""Receivers of webhooks: the documented one as a process, and one that does what a test tells it."""

import json
import os
import re
import socket
import subprocess
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from standardwebhooks import Webhook as Verifier

from config.environment import ROOT
from ledger.models import Webhook
from tests.processes import Spawn, stop

SECRET = "whsec_" + b64encode(b"a secret of twenty-four b").decode()
ALL = ["permit.open", "operation.completed", "operation.held", "operation.corrected"]


@dataclass
class Message:
    """One request as it came."""

    headers: Mapping[str, str]
    body: bytes
    path: str

    @property
    def told(self) -> dict[str, Any]:
        """What it says; fails where it is not signed by the test's secret."""
        said: dict[str, Any] = Verifier(SECRET).verify(self.body, dict(self.headers))
        return said

    @property
    def name(self) -> str:
        """Its webhook-id."""
        return self.headers["webhook-id"]


@dataclass
class Receiver:
    """Keeps what comes and answers as it is told; while `open` is not set, it does not answer at all."""

    port: int
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    got: list[Message] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def kinds(self) -> list[str]:
        """What it was told of, in the order in which it came."""
        return [json.loads(one.body)["type"] for one in self.got]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that listens."""
    receiver = Receiver(0)
    receiver.open.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.got.append(Message(headers, body, self.path))
            receiver.open.wait()
            self.send_response(receiver.status)
            for name, value in {"Content-Length": "0", **receiver.headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.open.set()
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Documented:
    """The receiver of docs/webhooks.md, word for word, on a port of its own."""

    spawn: Spawn
    port: int
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    def on_a_free_port(cls, spawn: Spawn) -> "Documented":
        """One that is not started yet."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return cls(spawn, listener.getsockname()[1])

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Start it and wait until it listens."""
        code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "webhooks.md").read_text(), re.S)
        assert code is not None
        self.process = self.spawn("receiver", "-c", code[1], PORT=str(self.port), TIEOUT_WEBHOOK=SECRET)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("The receiver does not listen.")

    def stop(self) -> None:
        """End it."""
        assert self.process is not None
        stop(self.process)

    def worked(self) -> list[str]:
        """What its work printed, over all its lives."""
        logs = [log for log in self.spawn.logs if log.name.startswith("receiver")]
        lines = [line for log in logs for line in Path(log).read_text().splitlines()]
        return [line for line in lines if line.startswith(("permit.", "operation."))]


def hooked(url: str, name: str = "shop", **columns: Any) -> Webhook:
    """A webhook, as `configure` would make it; its secret is in the environment of every process."""
    os.environ["TIEOUT_WEBHOOK"] = SECRET
    row = {"url": url, "secrets": ["env:TIEOUT_WEBHOOK"], "events": ALL, "allow_private": True}
    return Webhook.objects.create(name=name, **(row | columns))
