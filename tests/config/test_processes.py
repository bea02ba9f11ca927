"""Everything that was started is stopped, whoever says so and however rudely."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from config import postgres, processes
from config.cluster import wait_until
from config.environment import ROOT

HOUSE = """
import sys
from django.core.exceptions import ImproperlyConfigured
from config import postgres, processes
processes.STOP_S = 1
try:
    with processes.Processes() as house:
        for name, code in zip(sys.argv[1::2], sys.argv[2::2]):
            house.start(name, "-c", code)
        print("up", flush=True)
        house.watch()
except processes.Stopped:
    print("stopped", flush=True)
except ImproperlyConfigured as error:
    sys.exit(str(error))
"""
MILD = "import signal; signal.pause()"
STUBBORN = """
import signal, subprocess, sys
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
signal.pause()
"""


class House:
    """A process that runs others, in a group as a shell would make it."""

    def __init__(self, *prefix: str, **children: str) -> None:
        named = [word for child in children.items() for word in child]
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", HOUSE, *named],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout
        assert self.process.stdout.readline() == "up\n"
        wait_until(lambda: len(self.found()) >= len(children) + ("STUBBORN" in children), 10)
        self.all = [psutil.Process(self.process.pid), *self.found()]

    def found(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def all_gone(self) -> bool:
        wait_until(lambda: not any(map(_lives, self.all[1:])), 10)
        return not any(map(_lives, self.all[1:]))


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def houses() -> Iterator[list[House]]:
    """Houses that a failed test has left are torn down."""
    made: list[House] = []
    yield made
    for house in made:
        for process in filter(_lives, house.all):
            process.kill()
        house.process.communicate()


def test_asked_to_stop_it_stops_even_what_does_not_listen(houses: list[House]) -> None:
    house = House(mild=MILD, STUBBORN=STUBBORN)
    houses.append(house)
    house.process.terminate()
    assert house.process.wait(60) == 0
    assert house.all_gone()


def test_ctrl_c_to_the_group_stops_all_and_a_second_one_does_not_break_it_off(houses: list[House]) -> None:
    house = House(mild=MILD, STUBBORN=STUBBORN)
    houses.append(house)
    os.killpg(house.process.pid, signal.SIGINT)
    wait_until(lambda: not _lives(house.all[1]), 0.5)
    os.killpg(house.process.pid, signal.SIGINT)
    assert house.process.wait(60) == 0
    assert house.all_gone()


def test_one_that_ends_ends_all_and_is_named(houses: list[House]) -> None:
    house = House(mild=MILD, brief="import time; time.sleep(1); raise SystemExit(3)")
    houses.append(house)
    assert house.process.wait(60) == 1
    assert house.process.stderr
    assert "The brief ended by itself with 3." in house.process.stderr.read()
    assert house.all_gone()


def test_when_whoever_started_it_is_killed_it_stops(houses: list[House]) -> None:
    """`make` killed with -9 says nothing to anybody."""
    house = House("sh", "-c", '"$@"; true', "sh", mild=MILD)
    houses.append(house)
    house.process.kill()
    house.process.wait(60)
    assert house.all_gone()


def test_killed_itself_it_leaves_nobody_behind(houses: list[House], tmp_path: Path) -> None:
    house = House(mild=MILD)
    houses.append(house)
    house.process.kill()
    house.process.wait(60)
    assert house.all_gone()


def test_the_database_is_seen_to_every_two_seconds_and_not_at_each_beat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each time reads the environment, locks a file and asks for a process."""
    now, seen = [0.0], list[float]()

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if now[0] > 9:
            raise processes.Stopped

    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    monkeypatch.setattr(postgres, "ensure", lambda: seen.append(now[0]))
    with pytest.raises(processes.Stopped):
        processes.Processes().watch()
    assert seen == [2, 4, 6, 8]
