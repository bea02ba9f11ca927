"""The supervisor: keeps a cluster alive, restarts one that is frozen, and sweeps whatever the queue does."""

import logging
import signal
import time
from types import FrameType

from django.conf import settings
from django.db import InterfaceError, OperationalError, ProgrammingError, connection

from ledger.worker.cluster import Cluster
from ledger.worker.pulse import SILENT_S, Pulse
from ledger.worker.sweep import Sweep
from ledger.worker.words import in_words

TICK_S = 0.5
SWEEP_S = 2.0
PAUSE_MAX_S = 30.0
PROVED_S = 60.0
"""A cluster that has lived so long makes the pauses between starts short again."""
LIMITS = "SET lock_timeout = '3s'; SET statement_timeout = '20s'"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

log = logging.getLogger(__name__)


class Stopped(BaseException):
    """Somebody asked to stop; not an error, so that nothing on the way takes it for one."""


class Supervisor:
    """What `manage.py worker` runs until somebody asks it to stop."""

    def __init__(self) -> None:
        self._cluster = Cluster()
        self._pulse = Pulse()
        self._sweep = Sweep(settings.SWEEP_HOOKS)
        self._limited: object = None
        self._without_database = False
        self._failures = 0
        self._started_at = self._start_at = self._sweep_at = 0.0

    def run(self) -> None:
        """Supervise and sweep until SIGTERM, SIGINT or SIGHUP; then stop all of it within ten seconds."""
        for number in SIGNALS:
            signal.signal(number, _stop)
        try:
            while True:
                self._round()
                time.sleep(TICK_S)
        except Stopped:
            log.info("Stopping.")
        finally:
            # A second signal must not break off the stopping.
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            self._cluster.stop()
            connection.close()

    def _round(self) -> None:
        try:
            self._reach_database()
            self._keep_alive()
            if time.monotonic() >= self._sweep_at:
                more = self._sweep.run()
                self._sweep_at = time.monotonic() + (0 if more else SWEEP_S)
            self._find_database()
        except (OperationalError, InterfaceError, ProgrammingError) as error:
            if isinstance(error, ProgrammingError) or not connection.is_usable():
                self._lose_database(error)
            else:
                log.error("The sweep was broken off: %s", in_words(error))  # noqa: TRY400
        except Exception as error:  # noqa: BLE001 - whatever it is, the watch goes on
            log.error("The sweep was broken off: %s", in_words(error))  # noqa: TRY400

    def _reach_database(self) -> None:
        """Have a connection that waits for nobody for long; raises OperationalError."""
        connection.ensure_connection()
        if self._limited is not connection.connection:
            with connection.cursor() as cursor:
                cursor.execute(LIMITS)
            self._limited = connection.connection
        if self._without_database and self._cluster.running:
            self._pulse.begin()

    def _find_database(self) -> None:
        if self._without_database:
            log.info("The database answers.")
        self._without_database = False

    def _lose_database(self, error: Exception) -> None:
        if not self._without_database:
            log.warning("The database cannot be worked with (%s); waiting for it.", _reason(error))
        self._without_database = True
        connection.close()

    def _keep_alive(self) -> None:
        """Start a cluster where none runs, and end one that is silent."""
        status = self._cluster.ended()
        if status is not None:
            self._failed(f"The queue's cluster ended by itself with {status}.")
        if not self._cluster.running:
            self._start()
        elif self._pulse.feel() and time.monotonic() - self._started_at > PROVED_S:
            self._failures = 0
        elif self._pulse.silent:
            self._cluster.kill()
            self._failed(f"Nothing went through the queue for {SILENT_S:.0f} s: its cluster was ended.")

    def _start(self) -> None:
        if time.monotonic() >= self._start_at:
            self._pulse.begin()
            self._cluster.start()
            self._started_at = time.monotonic()

    def _failed(self, what: str) -> None:
        pause_s = min(2.0**self._failures - 1, PAUSE_MAX_S)
        self._failures += 1
        self._start_at = time.monotonic() + pause_s
        log.error("%s It is started again%s.", what, f" in {pause_s:.0f} s" if pause_s else "")


def _reason(error: Exception) -> str:
    """Say why the database fails: its first line names places and rights, never values of rows."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped
