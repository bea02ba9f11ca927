"""Alive and ready are two questions; what is down or broken is said in words, and leaks nothing."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

import httpx
import psycopg
import pytest

from ledger.models import ApiToken, Heartbeat, database_now
from ledger.rules.tokens import new_token, token_hash
from tests.databases import Clock, Database
from tests.doors import fits, make_types, problem
from tests.processes import LOGS, Server

BODY = {"type": "reminder.send", "key": "reminder/483/1", "payload": {"order": "483"}}


@dataclass
class Door:
    """An automation at a server of this test's own."""

    http: httpx.Client
    token: str

    def claim(self, **members: str) -> httpx.Response:
        """Claim the one reminder."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return fits(self.http.post("/api/v1/operations/claim", json=BODY | members, headers=headers))

    def ready(self) -> tuple[int, list[str]]:
        """Ask whether it is ready, and what is wrong."""
        answer = self.http.get("/readyz")
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.json()["ready"] == (answer.status_code == 200)
        return answer.status_code, answer.json()["wrong"]


@pytest.fixture
def door(database: Database, clock: Clock, server: Server) -> Iterator[Door]:
    make_types()
    token = new_token()
    ApiToken.objects.create(name="webshop", token_hash=token_hash(token), types=[])
    with httpx.Client(base_url=server.url, timeout=30) as http:
        yield Door(http, token)


@contextmanager
def closed(database: Database) -> Iterator[None]:
    """Nobody gets into the database, and who was in is thrown out."""
    elsewhere = replace(database, superuser_url=database.superuser_url.replace(database.name, "postgres"))
    sessions = f"FROM pg_stat_activity WHERE datname = '{database.name}'"
    elsewhere.as_superuser(
        f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS false",
        f"SELECT pg_terminate_backend(pid) {sessions}",
    )
    try:
        yield
    finally:
        elsewhere.as_superuser(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS true")


def beat() -> None:
    """Let work have gone through the queue just now."""
    now = database_now()
    Heartbeat.objects.update_or_create(name="queue", defaults={"beat_at": now, "busy_until": now})


def test_ready_says_what_is_wrong(door: Door, clock: Clock) -> None:
    status, wrong = door.ready()
    assert status == 503
    assert "worker" in wrong[0]
    beat()
    assert door.ready() == (200, [])
    clock.advance(31)
    status, wrong = door.ready()
    assert status == 503
    assert "for 31 s" in wrong[0]
    beat()
    assert door.ready() == (200, [])
    assert door.http.get("/healthz").json() == {"alive": True}


def test_a_database_that_is_down_is_said_in_words_and_found_again(door: Door, database: Database) -> None:
    beat()
    assert door.claim().status_code == 201
    with closed(database):
        for _ in range(3):
            answer = door.claim()
            told = problem(answer, 503, "unavailable")
            assert answer.headers["Retry-After"] == "5"
            assert "nothing twice" in told["detail"]
            for leak in ("psycopg", "OperationalError", database.name, "connection"):
                assert leak not in answer.text
        assert door.ready() == (503, ["The database does not answer."])
        assert door.http.get("/healthz").status_code == 200
    problem(door.claim(), 409, "in-flight")
    assert door.ready() == (200, [])


def test_a_database_that_dies_in_the_middle_of_a_claim(door: Door, database: Database) -> None:
    answers: list[httpx.Response] = []
    waiters = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    waiting = threading.Thread(target=lambda: answers.append(door.claim()))
    with (
        closing(psycopg.connect(database.owner_url)) as lock,
        closing(psycopg.connect(database.superuser_url, autocommit=True)) as watch,
    ):
        lock.execute("LOCK TABLE ledger_operation IN EXCLUSIVE MODE")
        waiting.start()
        while not (found := watch.execute(waiters).fetchall()):
            assert waiting.is_alive()
        watch.execute("SELECT pg_terminate_backend(%s)", found[0])
        waiting.join(30)
    problem(answers[0], 503, "unavailable")
    assert door.claim().status_code == 201


def test_an_unforeseen_error_tells_nothing_and_its_log_repeats_no_value(
    door: Door, database: Database, request: pytest.FixtureRequest
) -> None:
    database.as_owner("ALTER TABLE ledger_operation ADD CONSTRAINT odd CHECK (subject <> 'a-secret')")
    answer = door.claim(subject="a-secret")
    assert problem(answer, 500, "internal")["operation"] is None
    for leak in ("IntegrityError", "odd", "a-secret", "accepting"):
        assert leak not in answer.text
    log = request.node.stash[LOGS][0].read_text()
    assert "POST /api/v1/operations/claim: IntegrityError" in log
    assert "CheckViolation 23514 odd at" in log
    assert "accepting.py" in log
    assert "a-secret" not in log
