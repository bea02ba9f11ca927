"""The one door to a connector: whatever its code does, and whatever it brings, is told in one of our kinds.

A connector may be anybody's code. What it raises to end a process ends none of ours, and a copy of the
process that it leaves running, which would share our database's connection, is ended where it comes back.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import get_args

from django.db import Error as DatabaseTrouble

from ledger.destinations.connectors.base import (
    ConfigurationError,
    Connector,
    IncompletePull,
    ListPage,
    ListRequest,
    Looked,
    LookRequest,
    Place,
    SendRequest,
    Target,
    factory,
)
from ledger.destinations.pacing import NoRoom, Pace
from ledger.models import Destination
from ledger.rules.outcomes import Answer, Stage

COPY_ENDED = 70
"""The exit status of a copy of our process that came back from a connector."""
STATUS_MAX = 999
_END = object()


class Exited(RuntimeError):
    """A connector's code raised what ends a process."""


class Unusable(TypeError):
    """A connector brought something that is none of what it may bring; the words repeat nothing of it."""


def connector_for(destination: Destination, pace: Pace | None = None) -> Connector:
    """Return a destination's connector, secrets read; raises ConfigurationError with what to put right."""
    target = Target(destination.name, destination.title, destination.account, destination.reach, pace)
    return connector_to(target, destination.connector)


def connector_to(target: Target, name: str) -> Connector:
    """Return the connector of a name or Python path to what is reached; raises ConfigurationError."""
    try:
        with _kept():
            return Guarded(factory(name, target)(target))
    except (ConfigurationError, NoRoom, DatabaseTrouble):
        raise
    except Exception as error:  # noqa: BLE001 - any connector may be plugged in
        raise ConfigurationError(
            f"The connector of {target.title} cannot be made ({type(error).__name__})."
        ) from None


class Guarded:
    """A connector whose calls end as they may, and whose results have the kinds that they must have."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    def send(self, request: SendRequest) -> Answer:
        """Send once; an exception says nothing about the other side."""
        with _kept():
            return usable_answer(self._connector.send(request))

    def look_up(self, request: LookRequest) -> Looked:
        """Ask for one operation; whatever goes wrong proves nothing, and is told without its own words."""
        try:
            with _kept():
                return usable_look(self._connector.look_up(request))
        except (ConfigurationError, NoRoom):
            raise
        except Exception as error:  # noqa: BLE001 - any connector may be plugged in, none may stop the sweep
            return Looked((), complete=False, why=_failed(error))

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        """Give the list page by page; whatever goes wrong leaves it without its end: IncompletePull."""
        try:
            with _kept():
                pages = iter(self._connector.pages(request))
            while True:
                with _kept():
                    page: object = next(pages, _END)
                    if page is not _END:
                        page = usable_page(page)
                if not isinstance(page, ListPage):
                    return
                yield page
        except (IncompletePull, ConfigurationError, NoRoom, DatabaseTrouble):
            raise
        except Exception as error:  # noqa: BLE001 - any connector may be plugged in
            raise IncompletePull(_failed(error)) from None


def usable_answer(value: object) -> Answer:
    """Return what came of a send as it is, if it is an answer; raises Unusable."""
    if not isinstance(value, Answer):
        raise Unusable(f"a send gave {type(value).__name__}, not Answer")
    if value.stage not in get_args(Stage) or not _is_status(value.status):
        raise Unusable("an answer has no stage that is known, or a status that is none")
    return value


def usable_look(value: object) -> Looked:
    """Return what a look-up brought as it is, if it can be judged; raises Unusable."""
    if not isinstance(value, Looked):
        raise Unusable(f"a look-up gave {type(value).__name__}, not Looked")
    if not isinstance(value.items, tuple | list) or not isinstance(value.why, str):
        raise Unusable("a look-up has no tuple of items, or no text that says why")
    if not isinstance(value.complete, bool) or not isinstance(value.single_page, bool):
        raise Unusable("a look-up does not say whether it was read to its end")
    if not _is_status(value.status) or not _is_instant(value.as_of):
        raise Unusable("a look-up has a status that is none, or an instant without an offset")
    return value


def usable_page(value: object) -> ListPage:
    """Return a page of a list as it is, if it can be kept; raises Unusable."""
    if not isinstance(value, ListPage) or not isinstance(value.items, list):
        raise Unusable(f"a list gave {type(value).__name__}, not ListPage, or one without a list of items")
    if not _is_place(value.place) or not _is_instant(value.as_of):
        raise Unusable("a page has a place that is no JSON, or an instant without an offset")
    return value


def _is_status(value: object) -> bool:
    return value is None or (
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= STATUS_MAX
    )


def _is_instant(value: object) -> bool:
    return value is None or (isinstance(value, datetime) and value.utcoffset() is not None)


def _is_place(value: Place | None) -> bool:
    """Say whether a place can be kept: JSON, and no character that the database refuses."""
    try:
        written = json.dumps(None if value is None else dict(value), allow_nan=False, ensure_ascii=False)
        return b"\\u0000" not in written.encode()
    except (TypeError, ValueError, RecursionError):
        return False


def _failed(error: Exception) -> str:
    return f"The connector failed ({type(error).__name__})."


@contextmanager
def _kept() -> Iterator[None]:
    """Take what ends a process as a failure, and end a copy of this process; Ctrl-C stays what it is."""
    ours = os.getpid()
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - such as SystemExit, which would end the worker
        raise Exited(type(error).__name__) from None
    finally:
        if os.getpid() != ours:
            os._exit(COPY_ENDED)
