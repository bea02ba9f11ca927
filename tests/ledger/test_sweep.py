"""The sweep finds in the ledger what is due, expired or settled, and needs no task that was kept."""

import logging
import threading
import uuid
from base64 import b64encode
from contextlib import closing
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connections
from django_q.models import OrmQ

from ledger import actions
from ledger.models import Event, Heartbeat, Operation, OperationType, database_now
from ledger.rules.decisions import LOOKS
from ledger.rules.states import CaseKind, Outcome, State
from ledger.worker import heart, nudging, tasks
from ledger.worker.sweep import SENDS_MAX, Sweep
from ledger.worker.words import in_words
from tests.databases import Database
from tests.stories import ABSENT, SILENT, Durban

SEND, LOOK = "ledger.worker.tasks.send", "ledger.worker.tasks.look"
called: list[str] = []


def hook() -> None:
    called.append("hook")


def broken_hook() -> None:
    raise ValueError("card 4111 1111 1111 1111")


def queued() -> list[tuple[str, int]]:
    """What waits in the queue: function and operation."""
    return [(row.func(), row.args()[0]) for row in OrmQ.objects.order_by("pk")]


def unstarted(durban: Durban, order: int) -> Operation:
    """An invoice that a worker claimed, and then died."""
    operation = durban.invoiced(order)
    assert actions.claim_to_send(operation.pk, actor="worker") is not None
    return operation


def permitted(durban: Durban, order: int) -> Operation:
    """An invoice that is proved not to exist, and ann allows another try."""
    operation = durban.looked(durban.absent(order), ABSENT, actor="ann")
    actions.permit(operation.pk, actor="ann", reason="The customer waits.", command_id=uuid.uuid4())
    return operation


def test_an_operation_on_hold_is_not_touched(durban: Durban) -> None:
    waiting, doubtful = durban.invoiced(1), durban.silent(2)
    for operation in (waiting, doubtful):
        actions.hold(operation.pk, kind=CaseKind.SEVERAL, actor="reconciliation 1", reason="Found twice.")
    events = Event.objects.count()
    durban.clock.advance(3600)
    Sweep().run()
    assert queued() == []
    assert Event.objects.count() == events
    # Nor by a nudge from before the hold.
    tasks.send(waiting.pk)
    tasks.look(doubtful.pk)
    assert durban.again(waiting).state == State.PENDING
    assert not waiting.attempts.exists()
    assert not doubtful.lookups.exists()


def test_a_new_operation_is_nudged_at_once_and_again_only_after_half_a_minute(durban: Durban) -> None:
    operation = durban.invoiced(1)
    Sweep().run()
    Sweep().run()
    assert queued() == [(SEND, operation.pk)]
    durban.clock.advance(nudging.AGAIN_S + 1)
    Sweep().run()
    assert queued() == [(SEND, operation.pk)] * 2


def test_what_is_not_due_or_is_performed_by_its_caller_is_not_nudged(durban: Durban) -> None:
    durban.reminded(1)
    later = durban.invoiced(2)
    Operation.objects.filter(pk=later.pk).update(next_try_at=database_now() + timedelta(minutes=5))
    Sweep().run()
    assert queued() == []


def test_a_doubt_is_nudged_as_a_look(durban: Durban) -> None:
    operation = durban.silent(1)
    Sweep().run()
    Sweep().run()
    assert queued() == [(LOOK, operation.pk)]


def test_one_look_at_a_time(durban: Durban) -> None:
    operation = durban.silent(1)
    assert nudging.begin_look(operation.pk, for_s=60) is not None
    assert nudging.begin_look(operation.pk, for_s=60) is None
    durban.clock.advance(59)
    Sweep().run()
    assert queued() == []
    durban.clock.advance(2)
    Sweep().run()
    assert queued() == [(LOOK, operation.pk)]


def test_a_look_that_comes_too_late_looks_no_more(durban: Durban) -> None:
    held, done = durban.silent(1), durban.silent(2)
    actions.hold(held.pk, kind=CaseKind.SEVERAL, actor="ann", reason="Wait.")
    actions.attest(done.pk, actor="ann", reason="Seen.", command_id=uuid.uuid4(), reference="INV-1")
    for operation in (held, done):
        tasks.look(operation.pk)
        assert not operation.lookups.exists()


def test_an_expired_in_progress_record_is_uncertain_never_pending(durban: Durban) -> None:
    """Known failure 3: it expired, and the work was executed again."""
    sent = durban.invoiced(1)
    durban.started(sent)
    called_by_other, _, _ = durban.reminded(2)
    durban.clock.advance(61)
    Sweep().run()
    assert durban.again(sent).state == State.UNCERTAIN
    assert durban.again(called_by_other).state == State.UNCERTAIN
    # Nobody can look there: a person decides.
    assert durban.again(called_by_other).cases.get().kind == CaseKind.EXPIRED
    assert queued() == [(LOOK, sent.pk)]


def test_a_worker_died_and_its_job_is_visible_within_a_minute_of_the_lease(durban: Durban) -> None:
    """Known failure 11: it stayed "processing" for twenty days."""
    sent = durban.invoiced(1)
    durban.started(sent)
    lease_until = durban.again(sent).lease_until
    assert lease_until is not None
    durban.clock.set(lease_until + timedelta(seconds=2))
    Sweep().run()
    assert durban.again(sent).state == State.UNCERTAIN


def test_a_claim_that_never_started_waits_for_its_next_try(durban: Durban) -> None:
    operation = unstarted(durban, 1)
    durban.clock.advance(31)
    Sweep().run()
    assert durban.again(operation).state == State.PENDING
    durban.clock.advance(6)
    Sweep().run()
    assert queued() == [(SEND, operation.pk)]


def test_a_permit_is_nudged_after_the_time_for_undo(durban: Durban) -> None:
    operation = permitted(durban, 1)
    Sweep().run()
    assert queued() == []
    durban.clock.advance(11)
    Sweep().run()
    assert queued() == [(SEND, operation.pk)]


def test_a_permit_does_not_wait_because_of_a_nudge_from_before(durban: Durban) -> None:
    operation = permitted(durban, 1)
    Operation.objects.filter(pk=operation.pk).update(nudged_at=database_now())
    durban.clock.advance(11)
    Sweep().run()
    Sweep().run()
    assert queued() == [(SEND, operation.pk)]


def test_what_follows_from_a_look_does_not_wait_for_its_deadline(durban: Durban) -> None:
    """Policy's own permit, after looks that could not look; the key's window is open."""
    OperationType.objects.filter(pk=durban.invoice.pk).update(retry={"attempts": 3})
    operation = durban.silent(1)
    for _ in range(LOOKS):
        durban.clock.advance(60)
        Sweep().run()
        tasks.look(operation.pk)
    durban.clock.set(operation.permits.open().get().effective_at)
    OrmQ.objects.all().delete()
    Sweep().run()
    Sweep().run()
    assert queued() == [(SEND, operation.pk)]


def test_a_permit_that_nobody_used_lapses_back_to_its_case(durban: Durban) -> None:
    operation = permitted(durban, 1)
    durban.clock.advance(86400 + 11)
    Sweep().run()
    assert not operation.permits.open().exists()
    assert durban.again(operation).held_at is not None
    assert queued() == []


def test_a_caller_that_never_comes_back_is_a_case(durban: Durban) -> None:
    OperationType.objects.filter(name="reminder.send").update(retry={"attempts": 3, "elapsed": "1h"})
    submission = actions.Submission(
        "reminder.send", {"order": "1"}, key="reminder/1/1", attempt_id=uuid.uuid4(), lease_s=60
    )
    operation = actions.claim(submission, actor="api:webshop").operation
    durban.clock.advance(61)
    Sweep().run()
    assert durban.again(operation).state == State.PENDING
    durban.clock.advance(3600)
    Sweep().run()
    assert durban.again(operation).state == State.FAILED
    assert operation.cases.get().kind == CaseKind.LIMIT


def test_16_a_payload_that_cannot_be_opened_is_tried_within_its_limits_and_then_asks_a_person(
    durban: Durban, settings: Any
) -> None:
    settings.PAYLOAD_KEYS = f"k9:{b64encode(bytes(range(32))).decode()}"
    operation = durban.invoiced(483)
    settings.PAYLOAD_KEYS = f"k8:{b64encode(bytes(range(1, 33))).decode()}"
    tasks.send(operation.pk)
    attempt = operation.attempts.get()
    assert (attempt.started_at, attempt.outcome) == (None, Outcome.RETRYABLE)
    assert "k9" in attempt.message
    next_try_at = durban.again(operation).next_try_at
    assert next_try_at is not None and next_try_at > durban.clock.now()
    durban.clock.advance(30 * 86400)
    tasks.send(operation.pk)
    operation = durban.again(operation)
    assert (operation.state, operation.cases.get().kind) == (State.FAILED, CaseKind.LIMIT)


def test_one_operation_that_fails_does_not_stop_the_others(
    durban: Durban, caplog: pytest.LogCaptureFixture
) -> None:
    broken, fine = durban.reminded(1)[0], durban.invoiced(2)
    durban.started(fine)
    OperationType.objects.filter(name="reminder.send").update(retry={"nonsense": "4111 1111 1111 1111"})
    durban.clock.advance(61)
    with caplog.at_level(logging.ERROR):
        Sweep().run()
    assert durban.again(fine).state == State.UNCERTAIN
    assert durban.again(broken).state == State.RUNNING
    assert f"Operation {broken.pk} could not be taken up: The rules of reminder.send" in caplog.text
    assert "4111" not in caplog.text


def test_an_operation_that_fails_is_tried_again_only_after_half_a_minute(
    durban: Durban, caplog: pytest.LogCaptureFixture
) -> None:
    operation, _, _ = durban.reminded(1)
    OperationType.objects.filter(name="reminder.send").update(retry={"nonsense": 1})
    durban.clock.advance(61)
    said = f"Operation {operation.pk} could"
    Sweep().run()
    Sweep().run()
    assert caplog.text.count(said) == 1
    durban.clock.advance(nudging.AGAIN_S + 1)
    Sweep().run()
    assert caplog.text.count(said) == 2


def test_a_row_that_somebody_works_on_keeps_nobody_waiting(durban: Durban, database: Database) -> None:
    locked, free = durban.invoiced(1), durban.invoiced(2)
    with closing(psycopg.connect(database.app_url)) as other:
        other.execute("SELECT FROM ledger_operation WHERE id = %s FOR UPDATE", [locked.pk])
        Sweep().run()
        assert queued() == [(SEND, free.pk)]
    Sweep().run()
    assert queued() == [(SEND, free.pk), (SEND, locked.pk)]


def test_two_sweeps_at_once_nudge_once(durban: Durban) -> None:
    operations = [durban.invoiced(number).pk for number in range(1, 31)]
    ready = threading.Barrier(4)

    def sweep() -> None:
        try:
            ready.wait()
            Sweep().run()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=sweep) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(queued()) == [(SEND, pk) for pk in operations]


def test_no_more_is_nudged_than_the_queue_has_room_for(durban: Durban) -> None:
    for number in range(SENDS_MAX + 5):
        durban.invoiced(number)
    assert Sweep().run()
    assert len(queued()) == SENDS_MAX
    durban.clock.advance(nudging.AGAIN_S + 1)
    assert Sweep().run()
    assert len(queued()) == SENDS_MAX
    # A person's permit still finds its place.
    operation = permitted_beside(durban)
    Sweep().run()
    assert (SEND, operation.pk) in queued()


def permitted_beside(durban: Durban) -> Operation:
    """A permit in effect while other operations wait."""
    operation = permitted(durban, 1000)
    durban.clock.advance(11)
    return operation


def test_hooks_are_called_and_a_failing_one_stops_nothing(
    durban: Durban, caplog: pytest.LogCaptureFixture
) -> None:
    called.clear()
    name = __name__
    Sweep([f"{name}.broken_hook", f"{name}.hook"]).run()
    assert called == ["hook"]
    assert "broken_hook could not be taken up: ValueError" in caplog.text
    assert "4111" not in caplog.text


def test_a_task_that_fails_is_told_without_values_and_not_repeated(
    durban: Durban, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(operation_id: int) -> None:
        raise ValueError("card 4111 1111 1111 1111")

    monkeypatch.setattr("ledger.destinations.sending.send", fail)
    tasks.send(durban.invoiced(1).pk)
    assert "ValueError at" in caplog.text
    assert "4111" not in caplog.text
    tasks.send(10**9)
    assert "4111" not in in_words(ValueError("4111"))


def test_the_mark_of_a_busy_worker_goes_back_when_its_task_ends(durban: Durban) -> None:
    heart.beat()
    queue = Heartbeat.objects.get()
    with heart.busy(60):
        queue.refresh_from_db()
        assert queue.busy_until > database_now() + timedelta(seconds=50)
        began = database_now()
    queue.refresh_from_db()
    assert began < queue.beat_at <= database_now()
    assert began < queue.busy_until <= database_now()


def test_the_mark_of_one_worker_does_not_end_anothers(durban: Durban) -> None:
    heart.beat()
    queue = Heartbeat.objects.get()
    with heart.busy(1000):
        with heart.busy(60):
            pass
        queue.refresh_from_db()
        assert queue.busy_until > database_now() + timedelta(seconds=900)
    queue.refresh_from_db()
    assert queue.busy_until <= database_now()


def test_a_silent_operation_is_looked_up_again_and_not_for_ever(durban: Durban) -> None:
    """Each look that proves nothing is followed by a later one, until a person is asked."""
    operation = durban.tried(durban.invoiced(1), SILENT)
    for _ in range(20):
        durban.clock.advance(60)
        Sweep().run()
        OrmQ.objects.all().delete()
        tasks.look(operation.pk)
        if durban.again(operation).held_at is not None:
            break
    assert durban.again(operation).cases.get().kind == CaseKind.COULD_NOT_LOOK
