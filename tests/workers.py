"""A real worker on a test's database: its supervisor, its cluster, and what a test does to them."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import psutil
import pytest

from ledger.models import Heartbeat
from tests.processes import Spawn

START_S = 30


def until(met: Callable[[], object], *, seconds: float = 10, what: str = "it") -> None:
    """Wait until it is so; fails the test where it does not become so in time."""
    end = time.monotonic() + seconds
    while not met():
        if time.monotonic() > end:
            pytest.fail(f"{what} did not come about within {seconds:g} s.")
        time.sleep(0.02)


def last_beat() -> datetime | None:
    """When work last went through the queue."""
    return Heartbeat.objects.filter(name="queue").values_list("beat_at", flat=True).first()


@dataclass(frozen=True)
class Worker:
    """`manage.py worker` as it runs."""

    process: subprocess.Popen[bytes]

    @classmethod
    def started(cls, spawn: Spawn, **environ: str) -> "Worker":
        """Start one and wait for the first beat of its own queue."""
        before = last_beat()
        worker = cls(spawn("worker", "manage.py", "worker", **environ))
        until(lambda: last_beat() != before, seconds=START_S, what="The worker's first beat")
        return worker

    @property
    def main(self) -> psutil.Process | None:
        """The main process of its cluster, where one runs."""
        children = psutil.Process(self.process.pid).children()
        return children[0] if children else None

    @property
    def sentinel(self) -> psutil.Process:
        """The process that watches over the cluster's workers."""
        assert self.main is not None
        return self.main.children()[0]

    @property
    def hands(self) -> list[psutil.Process]:
        """Its two workers, then what writes results back, then what fetches tasks."""
        return sorted(self.sentinel.children(), key=lambda process: process.pid)

    def cluster(self) -> list[psutil.Process]:
        """Every process of its cluster."""
        return [] if self.main is None else [self.main, *self.main.children(recursive=True)]


def living(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended."""
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
def worker(spawn: Spawn) -> Worker:
    """A worker on this test's database through whose queue the first beat has gone."""
    return Worker.started(spawn)
