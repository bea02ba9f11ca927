"""A token that has ended is void for the next request, whichever of the server's processes answers it.

| it was                        | before | afterwards |
|-------------------------------|--------|------------|
| revoked                       | good   | 401        |
| past its end                  | good   | 401        |
| rotated, without an overlap   | good   | 401        |
| rotated, its overlap is over  | good   | 401        |
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import httpx
import psutil
import pytest
from django.core.management import call_command

from tests.databases import Clock, Database
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import make_types, problem
from tests.processes import LOGS, Server, Spawn
from tests.workers import until

PROCESSES = 2


@dataclass(frozen=True)
class Lines:
    """A connection to each of the server's processes, which stays open."""

    each: dict[int, httpx.Client]

    def asked(self, token: str) -> list[httpx.Response]:
        """What each process answers to a token, by a read and by a write that would be one."""
        headers = {"Authorization": f"Bearer {token}"}
        return [
            answer
            for line in self.each.values()
            for answer in (
                line.get("/api/v1/operations", headers=headers),
                line.post("/api/v1/operations/claim", json=claim(), headers=headers),
            )
        ]


def claim() -> dict[str, object]:
    return {"type": "reminder.send", "key": f"order/{uuid.uuid4()}", "payload": {}}


@pytest.fixture(scope="module")
def logs() -> list[Path]:
    return []


@pytest.fixture(scope="module")
def to_each(
    database: Database, clock: Clock, logs: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lines]:
    make_types()
    with Spawn(database, tmp_path_factory.mktemp("server"), logs) as spawn, ExitStack() as opened:
        server = Server.started(spawn, GUNICORN_CMD_ARGS=f"--workers {PROCESSES} --keep-alive 600")
        reached: dict[int, httpx.Client] = {}

        def reached_all() -> bool:
            kept = httpx.Limits(keepalive_expiry=None)
            line = opened.enter_context(httpx.Client(base_url=server.url, timeout=30, limits=kept))
            reached.setdefault(who_serves(server, line), line)
            return len(reached) == PROCESSES

        until(reached_all, what="A connection to each process")
        yield Lines(reached)
        assert {who_serves(server, line): line for line in reached.values()} == reached, "one was another's"


@pytest.fixture
def lines(to_each: Lines, logs: list[Path], request: pytest.FixtureRequest) -> Lines:
    request.node.stash[LOGS] = logs
    return to_each


def who_serves(server: Server, line: httpx.Client) -> int:
    """The process at the other end of a connection."""
    with line.stream("GET", "/healthz") as answer:
        port = answer.extensions["network_stream"].get_extra_info("client_addr")[1]
        answer.read()
    for process in psutil.Process(server.process.pid).children():
        if any(one.raddr and one.raddr.port == port for one in process.net_connections("tcp")):
            return process.pid
    raise AssertionError(f"Nobody is at the other end of {port}.")


def said(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out)
    return out.getvalue().strip()


def revoke(name: str, clock: Clock) -> None:
    said("revoke_key", name)


def wait_for_its_end(name: str, clock: Clock) -> None:
    clock.advance(91 * 86400)


def rotate(name: str, clock: Clock) -> None:
    said("issue_key", name, "--rotate", "--overlap", "0")


def rotate_and_wait(name: str, clock: Clock) -> None:
    said("issue_key", name, "--rotate", "--overlap", "10m")
    clock.advance(601)


@pytest.mark.parametrize(
    "end", [revoke, wait_for_its_end, rotate, rotate_and_wait], ids=lambda end: end.__name__
)
def test_a_token_that_has_ended_is_void_at_once_in_every_process(
    lines: Lines, clock: Clock, end: Callable[[str, Clock], None]
) -> None:
    name, other = (f"shop {uuid.uuid4().hex[:8]}" for _ in range(2))
    token, still_good = said("issue_key", name, "--expires", "90d"), said("issue_key", other)
    for _ in range(2):  # were it remembered, then by now
        assert [answer.status_code for answer in lines.asked(token)] == [200, 201] * PROCESSES
    end(name, clock)
    for answer in lines.asked(token):
        assert problem(answer, 401, "unauthenticated")["retry"] == "never"
        assert token not in answer.text
    assert [answer.status_code for answer in lines.asked(still_good)] == [200, 201] * PROCESSES
