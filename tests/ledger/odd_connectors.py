"""Connectors by Python path that die, fail or look around at a chosen moment."""

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from ledger.destinations.connectors.base import (
    ListPage,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
)
from ledger.destinations.connectors.guarded import COPY_ENDED
from ledger.destinations.connectors.http import HttpConnector
from ledger.rules.outcomes import Answer


class Plain:
    """Works as the one for HTTP does; the others differ from it in one moment."""

    def __init__(self, target: Target) -> None:
        self.http = HttpConnector(target)

    def send(self, request: SendRequest) -> Answer:
        """Send over HTTP."""
        return self.http.send(request)

    def look_up(self, request: LookRequest) -> Looked:
        """Look up over HTTP."""
        return self.http.look_up(request)

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        """List over HTTP."""
        return self.http.pages(request)


def die() -> None:
    """End this process as kill -9 does."""
    os.kill(os.getpid(), signal.SIGKILL)


class DiesOnClaim(Plain):
    """Dies between the claim and the start."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        die()


class DiesBeforeSend(Plain):
    """Dies after the start, before a byte went out."""

    def send(self, request: SendRequest) -> Answer:
        """Die."""
        die()
        raise AssertionError("it lives")


class DiesAfterEffect(Plain):
    """Dies between the effect and its record."""

    def send(self, request: SendRequest) -> Answer:
        """Send, then die."""
        super().send(request)
        die()
        raise AssertionError("it lives")


class Fails(Plain):
    """Raises after the effect, with something in its words that must not be kept."""

    def send(self, request: SendRequest) -> Answer:
        """Send, then raise."""
        super().send(request)
        raise RuntimeError("password=hunter2")


class FailsToLook(Plain):
    """Raises when it is asked."""

    def look_up(self, request: LookRequest) -> Looked:
        """Raise."""
        raise RuntimeError("password=hunter2")


class Watched(Plain):
    """Runs what a test asks for on the network, after each call."""

    after_send: ClassVar[Callable[[SendRequest], object]]
    after_look: ClassVar[Callable[[LookRequest], object]]

    def send(self, request: SendRequest) -> Answer:
        """Send, then let the test look around."""
        answer = super().send(request)
        type(self).after_send(request)
        return answer

    def look_up(self, request: LookRequest) -> Looked:
        """Look up, then let the test look around."""
        looked = super().look_up(request)
        type(self).after_look(request)
        return looked


class Brings(Plain):
    """Brings what a test says, of whatever kind, where a look-up and a list are asked for."""

    looked: ClassVar[Callable[[LookRequest], Any]]
    listed: ClassVar[Callable[[ListRequest], Any]]

    def look_up(self, request: LookRequest) -> Looked:
        """Give what the test says."""
        looked: Looked = type(self).looked(request)
        return looked

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        """Give what the test says."""
        pages: Iterator[ListPage] = type(self).listed(request)
        return pages


class Leaves(Plain):
    """Ends the process as it is made."""

    def __init__(self, target: Target) -> None:
        raise SystemExit(2)


class Copies(Plain):
    """Leaves a copy of the process running after the effect, which comes back as well."""

    def send(self, request: SendRequest) -> Answer:
        """Send, and come back twice; the copy comes back first."""
        answer = super().send(request)
        if copy := os.fork():
            _, status = os.waitpid(copy, 0)
            assert os.waitstatus_to_exitcode(status) == COPY_ENDED, "it went on"
        return answer
