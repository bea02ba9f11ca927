"""Doubt, look-ups and what they move; absence is proof only where nothing speaks against it.

| a look-up finds   | pending        | uncertain         | failed          | completed         |
|-------------------|----------------|-------------------|-----------------|-------------------|
| one match, done   | completed      | completed         | uncertain, case | confirmed         |
| one, pending      | held, not sent | accepted          | uncertain, case | (same)            |
| one, declined     | (same)         | failed, case      | (same)          | uncertain, case   |
| several, differs  | held, not sent | held              | uncertain, case | (same), case      |
| absent, proof     | (same)         | pending or failed | (same)          | uncertain, case   |
| absent, no proof  | (same)         | looked at again   | (same)          | (same)            |
| could not look    | (same)         | looked at again   | (same)          | (same)            |

In flight, evidence is kept and moves nothing.
"""

import uuid
from datetime import datetime, timedelta

import pytest

from ledger import actions
from ledger.actions import Report
from ledger.models import OperationType, database_now
from ledger.rules.decisions import LOOKS, Next
from ledger.rules.errors import NotNow
from ledger.rules.states import CaseKind, Standing, State
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.finds import Finding, absent, blind, differs, one, several, standing
from tests.ledger.trails import sound

FOUND: dict[str, tuple[Finding, tuple[str, str, str, str]]] = {
    "one match": (
        one(),
        ("completed", "completed", "uncertain: there_after_all", "completed"),
    ),
    "pending": (
        one(Standing.PENDING),
        ("pending: there_after_all", "uncertain", "uncertain: there_after_all", "completed"),
    ),
    "declined": (
        one(Standing.FAILED),
        ("pending", "failed: refused", "failed: refused", "uncertain: missing"),
    ),
    "several": (
        several,
        (
            "pending: there_after_all",
            "uncertain: several",
            "uncertain: there_after_all",
            "completed: several",
        ),
    ),
    "differs": (
        differs,
        (
            "pending: there_after_all",
            "uncertain: differs",
            "uncertain: there_after_all",
            "completed: differs",
        ),
    ),
    "absent, proof": (absent, ("pending", "failed: absent", "failed: refused", "uncertain: missing")),
    "could not look": (blind, ("pending", "uncertain", "failed: refused", "completed")),
}


@pytest.mark.parametrize("line", FOUND)
def test_what_a_look_up_moves(clock: Clock, line: str) -> None:
    finding, expected = FOUND[line]
    kind = make.kind(retry={"attempts": 1})
    patient = make.kind(name="patient")
    operations = [
        make.tried(patient, make.UNREACHED),
        make.tried(kind, make.SILENCE, key="a"),
        make.tried(kind, make.REFUSED, key="b"),
        make.tried(kind, make.done(), key="c"),
    ]
    clock.advance(60)
    for operation in operations:
        make.looked(operation, finding(operation))
    assert tuple(standing(operation) for operation in operations) == expected


def test_evidence_is_kept_in_flight_and_moves_nothing(clock: Clock) -> None:
    operation, attempt, token = make.claimed(make.kind())
    for finding in (one(), several, absent, blind):
        lookup = make.looked(operation, finding(operation))
        assert not lookup.proof, "absence in flight proves nothing"
    assert make.again(operation).state == State.RUNNING
    actions.record(attempt.uid, token=token, report=make.SILENCE, actor="api:shop")
    operation = sound(operation)
    assert operation.state == State.UNCERTAIN, "looks from before its end do not decide"
    assert operation.look_at is not None


# --- when absence is proof


def test_absence_is_proof_from_the_settle_time_on(clock: Clock) -> None:
    clock.set(datetime.fromisoformat("2030-05-01T12:00:00+00:00"))
    operation = make.uncertain_operation(make.kind())
    settles_at = operation.settles_at
    assert settles_at == clock.now() + timedelta(seconds=30)
    early = make.looked(operation)
    assert (early.proof, make.again(operation).look_at) == (False, settles_at)
    clock.advance(29.999)
    assert not make.looked(operation).proof
    clock.advance(0.001)
    assert make.looked(operation).proof
    operation = sound(operation)
    assert (operation.state, operation.attempts.get().cleared_at) == (State.PENDING, clock.now())


def test_absence_after_silence_to_the_leases_end_waits_for_the_time_out_too(clock: Clock) -> None:
    operation, _, _ = make.claimed(make.kind())
    clock.advance(61)
    actions.expire(operation.pk, actor="worker")
    clock.advance(31)  # the settle time since the lease's end; three seconds of the call's time-out are left
    assert not make.looked(operation).proof
    clock.advance(3)
    assert make.looked(operation).proof


def test_a_paused_clock_of_the_first_try_does_not_shorten_the_second(clock: Clock) -> None:
    """The settle time counts from the latest end of any attempt in doubt."""
    kind = make.kind()
    operation = make.uncertain_operation(kind)
    for _ in range(LOOKS):
        clock.advance(60)
        make.looked(operation, make.BLIND)
    clock.advance(20)
    make.tried(kind, make.SILENCE)
    assert not make.looked(operation).proof
    clock.advance(30)
    assert make.looked(operation).proof


def test_absence_proves_nothing_where_the_look_up_never_found_a_known_record(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind(lookup_proved_at=None))
    clock.advance(60)
    assert not make.looked(operation).proof
    assert not make.looked(operation, listed=True).proof
    assert make.again(operation).state == State.UNCERTAIN
    assert make.looked(operation, control_reference="INV-7").proof, "it has found one that we know"


def test_a_record_off_a_list_vouches_for_no_look_up(clock: Clock) -> None:
    kind = make.kind(lookup_proved_at=None)
    operation = make.uncertain_operation(kind)
    make.looked(operation, make.there(operation, "INV-1"), listed=True)
    kind.refresh_from_db()
    assert (make.again(operation).state, kind.lookup_proved_at) == (State.COMPLETED, None)


def test_a_look_that_began_under_older_rules_vouches_for_nothing(clock: Clock) -> None:
    kind = make.kind(lookup_proved_at=None)
    operation = make.uncertain_operation(kind)
    asked_at = database_now()
    OperationType.objects.filter(pk=kind.pk).update(lookup_changed_at=clock.now() + timedelta(seconds=1))
    make.looked(operation, make.there(operation, "INV-1"), asked_at=asked_at)
    kind.refresh_from_db()
    assert kind.lookup_proved_at is None


def test_absence_just_after_a_success_is_no_proof(clock: Clock) -> None:
    operation = make.tried(make.kind(), make.done())
    assert not make.looked(operation).proof
    assert make.again(operation).state == State.COMPLETED
    clock.advance(31)
    make.looked(operation)
    assert standing(operation) == "uncertain: missing"


def test_absence_that_was_asked_for_before_it_was_done_takes_nothing_back(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind())
    clock.advance(60)
    asked_at = database_now()
    make.looked(operation, make.there(operation, "INV-1"))
    make.looked(operation, asked_at=asked_at)
    assert standing(operation) == "completed"


# --- reopened: a hold, and nothing automatic follows


@pytest.mark.parametrize("report", [make.REFUSED, make.done()])
def test_what_is_reopened_waits_for_a_person(clock: Clock, report: Report) -> None:
    kind = make.kind()
    operation = make.tried(kind, report)
    clock.advance(60)
    make.looked(operation, make.ABSENT if report.outcome == "succeeded" else make.there(operation, "INV-9"))
    assert make.again(operation).state == State.UNCERTAIN
    clock.advance(600)
    step = actions.settle(operation.pk, actor="worker")
    assert step.next is Next.HOLD
    assert actions.claim(make.submission(kind), actor="api:shop").decision == "hold"
    assert standing(operation).startswith("uncertain: ")
    assert make.again(operation).look_at is None, "no sweep takes it up"
    make.looked(operation, make.there(operation, "INV-9"), actor="ann")
    assert standing(operation) == "completed", "a person's check answers it"


def test_reopening_takes_earlier_proofs_of_absence_back(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind(retry={"attempts": 1}))
    clock.advance(60)
    make.looked(operation)
    assert operation.attempts.get().cleared_at is not None
    make.looked(operation, make.there(operation, "INV-1"))
    assert operation.attempts.get().cleared_at is None
    assert actions.facts(make.again(operation)).in_doubt


def test_a_run_reopens_and_holds_in_its_own_words(database: Database) -> None:
    done = make.tried(make.kind(), make.done())
    actions.reopen(done.pk, kind=CaseKind.MISSING, actor="run 12", reason="It is not on the list.")
    assert standing(done) == "uncertain: missing"
    waiting = make.tried(make.kind(name="other"), make.UNREACHED)
    actions.hold(waiting.pk, kind=CaseKind.THERE_AFTER_ALL, actor="run 12", reason="It is on the list.")
    assert standing(waiting) == "pending: there_after_all"


def test_what_waits_and_is_there_already_is_not_sent_until_its_absence_is_proved(clock: Clock) -> None:
    kind = make.invoice_type()
    operation = make.handed(kind)
    make.looked(operation, make.there(operation, "INV-1"), listed=True)
    assert actions.claim_to_send(operation.pk, actor="worker") is None
    assert actions.submit(make.submission(kind), actor="api:shop").decision == "hold"
    make.looked(operation, make.BLIND)
    assert actions.claim_to_send(operation.pk, actor="worker") is None
    make.looked(operation)
    assert make.case_of(operation) == ""
    assert make.to_send(operation).attempt.number == 1


def test_what_waits_and_is_on_the_list_is_not_cancelled_and_a_check_completes_it(clock: Clock) -> None:
    for kind in (make.invoice_type(), make.kind(name="other")):
        operation = make.handed(kind) if kind.by_tieout else make.tried(kind, make.UNREACHED)
        make.looked(operation, make.there(operation, "INV-1"), listed=True)
        with pytest.raises(NotNow, match="holds something for it"):
            actions.cancel(operation.pk, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
        make.looked(operation, make.there(operation, "INV-1"), actor="ann")
        assert standing(operation) == "completed"
        done = make.again(operation)
        assert (done.evidence, done.evidence_by, done.destination_reference) == ("lookup", "ann", "INV-1")
        assert not done.attempts.filter(started_at__isnull=False, number=done.attempt_count).exists()
        assert not done.events.filter(state_to=State.FAILED).exists()
