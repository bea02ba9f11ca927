"""A correction is a new operation that stands in another one's place; that one never runs again.

| the operation is        | a correction                             | the operation afterwards |
|-------------------------|------------------------------------------|--------------------------|
| pending                 | is made, and the operation is cancelled  | failed, cancelled        |
| running                 | is refused: in-flight                    | running                  |
| uncertain               | is refused: needs-override               | uncertain                |
| failed, also cancelled  | is made                                  | failed                   |
| completed               | is made                                  | completed                |
| corrected already       | is refused until that one is finished    | as it was                |
| a correction            | is refused: its original is corrected    | as it was                |
"""

import uuid
from dataclasses import replace
from typing import Any

import pytest

from ledger import actions
from ledger.actions import Correction
from ledger.models import Operation, OperationType
from ledger.rules import errors
from ledger.rules.approvals import Ask
from ledger.rules.states import CaseKind, State
from ledger.worker.sweep import Sweep
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.trails import kinds, sound
from tests.people import agrees

MEANT = Correction({"order": "483", "total": "1140.00"}, "1140.00", "ZAR")
ELSE = Correction({"order": "483", "total": "1040.00"}, "1040.00", "ZAR")
SEND = {"path": "/invoices", "set": {"metadata.operation": "{key}", "system": "{source.system}"}}


def corrected(operation: Operation, meant: Correction = MEANT, **more: Any) -> Operation:
    """Its correction, as an automation orders it; the operation must be open for it."""
    made, new = order(operation, meant, **more)
    assert new
    return made


def order(operation: Operation, meant: Correction = MEANT, **more: Any) -> tuple[Operation, bool]:
    asked: dict[str, Any] = {"actor": "api:shop", "reason": "The price was wrong.", "who": "ann"} | more
    return actions.correct(operation.pk, meant, **asked)


def finished(operation: Operation, of: OperationType, *reports: actions.Report) -> Operation:
    """The operation after its caller has claimed it by its key alone, once for each report."""
    for report in reports:
        _, attempt, token = make.held(claimed(operation, of))
        actions.record(attempt.uid, token=token, report=report, actor="api:shop")
    return make.again(operation)


def claimed(operation: Operation, of: OperationType) -> actions.Reply:
    bare = make.submission(of, operation.key, payload=None, amount=None, currency=None)
    return actions.claim(bare, actor="api:shop")


def original(of: OperationType, key: str = "order/483") -> actions.Reply:
    """Where the original stands, as its own automation is told."""
    return actions.claim(make.submission(of, key), actor="api:shop")


# --- refusals


def test_it_is_refused_where_it_is_not_known_what_happened_and_where_it_is_no_correction(
    database: Database,
) -> None:
    kind = make.kind()
    refused_one = make.tried(kind, make.REFUSED, key="refused")
    first = corrected(make.tried(kind, make.REFUSED, key="corrected"))
    long = make.tried(kind, make.REFUSED, key="k" * 198)
    same = Correction(make.submission(kind).payload or {}, "1240.00", "ZAR")
    cases: list[tuple[Operation, dict[str, Any], type[errors.TieoutError], str]] = [
        (make.uncertain_operation(kind, "doubt"), {}, errors.NeedsOverride, "needs a second person"),
        (make.claimed(kind, "running")[0], {}, errors.InFlight, "In progress"),
        (first, {}, errors.NotNow, "a correction itself"),
        (first.corrects or first, {"meant": ELSE}, errors.CorrectionOpen, "one at a time"),
        (refused_one, {"meant": same}, errors.NothingToCorrect, "says already"),
        (refused_one, {"meant": replace(MEANT, amount=None, currency=None)}, errors.Malformed, "an amount"),
        (refused_one, {"meant": replace(MEANT, amount="1.001")}, errors.TooManyDecimals, "decimals"),
        (refused_one, {"reason": " "}, errors.Malformed, "Give a reason"),
        (long, {}, errors.KeyMalformed, "201 characters"),
    ]
    for operation, asked, refusal, words in cases:
        before = make.again(operation).revision
        with pytest.raises(refusal, match=words):
            order(operation, **asked)
        assert sound(operation).revision == before, operation.key


def test_33_what_was_corrected_never_runs_again(clock: Clock) -> None:
    kind = make.kind()
    operation = make.tried(kind, make.REFUSED)
    make.looked(operation, actor="ann")
    make.permitted(operation)
    clock.advance(11)
    made = corrected(operation)
    assert operation.permits.get().withdrawn_by == "policy", "allowed before, it could still have run"
    make.looked(operation, actor="bob")
    with pytest.raises(errors.NotNow, match="never runs again"):
        make.permitted(operation, actor="bob")
    answer = original(kind)
    assert (answer.decision, answer.attempt, made.key in answer.reason) == ("hold", None, True)
    assert make.again(operation).attempt_count == 1
    sound(operation)


def test_33_no_second_person_lets_a_corrected_one_run_again(clock: Clock) -> None:
    operation = make.tried(make.reminder_type(), make.REFUSED)
    corrected(operation)
    actions.reopen(operation.pk, kind=CaseKind.THERE_AFTER_ALL, actor="ann", reason="Seen.")
    seen: dict[str, Any] = {"where": "The mailbox.", "looked_at": clock.now()}
    with pytest.raises(errors.NotNow, match="never runs again"):
        actions.override(operation.pk, Ask.OVERRIDE_PERMIT, **seen, **by_ann())
    asked = actions.override(operation.pk, Ask.OVERRIDE_END, **seen, **by_ann())
    agrees("bob")
    actions.approve(asked.uid, actor="bob", reason="", command_id=uuid.uuid4())
    assert sound(operation).state == State.FAILED


def test_33_doubt_about_what_was_corrected_ends_without_another_try(clock: Clock) -> None:
    kind = make.kind(contract={"settle": "0s"})
    operation = make.tried(kind, make.REFUSED)
    corrected(operation)
    actions.reopen(operation.pk, kind=CaseKind.THERE_AFTER_ALL, actor="ann", reason="Seen.")
    make.looked(operation, actor="ann")
    assert original(kind).decision == "hold"
    actions.end(operation.pk, actor="ann", reason="Gone.", command_id=uuid.uuid4())
    assert (sound(operation).state, operation.attempts.count()) == (State.FAILED, 1)


# --- what it makes


def test_it_is_a_new_operation_linked_to_what_it_corrects(database: Database) -> None:
    kind = make.invoice_type(calls={"send": SEND})
    said: dict[str, Any] = {
        "source": {"system": "shop", "reference": "483"},
        "description": "Order 483",
        "subject": "Acme",
    }
    operation = make.handed(kind, **said)
    claim = make.to_send(operation)
    actions.start(claim.attempt.uid, token=claim.token, start_id=None, actor="worker")
    actions.record(claim.attempt.uid, token=claim.token, report=make.REFUSED, actor="worker")
    made = corrected(operation, replace(MEANT, subject="Acme (Pty) Ltd"))
    assert (made.key, made.state, made.corrects) == ("order/483/c1", State.PENDING, operation)
    assert (str(made.amount), made.description, made.subject) == ("1140.00", "Order 483", "Acme (Pty) Ltd")
    assert made.idempotency_key != operation.idempotency_key
    written = {"metadata": {"operation": "order/483/c1"}, "system": "shop"}
    assert actions.open_payload(made) == {**MEANT.payload, **written}
    told = [sound(one).events.get(kind=kind) for one, kind in ((operation, "corrected"), (made, "accepted"))]
    for event in told:
        assert (event.actor, event.reason, event.data["who"]) == ("api:shop", "The price was wrong.", "ann")
    assert told[0].data["correction"] == str(made.uid)
    assert told[0].data["changed"] == ["amount", "total"], "what `set` writes is its name, and no change"
    assert told[1].data["corrects"] == str(operation.uid)
    assert make.to_send(made).operation == made, "the worker sends it as any other"


def test_39_what_waits_is_cancelled_with_it_and_nothing_is_cancelled_after_the_send(clock: Clock) -> None:
    kind = make.kind(retry={"base": "0s"})
    waiting = make.tried(kind, make.UNREACHED)
    made = corrected(waiting)
    waiting = sound(waiting)
    assert (waiting.state, waiting.cancelled_at is not None) == (State.FAILED, True)
    assert kinds(waiting)[-2:] == ["cancelled", "corrected"]
    assert original(kind).decision == "hold"
    _, attempt, _ = make.held(claimed(made, kind))
    assert attempt.started_at is not None
    for cancel in (lambda: actions.cancel(made.pk, **by_ann()), lambda: order(waiting, ELSE)):
        with pytest.raises((errors.NotNow, errors.CorrectionOpen)):
            cancel()
    assert sound(made).state == State.RUNNING


def by_ann() -> dict[str, Any]:
    return {"actor": "ann", "reason": "No longer wanted.", "command_id": uuid.uuid4()}


def test_34_when_it_is_done_the_original_s_case_closes_and_its_state_stays(clock: Clock) -> None:
    kind = make.kind()
    failed = make.tried(kind, make.REFUSED, key="failed")
    made = corrected(failed)
    assert make.case_of(failed) == CaseKind.REFUSED, "asked for is not done"
    finished(made, kind, make.done("INV-2"))
    failed = sound(failed)
    assert (failed.state, make.case_of(failed), failed.destination_reference) == (State.FAILED, "", "")
    closed = failed.events.get(kind="closed")
    assert closed.data["correction"] == str(made.uid)
    answer = original(kind, "failed")
    assert (answer.decision, answer.replayed, answer.attempt) == ("skip", True, None)
    # Where the original was done and differed, both stand now, and a person sees to the one that is too many.
    differs = make.tried(kind, make.done("INV-3"), key="differs")
    actions.hold(differs.pk, kind=CaseKind.DIFFERS, actor="policy", reason="Not as meant.")
    made = finished(corrected(differs), kind, make.SILENCE)
    assert make.case_of(differs) == CaseKind.DIFFERS
    make.looked(made, make.there(made, "INV-4", amount="1140.00"))
    assert (sound(made).state, make.case_of(sound(differs))) == (State.COMPLETED, CaseKind.BOTH_THERE)
    word: dict[str, Any] = {"actor": "ann", "reason": "INV-3 is reversed.", "reference": "INV-4"}
    actions.attest(differs.pk, **word, command_id=uuid.uuid4())
    assert (sound(differs).state, make.case_of(sound(differs))) == (State.COMPLETED, "")


def test_a_correction_does_not_answer_that_several_are_there_or_that_one_may_be(clock: Clock) -> None:
    kind = make.kind()
    for key, case in (("several", CaseKind.SEVERAL), ("missing", CaseKind.MISSING)):
        operation = make.tried(kind, make.done(), key=key)
        _, attempt, token = make.held(claimed(corrected(operation), kind))
        if case is CaseKind.MISSING:
            actions.reopen(operation.pk, kind=case, actor="policy", reason="Gone.")
        else:
            actions.hold(operation.pk, kind=case, actor="policy", reason="Two.")
        actions.record(attempt.uid, token=token, report=make.done("INV-5"), actor="api:shop")
        assert make.case_of(sound(operation)) == case


# --- one after the other


def test_one_that_came_to_nothing_is_followed_by_another_and_never_runs_again(clock: Clock) -> None:
    kind = make.kind()
    operation = make.tried(kind, make.REFUSED)
    first = finished(corrected(operation), kind, make.REFUSED)
    make.looked(first, actor="ann")
    make.permitted(first)
    second = corrected(operation, ELSE)
    assert (second.key, second.correction_number) == ("order/483/c2", 2)
    first = sound(first)
    assert (make.case_of(first), first.permits.open().exists()) == ("", False)
    answer = claimed(first, kind)
    assert (answer.decision, second.key in answer.reason) == ("hold", True)
    actions.cancel(second.pk, **by_ann())
    assert make.case_of(operation) == CaseKind.REFUSED, "nothing has answered it yet"
    third = corrected(operation, ELSE, command_id=uuid.uuid4())
    finished(third, kind, make.done("INV-9"))
    assert [original(kind).decision, claimed(first, kind).decision, claimed(second, kind).decision] == [
        "skip"
    ] * 3
    for one in (operation, first, second, third):
        sound(one)


def test_the_same_words_or_the_same_command_again_are_the_same_correction(database: Database) -> None:
    kind = make.kind()
    operation = make.tried(kind, make.done("INV-1"))
    click = uuid.uuid4()
    made = corrected(operation, command_id=click)
    assert order(operation) == order(operation, command_id=click) == (made, False)
    with pytest.raises(errors.PayloadChanged):
        order(operation, ELSE, command_id=click)
    with pytest.raises(errors.Conflict, match="already used"):
        order(operation, command_id=click, actor="api:other")
    finished(made, kind, make.done("INV-2"))
    assert order(operation) == (made, False), "its answer was lost, and it was done meanwhile"
    with pytest.raises(errors.NothingToCorrect, match=r"order/483/c1 says that already and is done"):
        order(operation, command_id=uuid.uuid4())
    other = finished(corrected(operation, ELSE, command_id=uuid.uuid4()), kind, make.done("INV-3"))
    assert corrected(operation, command_id=uuid.uuid4()).key == "order/483/c3", (
        "as it was before the last one"
    )
    assert sound(other).state == State.COMPLETED


def test_a_key_that_was_handed_over_as_an_operation_is_left_out(database: Database) -> None:
    kind = make.kind()
    operation = make.tried(kind, make.REFUSED)
    make.claimed(kind, "order/483/c1")
    made = corrected(operation)
    assert (made.key, made.correction_number) == ("order/483/c2", 2)


# --- what it corrects is not as it was


def test_it_is_not_sent_once_what_it_corrects_is_there_after_all(clock: Clock) -> None:
    kind = make.kind()
    operation, attempt, token = make.claimed(kind)
    actions.record(attempt.uid, token=token, report=make.REFUSED, actor="api:shop")
    made = corrected(operation)
    with pytest.raises(errors.OutcomeDiffers):
        actions.record(attempt.uid, token=token, report=make.done("INV-1"), actor="api:shop")
    assert make.case_of(operation) == CaseKind.THERE_AFTER_ALL
    Sweep().run()
    assert make.case_of(made) == CaseKind.THERE_AFTER_ALL, "nobody needs to ask for it"
    assert not Operation.objects.ready(clock.now()).exists()
    assert claimed(made, kind).decision == "hold"
    assert make.case_of(sound(made)) == CaseKind.THERE_AFTER_ALL
    actions.attest(operation.pk, reference="INV-1", **by_ann())
    assert claimed(made, kind).decision == "hold", "a second effect, unless it is meant now"
    actions.cancel(made.pk, **by_ann())
    again = finished(corrected(operation, ELSE), kind, make.done("INV-2"))
    assert (sound(again).state, sound(operation).state) == (State.COMPLETED, State.COMPLETED)


def test_a_permit_of_a_correction_is_void_once_what_it_corrects_is_there_after_all(clock: Clock) -> None:
    kind = make.kind()
    operation = make.tried(kind, make.REFUSED)
    made = finished(corrected(operation), kind, make.REFUSED)
    make.looked(made, actor="ann")
    make.permitted(made)
    actions.reopen(operation.pk, kind=CaseKind.THERE_AFTER_ALL, actor="ann", reason="Seen.")
    clock.advance(11)
    assert claimed(made, kind).decision == "hold"
    assert not sound(made).permits.open().exists()
    make.looked(made, actor="bob")
    with pytest.raises(errors.NotNow, match="no longer as it was"):
        make.permitted(made, actor="bob")


# --- claimed by its key


def test_a_claim_by_key_needs_no_payload_and_another_one_is_refused(database: Database) -> None:
    kind = make.kind(calls={"send": SEND})
    mine = {"order": "483", "metadata": {"operation": "order/483"}, "system": "shop"}
    operation, attempt, token = make.claimed(kind, payload=mine, source={"system": "shop"})
    actions.record(attempt.uid, token=token, report=make.REFUSED, actor="api:shop")
    made = corrected(operation, Correction(mine | {"total": "1140.00"}, "1140.00", "ZAR"))
    kept = actions.open_payload(made)
    assert kept["metadata"] == {"operation": made.key}, "a check finds it under its own name"
    whole = make.submission(kind, made.key, payload=kept, amount="1140.00", source={"system": "shop"})
    for changes, paths in (
        ({"payload": {**kept, "total": "1141.00"}}, ["total"]),
        ({"amount": "1141.00"}, ["amount"]),
        ({"amount": "1141.00", "payload": None}, ["amount"]),
    ):
        with pytest.raises(errors.PayloadChanged) as refused:
            actions.claim(replace(whole, **changes), actor="api:shop")
        assert refused.value.members["changed"] == paths
    with pytest.raises(errors.Malformed, match="payload is missing"):
        actions.claim(make.submission(kind, "order/484", payload=None), actor="api:shop")
    assert actions.claim(whole, actor="api:shop").decision == "proceed"
