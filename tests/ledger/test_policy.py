"""What software does by itself with a doubt: await what was accepted, send the same key again, look first."""

from datetime import timedelta
from typing import Any

import pytest

from ledger import actions
from ledger.actions import Report
from ledger.models import Attempt, Destination, Operation, OperationType, database_now
from ledger.rules.decisions import LOOKS
from ledger.rules.errors import StaleToken
from ledger.rules.records import Found
from ledger.rules.states import Outcome, Standing, State, Verdict
from tests import factories as make
from tests.databases import Clock
from tests.ledger.finds import Finding, absent, blind, differs, one, several, standing
from tests.ledger.trails import kinds, sound

# --- accepted


def test_what_was_accepted_is_looked_up_until_it_must_be_final_and_never_resent(clock: Clock) -> None:
    kind = make.kind()
    operation = make.tried(kind, make.TAKEN)
    assert (operation.state, operation.taken_at is not None) == (State.UNCERTAIN, True)
    for _ in range(5):
        clock.advance(600)
        make.looked(operation)
        assert actions.claim(make.submission(kind), actor="api:shop").decision == "wait"
    clock.advance(600)
    make.looked(operation)
    assert standing(operation) == "uncertain: accepted"
    assert not operation.permits.exists()
    make.looked(operation, make.there(operation, "INV-1"))
    assert standing(operation) == "completed"


def test_a_record_that_is_found_pending_counts_as_accepted_from_then_on(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind())
    first = make.looked(operation, one(Standing.PENDING)(operation))
    assert make.again(operation).taken_at == first.asked_at
    for _ in range(6):
        clock.advance(601)
        make.looked(operation, one(Standing.PENDING)(operation))
    assert make.again(operation).taken_at == first.asked_at
    assert standing(operation) == "uncertain: accepted"


def test_an_older_absence_that_comes_late_does_not_resend_what_was_accepted(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind())
    clock.advance(60)
    asked_at = database_now()
    clock.advance(1)
    make.looked(operation, one(Standing.PENDING)(operation))
    make.looked(operation, asked_at=asked_at)
    assert make.again(operation).state == State.UNCERTAIN


# --- by policy: the same key within its window


def test_policy_lets_the_same_key_go_again_after_a_pause_and_once(clock: Clock) -> None:
    kind = make.kind(looks=False)
    operation = make.uncertain_operation(kind)
    permit = operation.permits.open().get()
    assert (permit.source, permit.actor) == ("policy", "policy")
    assert timedelta(seconds=5) <= permit.effective_at - permit.given_at <= timedelta(seconds=10)
    assert actions.claim(make.submission(kind), actor="api:shop").decision == "wait", "it is spaced"
    clock.advance(10)
    make.claimed(kind)
    assert actions.claim(make.submission(kind), actor="api:shop").decision == "wait", "it is spent"
    permit.refresh_from_db()
    assert permit.attempt is not None and permit.attempt.number == 2
    assert operation.attempts.values("idempotency_key").distinct().count() == 1
    sound(operation)


def test_policys_tries_end_with_a_person(clock: Clock) -> None:
    kind = make.kind(looks=False, retry={"attempts": 3})
    for _ in range(3):
        operation = make.tried(kind, make.SILENCE)
        clock.advance(60)
    assert standing(operation) == "uncertain: unproved"
    assert operation.attempts.count() == 3


def test_27_a_saved_error_is_not_asked_for_again(clock: Clock) -> None:
    kind = make.kind(looks=False, contract={"saves": "all"})
    answered = Report(Outcome.UNCERTAIN, http_status=500, error_code="http_500")
    assert standing(make.tried(kind, answered, key="answered")) == "uncertain: unproved"
    assert standing(make.tried(kind, make.SILENCE, key="silent")) == "uncertain"


def test_28_the_window_is_looked_at_in_the_claim(clock: Clock) -> None:
    """Allowed while it was open; spent after it has closed: it is not sent, and a person decides."""
    kind = make.kind(looks=False, permit_for_s=10 * 86400)
    operation = make.uncertain_operation(kind)
    clock.advance(23 * 3600 + 49 * 60)
    assert actions.claim(make.submission(kind), actor="api:shop").decision == "hold"
    operation = sound(operation)
    assert standing(operation) == "uncertain: unproved"
    assert operation.attempts.count() == 1
    assert not operation.permits.open().exists()


def test_28_a_caller_gets_no_longer_lease_than_the_window_was_measured_for(clock: Clock) -> None:
    kind = make.kind(looks=False)
    make.uncertain_operation(kind)
    clock.advance(23 * 3600)
    _, attempt, _ = make.claimed(kind, lease_s=86400)
    assert attempt.lease_until - clock.now() <= timedelta(seconds=kind.lease_s)


def test_28_another_account_forgets_every_key(clock: Clock) -> None:
    kind = make.kind(looks=False)
    make.uncertain_operation(kind)
    clock.advance(20)
    Destination.objects.update(account="other")
    assert actions.claim(make.submission(kind), actor="api:shop").decision == "hold"


def test_the_contract_of_the_first_attempt_counts_against_a_later_promise(clock: Clock) -> None:
    kind = make.kind(looks=False, contract={"key_retention": "unknown"})
    operation = make.uncertain_operation(kind)
    OperationType.objects.update(contract=make.CONTRACT)
    actions.settle(operation.pk, actor="worker")
    assert standing(operation) == "uncertain: unproved"


def test_19_the_first_cause_stays_on_top(clock: Clock) -> None:
    kind = make.kind(retry={"base": "0s", "attempts": 3})
    operation = make.tried(kind, Report(Outcome.RETRYABLE, message="The customer is blocked."))
    operation = make.tried(kind, make.UNREACHED, make.UNREACHED)
    assert standing(operation) == "failed: limit"
    assert operation.first_cause == "The customer is blocked."


def test_nothing_has_gone_wrong_where_it_was_accepted(clock: Clock) -> None:
    assert make.tried(make.kind(), make.TAKEN).first_cause == ""


# --- the look before the send


def sent_once(**columns: Any) -> Operation:
    """Tieout's own operation, tried once without reaching anything, and due again."""
    operation = make.handed(make.invoice_type(retry={"base": "0s"}, **columns))
    claimed = make.to_send(operation)
    actions.start(claimed.attempt.uid, token=claimed.token, start_id=None, actor="worker")
    actions.record(claimed.attempt.uid, token=claimed.token, report=make.UNREACHED, actor="worker")
    return make.again(operation)


BEFORE: dict[str, tuple[Finding, bool, str]] = {
    "absent": (absent, True, "running"),
    "one match": (one(), False, "completed"),
    "pending": (one(Standing.PENDING), False, "uncertain"),
    "declined": (one(Standing.FAILED), False, "failed: refused"),
    "several": (several, False, "uncertain: several"),
    "differs": (differs, False, "uncertain: differs"),
    "could not look": (blind, False, "pending"),
}


@pytest.mark.parametrize("line", BEFORE)
def test_12_the_look_before_the_send_is_made_under_the_claim(clock: Clock, line: str) -> None:
    finding, goes, expected = BEFORE[line]
    operation = sent_once()
    claimed = make.to_send(operation)
    asked_at = database_now()
    found = finding(operation)
    assert actions.before_send(claimed, found=found, asked_at=asked_at, actor="worker") == goes
    assert standing(operation) == expected
    attempt = Attempt.objects.get(pk=claimed.attempt.pk)
    if goes:
        actions.start(attempt.uid, token=claimed.token, start_id=None, actor="worker")
        return
    assert (attempt.outcome, attempt.started_at) == (Outcome.RETRYABLE, None)
    with pytest.raises(StaleToken):
        actions.start(attempt.uid, token=claimed.token, start_id=None, actor="worker")


def test_a_look_whose_claim_has_ended_meanwhile_sends_nothing(clock: Clock) -> None:
    operation = sent_once()
    claimed = make.to_send(operation)
    clock.advance(61)
    actions.expire(operation.pk, actor="worker")
    with pytest.raises(StaleToken):
        actions.before_send(claimed, found=make.ABSENT, asked_at=database_now(), actor="worker")


def test_what_is_found_pending_before_the_send_is_awaited_and_not_sent(clock: Clock) -> None:
    operation = sent_once()
    claimed = make.to_send(operation)
    found = one(Standing.PENDING)(operation)
    actions.before_send(claimed, found=found, asked_at=database_now(), actor="worker")
    assert make.again(operation).taken_at is not None
    clock.advance(60)
    make.looked(operation)
    assert standing(operation) == "uncertain", "its absence afterwards is no leave to send"


def test_many_looks_that_cannot_look_end_with_a_person(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind(contract={"idempotency": "none"}))
    for _ in range(LOOKS):
        assert standing(operation) == "uncertain"
        clock.advance(600)
        make.looked(operation, make.BLIND)
    assert standing(operation) == "uncertain: could_not_look"
    make.looked(operation, several(operation))
    assert standing(operation) == "uncertain: several", "the case bears its newer name"
    assert operation.cases.count() == 1
    assert kinds(operation).count("held") == 2


def test_a_partial_read_is_no_absence(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind())
    clock.advance(60)
    partial = Found(Verdict.ABSENT, complete=False)
    assert not make.looked(operation, partial).proof
    assert standing(operation) == "uncertain"
    waiting = sent_once(name="other")
    claimed = make.to_send(waiting)
    assert not actions.before_send(claimed, found=partial, asked_at=database_now(), actor="worker")
    assert standing(waiting) == "pending"
