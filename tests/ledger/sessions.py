"""Two or more database sessions at once, each in a thread of its own, in an order that the test decides."""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, TypeVar

import psycopg
from django.db import connection, transaction

from ledger.models import Operation
from ledger.rules.errors import TieoutError
from tests.databases import Database

WAIT_S = 60
Act = Callable[[], str]
T = TypeVar("T")


def told(act: Act) -> str:
    """What the act says, or the type of its refusal; a refusal has words. Everything else is no answer."""
    try:
        return act()
    except TieoutError as error:
        refusal = error
    assert refusal.detail and refusal.type != "internal"
    return refusal.type


def in_thread(act: Callable[[], T], pool: ThreadPoolExecutor) -> "Future[T]":
    """Run in a thread with a session of its own."""

    def run() -> T:
        try:
            return act()
        finally:
            connection.close()

    return pool.submit(run)


def at_once(acts: Sequence[Act]) -> list[str]:
    """Let all go at the same moment."""
    gate = threading.Barrier(len(acts))

    def gated(act: Act) -> str:
        connection.ensure_connection()
        gate.wait(WAIT_S)
        return told(act)

    with ThreadPoolExecutor(len(acts)) as pool:
        return [one.result(WAIT_S) for one in [in_thread(lambda a=act: gated(a), pool) for act in acts]]  # type: ignore[misc]


def one_after_the_other(database: Database, operation: Operation, first: Act, second: Act) -> list[str]:
    """Let the first take the operation's row, and act and commit only once the second waits."""
    taken, waited = threading.Event(), threading.Event()

    def holding() -> str:
        with transaction.atomic():
            Operation.objects.select_for_update(no_key=True).get(pk=operation.pk)
            taken.set()
            assert waited.wait(WAIT_S)
            return told(first)

    with ThreadPoolExecutor(2) as pool:
        one = in_thread(holding, pool)
        assert taken.wait(WAIT_S)
        two = in_thread(lambda: told(second), pool)
        until_somebody_waits(database, two)
        waited.set()
        return [one.result(WAIT_S), two.result(WAIT_S)]


def until_somebody_waits(database: Database, unless: "Future[Any]", *, count: int = 1) -> None:
    """Return once so many sessions of this database wait for others, or what might have waited is done."""
    query = (
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
        f"HAVING count(*) >= {count}"
    )
    deadline = time.monotonic() + WAIT_S
    with closing(psycopg.connect(database.superuser_url, autocommit=True)) as watch:
        while not unless.done() and watch.execute(query).fetchone() is None:
            assert time.monotonic() < deadline, "nobody waits"
            time.sleep(0.005)


def twice(database: Database, act: Callable[[], T]) -> list[T]:
    """Let the same act come again before the first has committed; what both are answered."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            one = act()
            two = in_thread(act, pool)
            until_somebody_waits(database, two)
        return [one, two.result(WAIT_S)]
