"""Runs the processes that together are one Tieout, and stops all when one ends or somebody says so."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.db import DatabaseError

from config import postgres
from config.environment import ROOT

BEAT_S = 0.25
DATABASE_S = 2
# Together with PostgreSQL's own stop it stays under the promised fifteen seconds.
STOP_S = 8
PR_SET_PDEATHSIG = 1


class Stopped(Exception):
    """Somebody asked to stop: Ctrl-C, SIGTERM, or the end of the process that started this one."""


class Processes:
    """Children by name, each in a process group of its own, so that Ctrl-C reaches them in order only."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._may_end: set[str] = set()
        self._parent = os.getppid()

    def __enter__(self) -> "Processes":
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _stop)
        return self

    def __exit__(self, *_: object) -> None:
        # A second Ctrl-C must not break off the stopping.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._stop_all()

    def start(self, name: str, *command: str, may_end: bool = False) -> None:
        """Start `python *command` under this name; without `may_end`, its end is the end of all."""
        self._running[name] = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
        if may_end:
            self._may_end.add(name)

    def wait_for(self, met: Callable[[], bool], *, seconds: float, what: str) -> None:
        """Wait until it is so; raises ImproperlyConfigured when it does not become so or a child ends."""
        until = time.monotonic() + seconds
        while not met():
            self._look()
            if time.monotonic() > until:
                raise ImproperlyConfigured(f"{what} did not happen within {seconds:.0f} s.")
            time.sleep(BEAT_S)

    def watch(self) -> None:
        """Stay until somebody asks to stop (raises Stopped) or a child ends (raises ImproperlyConfigured)."""
        looked = time.monotonic()
        while True:
            self._look()
            time.sleep(BEAT_S)
            if time.monotonic() - looked >= DATABASE_S:
                # Does nothing while the database runs; starts an embedded one that was killed.
                postgres.ensure()
                looked = time.monotonic()

    def _look(self) -> None:
        if os.getppid() != self._parent:
            raise Stopped
        for name, process in self._running.items():
            if process.poll() is not None and name not in self._may_end:
                raise ImproperlyConfigured(f"The {name} ended by itself with {process.returncode}.")

    def _stop_all(self) -> None:
        for process in self._running.values():
            process.terminate()
        until = time.monotonic() + STOP_S
        while time.monotonic() < until and any(p.poll() is None for p in self._running.values()):
            time.sleep(0.05)
        for process in self._running.values():
            try:
                # What a child left behind in its group goes as well.
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        for process in self._running.values():
            process.wait()


# Files of libraries whose pages are not served; packing them takes longer than all the rest.
UNUSED_STATIC = ["account", "ninja", "htmax*", "ext"]


def prepare() -> None:
    """Bring the database and the static files to the state of this code; raises ImproperlyConfigured."""
    migrate()
    gather()


def migrate() -> None:
    """Bring the database to the state of this code; raises ImproperlyConfigured."""
    try:
        call_command("migrate", database="owner", interactive=False, verbosity=0)
        call_command("createcachetable", database="owner", verbosity=0)
    except DatabaseError as error:
        first = str(error).strip().partition("\n")[0]
        raise ImproperlyConfigured(
            f"The database cannot be prepared: {first}\nSee that it runs, and that DATABASE_OWNER_URL (or "
            "DATABASE_URL, where that is all there is) names a role that owns it."
        ) from error


def gather() -> None:
    """Pack the static files, as they are served."""
    call_command("collectstatic", interactive=False, verbosity=0, ignore_patterns=UNUSED_STATIC)


ADDRESSES = ("--limit-request-line", "8190")
"""Room for an address with the longest of everything that a list may be asked for, in any script."""


def gunicorn(bind: str, port: int) -> tuple[str, ...]:
    """The command that serves the pages and the API."""
    return (
        *("-m", "gunicorn", "config.wsgi", "--no-control-socket", "--log-level", "warning"),
        *("--worker-class", "gthread", "--workers", "2", "--threads", "4", "--graceful-timeout", "5"),
        *("--bind", f"{bind}:{port}"),
        *ADDRESSES,
    )


def manage(command: str) -> tuple[str, ...]:
    """A command of manage.py."""
    return (str(Path("manage.py")), command)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


def _die_with_parent() -> None:
    # Runs between fork and exec: even after kill -9 of the parent its children are asked to stop.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
