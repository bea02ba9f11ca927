"""The worker as a real process: what ends with it, what is brought back, and what does it no harm."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from django.db import connections
from django.utils import timezone
from django_q.models import OrmQ
from django_q.tasks import async_task

from ledger.models import Operation
from ledger.rules.states import State
from tests.databases import Clock, Database
from tests.processes import LOGS, Spawn
from tests.sandboxes import Sandbox
from tests.stories import Durban
from tests.workers import Worker, gone, last_beat, living, until

BEAT = "ledger.worker.tasks.beat"
BACK_S = 90
"""A silent cluster is ended after twelve seconds, and a new one needs a few to start on a busy machine."""

STOPPED_S = 25
"""It ends what does not end by itself after eight seconds; one that waited for its send would take thirty."""


@pytest.fixture
def words(request: pytest.FixtureRequest) -> "Words":
    return Words(request.node.stash.setdefault(LOGS, []))


class Words:
    """What the processes of a test have said."""

    def __init__(self, logs: list[Path]) -> None:
        self.logs = logs

    def __contains__(self, text: str) -> bool:
        return self.count(text) > 0

    def count(self, text: str) -> int:
        return sum(log.read_text(errors="replace").count(text) for log in self.logs)


@contextmanager
def unreachable(database: Database) -> Iterator[None]:
    """The database is down: nobody gets in, and who was in is thrown out."""
    connections.close_all()
    other = database.superuser_url.replace(f"/{database.name}?", "/postgres?")
    door = Database("postgres", other, other, other)
    door.as_superuser(
        f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS false",
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database.name}'",
    )
    try:
        yield
    finally:
        door.as_superuser(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS true")


def test_sigterm_leaves_no_process(worker: Worker, words: Words) -> None:
    everything = worker.cluster()
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(STOPPED_S) == 0
    assert not living(everything)
    assert "ERROR" not in words


def test_sigint_in_the_middle_of_a_long_send_leaves_no_process(
    worker: Worker, clock: Clock, sandbox: Sandbox
) -> None:
    durban = Durban(clock, base_url=sandbox.url)
    slow(durban, timeout_s=40)
    sandbox.faults("delay_after", arg=30)
    operation = durban.invoiced(1)
    until(lambda: sandbox.effects(operation.key), what="The effect")
    everything = worker.cluster()
    worker.process.send_signal(signal.SIGINT)
    assert worker.process.wait(STOPPED_S) == 0
    assert not living(everything)
    # What it was sending is in doubt, and its lease tells when.
    assert durban.again(operation).state == State.RUNNING


def slow(durban: Durban, *, timeout_s: float) -> None:
    """Let a send take so long, and its lease."""
    type(durban.invoice.destination).objects.update(
        connection={"base_url": durban.base_url, "timeout": timeout_s}
    )
    type(durban.invoice).objects.update(lease_s=2 * timeout_s + 10)


def test_a_killed_head_leaves_nobody_executing(worker: Worker) -> None:
    """By themselves the children of a killed main process, sentinel or supervisor would go on."""
    for head in ("main", "sentinel"):
        everything = worker.cluster()
        assert len(everything) == 6
        getattr(worker, head).kill()
        gone(everything)
        until(worker.whole, seconds=BACK_S, what="A new cluster")
        worker.beats_again(seconds=BACK_S)
    everything = worker.cluster()
    worker.process.kill()
    gone(everything)


def test_a_cluster_frozen_by_the_death_of_an_idle_worker_is_brought_back(
    worker: Worker, words: Words
) -> None:
    """The idle worker that waits for a task holds the queue's lock; killed, nobody gets a task any more."""
    everything, others = worker.cluster(), worker.hands[2:]

    def works_on() -> bool:
        """Kill both idle ones. Who has not come to wait yet takes no lock along, and work goes on."""
        before = last_beat()
        for idle in set(worker.hands).difference(others):
            idle.kill()
        until(lambda: last_beat() != before or not living(everything[:1]), seconds=BACK_S, what="Either")
        return bool(living(everything[:1]))

    assert any(not works_on() for _ in range(20)), "It never froze: nobody took the queue's lock along"
    gone(everything)
    worker.beats_again(seconds=BACK_S)
    assert words.count("Nothing went through the queue for 12 s") == 1


def test_all_of_it_killed_in_a_send_and_started_again_makes_one_effect(
    worker: Worker, spawn: Spawn, clock: Clock, sandbox: Sandbox
) -> None:
    durban = Durban(clock, base_url=sandbox.url)
    # Both are on their way before it dies: one that was lost before its effect would come to a person.
    sandbox.faults("delay_after", "POST /invoices", count=2, arg=30)
    sent = durban.invoiced(1), durban.invoiced(2)
    until(lambda: all(sandbox.effects(one.key) for one in sent), what="Both effects")
    worker.kill()
    assert states(*sent) == {State.RUNNING}
    waiting = durban.invoiced(3)
    # The queue's rows of the dead are locked for an hour; nobody waits for them.
    clock.advance(65)
    Worker.started(spawn)
    until(lambda: states(*sent, waiting) == {State.COMPLETED}, seconds=120, what="All done")
    for one in (*sent, waiting):
        assert sandbox.effects(one.key) == 1


def states(*operations: Operation) -> set[str]:
    """In which states these are."""
    keys = [operation.pk for operation in operations]
    return set(Operation.objects.filter(pk__in=keys).values_list("state", flat=True))


def test_two_workers_on_one_queue_make_one_attempt_for_each_operation(
    worker: Worker, spawn: Spawn, clock: Clock, sandbox: Sandbox
) -> None:
    """Known failure 10: two clusters picked the same task."""
    durban = Durban(clock, base_url=sandbox.url)
    Worker.started(spawn)
    operations = [durban.invoiced(number) for number in range(12)]
    for operation in operations * 3:
        async_task("ledger.worker.tasks.send", operation.pk)
    until(lambda: states(*operations) == {State.COMPLETED}, seconds=120, what="All done")
    until(lambda: not OrmQ.objects.exclude(payload="").filter(lock__lt=timezone.now()), what="An empty queue")
    for operation in operations:
        assert operation.attempts.count() == 1
        assert sandbox.deliveries(operation.key) == 1


def test_a_task_that_outlasts_the_queues_patience_runs_twice_and_sends_once(
    worker: Worker, clock: Clock, sandbox: Sandbox
) -> None:
    """Known failure 10: a task longer than the queue's retry time ran twice."""
    durban = Durban(clock, base_url=sandbox.url)
    sandbox.faults("delay_before", arg=2)
    operation = durban.invoiced(1)
    until(lambda: sandbox.deliveries(operation.key), what="The send")
    # As if `retry` had passed: the same row is handed out again.
    assert OrmQ.objects.filter(lock__gt=timezone.now()).update(lock=timezone.now())
    until(lambda: states(operation) == {State.COMPLETED}, what="Done")
    assert operation.attempts.count() == 1
    assert sandbox.deliveries(operation.key) == 1


def test_rows_that_nobody_can_read_do_no_harm(
    worker: Worker, clock: Clock, sandbox: Sandbox, words: Words
) -> None:
    """SECRET_KEY was rotated, a function has gone, an operation was never there, a task is older than all."""
    durban = Durban(clock, base_url=sandbox.url)
    for payload in ("", "rubbish", "rubbish:with:colons", "gASVQgAAAAAAAAB9:1tQ2Zk:c2lnbmF0dXJl"):
        OrmQ.objects.create(key="tieout", payload=payload, lock=timezone.now())
    async_task("ledger.worker.tasks.gone", 1)
    async_task("ledger.worker.tasks.send", 10**9)
    async_task("ledger.worker.tasks.look", 10**9)
    operation = durban.invoiced(1)
    until(lambda: states(operation) == {State.COMPLETED}, seconds=120, what="Done")
    until(lambda: not OrmQ.objects.filter(lock__lte=timezone.now()), what="An empty queue")
    assert worker.process.poll() is None


def test_a_database_that_was_away_is_worked_with_again(
    worker: Worker, database: Database, words: Words
) -> None:
    with unreachable(database):
        until(lambda: "The database cannot be worked with" in words, what="A word about it")
        time.sleep(2)  # long enough for several more rounds: it is said once
    until(lambda: "The database answers." in words, what="A word of its return")
    worker.beats_again(seconds=120)
    assert words.count("The database cannot be worked with") == 1
    # While it is away, the worker can be stopped all the same.
    everything = worker.cluster()
    with unreachable(database):
        until(lambda: words.count("The database cannot be worked with") == 2, what="A second word")
        worker.process.terminate()
        assert worker.process.wait(STOPPED_S) == 0
    assert not living(everything)


def test_a_database_that_is_not_there_yet_is_waited_for(
    database: Database, spawn: Spawn, words: Words
) -> None:
    with unreachable(database):
        process = spawn("worker", "manage.py", "worker")
        until(lambda: "The database cannot be worked with" in words, seconds=120, what="A word about it")
        assert not psutil.Process(process.pid).children()
    until(last_beat, seconds=120, what="The first beat")
    assert process.poll() is None


def test_a_database_without_tables_is_waited_for(database: Database, spawn: Spawn, words: Words) -> None:
    database.as_owner("ALTER TABLE ledger_heartbeat RENAME TO not_migrated_yet")
    process = spawn("worker", "manage.py", "worker")
    until(lambda: 'relation "ledger_heartbeat" does not exist' in words, seconds=120, what="A word about it")
    time.sleep(1.5)  # long enough for another round: it is said once
    database.as_owner("ALTER TABLE not_migrated_yet RENAME TO ledger_heartbeat")
    until(last_beat, seconds=120, what="The first beat")
    assert words.count("does not exist") == 1
    assert words.count("The database answers.") == 1
    assert process.poll() is None
