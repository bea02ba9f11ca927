"""Stripes to send to: two programs that others wrote, as processes, and a wire between that loses answers."""

import json
import socket
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest
from django.core.management import call_command

from config.environment import ROOT
from ledger import actions
from ledger.actions import Submission
from ledger.destinations import lookups
from ledger.models import Operation
from tests import npm, processes
from tests.databases import Clock
from tests.ledger.wires import serving
from tests.workers import one_round

SECRET = "sk_test_tieout0815"
LOCKED = ROOT / "tests" / "stripe_mock"


@dataclass(frozen=True)
class Stripe:
    """A running Stripe, asked directly: what it holds is counted there."""

    url: str

    def held(self, kind: str, key: str) -> list[dict[str, Any]]:
        """The records of a kind, such as "charges", that carry the key of this operation."""
        records = self.get(f"/v1/{kind}?limit=1000")["data"]
        return [record for record in records if record["metadata"].get("operation") == key]

    def get(self, path: str) -> Any:
        """Read something."""
        return self._call(Request(self.url + path))

    def post(self, path: str, fields: Mapping[str, object], *, idempotency_key: str = "") -> Any:
        """Make something, as another program would."""
        request = Request(self.url + path, urlencode(fields).encode())
        if idempotency_key:
            request.add_header("Idempotency-Key", idempotency_key)
        return self._call(request)

    def tell(self, url: str, *, secret: str) -> None:
        """Post events there, signed, which only localstripe can."""
        self.post("/_config/webhooks/tieout", {"url": url, "secret": secret})

    def clear(self) -> None:
        """Forget everything, which only localstripe can."""
        with urlopen(Request(f"{self.url}/_config/data", method="DELETE"), timeout=30):
            pass

    def _call(self, request: Request) -> Any:
        request.add_header("Authorization", f"Bearer {SECRET}")
        with urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")


@contextmanager
def running(*command: str, folder: Path) -> Iterator[Stripe]:
    """A Stripe in a process whose first line is its address; killed at the end."""
    with processes.at_its_address(*command, folder=folder) as url:
        yield Stripe(url)


@pytest.fixture(scope="module")
def localstripe() -> Iterator[Stripe]:
    """localstripe, which takes Stripe's calls and forgets every idempotency key."""
    with running(sys.executable, "-m", "tests.localstripe_server", folder=ROOT) as stripe:
        yield stripe


@pytest.fixture(scope="module")
def stripe_mock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stripe]:
    """stripe-stateful-mock, which keeps idempotency keys as Stripe does; installed from its lock first."""
    folder = npm.installed(LOCKED, tmp_path_factory.mktemp("stripe") / "mock")
    with running("node", "serve.cjs", folder=folder) as stripe:
        yield stripe


@dataclass
class Between:
    """Stands between Tieout and a Stripe: hands everything on, but for what it was told to lose."""

    upstream: str
    url: str = ""
    keys: list[str] = field(default_factory=list)
    """The idempotency keys of the POST requests that came, in order."""
    losses: list[str] = field(default_factory=list)
    lists: bool = True
    """Whether anything can be read."""

    def lose(self, *what: str) -> None:
        """Lose the "answer" or the "request" of the next POST requests; or "all" that comes from then on."""
        self.losses += what

    def hand_on(self, connection: socket.socket, request: bytes) -> None:
        """Hand one request on, and what comes back."""
        lost = ""
        if request.startswith(b"POST "):
            self.keys.append(_header(request, "idempotency-key"))
            lost = self.losses.pop(0) if self.losses else ""
            self.lists = self.lists and lost != "all"
        elif not self.lists:
            return
        if lost == "request":
            return
        answer = self._answer(request)
        if not lost:
            connection.sendall(answer)

    def _answer(self, request: bytes) -> bytes:
        head, _, rest = request.partition(b"\r\n")
        parts = urlsplit(self.upstream)
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=30) as upstream:
            upstream.sendall(head + b"\r\nConnection: close\r\n" + rest)
            answer = b""
            while part := upstream.recv(65536):
                answer += part
        return answer


def _header(request: bytes, name: str) -> str:
    lines = request.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    found = [line.split(":", 1)[1].strip() for line in lines[1:] if line.lower().startswith(f"{name}:")]
    return found[0] if found else ""


@contextmanager
def between(stripe: Stripe) -> Iterator[Between]:
    """A wire to this Stripe."""
    wire = Between(stripe.url)
    with serving(wire.hand_on) as served:
        wire.url = served.url
        yield wire


KINDS = {
    "payment_intent": "payment_intents",
    "payment": "payment_intents",
    "charge": "charges",
    "refund": "refunds",
    "customer": "customers",
}


@dataclass
class Till:
    """A shop that takes money by Stripe: its configuration by the preset, and operations of each kind."""

    clock: Clock
    stripe: Stripe
    wire: Between
    monkeypatch: pytest.MonkeyPatch
    own_lines: str = ""
    plans: str = ""
    drills: bool = False

    def __post_init__(self) -> None:
        """Take a configuration in, as an administrator would."""
        self.monkeypatch.setenv("STRIPE_SECRET_KEY", SECRET)
        text = f"""
[destinations.stripe]
preset = "stripe-v1"
entity = "Durban Trading (Pty) Ltd"
base_url = "{self.wire.url}"
timeout = "5s"
drills = {str(self.drills).lower()}
"""
        for name, kind in KINDS.items():
            text += f"""
[operation_types."{name}.make"]
destination = "stripe"
preset = "{name}"
performed_by = "tieout"
retry = {{ base = "1s", cap = "1s" }}
""" + self.own_lines.format(name=f"{name}.make", kind=kind)
        with NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text + self.plans)
            file.flush()
            call_command("configure", file.name, stdout=StringIO())

    def hand_over(
        self, kind: str, *, amount: str | None = "12.40", currency: str | None = "EUR", **payload: Any
    ) -> Operation:
        """Hand an operation of this kind over, with what only the payload says."""
        submission = Submission(
            f"{kind}.make", payload, key=f"{kind}/{uuid.uuid4().hex[:12]}", amount=amount, currency=currency
        )
        return actions.submit(submission, actor="api:shop").operation

    def work(self, *, after_s: float = 2, rounds: int = 1) -> None:
        """Do rounds of the worker's work, each some seconds after the one before."""
        for _ in range(rounds):
            self.clock.advance(after_s)
            one_round()

    def again(self, operation: Operation) -> Operation:
        """Read it as it stands now."""
        return Operation.objects.select_related("operation_type__destination").get(pk=operation.pk)

    def there(self, operation: Operation) -> list[dict[str, Any]]:
        """What Stripe itself holds for it."""
        return self.stripe.held(KINDS[operation.operation_type.name.removesuffix(".make")], operation.key)

    def run(self, said: StringIO) -> Any:
        """What `reconcile --json` printed."""
        return json.loads(said.getvalue())

    def look(self, operation: Operation) -> str:
        """Look as a person does, and say what was found."""
        return lookups.look(self.again(operation), actor="ann", reason="Is it there?").verdict
