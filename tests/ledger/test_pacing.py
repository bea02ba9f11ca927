"""How fast a destination is called, by all workers together; measured in front of it.

Where there is no room a send waits without a claim, a worker's check waits unseen, a person's could not look,
and a list goes on later.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django_q.models import OrmQ

from config.environment import ROOT
from ledger.actions import pacing
from ledger.destinations import listing, lookups, sending
from ledger.destinations.connectors.base import IncompletePull
from ledger.destinations.pacing import NoRoom, admitted, place
from ledger.models import Destination, Operation, OperationType, Pace
from ledger.rules.states import Outcome, State
from ledger.worker.sweep import SENDS_MAX, Sweep
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.sessions import at_once
from tests.meters import Meter, metering
from tests.processes import Spawn
from tests.sandboxes import Sandbox
from tests.stories import CALLS, Durban
from tests.workers import Worker, one_round, until


@pytest.fixture
def meter(sandbox: Sandbox) -> Iterator[Meter]:
    with metering(sandbox.url) as meter:
        yield meter


@pytest.fixture
def durban(clock: Clock, meter: Meter) -> Durban:
    durban = Durban(clock, meter.url)
    calls = {**CALLS, "list": {"path": "/invoices?updated_since={since}", "items": "data"}}
    durban.invoice.calls, durban.invoice.retry = calls, {"attempts": 3, "base": "1s"}
    durban.invoice.save(update_fields=["calls", "retry"])
    return durban


def rated(durban: Durban, **rate: float) -> Destination:
    """Give the books a rate."""
    books = durban.invoice.destination
    books.connection = {**books.connection, "rate": rate}
    books.save(update_fields=["connection"])
    return Destination.objects.get(pk=books.pk)


@contextmanager
def elsewhere(destination: Destination) -> Iterator[None]:
    """Another session holds a place there."""
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with place(destination, wait_s=0):
            held.set()
            done.wait(30)
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(10)
    try:
        yield
    finally:
        done.set()
        thread.join(10)


def completed(*operations: Operation) -> bool:
    keys = [operation.pk for operation in operations]
    return Operation.objects.filter(pk__in=keys, state=State.COMPLETED).count() == len(keys)


# --- measured, with several workers


def test_no_more_calls_are_at_work_at_once_than_the_rate_allows(
    durban: Durban, meter: Meter, sandbox: Sandbox, spawn: Spawn
) -> None:
    rated(durban, concurrency=1)
    sandbox.faults("delay_before", "POST /invoices", count=None, arg=0.2)
    orders = [durban.invoiced(number) for number in range(8)]
    workers = [Worker.started(spawn) for _ in range(2)]
    until(lambda: completed(*orders), what="All of them")
    for worker in workers:
        worker.process.kill()
    assert meter.most == 1
    assert len(meter.arrived) == len(orders)
    assert {attempts for (attempts,) in Operation.objects.values_list("attempt_count")} == {1}


def test_calls_of_all_workers_keep_their_distance(durban: Durban, meter: Meter, spawn: Spawn) -> None:
    """A machine that stands still for a second may bring two calls closer, never all of them."""
    rated(durban, per_second=5)
    orders = [durban.invoiced(number) for number in range(20)]
    workers = [Worker.started(spawn) for _ in range(2)]
    until(lambda: completed(*orders), what="All of them")
    for worker in workers:
        worker.process.kill()
    assert len(meter.arrived) == len(orders)
    assert meter.arrived[-1] - meter.arrived[0] > (len(orders) - 1) / 5 - 1
    assert {attempts for (attempts,) in Operation.objects.values_list("attempt_count")} == {1}


def test_turns_are_a_distance_apart_whoever_takes_them(durban: Durban, clock: Clock) -> None:
    books = rated(durban, per_second=4)
    clock.set(datetime(2026, 11, 30, 12, tzinfo=UTC))

    def take() -> str:
        wait_s = pacing.take_turns(books.pk, turns=1, gap_s=0.25, within_s=1.5)
        return "none" if wait_s is None else f"{wait_s:.2f}"

    turns = sorted(at_once([take] * 12))
    assert turns == [f"{number / 4:.2f}" for number in range(7)] + ["none"] * 5
    clock.advance(1.5)
    assert [take(), take()] == ["0.25", "0.50"]


def test_a_look_and_its_send_take_two_turns_in_a_row(durban: Durban, clock: Clock) -> None:
    books = rated(durban, per_second=4)
    clock.set(datetime(2026, 11, 30, 12, tzinfo=UTC))
    durban.invoice.contract = {**durban.invoice.contract, "idempotency": "none"}
    durban.invoice.save(update_fields=["contract"])
    operation = durban.invoiced(1)
    sending.send(operation.pk)
    assert durban.again(operation).state == State.COMPLETED
    assert pacing.turn_s(books.pk) == 0.5


# --- where there is no room


def test_a_send_without_room_waits_unclaimed_and_comes_again(durban: Durban, meter: Meter) -> None:
    books, operation = rated(durban, concurrency=1), durban.invoiced(1)
    with elsewhere(books):
        one_round()
        waiting = durban.again(operation)
        assert (waiting.state, waiting.attempt_count, waiting.nudged_at) == (State.PENDING, 0, None)
        with pytest.raises(NoRoom):
            sending.send(operation.pk)
    assert not meter.requests
    one_round()
    assert durban.again(operation).state == State.COMPLETED


def test_a_check_without_room_could_not_look_and_a_workers_check_waits_unseen(
    durban: Durban, meter: Meter
) -> None:
    books = rated(durban, concurrency=1)
    operation = durban.silent(1)
    with elsewhere(books):
        one_round()
        assert not durban.again(operation).lookups.exists()
        looked = lookups.look(durban.again(operation), actor="ann", reason="To see.", within_s=0.3)
    assert looked.why == "Durban Books is called as many times at once as its rate allows (1)."
    assert (looked.verdict, meter.requests) == ("could_not_look", [])
    pacing.take_turns(rated(durban, per_second=0.1).pk, turns=1, gap_s=10, within_s=0)
    looked = lookups.look(durban.again(operation), actor="ann", reason="To see.", within_s=0.3)
    assert looked.why == "Durban Books is called as often as its rate allows: there was no room in time."


def test_a_list_goes_on_once_there_is_room(durban: Durban, meter: Meter) -> None:
    books = rated(durban, concurrency=1, per_second=100)
    read: list[bool] = []

    def pull() -> None:
        kind = OperationType.objects.get(pk=durban.invoice.pk)
        read.append(list(listing.pages(kind, since=durban.clock.now())) == [])
        connection.close()

    thread = threading.Thread(target=pull)
    with elsewhere(books):
        thread.start()
        time.sleep(0.2)
        assert not meter.requests
    thread.join(20)
    assert read == [True]
    assert len(meter.requests) == 1


HOLDER = """
import sys, time
import django
django.setup()
from ledger.destinations.pacing import place
from ledger.models import Destination
with place(Destination.objects.get(name="books"), wait_s=0):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_place_is_free_again_when_its_process_dies(durban: Durban, database: Database) -> None:
    books = rated(durban, concurrency=1)
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(command, cwd=ROOT, env=database.environ, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
            with pytest.raises(NoRoom), admitted(books, wait_s=0):
                pass
        finally:
            holder.kill()
    with admitted(books, wait_s=10):
        pass


# --- asked to wait


def test_one_that_is_told_to_wait_lets_everybody_wait(durban: Durban, meter: Meter, sandbox: Sandbox) -> None:
    told, other = durban.invoiced(1), durban.invoiced(2)
    sandbox.faults("throttle", "order/webshop/1/", arg=60)
    sending.send(told.pk)
    assert [one.outcome for one in told.attempts.all()] == [Outcome.RETRYABLE]
    before = len(meter.requests)
    one_round()
    assert (durban.again(other).state, durban.again(other).attempt_count) == (State.PENDING, 0)
    kind = OperationType.objects.get(pk=durban.invoice.pk)
    looked = lookups.look(durban.again(told), actor="ann", reason="To see.", within_s=0.1)
    assert looked.why == "Durban Books has asked to wait: it is left alone until that is over."
    assert len(meter.requests) == before
    durban.clock.advance(61)
    one_round()
    assert durban.again(other).state == State.COMPLETED
    before = len(meter.requests)
    assert list(listing.pages(kind, since=durban.clock.now())) == []
    assert len(meter.requests) == before + 1


def test_a_check_and_a_list_that_are_told_to_wait_tell_it_too(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.silent(1)
    kind = OperationType.objects.get(pk=durban.invoice.pk)
    sandbox.faults("throttle", "GET", count=None, arg=30)
    lookups.look(durban.again(operation), actor="ann", reason="To see.")
    assert 29 < pacing.rests_s(kind.destination_id) <= 30
    Pace.objects.all().delete()
    with pytest.raises(IncompletePull):
        next(listing.pages(kind, since=durban.clock.now()))
    assert 29 < pacing.rests_s(kind.destination_id) <= 30


def test_nobody_waits_longer_than_a_quarter_of_an_hour_for_what_one_was_told(
    durban: Durban, sandbox: Sandbox
) -> None:
    told = durban.invoiced(1)
    sandbox.faults("throttle", "order/webshop/1/", arg=3600)
    sending.send(told.pk)
    assert 899 < pacing.rests_s(durban.invoice.destination_id) <= 900
    next_try_at = durban.again(told).next_try_at
    assert next_try_at is not None
    assert (next_try_at - durban.clock.now()).total_seconds() > 3500


def test_a_destination_without_a_rate_costs_no_write(durban: Durban) -> None:
    sending.send(durban.invoiced(1).pk)
    assert not Pace.objects.exists()


# --- others


def test_thousands_for_a_slow_destination_keep_nobody_else_waiting(durban: Durban) -> None:
    rated(durban, per_second=2)
    calls: dict[str, Any] = {"send": {"path": "/invoices"}}
    rare = make.kind("refund.pay", by="tieout", destination=durban.invoice.destination, calls=calls)
    post = make.destination("post", connection={"base_url": "http://127.0.0.1:1"})
    quick = make.kind("label.print", by="tieout", destination=post, calls=calls)
    for number in range(SENDS_MAX + 10):
        durban.invoiced(number)
    late, other = make.handed(rare, key="refund/1"), make.handed(quick, key="label/1")
    Sweep().run()
    queued = [task.args()[0] for task in OrmQ.objects.all()]
    assert {late.pk, other.pk} <= set(queued)
    assert len(queued) == 3, "two for the slow one, one of each type, and the other's"
