"""What a person's word does: attest, end, cancel; each is kept as theirs, and says no more than is proved."""

import uuid

import pytest

from ledger import actions
from ledger.models import Operation
from ledger.rules.errors import Malformed, NotFound, NotNow
from ledger.rules.states import CaseKind, State
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.finds import differs, several, standing
from tests.ledger.trails import kinds, sound


def attest(operation: Operation, reference: str = "INV-1187", *, click: uuid.UUID | None = None) -> None:
    command_id = click or uuid.uuid4()
    actions.attest(operation.pk, actor="ann", reason="Seen.", command_id=command_id, reference=reference)


def end(operation: Operation, *, click: uuid.UUID | None = None) -> None:
    actions.end(operation.pk, actor="ann", reason="Not there.", command_id=click or uuid.uuid4())


def cancel(operation: Operation, *, click: uuid.UUID | None = None) -> None:
    actions.cancel(operation.pk, actor="ann", reason="Not wanted.", command_id=click or uuid.uuid4())


# --- confirm with reference


def test_an_attested_one_stands_on_a_persons_word_until_a_check_finds_it(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind())
    attest(operation, " INV-1187 ")
    operation = sound(operation)
    assert (operation.state, operation.evidence, operation.evidence_by) == (
        State.COMPLETED,
        "attested",
        "ann",
    )
    assert operation.destination_reference == "INV-1187"
    make.looked(operation, make.BLIND)
    assert make.again(operation).evidence == "attested"
    make.looked(operation, make.there(operation, "INV-1187"), actor="worker")
    operation = sound(operation)
    assert (operation.evidence, operation.evidence_by) == ("lookup", "worker")


def test_an_attested_one_that_a_check_disproves_is_in_doubt_again(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind())
    attest(operation)
    clock.advance(60)
    make.looked(operation)
    assert standing(operation) == "uncertain: missing"
    assert actions.facts(make.again(operation)).in_doubt


def test_attesting_answers_the_open_case(database: Database) -> None:
    operation = make.uncertain_operation(make.reminder_type())
    assert make.case_of(operation) == CaseKind.UNPROVED
    attest(operation)
    assert standing(operation) == "completed"
    assert operation.cases.get().closed_by == "ann"


def test_attesting_one_of_several_leaves_the_surplus_a_case_until_it_is_gone(clock: Clock) -> None:
    for number, finding in enumerate((several, differs)):
        operation = make.uncertain_operation(make.kind(name=f"kind-{number}"))
        make.looked(operation, finding(operation))
        attest(operation, "INV-1")
        kept = CaseKind.SEVERAL if finding is several else CaseKind.DIFFERS
        assert standing(operation) == f"completed: {kept}"
        make.looked(operation, finding(operation))
        assert standing(operation) == f"completed: {kept}"
        make.looked(operation, make.there(operation, "INV-1"))
        assert standing(operation) == "completed"


def test_the_case_of_a_done_one_is_closed_on_a_persons_word_for_the_one_that_counts(clock: Clock) -> None:
    """What is known of it by a look-up stays so, unless another record is named."""
    operation = make.tried(make.kind(), make.done("INV-1"))
    make.looked(operation, several(operation))
    attest(operation, "INV-1")
    assert (standing(operation), make.again(operation).evidence) == ("completed", "answer")
    assert operation.cases.get().closed_by == "ann"
    with pytest.raises(NotNow, match="done already"):
        attest(operation, "INV-2")
    make.looked(operation, several(operation))
    assert standing(operation) == "completed: several", "it is still there"
    attest(operation, "INV-2")
    done = make.again(operation)
    assert (done.evidence, done.evidence_by, done.destination_reference) == ("attested", "ann", "INV-2")
    assert kinds(operation).count("attested") == 2


def test_only_a_doubt_is_attested(clock: Clock) -> None:
    kind = make.kind()
    running, _, _ = make.claimed(kind, "running")
    for operation, words in (
        (running, "In progress"),
        (make.tried(kind, make.done(), key="done"), "done already"),
        (make.tried(kind, make.REFUSED, key="refused"), "proved not done"),
        (make.tried(kind, make.UNREACHED, key="pending"), "proved not done"),
    ):
        with pytest.raises(NotNow, match=words):
            attest(operation)


@pytest.mark.parametrize("reference", ["", "   ", "x" * 201, "INV\n1", "INV\0"])
def test_a_reference_is_one_line_of_text(database: Database, reference: str) -> None:
    operation = make.uncertain_operation(make.kind())
    with pytest.raises(Malformed, match="number"):
        attest(operation, reference)


# --- it did not happen


def test_it_did_not_happen_needs_ones_own_proof(clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind(retry={"attempts": 1}))
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    make.looked(operation, actor="ann")
    with pytest.raises(NotNow, match="nothing proves it"):
        end(operation)
    clock.advance(60)
    make.looked(operation, actor="bob")
    with pytest.raises(NotNow, match="A check has proved it"):
        end(operation)
    make.looked(operation, actor="ann")
    end(operation)
    assert standing(operation) == "failed"
    assert not operation.attempts.in_doubt().exists()


def test_where_nobody_can_look_saying_so_is_an_override(database: Database) -> None:
    operation = make.uncertain_operation(make.reminder_type())
    with pytest.raises(NotNow, match="override by an approver"):
        end(operation)


def test_closing_the_case_of_a_failed_one_leaves_it_failed(database: Database) -> None:
    operation = make.tried(make.kind(), make.REFUSED)
    end(operation)
    assert standing(operation) == "failed"
    with pytest.raises(NotNow, match="Nothing is in doubt"):
        end(operation)


# --- cancel


def test_39_cancelled_before_the_send_it_is_never_sent(clock: Clock) -> None:
    kind = make.invoice_type()
    operation = make.handed(kind)
    cancel(operation)
    operation = sound(operation)
    assert (operation.state, operation.cancelled_at is not None) == (State.FAILED, True)
    clock.advance(3600)
    assert actions.claim_to_send(operation.pk, actor="worker") is None
    assert actions.submit(make.submission(kind), actor="api:shop").decision == "hold"
    make.looked(operation, actor="ann")
    with pytest.raises(NotNow, match="was cancelled"):
        make.permitted(operation)


def test_39_once_it_is_on_its_way_it_is_too_late(clock: Clock) -> None:
    kind = make.kind()
    running, _, _ = make.claimed(kind, "running")
    for operation, words in (
        (running, "In progress"),
        (make.tried(kind, make.SILENCE, key="silent"), "Too late"),
        (make.tried(kind, make.done(), key="done"), "Too late"),
    ):
        before = make.again(operation).revision
        with pytest.raises(NotNow, match=words):
            cancel(operation)
        assert make.again(operation).revision == before


def test_a_cancelled_one_that_is_there_after_all_is_in_doubt(database: Database) -> None:
    operation = make.handed(make.invoice_type())
    cancel(operation)
    make.looked(operation, make.there(operation, "INV-1"))
    assert standing(operation) == "uncertain: there_after_all"
    assert make.again(operation).cancelled_at is None


# --- once


def test_each_command_is_carried_out_once(clock: Clock) -> None:
    attested, ended, cancelled = (
        make.uncertain_operation(make.kind(name="a")),
        make.tried(make.kind(name="b"), make.REFUSED),
        make.handed(make.invoice_type(name="c")),
    )
    click, other, third = uuid.uuid4(), uuid.uuid4(), uuid.uuid4()
    for _ in range(2):
        attest(attested, click=click)
        end(ended, click=other)
        cancel(cancelled, click=third)
    assert kinds(attested).count("attested") == 1
    assert kinds(ended).count("closed") == 1
    assert kinds(cancelled).count("cancelled") == 1
    for operation in (attested, ended, cancelled):
        told = operation.events.exclude(command_id=None)
        assert set(told.values_list("command_id", flat=True)) <= {click, other, third}
        assert told.exists()


def test_an_operation_that_is_not_there_is_not_found(database: Database) -> None:
    with pytest.raises(NotFound):
        actions.cancel(999, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
