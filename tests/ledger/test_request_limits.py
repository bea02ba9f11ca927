"""So many requests in a minute, over all processes; what is beyond is not done, and told when to come."""

import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from django.db import connection
from django.test import RequestFactory

from ledger.door import limits
from ledger.models import ApiToken, Operation
from ledger.rules.errors import TooLarge, TooManyRequests
from ledger.rules.tokens import new_token, token_hash
from tests.databases import Clock, Database
from tests.doors import PAYLOAD, Api, at_once, make_types, new_key, problem
from tests.doors import clock as clock
from tests.doors import database as database
from tests.processes import LOGS, Server, Spawn

NOON = datetime(2026, 12, 1, 12, 0, 42, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture(scope="module")
def servers(
    database: Database, clock: Clock, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[tuple[Server, httpx.Client, Path]]]:
    """Two servers on one database, with a client each."""
    make_types()
    logs: list[Path] = []
    with Spawn(database, tmp_path_factory.mktemp("servers"), logs) as spawn, ExitStack() as stack:
        started = [Server.started(spawn), Server.started(spawn)]
        clients = [stack.enter_context(httpx.Client(base_url=one.url, timeout=30)) for one in started]
        yield list(zip(started, clients, logs, strict=True))


@pytest.fixture
def doors(
    servers: list[tuple[Server, httpx.Client, Path]], clock: Clock, request: pytest.FixtureRequest
) -> list[Api]:
    """A new automation of twelve requests a minute at both; the clock stands at 42 seconds."""
    request.node.stash[LOGS] = [log for _, _, log in servers]
    clock.set(NOON)
    token = new_token()
    name = f"webshop {token[-6:]}"
    ApiToken.objects.create(name=name, token_hash=token_hash(token), types=[], per_minute=12)
    return [Api(server, clock, token, http, log) for server, http, log in servers]


def statuses(doors: list[Api], count: int) -> Counter[int]:
    """Hand over so many invoices at once, at one server and the other in turn."""
    answers = at_once(count, lambda turn: doors[turn % 2].submit(new_key()).status_code)
    return Counter(answers)


def test_the_limit_holds_over_processes_and_each_minute_begins_anew(doors: list[Api]) -> None:
    before = Operation.objects.count()
    assert statuses(doors, 20) == {202: 12, 429: 8}
    assert Operation.objects.count() == before + 12
    one = doors[0]
    told = problem(one.submit(new_key()), 429, "too-many-requests")
    assert told["retry"] == "wait"
    assert " may make 12 requests a minute" in told["detail"]
    assert one.submit(new_key()).headers["Retry-After"] == "18"
    assert one.get("operations").status_code == 429
    one.clock.set(NOON.replace(second=0) + MINUTE)
    assert statuses(doors, 13) == {202: 12, 429: 1}


def test_a_report_is_not_refused_because_of_other_requests_but_has_a_limit_too(doors: list[Api]) -> None:
    one, other = doors
    held = one.claimed(new_key(), attempt_id=str(uuid.uuid4()))
    statuses(doors, 11)
    problem(other.claim(new_key()), 429, "too-many-requests")
    assert other.start(held).status_code == 200
    beats = at_once(46, lambda turn: doors[turn % 2].heartbeat(held).status_code)
    assert set(beats) == {200}
    assert one.outcome(held, "succeeded").status_code == 200
    told = problem(other.outcome(held, "succeeded"), 429, "too-many-requests")
    assert "48 reports on attempts a minute" in told["detail"]


def test_the_items_of_a_batch_are_counted_and_it_is_taken_whole_or_not_at_all(doors: list[Api]) -> None:
    one, other = doors

    def batch(door: Api, count: int) -> httpx.Response:
        items = [{"type": "reminder.send", "key": new_key(), "payload": PAYLOAD} for _ in range(count)]
        headers = {"Authorization": f"Bearer {door.token}"}
        return door.http.post("/api/v1/operations/claim-batch", json={"items": items}, headers=headers)

    before = Operation.objects.count()
    too_many = problem(batch(one, 13), 413, "too-large")
    assert "13 items" in too_many["detail"] and "12 requests a minute" in too_many["detail"]
    assert batch(other, 8).status_code == 200
    problem(batch(one, 4), 429, "too-many-requests")
    assert Operation.objects.count() == before + 8
    assert statuses(doors, 5) == {202: 2, 429: 3}


def test_a_rotated_token_shares_the_minute_and_a_token_without_a_limit_has_none(doors: list[Api]) -> None:
    one = doors[0]
    statuses(doors, 12)
    token = new_token()
    before = ApiToken.objects.get(token_hash=token_hash(one.token))
    ApiToken.objects.filter(pk=before.pk).update(revoked_at=NOON + MINUTE)
    ApiToken.objects.create(name=before.name, token_hash=token_hash(token), types=[], per_minute=12)
    problem(replace(one, token=token).submit(new_key()), 429, "too-many-requests")
    assert statuses([one.other(), one.other()], 20) == {202: 20}


def test_a_wrong_token_is_not_counted_against_anybody(doors: list[Api]) -> None:
    wrong = replace(doors[0], token="tieout_guessed")
    assert set(at_once(20, lambda _: wrong.submit(new_key()).status_code)) == {401}
    assert statuses(doors, 12) == {202: 12}


# --- the counter


def asked(name: str, *, limit: int, second: float = 0) -> limits.Allowance:
    return limits.Allowance(name, limits.WORK, limit, 1_800_000_000 + second)


def all_taken(one: limits.Allowance) -> int:
    """Take until nothing is left; returns how many were."""
    for count in range(10_000):
        try:
            one.take()
        except TooManyRequests:
            return count
    raise AssertionError("there is no end")


def another_process() -> None:
    """Forget what this process has drawn and not used."""
    limits._shares.clear()


@pytest.fixture(autouse=True)
def fresh_process() -> None:
    another_process()


def test_a_process_draws_a_second_s_worth_and_what_it_keeps_is_all_that_another_lacks(
    database: Database,
) -> None:
    one = asked("till", limit=600)
    one.take()
    another_process()
    assert all_taken(one) == 600 - 10
    another_process()
    assert all_taken(one) == 0
    assert all_taken(asked("till", limit=600, second=60)) == 600
    # The minute before, in which a slow request still came, is over.
    assert all_taken(asked("till", limit=600, second=59)) == 0


def test_a_clock_that_was_set_back_stops_nobody(database: Database) -> None:
    assert all_taken(asked("desk", limit=12, second=7200)) == 12
    assert all_taken(asked("desk", limit=12)) == 12
    another_process()
    assert all_taken(asked("desk", limit=12)) == 0


def test_a_batch_counts_its_items_or_is_refused_whole(database: Database) -> None:
    request = RequestFactory().post("/api/v1/operations/claim-batch")
    limits.count_items(request, 500)  # without a limit nothing is counted
    token = ApiToken(name="kiosk", per_minute=120)
    known = limits.allowance(request, token, at_s=1_800_000_000)
    assert known is not None
    request.allowance = known  # type: ignore[attr-defined]  # as auth does
    with pytest.raises(TooLarge, match="121 items, and kiosk may make 120 requests a minute"):
        limits.count_items(request, 121)
    known.take()
    limits.count_items(request, 100)
    known.take()
    with pytest.raises(TooManyRequests):
        limits.count_items(request, 21)
    limits.count_items(request, 20)
    assert all_taken(known) == 0


def test_the_shared_counter_makes_nothing_wait_for_the_disk(database: Database) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relpersistence FROM pg_class WHERE relname = 'ledger_allowance'")
        assert cursor.fetchone() == ("u",)
