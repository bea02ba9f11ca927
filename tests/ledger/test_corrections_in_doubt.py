"""What may have happened is corrected by two people only, and by exactly what the second one has read.

| the request is               | the correction           | the operation                              |
|------------------------------|--------------------------|--------------------------------------------|
| open                         | is not made              | in doubt, held, looked up, as it was       |
| refused, void, lapsed        | is not made              | the same; nothing of the payload is left   |
| approved                     | is made, as was approved | the same; it never runs again              |
| then it turns up before that | is not sent: held        | completed                                  |
| then it turns up after that  | stays                    | completed, and held: both are there        |
| then it did not happen       | goes out                 | failed; the correction answers it          |
"""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, transaction

from ledger import actions
from ledger.actions import Correction, Risk
from ledger.actions.changing import answer_asked, locked
from ledger.models import Approval, Operation, TieoutNow, database_now
from ledger.rules import errors
from ledger.rules.approvals import Answer
from ledger.rules.states import CaseKind, Standing, State
from tests import factories as make
from tests.databases import Clock
from tests.ledger.finds import standing
from tests.ledger.sessions import at_once, one_after_the_other
from tests.ledger.trails import sound
from tests.people import agrees

MEANT = Correction({"order": "483", "total": "1140.00", "iban": "ZA-4242"}, "1140.00", "ZAR", subject="Acme")
ELSE = replace(MEANT, payload={"order": "483", "total": "1040.00"}, amount="1040.00")


def doubtful(clock: Clock, name: str = "reminder.send", **columns: Any) -> Operation:
    """In doubt and held: nobody can look it up, and what is not there now will not come."""
    operation = make.uncertain_operation(make.reminder_type(name=name, **columns))
    clock.advance(60)
    return operation


def held(clock: Clock, name: str = "invoice.create", **columns: Any) -> Operation:
    """In doubt and held, although it can be looked up."""
    operation = make.uncertain_operation(make.kind(name=name, retry={"attempts": 1}, **columns))
    actions.hold(operation.pk, kind=CaseKind.COULD_NOT_LOOK, actor="policy", reason="Look at it.")
    clock.advance(60)
    return operation


def ask(operation: Operation, meant: Correction = MEANT, **changes: Any) -> Operation | Approval:
    asked: dict[str, Any] = {"actor": "api:shop", "reason": "The price was wrong.", "who": "ann"}
    risk = Risk("The outbox", database_now(), "The customer cannot wait.")
    return actions.correct_in_doubt(operation.pk, meant, **({"risk": risk} | asked | changes))[0]


def asked(operation: Operation, meant: Correction = MEANT, **changes: Any) -> Approval:
    agrees("bob", "eve")
    approval = ask(operation, meant, **changes)
    assert isinstance(approval, Approval)
    return approval


def approve(approval: Approval, *, actor: str = "bob", looks: bool = False) -> str:
    if looks:
        make.looked(approval.operation, make.BLIND, actor=actor)
    actions.approve(approval.uid, actor=actor, reason="", command_id=uuid.uuid4())
    return "approved"


def corrected(operation: Operation, **more: Any) -> Operation:
    """Its correction, on the words of two."""
    approve(asked(operation), **more)
    return operation.corrections.latest("correction_number")


def claimed(operation: Operation) -> actions.Reply:
    of = operation.operation_type
    bare = make.submission(of, operation.key, payload=None, amount=None, currency=None)
    return actions.claim(bare, actor="api:shop")


def reported(correction: Operation, report: actions.Report) -> None:
    _, attempt, token = make.held(claimed(correction))
    actions.record(attempt.uid, token=token, report=report, actor="api:shop")


# --- refusals


def test_it_is_asked_for_where_it_is_in_doubt_and_held_and_nobody_asks_already(clock: Clock) -> None:
    kind = make.kind()
    now = clock.now()
    failed = make.tried(kind, make.REFUSED, key="failed")
    made, _ = actions.correct(failed.pk, MEANT, actor="ann", reason="The price was wrong.")
    reopened = make.tried(kind, make.REFUSED, key="reopened")
    actions.correct(reopened.pk, MEANT, actor="ann", reason="The price was wrong.")
    actions.reopen(reopened.pk, kind=CaseKind.THERE_AFTER_ALL, actor="ann", reason="Seen.")
    waits = doubtful(clock)
    same = Correction(make.submission(kind).payload or {}, "1240.00", "ZAR")
    soon = Risk("There", now + timedelta(days=1), "Because.")
    early = Risk("There", now - timedelta(days=1), "Because.")
    cases: list[tuple[Operation, dict[str, Any], type[errors.TieoutError], str]] = [
        (make.tried(kind, make.done(), key="done"), {}, errors.NotNow, "Nothing is in doubt"),
        (make.tried(kind, make.UNREACHED, key="waits"), {}, errors.NotNow, "without an override"),
        (make.claimed(kind, "running")[0], {}, errors.InFlight, "In progress"),
        (make.uncertain_operation(kind, "looked up"), {}, errors.NotNow, "software still waits"),
        (made, {}, errors.NotNow, "a correction itself"),
        (reopened, {"meant": ELSE}, errors.CorrectionOpen, "one at a time"),
        (waits, {"meant": same}, errors.NothingToCorrect, "says already"),
        (waits, {"meant": replace(MEANT, amount="1.001")}, errors.TooManyDecimals, "decimals"),
        (waits, {"risk": replace(early, where=" ")}, errors.NotNow, "look again"),
        (waits, {"risk": soon}, errors.Malformed, "later than now"),
        (waits, {"risk": Risk(" ", clock.now(), "Because.")}, errors.Malformed, "where you looked"),
        (waits, {"risk": Risk("There", clock.now(), "\u200b")}, errors.Malformed, "Give a reason"),
    ]
    for operation, changes, refusal, words in cases:
        before = make.again(operation).revision
        with pytest.raises(refusal, match=words):
            ask(operation, **changes)
        assert sound(operation).revision == before, operation.key
    asked(waits)
    with pytest.raises(errors.NotNow, match="shop has asked for a second person"):
        ask(waits, ELSE)
    assert Approval.objects.count() == 1


def test_44_neither_who_asks_nor_in_whose_name_nor_any_automation_approves(clock: Clock) -> None:
    operation = held(clock)
    request = asked(operation)
    for actor, words in (
        ("api:shop", "people answer"),
        ("api:other", "people answer"),
        ("Ann", "in your name"),
        ("bob", "waits for a check made by you"),
    ):
        with pytest.raises(errors.NotNow, match=words):
            approve(request, actor=actor)
    answer = {"answer": "approved", "decided_at": TieoutNow(), "why": "Yes.", "meant_sealed": None}
    with pytest.raises(DatabaseError, match="approval_by_a_person"), transaction.atomic():
        Approval.objects.filter(pk=request.pk).update(**answer, decided_by="api:other")
    with pytest.raises(errors.NotNow, match="An automation has asked"):
        actions.take_back(request.uid, actor="ann", reason="No.", command_id=uuid.uuid4())
    assert approve(request, looks=True) == "approved"


# --- what is approved is what goes out


def test_33_approved_it_is_what_was_asked_for_and_the_first_one_never_runs_again(clock: Clock) -> None:
    send = {"path": "/reminders", "set": {"metadata.operation": "{key}"}}
    mine = {"order": "483", "total": "1240.00", "metadata": {"operation": "order/483"}}
    kind = make.reminder_type(calls={"send": send})
    operation = make.uncertain_operation(kind, payload=mine)
    clock.advance(60)
    request = asked(operation)
    assert standing(operation) == "uncertain: unproved" and not operation.corrections.exists()
    paths = ["amount", "iban", "total"]
    assert {name: request.data[name] for name in ("who", "key", "amount", "changed", "paths", "subject")} == {
        "who": "ann",
        "key": "order/483/c1",
        "amount": "1140.00",
        "changed": paths,
        "paths": 3,
        "subject": "Acme",
    }
    approve(request)
    made = operation.corrections.get()
    assert (made.state, made.key, made.subject) == (State.PENDING, "order/483/c1", "Acme")
    assert made.payload_digest == request.meant_digest
    assert actions.open_payload(made) == {**MEANT.payload, "metadata": {"operation": made.key}}
    operation = sound(operation)
    assert (operation.state, make.case_of(operation)) == (State.UNCERTAIN, CaseKind.UNPROVED)
    told = [sound(one).events.get(kind=kind) for one, kind in ((operation, "corrected"), (made, "accepted"))]
    for event in told:
        assert (event.actor, event.data["who"], event.data["approval"]) == (
            "api:shop",
            "ann",
            str(request.uid),
        )
    assert told[0].data["changed"] == paths
    with pytest.raises(errors.NotNow, match="never runs again"):
        make.permitted(operation)
    again = actions.claim(make.submission(kind, payload=mine), actor="api:shop")
    assert (again.decision, again.attempt) == ("hold", None)
    with pytest.raises(DatabaseError, match="never runs again"), transaction.atomic():
        Operation.objects.filter(pk=operation.pk).update(state="pending", revision=operation.revision + 1)


def test_the_same_words_or_command_again_are_the_same_request_and_then_its_correction(clock: Clock) -> None:
    operation, click = doubtful(clock), uuid.uuid4()
    request = asked(operation, command_id=click)
    assert ask(operation) == ask(operation, command_id=click) == request
    with pytest.raises(errors.Conflict, match="another correction"):
        ask(operation, ELSE, command_id=click)
    with pytest.raises(errors.Conflict, match="already used"):
        ask(operation, command_id=click, actor="api:other")
    actions.refuse(request.uid, actor="bob", reason="Wait for the bank.", command_id=uuid.uuid4())
    with pytest.raises(errors.NotNow, match="bob refused it"):
        ask(operation, command_id=click)
    click = uuid.uuid4()
    approve(asked(operation, command_id=click))
    made = operation.corrections.get()
    assert ask(operation) == ask(operation, command_id=click) == made
    with pytest.raises(errors.CorrectionOpen):
        ask(operation, ELSE)
    with pytest.raises(errors.Conflict, match="already used"):
        actions.correct(operation.pk, MEANT, actor="api:shop", reason="Again.", command_id=click)
    # It came to nothing, and the first one is in doubt still: another one takes two people again.
    reported(made, make.REFUSED)
    with pytest.raises(errors.NeedsOverride, match="where and when it was looked for"):
        actions.correct(operation.pk, ELSE, actor="api:shop", reason="Again.")
    approve(asked(operation, ELSE))
    assert [one.key for one in operation.corrections.order_by("id")] == ["order/483/c1", "order/483/c2"]
    assert sound(made).corrected_at is not None


def lapsed(clock: Clock, request: Approval) -> None:
    clock.advance(86401)
    actions.lapse_asked(request.operation_id)


def refused(clock: Clock, request: Approval) -> None:
    actions.refuse(request.uid, actor="bob", reason="No.", command_id=uuid.uuid4())


def found_else(clock: Clock, request: Approval) -> None:
    make.looked(request.operation, make.there(request.operation, "INV-1", "INV-2"))


def key_taken(clock: Clock, request: Approval) -> None:
    """Somebody hands over an operation under the correction's key: it would go out under another one."""
    key = request.data["key"]
    mine = {"order": "484", "metadata": {"operation": key}}
    make.claimed(request.operation.operation_type, key, payload=mine)
    with pytest.raises(errors.NotNow, match="not what was asked for"):
        approve(request, looks=True)


def test_46_what_is_not_approved_stays_on_record_and_leaves_nothing_of_the_payload(clock: Clock) -> None:
    send = {"path": "/invoices", "set": {"metadata.operation": "{key}"}}
    calls = {"send": send, "lookup": make.LOOKUP, "record": make.RECORD}
    ways = {"refused": refused, "lapsed": lapsed, "voided": found_else, "voided by key": key_taken}
    mine = {"order": "483", "total": "1240.00", "metadata": {"operation": "order/483"}}
    for name, way in ways.items():
        kind = make.kind(name=name, retry={"attempts": 1}, calls=calls)
        operation = make.uncertain_operation(kind, payload=mine)
        actions.hold(operation.pk, kind=CaseKind.COULD_NOT_LOOK, actor="policy", reason="Look at it.")
        clock.advance(60)
        request = asked(operation)
        assert b"4242" not in bytes(request.meant_sealed or b"4242")
        with pytest.raises(DatabaseError, match="meant_while_open"), transaction.atomic():
            Approval.objects.filter(pk=request.pk).update(meant_sealed=None)
        way(clock, request)
        request.refresh_from_db()
        assert (request.answer, request.meant_sealed) == (name.split()[0], None)
        assert sound(operation).corrected_at is None and not operation.corrections.exists()
        kept = [str(request.data), *(str(event.data) for event in operation.events.all())]
        assert "ZA-4242" not in "".join(kept)
        assert "Acme" not in "".join(kept[1:]), "an event says no name that nobody could take back"


def test_the_database_lets_nothing_out_but_what_was_approved(clock: Clock) -> None:
    operation = doubtful(clock)
    request = asked(operation)
    rows = Approval.objects.filter(pk=request.pk)
    for change in ({"meant_digest": "k1:other"}, {"meant_sealed": b"other"}):
        with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
            rows.update(**change)
    with pytest.raises(DatabaseError, match="until it is known what happened"), transaction.atomic():
        Operation.objects.filter(pk=operation.pk).update(
            corrected_at=TieoutNow(), revision=operation.revision + 1
        )
    with pytest.raises(DatabaseError, match="as was approved, or not at all"):
        another_than(request)
    approve(request)
    reported(operation.corrections.get(), make.REFUSED)
    with pytest.raises(DatabaseError, match="as was approved, or not at all"), transaction.atomic():
        copied(operation, number=2, payload_digest=request.meant_digest)  # approved once, and not now


def another_than(request: Approval) -> None:
    """Agree to a request, and let something else out in the same transaction."""
    with locked(request.operation_id) as (operation, _):
        answer_asked(operation, request, Answer.APPROVED, actor="bob", reason="Yes.")
        rows = Operation.objects.filter(pk=operation.pk)
        rows.update(corrected_at=TieoutNow(), revision=operation.revision + 1)
        copied(operation, number=1)


def copied(operation: Operation, *, number: int, **changes: Any) -> None:
    columns = {field.attname: getattr(operation, field.attname) for field in Operation._meta.concrete_fields}
    as_new = {"id": None, "uid": uuid.uuid4(), "state": State.PENDING, "key": f"{operation.key}/c{number}"}
    linked = {"corrects_id": operation.pk, "correction_number": number, "corrected_at": None}
    Operation.objects.create(**columns | as_new | linked | changes)


# --- it turns up, or is proved absent


def found(operation: Operation) -> str:
    make.looked(operation, make.there(operation, "INV-1"))
    return make.again(operation).state


def test_45_of_an_approval_and_a_check_that_finds_it_one_is_first_and_nothing_goes_out(clock: Clock) -> None:
    possible = {"approved/completed", "not-now/completed"}
    for number in range(3):
        operation = held(clock, f"race {number}")
        request = asked(operation)
        make.looked(operation, make.BLIND, actor="bob")
        acts: list[Callable[[], str]] = [partial(approve, request), partial(found, operation)]
        if number == 1:
            acts.reverse()
        told = at_once(acts) if number == 2 else one_after_the_other(clock.database, operation, *acts)
        assert "/".join(told[::-1] if number == 1 else told) in possible, told
        assert standing(operation) == "completed"
        made = operation.corrections.first()
        assert (made is not None) == (told[number == 1] == "approved")
        if made is not None:
            assert claimed(made).decision == "hold", "what it corrects is there"
            assert standing(made) == "pending: there_after_all"


def test_where_both_are_there_the_case_says_so_until_a_person_names_the_one_that_counts(clock: Clock) -> None:
    operation = held(clock, "done")
    made = corrected(operation, looks=True)
    reported(made, make.done("INV-2"))
    assert standing(operation) == "uncertain: could_not_look", "doubt is not answered by it"
    found(operation)
    assert standing(operation) == "completed: both_there"
    told = operation.events.filter(kind="held").latest("id")
    assert told.data["correction"] == str(made.uid)
    assert "its correction order/483/c1 is done, too" in told.reason
    found(operation)
    assert standing(operation) == "completed: both_there", "one of it, and the correction"
    word: dict[str, Any] = {"actor": "ann", "reason": "INV-1 is reversed.", "reference": "INV-2"}
    actions.attest(operation.pk, **word, command_id=uuid.uuid4())
    assert standing(operation) == "completed"

    in_flight = held(clock, "in flight")
    made = corrected(in_flight, looks=True)
    _, attempt, token = make.held(claimed(made))
    found(in_flight)
    assert standing(in_flight) == "completed: both_there"
    actions.record(attempt.uid, token=token, report=make.done("INV-2"), actor="api:shop")
    assert (standing(made), standing(in_flight)) == ("completed", "completed: both_there")


def test_once_doubt_ends_in_did_not_happen_the_correction_goes_out_and_answers_it(clock: Clock) -> None:
    ended = held(clock, "ended")
    made = corrected(ended, looks=True)
    make.looked(ended, actor="ann")
    actions.end(ended.pk, actor="ann", reason="Not there.", command_id=uuid.uuid4())
    reported(made, make.done("INV-2"))
    assert (standing(ended), standing(made)) == ("failed", "completed")
    again = actions.claim(make.submission(ended.operation_type), actor="api:shop")
    assert (again.decision, made.key in again.reason) == ("skip", True)

    declined = held(clock, "declined")
    reported(corrected(declined, looks=True), make.done("INV-2"))
    make.looked(declined, make.there(declined, "INV-1", standing=Standing.FAILED))
    assert standing(declined) == "failed", "its correction has answered it"
