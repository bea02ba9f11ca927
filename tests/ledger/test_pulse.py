"""Whether a cluster lives is read from a beat that ran and was acknowledged; told with a clock that obeys."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace

import pytest
from django.db import InterfaceError, OperationalError, connection
from django_q.models import OrmQ

from ledger.worker import heart
from ledger.worker.pulse import SILENT_S, START_S, Pulse
from tests.databases import Clock, Database
from tests.ledger.sessions import in_thread


class Watch:
    """The supervisor's own clock."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def pass_by(self, seconds: float, pulse: Pulse) -> None:
        """Let time pass as the supervisor lives it: it feels the pulse twice a second."""
        for _ in range(int(seconds * 2)):
            self.seconds += 0.5
            pulse.feel()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr("ledger.worker.pulse.time", SimpleNamespace(monotonic=lambda: watch.seconds))
    return watch


@pytest.fixture
def pulse(database: Database, watch: Watch) -> Pulse:
    """The pulse of a cluster whose first beat has come back."""
    pulse = Pulse()
    pulse.begin()
    pulse.feel()
    heart.beat()
    acknowledge()
    assert pulse.feel()
    return pulse


def acknowledge() -> None:
    OrmQ.objects.all().delete()


def test_a_new_cluster_has_half_a_minute_for_its_first_sign(database: Database, watch: Watch) -> None:
    pulse = Pulse()
    pulse.begin()
    watch.pass_by(START_S, pulse)
    assert not pulse.silent
    watch.pass_by(1, pulse)
    assert pulse.silent


def test_one_beat_is_under_way_at_a_time(pulse: Pulse, watch: Watch) -> None:
    watch.pass_by(60, pulse)
    assert OrmQ.objects.count() == 1


def test_a_beat_that_never_ran_is_silence(pulse: Pulse, watch: Watch) -> None:
    watch.pass_by(SILENT_S, pulse)
    assert not pulse.silent
    watch.pass_by(1, pulse)
    assert pulse.silent


def test_a_beat_that_ran_and_was_not_acknowledged_is_silence(pulse: Pulse, watch: Watch) -> None:
    """What writes results back has died: tasks run, and would run again and again."""
    ran = 0
    for _ in range(4 + int(SILENT_S)):
        watch.pass_by(1, pulse)
        if OrmQ.objects.count() > ran:
            ran += 1
            heart.beat()
    assert pulse.silent
    assert ran == 1


def test_beats_that_come_back_are_life(pulse: Pulse, watch: Watch) -> None:
    for _ in range(20):
        watch.pass_by(3, pulse)
        heart.beat()
        acknowledge()
    watch.pass_by(0.5, pulse)
    assert not pulse.silent


def test_a_cluster_whose_workers_are_all_busy_is_alive_until_their_deadline(
    pulse: Pulse, watch: Watch, clock: Clock
) -> None:
    with heart.busy(60):
        watch.pass_by(59, pulse)
        assert not pulse.silent
        clock.advance(61)
        watch.pass_by(SILENT_S + 1, pulse)
        assert pulse.silent


def test_a_worker_that_was_killed_at_its_task_is_busy_no_more(pulse: Pulse, watch: Watch) -> None:
    """It may have held the queue's lock: for the length of its task nobody would get another one."""
    marked, killed = threading.Event(), threading.Event()

    def work() -> None:
        with suppress(OperationalError, InterfaceError), heart.busy(1000):
            marked.set()
            assert killed.wait(60)

    with ThreadPoolExecutor(1) as pool:
        worker = in_thread(work, pool)
        assert marked.wait(60)
        watch.pass_by(SILENT_S + 1, pulse)
        told = [pulse.silent]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(busy_pid, 60000) FROM ledger_heartbeat")
        killed.set()
        worker.result()
    watch.pass_by(SILENT_S + 1, pulse)
    told.append(pulse.silent)
    with heart.busy(60):
        watch.pass_by(1, pulse)
        told.append(pulse.silent)
    assert told == [False, True, False], "busy; killed; and a shorter task of one that lives counts again"


def test_what_a_killed_cluster_left_does_not_cut_patience_short(pulse: Pulse, watch: Watch) -> None:
    with heart.busy(60):
        pulse.begin()
        watch.pass_by(1, pulse)
    watch.pass_by(0.5, pulse)
    pulse.begin()
    watch.pass_by(START_S - 1, pulse)
    assert not pulse.silent


def test_a_beat_that_went_down_with_its_cluster_is_taken_back(pulse: Pulse, watch: Watch) -> None:
    watch.pass_by(4, pulse)
    first = OrmQ.objects.get()
    pulse.begin()
    watch.pass_by(1, pulse)
    assert OrmQ.objects.get().pk != first.pk


def test_moving_the_databases_clock_is_no_silence(pulse: Pulse, watch: Watch, clock: Clock) -> None:
    clock.advance(86400)
    watch.pass_by(1, pulse)
    assert not pulse.silent
