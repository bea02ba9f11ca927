"""A server with canned answers, what an example of a preset says, and a configuration that names one."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import pytest
from django.core.management import call_command

from ledger import actions
from ledger.actions import Submission
from ledger.models import Operation, OperationType
from ledger.rules.states import State
from tests.databases import Clock
from tests.factories import again
from tests.ledger.wires import serving
from tests.workers import one_round

KEY = "order/483"
OWN_TOKEN = 'auth = { kind = "bearer", token = "env:OWN_TOKEN" }'
Record = dict[str, Any]
Configured = Callable[..., OperationType]
AT = "2026-11-30T08:00:00Z"


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: str

    @property
    def path(self) -> str:
        """The path and the query, decoded."""
        return unquote_plus(self.target)

    @property
    def form(self) -> dict[str, str]:
        """The fields of a form."""
        return dict(parse_qsl(self.body, strict_parsing=True))


@dataclass
class Canned:
    """A server that answers a POST or PUT with one record, and from then on a question with a list of it.

    `questions`: what stands in "METHOD path body" of a request that only asks.
    """

    record: Record
    listed: Callable[[list[Record]], Any]
    made: Callable[[Record], Any] = lambda record: record
    questions: tuple[str, ...] = ("GET ",)
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    def answer(self, connection: socket.socket, request: bytes) -> None:
        """Keep the request, and answer it."""
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.asked.append(Asked(method, target, headers, body.decode()))
        there = [] if all(map(self._asks, self.asked)) else [self.record]
        found = self.listed(there) if self._asks(self.asked[-1]) else self.made(self.record)
        content = json.dumps(found).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))

    def _asks(self, one: Asked) -> bool:
        return any(words in f"{one.method} {one.path} {one.body}" for words in self.questions)


Found = Callable[[list[Record], Asked], Any]


@dataclass(frozen=True)
class Example:
    """One operation of a preset: what goes out and what is there afterwards, in the names of its documents.

    `makes`, `looks` and `lists` are "METHOD path", and the body where there is one. `pages`: how many
    requests one list takes. `key`: where in the body or headers the idempotency key is, and `window_h` how
    many hours it is remembered. `{since}` is the instant of a question, in the form of `since`.
    """

    preset: str
    operation: str
    payload: dict[str, Any]
    record: Record
    makes: tuple[str, Record]
    looks: tuple[str, Record | None] | None = None
    lists: tuple[str, Record | None] | None = None
    made: Callable[[Record], Any] = lambda record: record
    found: Found = lambda records, asked: records
    questions: tuple[str, ...] = ("GET ",)
    pages: int = 1
    looks_first: bool = False
    key: str = ""
    window_h: float | None = None
    since: str = "%Y-%m-%dT%H:%M:%SZ"
    headers: dict[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    of_type: str = ""
    source: dict[str, str] = field(default_factory=dict)
    money: tuple[str | None, str | None] = ("12.40", "EUR")
    secrets: tuple[str, ...] = ()


@contextmanager
def canned(record: Record, listed: Callable[[list[Record]], Any], **more: Any) -> Iterator[Canned]:
    server = Canned(record, listed, **more)
    with serving(server.answer) as served:
        server.url = served.url
        yield server


@pytest.fixture
def configured(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Configured:
    """Take in a file that names a preset and one of its operations, and little else."""

    def take(
        preset: str, operation: str, url: str, *lines: str, of_type: str = "", **secrets: str
    ) -> OperationType:
        for name, value in secrets.items():
            monkeypatch.setenv(name, value)
        file = tmp_path / f"{preset}.toml"
        own = "\n".join(lines)
        file.write_text(
            f'[destinations.there]\npreset = "{preset}"\nentity = "Durban Trading (Pty) Ltd"\n'
            f'base_url = "{url}"\n{own}\n'
            f'[operation_types."it.make"]\ndestination = "there"\npreset = "{operation}"\n'
            f'performed_by = "tieout"\n{of_type}\n'
        )
        call_command("configure", str(file), stdout=StringIO())
        return OperationType.objects.select_related("destination").get(name="it.make")

    return take


def handed_over(
    amount: str | None, currency: str | None, source: Mapping[str, str] | None = None, /, **payload: Any
) -> Operation:
    """Hand it over; nothing has gone out yet."""
    submission = Submission(
        "it.make", payload, key=KEY, source=source or {}, amount=amount, currency=currency
    )
    return again(actions.submit(submission, actor="api:shop").operation)


def sent(
    amount: str | None, currency: str | None, source: Mapping[str, str] | None = None, /, **payload: Any
) -> Operation:
    """Hand it over and let the worker send it; it must be done by the answer."""
    operation = handed_over(amount, currency, source, **payload)
    one_round()
    operation = again(operation)
    assert operation.state == State.COMPLETED, list(operation.attempts.values())
    return operation
