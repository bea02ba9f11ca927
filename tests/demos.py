"""`make demo` as one process tree, started once for all tests that look at it."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest

from config.cluster import wait_until
from config.environment import ROOT

# All cases are promised within two minutes; a machine that is busy with other tests may take longer.
START_S = 240
APPEAR_S = 240
STOP_S = 15
CASES = {
    "one_match",
    "differs",
    "several",
    "absent",
    "refused",
    "could_not_look",
    "expired",
    "accepted",
}


@dataclass
class Demo:
    """One `make demo` in a process group of its own, as a shell makes it; it keeps its data when it stops."""

    data: Path
    ports: tuple[int, int] = field(default_factory=lambda: two_free_ports())
    process: subprocess.Popen[bytes] | None = None
    first: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Each case as it had appeared, before anybody decided about it."""

    @property
    def log(self) -> Path:
        """What it said."""
        return self.data.with_suffix(".log")

    @property
    def environ(self) -> dict[str, str]:
        """What a shell passes on; nothing of the tests' own settings."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "PG_BIN") if name in os.environ}
        ports = {"PORT": str(self.ports[0]), "SANDBOX_PORT": str(self.ports[1])}
        return {**kept, **ports, "DATA_DIR": str(self.data)}

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> dict[str, Any]:
        """Start it; what demo.json says first."""
        with self.log.open("ab") as said:
            self.process = subprocess.Popen(
                ["make", "demo"],
                cwd=ROOT,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        # What the one before has left is removed long before this one writes its own.
        file = self.data / "demo.json"
        wait_until(lambda: not file.exists() or not self.runs, START_S)
        wait_until(lambda: file.exists() or not self.runs, START_S)
        assert self.runs, self.log.read_text()
        return self.told()

    def told(self) -> dict[str, Any]:
        """What demo.json says now."""
        told: dict[str, Any] = json.loads((self.data / "demo.json").read_text())
        return told

    def appeared(self) -> dict[str, str]:
        """The cases, once there are all of them; fails the test after four minutes."""
        wait_until(lambda: self.told()["cases"].keys() >= CASES or not self.runs, APPEAR_S)
        cases: dict[str, str] = self.told()["cases"]
        assert cases.keys() == CASES, self.log.read_text()
        if not self.first:
            with self.api() as api:
                self.first = {name: api.get(f"operations/{uid}").json() for name, uid in cases.items()}
        return cases

    def refuses(self) -> str:
        """Run one more with the same settings, which is expected not to start; what it says."""
        done = subprocess.run(
            ["make", "demo"],
            cwd=ROOT,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode != 0
        assert "Traceback" not in done.stderr
        return done.stderr

    def api(self) -> httpx.Client:
        """A client of its API with the demo's own token."""
        told = self.told()
        return httpx.Client(
            base_url=f"{told['url']}/api/v1",
            headers={"Authorization": f"Bearer {told['token']}"},
            timeout=30,
        )

    def database(self) -> psycopg.Connection:
        """A connection in the role that demo.json names."""
        return psycopg.connect(self.told()["database"], autocommit=True)

    def effects(self) -> dict[str, int]:
        """How much Durban Books holds and was ever sent, read from its own file."""
        with closing(sqlite3.connect(f"file:{self.data}/sandbox.sqlite3?mode=ro", uri=True)) as books:
            return {
                table: books.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                for table in ("invoices", "reminders", "deliveries")
            }

    def holds(self, key: str) -> int:
        """How many live records of an operation stand in Durban Books."""
        told = httpx.get(f"{self.told()['sandbox']}/_effects", params={"key": key}, timeout=10).json()
        count: int = told["count"]
        return count

    def processes(self) -> list[psutil.Process]:
        """Everything that belongs to it: what make started, and the database, which nobody owns."""
        assert self.process is not None
        own = psutil.Process(self.process.pid)
        server = int((self.data / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
        return [own, *own.children(recursive=True), psutil.Process(server)]

    def stops(self, number: signal.Signals, *, group: bool = False) -> bool:
        """Whether make and all below are gone in time after a signal to make alone, or to the whole group."""
        assert self.process is not None
        processes = self.processes()
        until = time.monotonic() + STOP_S
        (os.killpg if group else os.kill)(self.process.pid, number)
        self.process.wait(STOP_S)
        wait_until(lambda: not any(map(lives, processes)), until - time.monotonic())
        return not any(map(lives, processes))

    def end(self) -> None:
        """Stop it, if it runs."""
        if self.process is not None and self.runs:
            self.process.terminate()
            self.process.wait(STOP_S)


def two_free_ports() -> tuple[int, int]:
    """Two ports that are free now."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        return one.getsockname()[1], two.getsockname()[1]


def lives(process: psutil.Process) -> bool:
    """Whether a process is still at work."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture(scope="session")
def one_demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """The one demo of a test run, not started yet."""
    demo = Demo(tmp_path_factory.mktemp("demo") / "data")
    yield demo
    demo.end()
    shutil.rmtree(demo.data, ignore_errors=True)


@pytest.fixture
def demo(one_demo: Demo) -> Demo:
    """The demo, running, with all its cases; it is started where no test before has left it running."""
    if not one_demo.runs:
        one_demo.start()
    one_demo.appeared()
    return one_demo
