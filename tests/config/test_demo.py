"""`make demo` as a visitor meets it: one command up, one signal down, and its data is kept."""

import json
import os
import signal
import socket
import stat
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from config.cluster import wait_until
from config.environment import ROOT

pytestmark = pytest.mark.database

START_S = 120
STOP_S = 15


class Demo:
    """One `make demo` in a process group of its own, as a shell makes it."""

    def __init__(self, data: Path, ports: tuple[int, int]) -> None:
        self.data, self.log = data, data.with_suffix(".log")
        with self.log.open("ab") as said:
            self.process = subprocess.Popen(
                ["make", "demo"],
                cwd=ROOT,
                env=environ(data, ports),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def told(self) -> dict[str, Any]:
        """What demo.json says, once it is there."""
        file = self.data / "demo.json"
        wait_until(lambda: file.exists() or self.process.poll() is not None, START_S)
        assert file.exists(), self.log.read_text()
        told: dict[str, Any] = json.loads(file.read_text())
        return told

    def all(self) -> list[psutil.Process]:
        """Everything that belongs to it: what make started, and the database, which nobody owns."""
        own = psutil.Process(self.process.pid)
        server = int((self.data / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
        return [own, *own.children(recursive=True), psutil.Process(server)]

    def ends(self, processes: list[psutil.Process]) -> bool:
        """Whether make and all of these are gone within what is promised."""
        until = time.monotonic() + STOP_S
        self.process.wait(STOP_S)
        wait_until(lambda: not any(map(lives, processes)), until - time.monotonic())
        return not any(map(lives, processes))


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def environ(data: Path, ports: tuple[int, int]) -> dict[str, str]:
    """What a shell passes on; nothing of the tests' own settings."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "PG_BIN") if name in os.environ}
    return {**kept, "DATA_DIR": str(data), "PORT": str(ports[0]), "SANDBOX_PORT": str(ports[1])}


def demo_says(data: Path, ports: tuple[int, int]) -> subprocess.CompletedProcess[str]:
    """Run one that is expected to refuse."""
    return subprocess.run(
        ["make", "demo"],
        cwd=ROOT,
        env=environ(data, ports),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def ports() -> tuple[int, int]:
    """Two ports that are free now."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        return one.getsockname()[1], two.getsockname()[1]


@pytest.fixture
def demos(tmp_path: Path, ports: tuple[int, int]) -> Iterator[list[Demo]]:
    """The demo, and what a failed test leaves of it is ended."""
    started = [Demo(tmp_path / "data", ports)]
    yield started
    for demo in started:
        if demo.process.poll() is None:
            demo.process.terminate()
            demo.process.wait(STOP_S)


def test_a_taken_port_is_said_before_anything_starts(tmp_path: Path, ports: tuple[int, int]) -> None:
    with socket.create_server(("127.0.0.1", ports[1])):
        said = demo_says(tmp_path / "data", ports)
    assert said.returncode != 0
    assert f"Port {ports[1]} is taken. Free it, or set SANDBOX_PORT to another." in said.stderr
    assert "Traceback" not in said.stderr
    assert not (tmp_path / "data" / "postgres").exists()


def test_it_comes_up_stops_at_a_signal_to_make_and_keeps_its_data(
    demos: list[Demo], ports: tuple[int, int]
) -> None:
    """First SIGTERM to make alone, as a service manager does; then Ctrl-C, which reaches the whole group."""
    demo = demos[0]
    first = demo.told()
    assert {"url", "sandbox", "token", "people", "database", "cases"} == set(first)
    assert set(first["people"]) == {"ann", "bob", "vic", "ada"}
    assert stat.S_IMODE((demo.data / "demo.json").stat().st_mode) == 0o600
    with urllib.request.urlopen(first["url"] + "/readyz", timeout=10) as answer:
        assert answer.status == 200
    with urllib.request.urlopen(first["sandbox"] + "/invoices", timeout=10) as answer:
        assert answer.status == 200
    with psycopg.connect(first["database"]) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("tieout",)

    again = demo_says(demo.data, ports)
    assert again.returncode != 0
    assert "A demo already runs on" in again.stderr
    assert (demo.data / "demo.json").exists()

    processes = demo.all()
    demo.process.terminate()
    assert demo.ends(processes), demo.log.read_text()

    demos.append(Demo(demo.data, ports))
    wait_until(lambda: not (demo.data / "demo.json").exists(), 20)
    second = demos[1].told()
    assert {**second, "cases": {}} == {**first, "cases": {}}
    processes = demos[1].all()
    os.killpg(demos[1].process.pid, signal.SIGINT)
    assert demos[1].ends(processes), demo.log.read_text()
