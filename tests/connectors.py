"""Connectors that a test plugs in by their Python path: they die at the worst moment, once."""

import os
import signal
from pathlib import Path

from ledger.destinations.connectors.base import SendRequest
from ledger.destinations.connectors.http import HttpConnector
from ledger.rules.outcomes import Answer

MARK = "TEST_DIED"
"""Names the variable with the path of a file that is there once the death has been died."""


class DiesAfter(HttpConnector):
    """The process is killed between the effect and its record."""

    def send(self, request: SendRequest) -> Answer:
        answer = super().send(request)
        die_once()
        return answer


class DiesBefore(HttpConnector):
    """The process is killed between the start and the first byte."""

    def send(self, request: SendRequest) -> Answer:
        die_once()
        return super().send(request)


class DiesAlways(HttpConnector):
    """The process is killed at every send, before its first byte."""

    def send(self, request: SendRequest) -> Answer:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().send(request)


def die_once() -> None:
    """Kill this process, unless one was killed here before."""
    mark = Path(os.environ[MARK])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
