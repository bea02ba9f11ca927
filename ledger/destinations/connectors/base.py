"""What every connector takes and gives, and how a destination finds its own."""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any, Protocol, cast

from django.db import connections

from ledger.destinations.pacing import Turns
from ledger.rules.calls import ListCall, LookupCall, RecordMap, SendCall
from ledger.rules.connections import Connection
from ledger.rules.contracts import Contract
from ledger.rules.errors import TieoutError
from ledger.rules.facts import UNCONFIGURED
from ledger.rules.outcomes import Answer
from ledger.rules.placeholders import Values

BUILT_IN = {
    "http": "ledger.destinations.connectors.http:HttpConnector",
    "sql": "ledger.destinations.connectors.sql:SqlConnector",
    "file": "ledger.destinations.connectors.file:FileConnector",
}
BUILT_INS = ", ".join(f'"{name}"' for name in BUILT_IN)
READS_ONLY = frozenset({"sql", "file"})
"""Connectors that only ask: what goes to such a destination is performed by callers."""
LOOK_ITEMS, PULL_ITEMS = 20_000, 5_000_000
"""The most items that a look-up and a list are read to."""


class ConfigurationError(TieoutError):
    """A destination cannot be reached as it is set up; an administrator puts it right."""

    type = UNCONFIGURED
    title = "A destination is not set up rightly"
    retry = "after-review"


class IncompletePull(Exception):
    """A list was not read to its end, so nothing that is missing from it is absent; `status` ended it.

    `wait_s`: the answer asked to come again after so long, or only said that it is asked too often (0).
    """

    def __init__(self, reason: str, *, status: int | None = None, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.status, self.wait_s = reason, status, wait_s


@dataclass(frozen=True)
class Target:
    """The destination as a connector sees it."""

    name: str
    title: str
    account: str
    reach: Connection
    pace: Turns | None = None
    """Its turns: a call takes one before it goes, and says afterwards whether everybody is to wait."""


@dataclass(frozen=True)
class SendRequest:
    """One send; `timeout_s` is the total deadline for all of it."""

    call: SendCall
    contract: Contract
    payload: Mapping[str, Any] = field(repr=False)
    idempotency_key: str
    values: Values = field(repr=False)
    timeout_s: float
    hang_up: bool = False
    """Close the connection once the request is written and read no answer: a drill of one that is lost."""


@dataclass(frozen=True)
class LookRequest:
    """One look-up; `timeout_s` is the total deadline for all of its pages."""

    call: LookupCall
    contract: Contract
    record: RecordMap
    values: Values = field(repr=False)
    timeout_s: float


Place = Mapping[str, Any]
"""Where a list goes on after a page: JSON that only its own connector reads, without secrets of ours.

What the destination itself put into it may be one, so it is shown nowhere and gone with the end of the list.
"""


@dataclass(frozen=True)
class ListRequest:
    """One pull of what the destination holds since an instant; `timeout_s` is the deadline of each page.

    With a `place`, which an earlier page of the same list had, the pull goes on from there.
    """

    call: ListCall
    contract: Contract
    record: RecordMap
    since: datetime
    timeout_s: float
    place: Place | None = None


@dataclass(frozen=True)
class ListPage:
    """One page of a list, decoded, and where it goes on; without a place, it cannot be gone on with later."""

    items: list[object]
    place: Place | None = None
    as_of: datetime | None = None
    """The instant that it tells of, where that is not now: of a replica, of an export."""


@dataclass(frozen=True)
class Looked:
    """What a look-up brought: decoded items, whether they were read to their end, and why not.

    `single_page`: there is no way to ask for more, so an item that was not asked for leaves the end unknown.
    `status`: that of the answer which ended it, where no list or record did. `as_of`: the instant that it
    tells of, where that is not now.
    """

    items: tuple[object, ...]
    complete: bool
    why: str = ""
    single_page: bool = False
    status: int | None = None
    as_of: datetime | None = None


class Connector(Protocol):
    """A way to reach one destination; made anew for each use, secrets read then.

    `send` gives an Answer whatever happens on the way, and says `not_sent` only where it can prove it; an
    exception is taken as uncertain. `pages` raises IncompletePull where the list was not read to its end, and
    where it does not go on from the request's place.
    """

    def send(self, request: SendRequest) -> Answer:
        """Make the effect."""

    def look_up(self, request: LookRequest) -> Looked:
        """Ask what the destination holds for one operation."""

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        """Give what the destination holds, page by page."""


def loaded(path: str) -> Any:
    """Return what a Python path such as "package.module:Class" names; raises what importing it raises."""
    module, _, attribute = path.rpartition(":") if ":" in path else path.rpartition(".")
    return getattr(import_module(module), attribute)


def factory(name: str, target: Target) -> Callable[[Target], Connector]:
    """Return what makes the connector of a name or Python path; raises ConfigurationError."""
    try:
        return cast(Callable[[Target], Connector], loaded(BUILT_IN.get(name, name)))
    except (ImportError, AttributeError, ValueError):
        raise ConfigurationError(
            f'The connector "{name}" of {target.title} cannot be loaded: write {BUILT_INS} or a Python path, '
            'such as "package.module:Class", that the server can import.'
        ) from None


def secret(reference: str) -> str:
    """Read a secret named as env:NAME or file:PATH; ConfigurationError names the place, never the value."""
    value = kept_text(reference)
    if not value.isascii() or not value.isprintable():
        place = reference.partition(":")[2]
        raise ConfigurationError(
            f"The secret in {place} has characters that a header cannot carry, such as a line break."
        )
    return value


def kept_text(reference: str) -> str:
    """Read what is kept in env:NAME or file:PATH; ConfigurationError names the place, never the value."""
    kind, _, place = reference.partition(":")
    if kind == "env":
        value = os.environ.get(place, "").strip()
        if not value:
            raise ConfigurationError(
                f"The environment variable {place} is not set; a secret is read from it, as it was when this "
                "process started."
            )
    elif kind == "file":
        try:
            with open(place, encoding="utf-8", opener=regular) as file:
                value = file.read().strip()
        except (OSError, UnicodeDecodeError):
            raise ConfigurationError(f"The file {place} cannot be read; a secret is read from it.") from None
        if not value:
            raise ConfigurationError(f"The file {place} is empty; a secret is read from it.")
    else:
        raise ConfigurationError("A secret is written as env:NAME or file:PATH.")
    return value


def regular(path: str, flags: int) -> int:
    """Open a regular file, as an opener; raises OSError for a pipe or device, which might never end."""
    number = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no regular file", path)
    return number


def refuse_open_transaction() -> None:
    """Raise RuntimeError inside a transaction: no lock is ever held while the network is waited for."""
    if any(connection.in_atomic_block for connection in connections.all(initialized_only=True)):
        raise RuntimeError("a destination is never called while a database transaction is open")
