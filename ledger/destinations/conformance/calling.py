"""Calling a connector as Tieout does, and noting what it did: its time, its exceptions, its words."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import connections

from ledger.destinations.conformance.doubles import KEY
from ledger.destinations.conformance.scenes import Stage
from ledger.destinations.connectors.base import (
    Connector,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
)
from ledger.destinations.connectors.guarded import usable_answer, usable_look, usable_page
from ledger.rules import placeholders
from ledger.rules.calls import Calls
from ledger.rules.contracts import Contract
from ledger.rules.outcomes import Answer

TIMEOUT_S = 1.0
"""The deadline of each call."""
LATE_S = 1.5
"""How much later than its deadline a call may end."""
PAGES_MAX = 30
"""After so many pages a list of three records goes on for ever."""
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Subject:
    """What is checked: how the connector is made, for which target, by which rules, with which payload."""

    make: Callable[[Target], Connector]
    target: Target
    calls: Calls
    contract: Contract
    payload: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    may_send: bool = False
    """Whether a send may go out, which a connector may take past the double: at an account for tests."""


@dataclass
class Called:
    """What came of one call; `error` is what it raised, `late` says that it did not end in time."""

    value: Any = None
    error: BaseException | None = None
    late: bool = False
    left_open: bool = False
    places: list[Any] = field(default_factory=list)
    shown: str = ""
    """All its words, where a secret must not stand."""


def send(subject: Subject, stage: Stage) -> Called:
    """Send once through a new connector; the value is an Answer."""
    call = subject.calls.send
    assert call is not None  # nothing is sent without
    payload = placeholders.apply_set(subject.payload, call.set, _VALUES)
    key = "conformance-key-1"
    request = SendRequest(
        call, subject.contract, payload, key, {**_VALUES, "idempotency_key": key}, TIMEOUT_S
    )
    return _called(subject, stage, lambda connector, _: usable_answer(connector.send(request)))


def look_up(subject: Subject, stage: Stage) -> Called:
    """Look up once through a new connector; the value is a Looked."""
    call, record = subject.calls.lookup, subject.calls.record
    assert call is not None and record is not None  # nothing is looked up without
    request = LookRequest(call, subject.contract, record, _VALUES, TIMEOUT_S)
    return _called(subject, stage, lambda connector, _: usable_look(connector.look_up(request)))


def pull(subject: Subject, stage: Stage, place: Any = None) -> Called:
    """List through a new connector; the value is the items, `places` the place of each page."""
    call, record = subject.calls.list, subject.calls.record
    assert call is not None and record is not None  # nothing is listed without
    request = ListRequest(call, subject.contract, record, SINCE, TIMEOUT_S, place)

    def listed(connector: Connector, called: Called) -> list[object]:
        items: list[object] = []
        for number, page in enumerate(map(usable_page, connector.pages(request))):
            items += page.items
            called.places.append(None if page.place is None else json.loads(json.dumps(dict(page.place))))
            if number >= PAGES_MAX:
                raise RuntimeError("the list goes on for ever")
        return items

    return _called(subject, stage, listed)


_VALUES: dict[str, str | int] = {
    "key": KEY,
    "type": "conformance",
    "amount": "1240.00",
    "amount_minor": 124000,
    "currency": "ZAR",
    "currency_lower": "zar",
    "account": "main",
    "source.system": "conformance",
    "source.reference": "1",
    "source.version": "1",
    "idempotency_key": "conformance-key-1",
    "destination_reference": "R-1",
    "since": "2026-01-01T00:00:00Z",
}


def _called(subject: Subject, stage: Stage, act: Callable[[Connector, Called], object]) -> Called:
    """Act in a thread of its own, which is left behind where it does not end."""
    called, words = Called(), []

    def run() -> None:
        stage.watch = _in_transaction()
        try:
            connector = subject.make(stage.target)
            words.append(repr(connector))
            called.value = act(connector, called)
        except BaseException as error:  # noqa: BLE001 - whatever a connector raises is what is checked
            called.error = error
            words.append(repr(error) + getattr(error, "reason", ""))
        finally:
            called.left_open = stage.watch()
            connections["default"].close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    # A page has a deadline of its own; the played ones come at once, but for the one that is late.
    thread.join(TIMEOUT_S + LATE_S)
    called.late = thread.is_alive()
    value = called.value
    words += [value.detail] if isinstance(value, Answer) else [value.why] if isinstance(value, Looked) else []
    called.shown = " ".join([*words, json.dumps(called.places)])
    return called


def _in_transaction() -> Callable[[], bool]:
    """Return what tells, from any thread, whether this one has a transaction of Tieout's open."""
    own = connections["default"]
    return lambda: own.in_atomic_block
