"""The queue's processes: a cluster in a process group of its own, which never outlives its supervisor."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import ledger

MANAGE = Path(ledger.__file__).resolve().parents[1] / "manage.py"
STOP_S = 8.0
PR_SET_PDEATHSIG = 1


class Cluster:
    """One cluster at a time: started, watched and ended together with all of its processes."""

    def __init__(self) -> None:
        self._main: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether one was started and has not been seen to end."""
        return self._main is not None

    def start(self) -> None:
        """Start it; its processes share one group, whose number is that of the main one."""
        self._main = subprocess.Popen(
            [sys.executable, str(MANAGE), "worker", "--queue", str(os.getpid())],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def ended(self) -> int | None:
        """Return the status with which it ended by itself, and end what it left; None while it runs."""
        status = self._main.poll() if self._main is not None else None
        if status is not None:
            self.kill()
        return status

    def kill(self) -> None:
        """End all of it at once. What it was sending is in doubt then, and the ledger knows."""
        if self._main is None:
            return
        try:
            os.killpg(self._main.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._main.wait()
        self._main = None

    def stop(self) -> None:
        """Let it finish what it is at, for eight seconds at most: only its main process is asked."""
        if self._main is None:
            return
        self._main.terminate()
        try:
            self._main.wait(STOP_S)
        except subprocess.TimeoutExpired:
            pass
        self.kill()


def die_with(supervisor: int) -> None:
    """Bind this process to its supervisor's life, and each process that it forks to its own.

    A kill -9 of the supervisor, of the cluster's main process or of its sentinel takes with it all that is
    below; by itself django-q2 would go on executing without anybody who watches.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    parent = supervisor

    def remember() -> None:
        nonlocal parent
        parent = os.getpid()

    def bind() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        # It may have died before this was asked for.
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    bind()
    os.register_at_fork(before=remember, after_in_child=bind)
