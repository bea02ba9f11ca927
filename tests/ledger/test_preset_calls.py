"""What each preset asks and reads, against a server with canned answers in the words of its documents.

For each operation: the request that makes the effect (method, path, headers, body), the one that looks it up,
the one that lists, and that a record as documented is read: reference, amount, currency, status.
"""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import pytest
from django.core.management import call_command

from ledger import actions
from ledger.actions import Submission
from ledger.destinations import listing, lookups
from ledger.models import Operation, OperationType
from ledger.rules.records import read_record
from ledger.rules.states import State
from tests.databases import Clock
from tests.ledger.wires import serving
from tests.workers import one_round

KEY = "order/483"
Record = dict[str, Any]


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
    """A server that answers a POST with one record and a GET with a list of it."""

    record: Record
    listed: Callable[[list[Record]], Any]
    made: Callable[[Record], Any] = lambda record: record
    url: str = ""
    asked: list[Asked] = field(default_factory=list)

    def answer(self, connection: socket.socket, request: bytes) -> None:
        """Keep the request, and answer it."""
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.asked.append(Asked(method, target, headers, body.decode()))
        found = self.made(self.record) if method in ("POST", "PUT") else self.listed([self.record])
        content = json.dumps(found).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))


@contextmanager
def canned(record: Record, listed: Callable[[list[Record]], Any], **more: Any) -> Iterator[Canned]:
    server = Canned(record, listed, **more)
    with serving(server.answer) as served:
        server.url = served.url
        yield server


@pytest.fixture
def configured(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OperationType]:
    """Take in a file that names a preset and one of its operations, and little else."""

    def take(preset: str, operation: str, url: str, *lines: str, **secrets: str) -> OperationType:
        for name, value in secrets.items():
            monkeypatch.setenv(name, value)
        file = tmp_path / f"{preset}.toml"
        own = "\n".join(lines)
        file.write_text(
            f'[destinations.there]\npreset = "{preset}"\nentity = "Durban Trading (Pty) Ltd"\n'
            f'base_url = "{url}"\n{own}\n'
            f'[operation_types."it.make"]\ndestination = "there"\npreset = "{operation}"\n'
            'performed_by = "tieout"\n'
        )
        call_command("configure", str(file), stdout=StringIO())
        return OperationType.objects.select_related("destination").get(name="it.make")

    return take


def sent(amount: str | None, currency: str | None, **payload: Any) -> Operation:
    """Hand it over and let the worker send it; it must be done by the answer."""
    submission = Submission("it.make", payload, key=KEY, amount=amount, currency=currency)
    operation = actions.submit(submission, actor="api:shop").operation
    one_round()
    operation = Operation.objects.select_related("operation_type__destination").get(pk=operation.pk)
    assert operation.state == State.COMPLETED, list(operation.attempts.values())
    return operation


# --- Stripe, by https://docs.stripe.com/api (2026-01-28.clover)


def of_stripe(records: list[Record]) -> Any:
    return {"object": "list", "url": "/v1/x", "has_more": False, "data": records}


BY_STRIPE: dict[str, Any] = {"created": 1_795_000_000, "livemode": False, "metadata": {"operation": KEY}}
PAID: dict[str, Any] = {"amount": 1240, "currency": "eur", **BY_STRIPE}
STRIPE = {
    "payment_intent": ("payment_intents", {"id": "pi_1", "status": "requires_payment_method", **PAID}),
    "payment": ("payment_intents", {"id": "pi_1", "status": "succeeded", **PAID}),
    "charge": ("charges", {"id": "ch_1", "status": "succeeded", **PAID}),
    "refund": ("refunds", {"id": "re_1", "status": "succeeded", **PAID}),
    "customer": ("customers", {"id": "cus_1", "name": "Acme", **BY_STRIPE}),
}
STRIPES_FIELDS = {
    "payment_intent": {"amount": "1240", "currency": "eur"},
    "payment": {"amount": "1240", "currency": "eur", "confirm": "true"},
    "charge": {"amount": "1240", "currency": "eur"},
    "refund": {"amount": "1240"},
    "customer": {},
}


@pytest.mark.parametrize("operation", STRIPE)
def test_stripe_is_asked_as_its_reference_says(
    operation: str, configured: Callable[..., OperationType]
) -> None:
    resource, record = STRIPE[operation]
    money = (None, None) if operation == "customer" else ("12.40", "EUR")
    with canned(record, of_stripe) as server:
        kind = configured("stripe-v1", operation, server.url, STRIPE_SECRET_KEY="sk_test_0815")
        done = sent(*money, shipping={"name": "Acme"}, tags=["a", "b"])
        assert lookups.look(done, actor="ann", reason="Is it there?").verdict == "one_match"
        listed = [item for page in listing.pages(kind, since=done.accepted_at) for item in page.items]
    making, looking, reading = server.asked
    assert (making.method, making.path) == ("POST", f"/v1/{resource}")
    assert making.headers["authorization"] == "Bearer sk_test_0815"
    assert making.headers["stripe-version"] == "2026-01-28.clover"
    assert making.headers["content-type"] == "application/x-www-form-urlencoded"
    assert making.headers["idempotency-key"] == done.idempotency_key
    assert making.form == {
        **STRIPES_FIELDS[operation],
        "metadata[operation]": KEY,
        "shipping[name]": "Acme",
        "tags[0]": "a",
        "tags[1]": "b",
    }
    day_before = int((done.accepted_at - timedelta(days=1)).timestamp())
    assert looking.path == f"/v1/{resource}?limit=100&created[gte]={day_before}"
    assert reading.path == f"/v1/{resource}?limit=100&created[gte]={int(done.accepted_at.timestamp())}"
    assert looking.headers["stripe-version"] == reading.headers["stripe-version"] == "2026-01-28.clover"
    assert kind.how.record is not None
    [seen] = [read_record(kind.how.record, item) for item in listed]
    assert (seen.reference, seen.occurred_at is not None, seen.differs) == (KEY, True, ())
    assert f"{seen.amount} {seen.currency}" == ("None " if operation == "customer" else "12.40 EUR")
