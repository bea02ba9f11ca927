"""Real processes on a test's database: `manage.py`, gunicorn and whatever else a test starts."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pytest

from config.environment import ROOT
from config.processes import ADDRESSES
from tests.databases import Database, Template

LOGS = pytest.StashKey[list[Path]]()
START_S = 60
STOP_S = 10
SERVED = "served"


@dataclass(frozen=True)
class Manage:
    """`run_manage("migrate", "--check")`; what it said is in the result's stdout and stderr."""

    database: Database

    def __call__(
        self, *arguments: str, check: bool = True, input: str | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it; unless `check` is off, a failure fails the test and shows why."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**self.database.environ, **environ},
            input=input,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if check and done.returncode != 0:
            pytest.fail(
                f"manage.py {' '.join(arguments)} ended with {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done


@dataclass
class Spawn:
    """`spawn("worker", "manage.py", "worker")`: Python in a group of its own, stopped with the test."""

    database: Database
    folder: Path
    logs: list[Path]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __call__(
        self, name: str, *command: str, pass_fds: tuple[int, ...] = (), **environ: str
    ) -> subprocess.Popen[bytes]:
        """Start `python *command`; what it says goes to a file that a failed test shows."""
        log = self.folder / f"{name}-{len(self.running) + 1}.log"
        self.logs.append(log)
        with log.open("wb") as said:
            process = subprocess.Popen(
                [sys.executable, *command],
                cwd=ROOT,
                env={**self.database.environ, "PYTHONUNBUFFERED": "1", **environ},
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                pass_fds=pass_fds,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def __enter__(self) -> "Spawn":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self.running):
            stop(process)


@contextmanager
def at_its_address(*command: str, folder: Path, environ: Mapping[str, str] | None = None) -> Iterator[str]:
    """A process of others' whose first line is its address; killed at the end."""
    process = subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(START_S, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline().strip()
        watchdog.cancel()
        assert line.startswith("http://"), f"{command} did not start: {line}"
        yield line
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end, and end what is left of its group after ten seconds."""
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@dataclass(frozen=True)
class Server:
    """A gunicorn that answers at `url`."""

    url: str
    process: subprocess.Popen[bytes]

    @classmethod
    def started(cls, spawn: Spawn, **environ: str) -> "Server":
        """Start it on a port that nobody else can take meanwhile, and wait until it answers."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            handle = listener.fileno()
            command = ("-m", "gunicorn", "config.wsgi", "--no-control-socket", "--worker-class", "gthread")
            process = spawn(
                "server",
                *command,
                "--threads",
                "8",
                "--bind",
                f"fd://{handle}",
                *ADDRESSES,
                pass_fds=(handle,),
                **environ,
            )
        server = cls(f"http://127.0.0.1:{port}", process)
        server.wait_for("/accounts/login/")
        return server

    def wait_for(self, path: str) -> None:
        """Wait until this page is there; fails the test after half a minute or with the server's end."""
        until = time.monotonic() + START_S
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with urllib.request.urlopen(self.url + path, timeout=START_S):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.05)
        pytest.fail(f"The server did not answer {path}.")


@dataclass
class Standing:
    """A server that outlives its databases: all have one name, and whoever is next finds it at work.

    What it takes from one to the next is what a process in production keeps when it is connected anew.
    """

    template: Template
    folder: Path
    logs: list[Path] = field(default_factory=list)
    server: Server | None = None

    @contextmanager
    def database(self) -> Iterator[Database]:
        """The next database that it works on."""
        with self.template.clone(SERVED) as clone:
            yield clone

    def at_work(self, database: Database) -> Server:
        """The server, started where it does not run; `database` is the one that it has now."""
        assert database.name == SERVED
        if self.server is None or self.server.process.poll() is not None:
            self.server = Server.started(Spawn(database, self.folder, self.logs))
        return self.server

    def end(self) -> None:
        """Stop it, where it runs."""
        if self.server is not None:
            stop(self.server.process)
