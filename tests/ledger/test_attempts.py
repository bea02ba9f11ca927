"""Attempts: claimed under a lease, fenced by a token, closed once; what comes late decides little.

| what comes                                  | while the operation is      | it becomes | and          |
|---------------------------------------------|-----------------------------|------------|--------------|
| a refusal, an earlier attempt in doubt      | running                     | uncertain  |              |
| the lease's end, started                    | running                     | uncertain  |              |
| the lease's end, never started              | running                     | pending    | is no try    |
| late success, latest attempt                | uncertain                   | completed  | permit void  |
| late success, earlier attempt               | running                     | (same)     | kept         |
| late success or "accepted", any attempt     | pending, failed             | uncertain  | case         |
| late success, earlier attempt               | uncertain                   | (same)     | case         |
| late success that names a second record     | completed, before or after  | (same)     | case         |
| late "accepted", latest attempt             | uncertain                   | (same)     | never resent |
| late refusal                                | uncertain                   | (same)     | kept         |
| anything under another token                | any                         | (same)     | kept         |
"""

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from ledger import actions
from ledger.actions import Report
from ledger.actions.told import LATE_MAX
from ledger.models import Attempt, Event, Operation
from ledger.rules.decisions import Next
from ledger.rules.errors import (
    Malformed,
    OutcomeDiffers,
    PayloadChanged,
    StaleToken,
    StartedElsewhere,
)
from ledger.rules.states import CaseKind, Outcome, State
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.trails import kinds, sound
from tests.ledger.tries import fell_silent, record, two_tries
from tests.stories import ABSENT, SILENT, Durban

SERVER_ERROR = Report(Outcome.UNCERTAIN, http_status=500, error_code="http_500", message="Answered with 500.")


# --- an outcome speaks for its own attempt only


def test_a_refused_connection_after_an_earlier_doubt_stays_uncertain(clock: Clock) -> None:
    kind = make.kind(looks=False)
    make.uncertain_operation(kind)
    clock.advance(20)
    operation = make.tried(kind, make.UNREACHED)
    assert (operation.state, operation.attempt_count) == (State.UNCERTAIN, 2)
    assert operation.attempts.get(number=2).outcome == Outcome.RETRYABLE
    sound(operation)


def test_a_refusal_after_an_earlier_doubt_is_no_failure(clock: Clock) -> None:
    kind = make.kind(looks=False)
    make.uncertain_operation(kind)
    clock.advance(20)
    operation = make.tried(kind, make.REFUSED)
    assert (operation.state, make.case_of(operation)) == (State.UNCERTAIN, "")


def test_26_an_error_of_the_server_releases_nothing(clock: Clock) -> None:
    kind = make.reminder_type()
    operation = make.tried(kind, SERVER_ERROR)
    assert operation.state == State.UNCERTAIN
    reply = actions.claim(make.submission(kind), actor="api:shop")
    assert (reply.decision, reply.attempt, reply.token) == ("hold", None, None)


def test_18_a_try_after_a_try_belongs_to_the_same_operation(clock: Clock) -> None:
    kind = make.kind(retry={"base": "0s"})
    operation = make.tried(kind, make.UNREACHED, make.UNREACHED, make.done())
    assert Operation.objects.count() == 1
    assert list(operation.attempts.values_list("number", "outcome")) == [
        (1, "retryable"),
        (2, "retryable"),
        (3, "succeeded"),
    ]
    assert operation.attempts.values("idempotency_key", "payload_digest").distinct().count() == 1
    sound(operation)


def test_25_the_second_order_of_a_customer_is_an_operation_of_its_own(database: Database) -> None:
    kind = make.kind()
    for order in ("order/483", "order/484"):
        operation = make.tried(kind, make.done(f"INV-{order[-3:]}"), key=order, subject="customer 77")
        assert operation.state == State.COMPLETED
    assert Operation.objects.values("idempotency_key").distinct().count() == 2


def test_24_another_payload_under_a_used_key_is_refused_in_every_state(clock: Clock) -> None:
    kind = make.kind(retry={"base": "0s"})
    for report in (None, make.done(), make.REFUSED, make.SILENCE, make.UNREACHED):
        key = f"order/{report.outcome if report else 'running'}"
        operation = make.tried(kind, report, key=key) if report else make.claimed(kind, key)[0]
        before = (make.again(operation).revision, Event.objects.count())
        other = {"order": "483", "total": "9999.00"}
        with pytest.raises(PayloadChanged) as refusal:
            actions.claim(make.submission(kind, key, payload=other), actor="api:shop")
        assert refusal.value.members["changed"] == ["total"]
        assert "9999" not in str(refusal.value) + str(refusal.value.members["changed"])
        assert (make.again(operation).revision, Event.objects.count()) == before


def test_a_success_completes_with_its_reference_as_evidence(database: Database) -> None:
    operation, attempt, token = make.claimed(make.kind(), attempt_id=uuid.uuid4())
    reply = record(attempt, token, make.done("INV-1187"))
    assert reply.decision == "skip"
    told = reply.operation
    assert (told.state, told.evidence, told.evidence_by) == (State.COMPLETED, "answer", "api:shop")
    assert told.destination_reference == "INV-1187"
    assert isinstance(told.finished_at, datetime)
    assert told.first_sent_at is not None, "whatever answered, something was sent"
    sound(operation)


# --- claims and tokens


def test_4_a_claim_asked_for_again_gives_the_same_attempt_and_voids_the_token_before(clock: Clock) -> None:
    kind, name = make.kind(), uuid.uuid4()
    operation, attempt, lost = make.claimed(kind, attempt_id=name)
    _, same, token = make.claimed(kind, attempt_id=name)
    assert (same.pk, Attempt.objects.count()) == (attempt.pk, 1)
    with pytest.raises(StaleToken):
        actions.start(attempt.uid, token=lost, start_id=None, actor="api:shop")
    actions.start(attempt.uid, token=token, start_id=None, actor="api:shop")
    reply = actions.claim(make.submission(kind, attempt_id=name), actor="api:shop")
    assert (reply.decision, reply.token) == ("wait", None), "only its own process may go on"
    assert actions.claim(make.submission(kind), actor="api:other").decision == "wait"
    sound(operation)


def test_what_is_in_flight_and_waits_for_a_person_is_said_to(database: Database) -> None:
    kind = make.kind()
    operation, _, _ = make.claimed(kind)
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    reply = actions.claim(make.submission(kind), actor="api:shop")
    assert (reply.decision, reply.operation.state) == ("hold", State.RUNNING)


def test_only_the_process_that_started_an_attempt_may_send(database: Database) -> None:
    _, attempt, token = make.claimed(make.kind(), attempt_id=uuid.uuid4())
    mine = uuid.uuid4()
    for _ in range(2):
        actions.start(attempt.uid, token=token, start_id=mine, actor="api:shop")
    for other in (uuid.uuid4(), None):
        with pytest.raises(StartedElsewhere):
            actions.start(attempt.uid, token=token, start_id=other, actor="api:shop")


def test_1_a_report_under_a_void_token_is_kept_and_changes_nothing(database: Database) -> None:
    kind, name = make.kind(), uuid.uuid4()
    _, attempt, void = make.claimed(kind, attempt_id=name)
    operation, _, token = make.claimed(kind, attempt_id=name)
    for void_token in (void, "guessed"):
        for report in (make.REFUSED, make.done()):
            with pytest.raises(StaleToken):
                record(attempt, void_token, report)
    assert make.again(operation).state == State.RUNNING
    stray = operation.events.filter(kind="stray").first()
    assert stray is not None and stray.data["outcome"] == "rejected"
    assert record(attempt, token, make.done()).decision == "skip"
    sound(operation)


def test_5_a_lease_of_nought_seconds_is_no_lease_that_was_not_said(database: Database) -> None:
    kind = make.kind()
    for lease_s in (0, -1, 0.5, float("nan"), float("inf"), 86401):
        with pytest.raises(Malformed):
            actions.claim(make.submission(kind, lease_s=lease_s), actor="api:shop")
    assert not Operation.objects.exists()


def test_a_start_with_too_little_lease_left_is_refused(clock: Clock) -> None:
    operation, attempt, token = make.claimed(make.kind(), attempt_id=uuid.uuid4())
    clock.advance(50)
    with pytest.raises(StaleToken, match="Too little"):
        actions.start(attempt.uid, token=token, start_id=None, actor="api:shop", need_s=11)
    actions.start(attempt.uid, token=token, start_id=None, actor="api:shop", need_s=5)
    assert make.again(operation).first_sent_at is not None


# --- leases


def test_3_the_lease_of_a_started_attempt_ran_out_so_it_may_have_happened(clock: Clock) -> None:
    operation, attempt, _ = make.claimed(make.reminder_type())
    assert not actions.expire(operation.pk, actor="worker"), "it lives"
    clock.advance(61)
    assert actions.expire(operation.pk, actor="worker")
    assert not actions.expire(operation.pk, actor="worker"), "once"
    operation = sound(operation)
    assert (operation.state, make.case_of(operation)) == (State.UNCERTAIN, CaseKind.EXPIRED)
    attempt.refresh_from_db()
    assert attempt.outcome == Outcome.UNCERTAIN
    assert attempt.sender_ended_at == attempt.lease_until + timedelta(seconds=3), "its time-out may follow"
    assert operation.settles_at == attempt.sender_ended_at + timedelta(seconds=30)


def test_a_claim_that_never_started_is_proved_not_done_and_no_try(clock: Clock) -> None:
    kind = make.kind(retry={"attempts": 1, "base": "0s"})
    for _ in range(3):
        operation, _, _ = make.claimed(kind, attempt_id=uuid.uuid4())
        clock.advance(61)
        actions.expire(operation.pk, actor="worker")
        assert make.again(operation).state == State.PENDING
    known = actions.facts(make.again(operation))
    assert (known.tries, known.tries_left, known.in_doubt) == (0, 1, False)
    sound(operation)


def test_a_claim_finds_that_the_lease_before_it_has_ended(clock: Clock) -> None:
    kind = make.reminder_type()
    operation, _, _ = make.claimed(kind)
    clock.advance(61)
    assert actions.claim(make.submission(kind), actor="api:shop").decision == "hold"
    assert sound(operation).state == State.UNCERTAIN


def test_a_lease_is_measured_by_the_clock_of_the_database(clock: Clock) -> None:
    clock.set(datetime.fromisoformat("2031-05-01T12:00:00+00:00"))
    operation, attempt, _ = make.claimed(make.kind(), lease_s=90)
    assert attempt.lease_until == make.again(operation).lease_until == clock.now() + timedelta(seconds=90)
    clock.advance(90)
    assert actions.expire(operation.pk, actor="worker")


def test_an_outcome_under_its_own_token_counts_though_the_lease_is_over(clock: Clock) -> None:
    operation, attempt, token = make.claimed(make.reminder_type())
    clock.advance(3600)
    record(attempt, token, make.REFUSED)
    assert sound(operation).state == State.FAILED


# --- reported twice, and late


def test_the_same_outcome_again_changes_nothing(database: Database) -> None:
    for report in (make.done(), make.SILENCE, make.REFUSED):
        operation, attempt, token = make.claimed(make.kind(name=report.outcome))
        first = record(attempt, token, report)
        before = make.again(operation).revision
        assert record(attempt, token, report).decision == first.decision
        assert make.again(operation).revision == before


def test_9_another_outcome_is_refused_and_kept(database: Database) -> None:
    for first, second in ((make.done(), make.REFUSED), (make.REFUSED, make.UNREACHED)):
        operation, attempt, token = make.claimed(make.kind(name=first.outcome))
        record(attempt, token, first)
        state = make.again(operation).state
        with pytest.raises(OutcomeDiffers):
            record(attempt, token, second)
        assert sound(operation).state == state
        assert kinds(operation)[-1] == "late"
        assert operation.attempts.get().outcome == first.outcome


def test_8_a_late_success_of_the_latest_attempt_completes_and_voids_the_permit(clock: Clock) -> None:
    operation, attempt, token = fell_silent(clock, looks=False)
    assert actions.settle(operation.pk, actor="worker").next is Next.SEND
    assert record(attempt, token, make.done("INV-1187")).decision == "skip"
    operation = sound(operation)
    assert (operation.state, operation.destination_reference) == (State.COMPLETED, "INV-1187")
    assert not operation.permits.open().exists()
    before = operation.revision
    assert record(attempt, token, make.done("INV-1187")).decision == "skip", "the same again is the same"
    assert make.again(operation).revision == before


def test_a_late_success_closes_the_case_that_asked_whether_it_happened(clock: Clock) -> None:
    operation, attempt, token = make.claimed(make.reminder_type())
    clock.advance(61)
    actions.expire(operation.pk, actor="worker")
    assert make.case_of(operation) == CaseKind.EXPIRED
    record(attempt, token, make.done())
    assert make.case_of(sound(operation)) == ""


def test_a_late_success_does_not_answer_that_there_are_several(clock: Clock) -> None:
    operation, attempt, token = fell_silent(clock)
    make.looked(operation, make.there(operation, "INV-1", "INV-2"))
    record(attempt, token, make.done("INV-1"))
    operation = sound(operation)
    assert (operation.state, make.case_of(operation)) == (State.COMPLETED, CaseKind.SEVERAL)


def test_a_late_refusal_moves_nothing(clock: Clock) -> None:
    operation, attempt, token = fell_silent(clock)
    for report in (make.REFUSED, make.UNREACHED):
        with pytest.raises(OutcomeDiffers):
            record(attempt, token, report)
    assert sound(operation).state == State.UNCERTAIN
    assert kinds(operation)[-2:] == ["late", "late"]


def test_what_was_accepted_as_is_told_late_is_not_sent_again(clock: Clock) -> None:
    operation, attempt, token = fell_silent(clock, looks=False)
    assert operation.permits.open().exists()
    with pytest.raises(OutcomeDiffers):
        record(attempt, token, make.TAKEN)
    operation = sound(operation)
    assert operation.taken_at is not None and not operation.permits.open().exists()
    assert actions.settle(operation.pk, actor="worker").next is Next.WAIT


def test_8_a_late_success_of_an_earlier_attempt_is_kept_and_does_not_overwrite(clock: Clock) -> None:
    operation, first, second = two_tries(clock)
    with pytest.raises(OutcomeDiffers):
        record(*first, make.done("INV-1"))
    assert make.again(operation).state == State.RUNNING
    record(*second, make.done("INV-1"))
    operation = sound(operation)
    assert (operation.state, make.case_of(operation)) == (State.COMPLETED, "")


@pytest.mark.parametrize("late_first", [True, False])
def test_a_late_success_that_names_a_second_record_opens_a_case(clock: Clock, late_first: bool) -> None:
    operation, first, second = two_tries(clock)
    if late_first:
        with pytest.raises(OutcomeDiffers):
            record(*first, make.done("INV-1"))
        record(*second, make.done("INV-2"))
    else:
        record(*second, make.done("INV-2"))
        with pytest.raises(OutcomeDiffers):
            record(*first, make.done("INV-1"))
    operation = sound(operation)
    assert (operation.state, operation.destination_reference) == (State.COMPLETED, "INV-2")
    assert make.case_of(operation) == CaseKind.SEVERAL
    assert operation.events.get(kind="held").data["reference"] == "INV-1"


def test_what_a_decision_stands_on_is_one_question_however_many_tries_there_were(durban: Durban) -> None:
    """A check asks it three times, a page once, and a sweep once for each that it takes up."""
    operation = durban.absent(483)
    durban.looked(operation, ABSENT, actor="ann")
    asked: list[str] = []

    def watched(run: Any, sql: str, *more: Any) -> Any:
        asked.append(sql)
        return run(sql, *more)

    for _ in range(2):
        asked.clear()
        with connection.execute_wrapper(watched):
            known = actions.facts(operation)
            seen = actions.sitting(operation, "vic", now=durban.clock.now())
        assert (len(asked), seen) == (2, None), asked
        assert known.lookup is not None and known.lookup.actor == "ann"
        assert actions.facts(operation, list(operation.attempts.order_by("number"))) == known
        actions.permit(operation.pk, actor="ann", reason="Once more.", command_id=uuid.uuid4())
        durban.clock.advance(11)
        operation = durban.tried(durban.again(operation), SILENT)
        durban.clock.advance(31)
        operation = durban.looked(operation, ABSENT, actor="ann")


@pytest.mark.parametrize("report", [make.done("INV-1"), make.REFUSED, make.UNREACHED, make.SILENCE])
def test_a_strangers_word_follows_nothing_wherever_it_stands(clock: Clock, report: Report) -> None:
    """Neither a guess nor a token that was replaced before the start opens a case or ends a permit."""
    kind, name = make.kind(looks=False), uuid.uuid4()
    _, attempt, replaced = make.claimed(kind, attempt_id=name)
    operation, _, token = make.claimed(kind, attempt_id=name)
    record(attempt, token, report)
    before = actions.facts(make.again(operation))
    for stranger in ("guessed", replaced):
        for word in (make.done("EVIL-1"), make.TAKEN, make.UNREACHED):
            with pytest.raises(StaleToken, match="kept as evidence"):
                record(attempt, stranger, word)
    assert actions.facts(sound(operation)) == before
    assert kinds(operation).count("stray") == 3, "each different one once"
    for number in range(LATE_MAX + 2):
        with pytest.raises(StaleToken):
            record(attempt, "guessed", make.done(f"EVIL-{number}"))
    assert kinds(operation).count("stray") == LATE_MAX + 2, "so many of one outcome at most"
