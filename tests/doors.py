"""The API through a real gunicorn, for tests of what automations see; one database for each test module."""

import json
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from config.urls import api as api_of_all
from ledger.door.schemas import AnswerOut, BatchOut, ListOut, ProblemOut
from ledger.models import ApiToken, Destination, OperationType
from ledger.rules.tokens import new_token, token_hash
from tests.databases import Clock, Database
from tests.processes import LOGS, Server, Standing

PAYLOAD: dict[str, Any] = {"order": "483", "total": "1240.00"}
Given = TypeVar("Given")


@dataclass
class Api:
    """An automation at the door, with a token of its own. Every answer is held to its schema."""

    server: Server
    clock: Clock
    token: str
    http: httpx.Client
    log: Path

    def post(self, path: str, body: object = None, **headers: str) -> httpx.Response:
        """Send a body: an object as JSON, bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return fits(self.http.post(f"/api/v1/{path}", content=content, headers=sent))

    def get(self, path: str, **asked: str) -> httpx.Response:
        """Read something."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return self.http.get(f"/api/v1/{path}", params=asked or None, headers=headers)

    def find(self, **asked: str) -> dict[str, Any]:
        """Return one page of a list."""
        answer = self.get("operations", **asked)
        assert answer.status_code == 200, answer.text
        ListOut.model_validate_json(answer.content)
        page: dict[str, Any] = answer.json()
        return page

    def submit(self, key: str, **members: Any) -> httpx.Response:
        """Hand an invoice to Tieout."""
        return self.post("operations", {"type": "invoice.create", "key": key, "payload": PAYLOAD, **members})

    def claim(self, key: str, **members: Any) -> httpx.Response:
        """Claim a reminder."""
        body = {"type": "reminder.send", "key": key, "payload": PAYLOAD, **members}
        return self.post("operations/claim", body)

    def start(self, attempt: Mapping[str, Any], start_id: object = None) -> httpx.Response:
        """Start a claimed attempt."""
        body = {"token": attempt["token"], "start_id": str(start_id or uuid.uuid4())}
        return self.post(f"attempts/{attempt['id']}/start", body)

    def outcome(self, attempt: Mapping[str, Any], outcome: str, **members: Any) -> httpx.Response:
        """Report what came back."""
        body = {"token": attempt["token"], "outcome": outcome, **members}
        return self.post(f"attempts/{attempt['id']}/outcome", body)

    def heartbeat(self, attempt: Mapping[str, Any], **members: Any) -> httpx.Response:
        """Say that it is still at work."""
        return self.post(f"attempts/{attempt['id']}/heartbeat", {"token": attempt["token"], **members})

    def claimed(self, key: str, **members: Any) -> dict[str, Any]:
        """Claim it and return the attempt."""
        answer = self.claim(key, **members)
        assert answer.status_code == 201, answer.text
        attempt: dict[str, Any] = answer.json()["attempt"]
        return attempt

    def other(self, *types: str, revoked: bool = False) -> "Api":
        """Return another automation, whose token covers these types, or every one."""
        token = new_token()
        now = self.clock.now() if revoked else None
        ApiToken.objects.create(
            name=f"other {token[-6:]}", token_hash=token_hash(token), types=list(types), revoked_at=now
        )
        return Api(self.server, self.clock, token, self.http, self.log)


def fits(answer: httpx.Response) -> httpx.Response:
    """Hold an answer of a POST to the documented schema and media type."""
    if answer.status_code >= 400:
        assert answer.headers["Content-Type"] == "application/problem+json", answer.text
        problem = ProblemOut.model_validate_json(answer.content)
        assert problem.status == answer.status_code
        assert problem.detail.endswith((".", "/"))
        assert (problem.retry == "wait") == ("Retry-After" in answer.headers)
        documented(answer)
    else:
        assert answer.headers["Content-Type"] == "application/json", answer.text
        told = BatchOut if answer.url.path.endswith("-batch") else AnswerOut
        told.model_validate_json(answer.content)
    assert answer.headers["Cache-Control"] == "no-store"
    return answer


def problem(answer: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """Return a problem document; fails where it is another one."""
    document: dict[str, Any] = answer.json()
    assert (answer.status_code, document["type"]) == (status, f"/problems/{kind}"), answer.text
    documented(answer)
    return document


@cache
def refusals() -> list[tuple[re.Pattern[str], dict[str, set[str]]]]:
    """The kinds of refusals that each method and address documents, by status."""
    document = api_of_all.get_openapi_schema(path_prefix="/api/v1/")
    return [
        (
            re.compile(re.sub(r"\{\w+\}", "[^/]+", f"{method.upper()} {path}")),
            {
                str(status): set(told["content"]["application/problem+json"]["examples"])
                for status, told in operation["responses"].items()
                if "application/problem+json" in told.get("content", {})
            },
        )
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def documented(answer: httpx.Response) -> None:
    """Hold a refusal to what its address documents; what is no address, or takes another method, has none."""
    if answer.status_code == httpx.codes.METHOD_NOT_ALLOWED:
        return
    asked = f"{answer.request.method} {answer.request.url.path}"
    kind = answer.json()["type"].removeprefix("/problems/")
    for address, kinds in refusals():
        if address.fullmatch(asked):
            assert kind in kinds.get(str(answer.status_code), ()), f"{asked}: {kind} is not documented"


def at_once(count: int, call: Callable[[int], Given]) -> list[Given]:
    """Call it in so many threads at once; gives what came back."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(call, range(count)))


def new_key(word: str = "order") -> str:
    """A key that no other test has."""
    return f"{word}/{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="module")
def database(standing: Standing) -> Iterator[Database]:
    """One database for the module: its tests use keys of their own."""
    with standing.database() as clone:
        yield clone


@pytest.fixture(scope="module")
def clock(database: Database) -> Clock:
    """One clock for the module; it is only ever moved on."""
    return Clock.put_into(database)


@contextmanager
def opened(standing: Standing, clock: Clock) -> Iterator[Api]:
    """Kinds of operations at the standing server, and an automation that may use every one."""
    make_types()
    server = standing.at_work(clock.database)
    token = new_token()
    ApiToken.objects.create(name="webshop", token_hash=token_hash(token), types=[])
    with httpx.Client(base_url=server.url, timeout=30) as http:
        yield Api(server, clock, token, http, standing.logs[-1])


@pytest.fixture(scope="module")
def serving(standing: Standing, clock: Clock) -> Iterator[Api]:
    """The open door of the module."""
    with opened(standing, clock) as api:
        yield api


@pytest.fixture
def api(serving: Api, request: pytest.FixtureRequest) -> Api:
    """The module's automation; what the server said is shown where a test fails."""
    request.node.stash[LOGS] = [serving.log]
    return serving


SEND = {"path": "/invoices", "set": {"metadata.operation": "{key}"}}
RECORD = {"id": "id", "reference": "metadata.operation", "amount": "total", "currency": "currency"}
LOOKUP = {"path": "/invoices?reference={key}", "items": "data"}
WINDOW = {"idempotency": "header", "key_retention": "24h", "saves": "2xx"}
TYPES: dict[str, dict[str, Any]] = {
    # Tieout sends, and can look.
    "invoice.create": {
        "performed_by": "tieout",
        "key_template": "order/{source.system}/{source.reference}/v{source.version}",
        "contract": {**WINDOW, "settle": "10s"},
        "calls": {"send": SEND, "record": RECORD, "lookup": LOOKUP},
    },
    # Tieout sends; only the key protects.
    "transfer.send": {"performed_by": "tieout", "contract": WINDOW, "calls": {"send": SEND}},
    # The caller sends, and nothing protects.
    "reminder.send": {"performed_by": "caller", "contract": {}, "calls": {}},
    # The caller sends; only the key protects.
    "refund.pay": {"performed_by": "caller", "contract": WINDOW, "calls": {}},
    # The caller sends, and Tieout can look.
    "ticket.open": {
        "performed_by": "caller",
        "contract": {"settle": "10s"},
        "calls": {"send": SEND, "record": RECORD, "lookup": LOOKUP},
    },
}


def make_types() -> None:
    """Make the destination and the types, as `configure` would."""
    books = Destination.objects.create(
        name="books",
        title="Durban Books",
        entity="Durban Trading (Pty) Ltd",
        connector="http",
        account="main",
        connection={"base_url": "http://127.0.0.1:1", "timeout": 3},
    )
    for name, members in TYPES.items():
        OperationType.objects.create(
            name=name,
            destination=books,
            label=name,
            noun=name.partition(".")[0],
            lease_s=60,
            owner="finance",
            retry={"attempts": 3},
            review={},
            **members,
        )
