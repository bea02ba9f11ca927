"""A real worker on a test's database: its supervisor, its cluster, and what a test does to them."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
import pytest
from django.utils.module_loading import import_string
from django_q.models import OrmQ

from ledger.models import Heartbeat
from ledger.worker.sweep import Sweep
from tests.connectors import MARK
from tests.processes import Spawn

START_S = 120
BEAT_S = 0.1
"""How often it is looked for a beat: a beat stays, and each look costs as much as a step of the worker's."""
SIZE = 6


def until(met: Callable[[], object], *, seconds: float = 60, what: str = "it", every_s: float = 0.02) -> None:
    """Wait until it is so; fails the test where it does not become so in time."""
    end = time.monotonic() + seconds
    while not met():
        if time.monotonic() > end:
            pytest.fail(f"{what} did not come about within {seconds:g} s.")
        time.sleep(every_s)


def last_beat() -> datetime | None:
    """When work last went through the queue."""
    return Heartbeat.objects.filter(name="queue").values_list("beat_at", flat=True).first()


def one_round() -> None:
    """Do a round of the worker's work without its processes: the sweep, then every task that it queued."""
    Sweep().run()
    for task in OrmQ.objects.order_by("pk"):
        import_string(task.func())(*task.args())
        task.delete()


@dataclass(frozen=True)
class Worker:
    """`manage.py worker` as it runs."""

    process: subprocess.Popen[bytes]

    @classmethod
    def started(cls, spawn: Spawn) -> "Worker":
        """Start one and wait for the first beat of its own queue."""
        before = last_beat()
        worker = cls(spawn("worker", "manage.py", "worker"))
        until(lambda: last_beat() != before, seconds=START_S, what="The worker's first beat", every_s=BEAT_S)
        return worker

    @property
    def main(self) -> psutil.Process | None:
        """The main process of its cluster, where one runs."""
        children = psutil.Process(self.process.pid).children()
        return children[0] if children else None

    @property
    def sentinel(self) -> psutil.Process:
        """The process that watches over the cluster's workers."""
        main = self.main
        assert main is not None
        return main.children()[0]

    @property
    def hands(self) -> list[psutil.Process]:
        """Its two workers, then what writes results back, then what fetches tasks."""
        return sorted(self.sentinel.children(), key=lambda process: process.pid)

    def cluster(self) -> list[psutil.Process]:
        """Every process of its cluster that has not ended meanwhile."""
        main = self.main  # read once: it may end between two looks
        try:
            return [] if main is None else [main, *main.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def whole(self) -> bool:
        """Whether all six processes of its cluster are there."""
        return len(self.cluster()) == SIZE

    def beats_again(self, *, seconds: float = 10) -> None:
        """Wait for a beat after this moment."""
        before = last_beat()
        until(lambda: last_beat() != before, seconds=seconds, what="Another beat", every_s=BEAT_S)

    def lose_cluster(self) -> None:
        """Kill the process group of its cluster, hands and all; the supervisor begins another one."""
        until(lambda: self.main is not None, what="A cluster")
        everything = self.cluster()
        os.killpg(everything[0].pid, signal.SIGKILL)
        gone(everything[1:])

    def kill(self) -> None:
        """End all of it at once, as a power cut does: supervisor and cluster."""
        everything = [psutil.Process(self.process.pid), *self.cluster()]
        for one in everything:
            one.kill()
        self.process.wait()
        gone(everything)


def living(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended."""
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def gone(processes: list[psutil.Process], *, seconds: float = 60) -> None:
    """Wait until all of them have ended."""
    until(lambda: not living(processes), seconds=seconds, what=f"The end of {processes}")


@pytest.fixture
def worker(spawn: Spawn) -> Iterator[Worker]:
    """A worker on this test's database through whose queue the first beat has gone."""
    started = Worker.started(spawn)
    yield started
    # Its cluster goes with it; waiting for a farewell would cost every test two seconds.
    started.process.kill()


@pytest.fixture
def died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that is there once a process was killed; before the worker, which reads where it is."""
    path = tmp_path / "died"
    monkeypatch.setenv(MARK, str(path))
    return path
