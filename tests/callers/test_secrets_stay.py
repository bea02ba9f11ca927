"""No secret leaves its place: not into a log at its most talkative, nor into rows, pages or process lists.

A server and a worker write all that they can (LOG_LEVEL=DEBUG) while everything goes wrong: requests that
cannot be read, a statement that fails (500), a database that is gone in the middle of a request (503),
destinations and receivers that refuse us and say our own secrets back to us.
"""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from ledger import actions
from ledger.models import ApiToken, Attempt, Delivery, Destination, Event, Operation, Webhook
from ledger.rules.tokens import new_token, token_hash
from tests import factories as make
from tests.databases import Clock, Database, Template
from tests.doors import PAYLOAD, make_types, new_key
from tests.doors import clock as clock
from tests.doors import database as database
from tests.ledger.sessions import until_somebody_waits
from tests.people import browser_of
from tests.processes import Server, Spawn
from tests.receivers import ALL, SECRET, receiving
from tests.tokens import CLIENT, SIGNED_IN, serving_tokens
from tests.tokens import SECRET as CLIENT_SECRET
from tests.workers import until

TALKS = "DEBUG"
FIXED = "fixed-token-of-books-483"
IN_ADDRESS = "hook-address-483"


@dataclass
class Seen:
    """What was to stay secret, and all that was written while it was used."""

    secrets: dict[str, str] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def secret(self, what: str, value: str) -> str:
        """Note a secret, and return it."""
        self.secrets[what] = value
        return value

    def told_by(self, text: str) -> list[str]:
        """The secrets that a text tells."""
        return [what for what, value in self.secrets.items() if value in text]


@pytest.fixture(scope="module")
def seen(
    database: Database,
    clock: Clock,
    template: Template,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Seen]:
    make_types()
    seen, logs = Seen(), list[Path]()
    with Spawn(database, tmp_path_factory.mktemp("said"), logs) as spawn, ExitStack() as opened:
        server = Server.started(spawn, LOG_LEVEL=TALKS)
        http = opened.enter_context(httpx.Client(base_url=f"{server.url}/api/v1", timeout=30))
        go_wrong_at_the_door(seen, http, database)
        go_wrong_beyond(seen, spawn, opened, tmp_path_factory.mktemp("secrets"))
        for process in psutil.Process().children(recursive=True):
            seen.lines.append(" ".join(process.cmdline()))
        seen.logs = {log.name.split("-")[0]: log.read_text() for log in logs}
        seen.logs["postgres"] = (template.folder / "postgres" / "server.log").read_text()
        yield seen


def token_of(seen: Seen, name: str, **columns: object) -> dict[str, str]:
    """A token of the API, in the header that shows it."""
    token = seen.secret(name, new_token())
    ApiToken.objects.create(name=name, token_hash=token_hash(token), types=[], **columns)
    return {"Authorization": f"Bearer {token}"}


def go_wrong_at_the_door(seen: Seen, http: httpx.Client, database: Database) -> None:
    shop = token_of(seen, "a token")
    attempt = claimed(seen, http, shop, "an attempt's token")
    misread(seen, http, shop, attempt)
    started = {"token": attempt["token"], "start_id": str(uuid.uuid4())}
    database.as_owner("ALTER TABLE ledger_event RENAME TO elsewhere")
    seen.statuses.append(http.post(f"attempts/{attempt['id']}/start", json=started, headers=shop).status_code)
    database.as_owner("ALTER TABLE elsewhere RENAME TO ledger_event")
    with psycopg.connect(database.app_url) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT FROM ledger_operation FOR UPDATE")
        answer = pool.submit(http.post, f"attempts/{attempt['id']}/start", json=started, headers=shop)
        until_somebody_waits(database, answer)
        with closing(psycopg.connect(database.superuser_url, autocommit=True)) as power:
            seen.statements += [row[0] for row in power.execute("SELECT query FROM pg_stat_activity")]
            power.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
        seen.statuses.append(answer.result().status_code)
    told = http.post(
        f"attempts/{attempt['id']}/outcome",
        json={"token": attempt["token"], "outcome": "succeeded"},
        headers=shop,
    )
    seen.statuses.append(told.status_code)


def claimed(seen: Seen, http: httpx.Client, shop: dict[str, str], name: str) -> dict[str, str]:
    body = {"type": "reminder.send", "key": new_key(), "payload": PAYLOAD, "attempt_id": str(uuid.uuid4())}
    answer = http.post("operations/claim", json=body, headers=shop)
    attempt: dict[str, str] = answer.json()["attempt"]
    seen.secret(name, attempt["token"])
    return attempt


def misread(seen: Seen, http: httpx.Client, shop: dict[str, str], attempt: dict[str, str]) -> None:
    """Tokens where none belong, and in words that cannot be read."""
    token = shop["Authorization"].removeprefix("Bearer ")
    stray = {name: seen.secret(name, new_token()) for name in ("unknown", "basic", "in a key", "in a query")}
    ended = token_of(seen, "a revoked token", revoked_at="2026-01-01T00:00:00Z")
    for headers in (
        {"Authorization": f"Bearer {stray['unknown']}"},
        {"Authorization": f"Basic {stray['basic']}"},
        {"Authorization": f"{token}"},
        {"Authorization": f"Bearer {token} {token}"},
        ended,
        {**shop, "Idempotency-Key": f"{stray['in a key']},{token}"},
        {**shop, "Cookie": f'sessionid="{token}\\000"'},
    ):
        body = {"type": "reminder.send", "key": new_key(), "payload": PAYLOAD}
        assert http.post("operations/claim", json=body, headers=headers).status_code in (400, 401, 201)
    for path, content in (
        (f"attempts/{attempt['id']}/start", f'{{"token": "{attempt["token"]}", "start_id": 5'),
        (f"attempts/{attempt['id']}/start", f'{{"token": "{attempt["token"]}", "start_id": "{token}"}}'),
        (f"attempts/{attempt['id']}/outcome", f'{{"token": "{attempt["token"]}", "outcome": "{token}"}}'),
        ("attempts/outcome-batch", f'{{"items": [{{"attempt": "{token}", "token": "{attempt["token"]}"}}]}}'),
        ("operations/claim", f'{{"type": "{token}", "key": "a", "payload": {{"{attempt["token"]}": NaN}}}}'),
    ):
        assert http.post(path, content=content.encode(), headers=shop).status_code in (200, 400)
    for method, path in (("GET", f"operations?token={stray['in a query']}"), ("PUT", "operations/claim")):
        assert http.request(method, path, headers=shop).status_code in (400, 405)


def go_wrong_beyond(seen: Seen, spawn: Spawn, opened: ExitStack, folder: Path) -> None:
    """A worker between destinations that refuse us and a receiver that does."""

    def place(name: str, value: str) -> str:
        (folder / name).write_text(seen.secret(name, value))
        return f"file:{folder / name}"

    refusing = opened.enter_context(serving_tokens(refuses=True))
    telling = opened.enter_context(
        serving_tokens(says=(400, f'{{"error": "invalid_client {CLIENT_SECRET}"}}'))
    )
    receiver = opened.enter_context(receiving())
    receiver.status = 500
    oauth2 = {
        "kind": "oauth2",
        "client_id": CLIENT,
        "client_secret": place("client secret", CLIENT_SECRET),
        "refresh_token": place("refresh token", SIGNED_IN),
    }
    seen.secret("access token", "access-1")
    ways = {
        "refusing": (refusing.url, {**oauth2, "token_url": f"{refusing.url}/token"}),
        "telling": (telling.url, {**oauth2, "token_url": f"{telling.url}/token"}),
        "gone": ("http://127.0.0.1:1", {"kind": "bearer", "token": place("fixed token", FIXED)}),
    }
    hook = f"{receiver.url}?token={seen.secret('address of a receiver', IN_ADDRESS)}"
    Webhook.objects.create(
        name="shop", url=hook, secrets=[place("webhook secret", SECRET)], events=ALL, allow_private=True
    )
    made = []
    for name, (url, auth) in ways.items():
        there = Destination.objects.create(
            name=name,
            title=name,
            entity="Durban",
            connector="http",
            account="main",
            connection={"base_url": url, "timeout": 3, "auth": auth},
        )
        of = make.invoice_type(name=f"{name}.create", destination=there, looks=False)
        made.append(make.handed(of, f"{name}/1").pk)
    actions.claim(make.submission(make.reminder_type(name="told.once"), "told/1"), actor="api:shop")
    spawn("worker", "manage.py", "worker", LOG_LEVEL=TALKS)
    until(
        lambda: Attempt.objects.filter(operation__in=made, closed_at__isnull=False).count() >= 3, what="Tries"
    )
    until(lambda: Delivery.objects.filter(tries__gt=0).exists(), what="A message to the receiver")


@pytest.mark.parametrize("log", ["server", "worker", "postgres"])
def test_no_log_tells_one(seen: Seen, log: str) -> None:
    text = seen.logs[log]
    assert seen.told_by(text) == []


def test_what_went_wrong_is_in_the_logs(seen: Seen) -> None:
    """Else the test above would show nothing."""
    assert seen.statuses == [500, 503, 200]
    assert "ERROR ledger.door: POST /api/v1/attempts/" in seen.logs["server"]
    assert "Service Unavailable: /api/v1/attempts/" in seen.logs["server"]


def test_no_row_tells_one(seen: Seen, database: Database) -> None:
    with closing(psycopg.connect(database.superuser_url)) as power:
        tables = [
            row[0] for row in power.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        ]
        # Where others want to be told is theirs to write; that it is never printed, the logs and pages show.
        rows = [
            row[0]
            for table in tables
            for row in power.execute(
                f'SELECT t::text FROM "{table}" AS t WHERE tableoid::regclass::text <> %s', ["ledger_webhook"]
            )
        ]
    assert len(rows) > 50
    assert [tell for row in rows for tell in seen.told_by(row)] == []


def test_no_process_and_no_statement_tells_one(seen: Seen) -> None:
    assert any("gunicorn" in line for line in seen.lines) and any("worker" in line for line in seen.lines)
    assert seen.told_by("\n".join(seen.lines)) == []
    assert seen.told_by("\n".join(seen.statements)) == []


def test_no_page_tells_one(seen: Seen) -> None:
    ann = browser_of("ann")
    pages = ["/queue/", "/deliveries/", "/approvals/", "/runs/", "/register/"]
    pages += [f"/operations/{uid}/" for uid in Operation.objects.values_list("uid", flat=True)]
    for page in pages:
        answer = ann.get(page)
        assert answer.status_code == 200, page
        assert seen.told_by(answer.content.decode()) == [], page
    assert Event.objects.count() > 5
