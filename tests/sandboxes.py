"""A sandbox destination as a real process, for tests that count effects at the other side."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent
START_S, STOP_S = 60, 15
NO_ANSWER = (OSError, HTTPException)


@dataclass(frozen=True)
class Reply:
    """What came back over HTTP: status, headers by lower-case name, and the body's bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body read as JSON."""
        return json.loads(self.body)


@dataclass
class Sandbox:
    """A running sandbox; it keeps its address and its file across `kill` and `restart`."""

    folder: Path
    options: tuple[str, ...] = ()
    token: str | None = None
    url: str = ""
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def file(self) -> Path:
        """Where the sandbox keeps what it did."""
        return self.folder / "sandbox.sqlite3"

    @property
    def log(self) -> Path:
        """What the process said on standard error."""
        return self.folder / "sandbox.log"

    @property
    def port(self) -> int:
        """The port it listens on; 0 before its first start."""
        return urlsplit(self.url).port or 0

    def start(self) -> None:
        """Start the process and wait for its address; AssertionError with its output where none comes."""
        command = [sys.executable, "-m", "ledger.sandbox", "--port", str(self.port), "--file", str(self.file)]
        if self.token is not None:
            command += ["--token", self.token]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*command, *self.options], cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.url = self._address(self.process)

    def _address(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        watchdog = threading.Timer(START_S, process.kill)  # ends the wait for a line that never comes
        watchdog.start()
        line = process.stdout.readline()
        watchdog.cancel()
        if "http://" not in line:
            self.kill()
            raise AssertionError(f"the sandbox did not start: {line}{self.log.read_text()}")
        return line.split()[-1]

    def kill(self) -> None:
        """Kill it without warning (kill -9)."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """Ask it to stop (SIGTERM) and wait; gives its exit status."""
        return self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Start it again at the same address on the same file, killing it first where it runs."""
        self.kill()
        self.start()

    def _end(self, how: signal.Signals) -> int:
        process, self.process = self.process, None
        if process is None:
            return 0
        process.send_signal(how)
        try:
            return process.wait(STOP_S)
        finally:
            process.kill()
            process.communicate()

    def call(
        self, method: str, path: str, *, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """One request on a connection of its own; OSError or HTTPException where no whole answer comes."""
        content = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        own = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, content, {**own, **(headers or {})})
            response = connection.getresponse()
            received = response.read()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, received)
        finally:
            connection.close()

    def faults(self, mode: str, match: str = "", *, count: int | None = 1, arg: float | None = None) -> None:
        """Order the next `count` requests that match to go wrong (None: all of them, until cleared)."""
        rule = {"mode": mode, "match": match, "count": count, "arg": arg}
        _expect(self.call("POST", "/_faults", body=rule), 201)

    def clear_faults(self) -> None:
        """Forget every order to misbehave."""
        _expect(self.call("DELETE", "/_faults"), 200)

    def pending_faults(self) -> list[dict[str, Any]]:
        """The orders that are not used up."""
        rules: list[dict[str, Any]] = _expect(self.call("GET", "/_faults"), 200)["rules"]
        return rules

    def settle(self, reference: str, status: str = "open") -> int:
        """Give what was only accepted for that reference its final status; says how many records it was."""
        document = {"reference": reference, "status": status}
        return int(_expect(self.call("POST", "/_settle", body=document), 200)["count"])

    def records(self, key: str) -> list[dict[str, Any]]:
        """The live records that were made for the operation with that key."""
        records: list[dict[str, Any]] = self._effects(key)["effects"]
        return records

    def effects(self, key: str) -> int:
        """How many live records were made for the operation with that key."""
        return int(self._effects(key)["count"])

    def deliveries(self, key: str) -> int:
        """How many POST requests arrived with that idempotency key or reference, whatever came of them."""
        return int(self._effects(key)["deliveries"])

    def _effects(self, key: str) -> Any:
        return _expect(self.call("GET", f"/_effects?key={quote(key, safe='')}"), 200)


def _expect(reply: Reply, status: int) -> Any:
    assert reply.status == status, reply.body
    return reply.json


@contextmanager
def running_sandbox(folder: Path, *options: str, token: str | None = None) -> Iterator[Sandbox]:
    """A sandbox on a free port with its file in the folder; stopped at the end."""
    sandbox = Sandbox(folder, options, token)
    sandbox.start()
    try:
        yield sandbox
    finally:
        sandbox.stop()


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A sandbox of the test's own, without a token."""
    with running_sandbox(tmp_path) as running:
        yield running
