"""A person's permit: given on their own check of five minutes, undone in ten seconds, spent once, or void.

| between the permit and the claim          | the claim                                       |
|-------------------------------------------|-------------------------------------------------|
| ten seconds have not passed               | waits                                           |
| it is undone                              | holds, as before                                |
| nobody used it in time                    | holds: its case is open again                   |
| a look-up finds something                 | does not send                                   |
| it is reopened                            | does not send                                   |
| an error is saved under the old key       | goes under a new generation, if all is disproved |
"""

import uuid
from datetime import timedelta

import pytest

from ledger import actions
from ledger.actions import Report
from ledger.models import Attempt, Destination, Operation, Permit, database_now
from ledger.rules.decisions import Next
from ledger.rules.errors import Malformed, NotNow
from ledger.rules.leaves import CALLERS_PERMIT
from ledger.rules.states import CaseKind, Outcome, Standing
from tests import factories as make
from tests.databases import Clock
from tests.ledger.finds import standing
from tests.ledger.trails import kinds, sound

SAVED_400 = Report(Outcome.REJECTED, http_status=400, error_code="http_400", message="No such customer.")


def held(clock: Clock, **columns: object) -> Operation:
    """In doubt at the last of its tries, held, and absent by now as a check would show."""
    operation = make.uncertain_operation(make.kind(retry={"attempts": 1}, **columns))  # type: ignore[arg-type]
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    clock.advance(60)
    return make.again(operation)


def refused(clock: Clock, report: Report = make.REFUSED, **contract: str) -> Operation:
    return make.tried(make.kind(contract=contract), report)


# --- who may give it


def test_it_needs_a_check_of_ones_own_in_this_sitting(clock: Clock) -> None:
    operation = held(clock)
    with pytest.raises(NotNow, match="a check made by you in the last five minutes"):
        make.permitted(operation)
    make.looked(operation, actor="bob")
    with pytest.raises(NotNow, match="a check made by you"):
        make.permitted(operation, actor="ann")
    seen = make.looked(operation, actor="ann")
    clock.advance(290)
    assert make.permitted(operation, actor="ann").lookup == seen
    sound(operation)


def test_a_check_of_six_minutes_ago_is_too_old(clock: Clock) -> None:
    operation = held(clock)
    make.looked(operation, actor="ann")
    clock.advance(301)
    with pytest.raises(NotNow, match="a check made by you"):
        make.permitted(operation)


def test_a_check_from_before_the_last_try_does_not_count(clock: Clock) -> None:
    operation = held(clock)
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(11)
    make.tried(operation.operation_type, make.SILENCE)
    with pytest.raises(NotNow, match="a check made by you"):
        make.permitted(operation)


def test_what_another_has_found_since_counts_against_it(clock: Clock) -> None:
    operation = held(clock)
    make.looked(operation, actor="ann")
    make.looked(operation, make.there(operation, "INV-1", "INV-2"), actor="bob")
    with pytest.raises(NotNow, match="only add to it"):
        make.permitted(operation, actor="ann")


def test_36_while_it_runs_the_refusal_names_the_leases_end(clock: Clock) -> None:
    operation, attempt, _ = make.claimed(make.kind())
    with pytest.raises(NotNow, match=attempt.lease_until.isoformat(timespec="minutes")[:16]):
        make.permitted(operation)


def test_35_a_done_one_is_not_tried_again(clock: Clock) -> None:
    operation = make.tried(make.kind(), make.done())
    clock.advance(60)
    with pytest.raises(NotNow, match="only make a second one"):
        make.permitted(operation)


def test_a_reopened_one_needs_proof_like_every_doubt(clock: Clock) -> None:
    """Its success was answered, and yet it is in doubt: a check that proves nothing opens no second send."""
    kind = make.kind(contract={"idempotency": "none"}, lookup_proved_at=None)
    operation = make.tried(kind, make.done())
    actions.reopen(operation.pk, kind=CaseKind.MISSING, actor="run 12", reason="Not on the list.")
    clock.advance(60)
    make.looked(operation, actor="ann")
    with pytest.raises(NotNow, match="silence proves nothing"):
        make.permitted(operation)
    with pytest.raises(NotNow, match="nothing proves it"):
        actions.end(operation.pk, actor="ann", reason="It is gone.", command_id=uuid.uuid4())


def test_a_reopened_one_that_cannot_be_looked_up_needs_an_override(clock: Clock) -> None:
    operation = make.tried(make.reminder_type(), make.done())
    actions.reopen(operation.pk, kind=CaseKind.MISSING, actor="run 12", reason="Not on the list.")
    with pytest.raises(NotNow, match="override"):
        make.permitted(operation)


@pytest.mark.parametrize("reason", ["", "  \n", "x" * 1001, "a\0b"])
def test_a_permit_needs_a_reason(clock: Clock, reason: str) -> None:
    operation = held(clock)
    make.looked(operation, actor="ann")
    with pytest.raises(Malformed, match="reason"):
        actions.permit(operation.pk, actor="ann", reason=reason, command_id=uuid.uuid4())
    assert not Permit.objects.exists()


# --- ten seconds, once, in time


def test_it_takes_effect_after_ten_seconds_and_is_spent_once(clock: Clock) -> None:
    operation = held(clock)
    kind = operation.operation_type
    make.looked(operation, actor="ann")
    permit = make.permitted(operation)
    assert permit.effective_at - permit.given_at == timedelta(seconds=10)
    reply = actions.claim(make.submission(kind), actor="api:shop")
    assert (reply.decision, reply.retry_at) == ("wait", permit.effective_at)
    clock.advance(10)
    _, attempt, token = make.claimed(kind)
    permit.refresh_from_db()
    assert (permit.attempt, permit.spent_at) == (attempt, attempt.claimed_at)
    assert make.case_of(sound(operation)) == "", "its case is closed: another try is under way"
    actions.record(attempt.uid, token=token, report=make.SILENCE, actor="api:shop")
    assert actions.claim(make.submission(kind), actor="api:shop").decision in ("wait", "hold")
    assert not operation.permits.open().exists()


def test_undone_in_time_nothing_is_sent_and_it_stands_as_before(clock: Clock) -> None:
    operation = held(clock)
    make.looked(operation, actor="ann")
    before = standing(operation)
    permit = make.permitted(operation)
    clock.advance(9)
    actions.withdraw(operation.pk, actor="ann", reason="Wrong order.", command_id=uuid.uuid4())
    clock.advance(60)
    assert standing(operation) == before
    assert actions.claim(make.submission(operation.operation_type), actor="api:shop").decision == "hold"
    permit.refresh_from_db()
    assert (permit.withdrawn_by, permit.spent_at) == ("ann", None)
    with pytest.raises(NotNow, match="no permit"):
        actions.withdraw(operation.pk, actor="ann", reason="Again.", command_id=uuid.uuid4())


def test_undone_after_software_looked_meanwhile_software_goes_on(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind())
    make.looked(operation, make.BLIND, actor="ann")
    make.permitted(operation)
    actions.settle(operation.pk, actor="worker")
    assert make.again(operation).look_at is None
    actions.withdraw(operation.pk, actor="ann", reason="Not yet.", command_id=uuid.uuid4())
    assert sound(operation).look_at is not None


@pytest.mark.parametrize("keys", [True, False])
def test_a_callers_permit_on_a_look_up_ends_while_that_can_be_relied_on(clock: Clock, keys: bool) -> None:
    """Nobody looks again before a caller sends; within the key's window nothing is made twice."""
    kind = make.kind(contract={} if keys else {"idempotency": "none"})
    operation = make.uncertain_operation(kind)
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    clock.advance(60)
    make.looked(operation, actor="ann")
    permit = make.permitted(operation)
    short = permit.lapses_at - permit.effective_at == CALLERS_PERMIT
    assert short is not keys
    clock.advance(23 * 3600)
    assert actions.claim(make.submission(kind), actor="api:shop").decision == ("proceed" if keys else "hold")


def test_unused_it_lapses_back_to_its_case(clock: Clock) -> None:
    operation = held(clock, permit_for_s=3600)
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(3611)
    step = actions.settle(operation.pk, actor="worker")
    assert step.next is Next.HOLD
    assert standing(operation) == "uncertain: unproved"
    assert kinds(operation)[-1] == "lapsed"


def test_policys_own_permit_lapses_to_a_case_as_well(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind(looks=False, permit_for_s=3600))
    clock.advance(3700)
    actions.settle(operation.pk, actor="worker")
    assert standing(operation) == "uncertain: lapsed"


def test_a_failed_ones_permit_lapses_and_it_stays_failed(clock: Clock) -> None:
    operation = make.tried(make.reminder_type(permit_for_s=3600), make.REFUSED)
    make.permitted(operation)
    clock.advance(3611)
    actions.settle(operation.pk, actor="worker")
    assert standing(operation) == "failed: refused"
    assert not operation.permits.open().exists()


def test_a_permit_for_what_was_closed_as_not_done_lapses_to_a_case_of_its_own(clock: Clock) -> None:
    """Somebody wanted it to be sent, and it was not: that is not forgotten."""
    operation = make.tried(make.reminder_type(permit_for_s=3600), make.REFUSED)
    actions.end(operation.pk, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
    make.permitted(operation)
    clock.advance(3611)
    actions.settle(operation.pk, actor="worker")
    assert standing(operation) == "failed: lapsed"


def test_a_caller_that_comes_at_the_very_instant_of_the_lapse_comes_too_late(clock: Clock) -> None:
    early, late = (held(clock, name=name, permit_for_s=600) for name in ("early", "late"))
    clock.set(clock.now())
    for operation in (early, late):
        make.looked(operation, actor="ann")
        lapses_at = make.permitted(operation).lapses_at
    clock.set(lapses_at - timedelta(microseconds=1))
    assert actions.claim(make.submission(early.operation_type), actor="api:shop").decision == "proceed"
    clock.set(lapses_at)
    assert actions.claim(make.submission(late.operation_type), actor="api:shop").decision == "hold"
    assert standing(late) == "uncertain: unproved"
    assert kinds(late)[-1] == "lapsed"


def test_17_a_second_permit_is_a_second_command(clock: Clock) -> None:
    operation = held(clock)
    for _ in range(2):
        make.looked(operation, actor="ann")
        make.permitted(operation)
        clock.advance(11)
        make.tried(operation.operation_type, make.SILENCE)
        clock.advance(60)
    assert operation.attempts.count() == 3
    assert Permit.objects.exclude(spent_at=None).count() == 2


# --- void


@pytest.mark.parametrize(
    ("ids", "kept", "decision"),
    [(["INV-1"], "completed", "skip"), (["INV-1", "INV-2"], "uncertain: several", "hold")],
)
def test_what_is_found_before_it_is_spent_voids_it(
    clock: Clock, ids: list[str], kept: str, decision: str
) -> None:
    """A caller cannot look for itself: whatever anybody has found must keep it from doing it again."""
    operation = held(clock)
    make.looked(operation, actor="ann")
    permit = make.permitted(operation)
    clock.advance(11)
    make.looked(operation, make.there(operation, *ids), actor="run 12", listed=True)
    permit.refresh_from_db()
    assert permit.withdrawn_at is not None
    assert standing(operation) == kept
    reply = actions.claim(make.submission(operation.operation_type), actor="api:shop")
    assert reply.decision == decision


def test_what_is_found_for_a_refused_one_voids_it_too(clock: Clock) -> None:
    operation = make.tried(make.reminder_type(), make.REFUSED)
    make.permitted(operation)
    clock.advance(11)
    make.looked(operation, make.there(operation, "INV-1"), actor="run 12", listed=True)
    assert standing(operation) == "uncertain: there_after_all"
    assert actions.claim(make.submission(operation.operation_type), actor="api:shop").decision == "hold"


def test_an_unchanged_absence_does_not_void_it(clock: Clock) -> None:
    operation = held(clock)
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(11)
    make.looked(operation, actor="bob")
    make.claimed(operation.operation_type)


def test_dispatch_looks_again_and_what_it_finds_is_not_sent_twice(clock: Clock) -> None:
    operation = make.handed(make.invoice_type(retry={"attempts": 1}))
    claimed = make.to_send(operation)
    actions.start(claimed.attempt.uid, token=claimed.token, start_id=None, actor="worker")
    actions.record(claimed.attempt.uid, token=claimed.token, report=make.REFUSED, actor="worker")
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(11)
    again = make.to_send(operation)
    assert again.permit is not None and again.permit.lookup is not None
    there = make.there(operation, "INV-1")
    assert not actions.before_send(again, found=there, asked_at=database_now(), actor="worker")
    assert standing(operation) == "completed"
    assert sound(operation).evidence == "lookup"


def test_attesting_and_ending_void_it(clock: Clock) -> None:
    attested, ended = (
        held(clock),
        make.uncertain_operation(make.kind(name="other", contract={"settle": "0s"})),
    )
    actions.hold(ended.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    for operation in (attested, ended):
        make.looked(operation, actor="ann")
        make.permitted(operation)
    click = uuid.uuid4()
    actions.attest(attested.pk, actor="bob", reason="Seen.", command_id=click, reference="INV-1")
    make.looked(ended, actor="bob")
    actions.end(ended.pk, actor="bob", reason="It is not there.", command_id=uuid.uuid4())
    assert (standing(attested), standing(ended)) == ("completed", "failed")
    assert not Permit.objects.open().exists()


# --- a new generation of the key


def test_a_saved_refusal_is_not_asked_for_again(clock: Clock) -> None:
    operation = refused(clock, SAVED_400, saves="all")
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(11)
    _, attempt, token = make.claimed(operation.operation_type)
    first = operation.attempts.get(number=1)
    assert attempt.idempotency_key != first.idempotency_key
    operation = sound(operation)
    assert (operation.generation, operation.idempotency_key) == (2, attempt.idempotency_key)
    assert operation.first_sent_at == attempt.started_at, "the window counts from the new key's first send"
    assert operation.events.filter(kind="claimed").latest("id").data["generation"] == 2
    actions.record(attempt.uid, token=token, report=make.SILENCE, actor="api:shop")
    known = actions.facts(make.again(operation))
    assert (known.saved_error, known.same_key_protects(clock.now())) == (None, True)


def test_an_unsaved_refusal_keeps_its_key(clock: Clock) -> None:
    operation = refused(clock, SAVED_400, saves="2xx")
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(11)
    make.claimed(operation.operation_type)
    assert make.again(operation).generation == 1


def saved_silence(clock: Clock, *, proved: bool) -> Operation:
    """Answered with an error that is saved: in doubt, and the old key would answer with it for ever."""
    kind = make.kind(contract={"saves": "all"})
    operation = make.tried(kind, Report(Outcome.UNCERTAIN, http_status=500, error_code="http_500"))
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    clock.advance(60 if proved else 1)
    make.looked(operation, actor="ann")
    return operation


def test_a_permit_on_proof_for_every_attempt_goes_under_a_new_key(clock: Clock) -> None:
    operation = saved_silence(clock, proved=True)
    make.permitted(operation)
    clock.advance(11)
    _, attempt, token = make.claimed(operation.operation_type)
    assert make.again(operation).generation == 2
    actions.record(attempt.uid, token=token, report=make.REFUSED, actor="api:shop")
    assert standing(operation) == "failed: refused", "every attempt is proved not done"


def test_the_key_stays_while_any_attempt_is_in_doubt(clock: Clock) -> None:
    operation = saved_silence(clock, proved=False)
    with pytest.raises(NotNow, match="too early"):
        make.permitted(operation)
    clock.advance(20)
    kind = make.kind(name="other", looks=False)
    for report in (make.SILENCE, make.UNREACHED):
        other = make.tried(kind, report)
        clock.advance(60)
    make.claimed(kind)
    assert make.again(other).generation == 1
    assert Attempt.objects.filter(operation=other).values("idempotency_key").distinct().count() == 1


def test_a_new_key_belongs_to_the_account_of_now(clock: Clock) -> None:
    operation = refused(clock, SAVED_400, saves="all")
    Destination.objects.update(account="other")
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(11)
    make.claimed(operation.operation_type)
    assert make.again(operation).account_first == "other"
    assert actions.facts(make.again(operation)).same_account


def test_a_declined_one_goes_again_under_a_new_key(clock: Clock) -> None:
    declined = Report(Outcome.REJECTED, destination_reference="PAY-1", http_status=201, error_code="declined")
    operation = refused(clock, declined)
    make.looked(operation, make.there(operation, "PAY-1", standing=Standing.FAILED), actor="ann")
    make.permitted(operation)
    clock.advance(11)
    _, attempt, token = make.claimed(operation.operation_type)
    assert make.again(operation).generation == 2
    actions.record(attempt.uid, token=token, report=make.done("PAY-2"), actor="api:shop")
    assert standing(operation) == "completed"
