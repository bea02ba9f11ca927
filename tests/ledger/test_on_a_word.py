"""What a word does and does not do: it stops a send at once, and it never stands for a proof."""

import uuid
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from ledger import actions
from ledger.actions import Correction, Report
from ledger.actions.changing import change, locked
from ledger.models import Approval, Event, Lookup, Operation, Pause, database_now
from ledger.rules.approvals import Ask
from ledger.rules.errors import NotNow
from ledger.rules.states import CaseKind, Outcome, State, Verdict
from ledger.worker.sweep import Sweep
from tests import factories as make
from tests.databases import Clock
from tests.ledger.finds import standing
from tests.ledger.test_approvals import ABOVE, approve, attest, override, silent

SAVED = Report(Outcome.UNCERTAIN, http_status=500, error_code="http_500", message="It broke.")
THROTTLED = Report(Outcome.RETRYABLE, http_status=429, error_code="http_429", message="Slowly.")


def test_what_follows_an_override_stays_under_the_first_key_and_is_nobody_s_alone(clock: Clock) -> None:
    """Two people said that the first try did nothing, which proves nothing, whatever the second one did.

    | the first try            | the second one, which two people allowed | then                       |
    |--------------------------|------------------------------------------|----------------------------|
    | 500, which is saved      | 429                                      | nothing is sent by itself  |
    | 500, which is saved      | 422                                      | one person cannot allow it |
    | 422, and seen by a run   | 429                                      | nothing is sent by itself  |
    """
    lines = ((SAVED, THROTTLED), (SAVED, make.REFUSED), (make.REFUSED, THROTTLED))
    for number, (first, second) in enumerate(lines):
        kind = make.kind(f"kind.{number}", looks=False, contract={"saves": "all"}, retry={"base": "1s"})
        operation = make.tried(kind, first)
        if first is make.REFUSED:
            actions.reopen(operation.pk, kind=CaseKind.THERE_AFTER_ALL, actor="policy", reason="Seen.")
        clock.advance(60)
        approve(override(operation))
        assert standing(operation) == "failed"
        approve(override(operation, Ask.OVERRIDE_PERMIT))
        clock.advance(11)
        _, attempt, token = make.claimed(kind)
        actions.record(attempt.uid, token=token, report=second, actor="api:shop")
        assert make.again(operation).state == State.UNCERTAIN, number
        clock.advance(60)
        Sweep().run()
        assert actions.claim(make.submission(kind), actor="api:shop").decision == "hold", number
        with pytest.raises(NotNow, match="going ahead is an override"):
            make.permitted(operation)
        assert len(set(operation.attempts.values_list("idempotency_key", flat=True))) == 1
        attempt.pk, attempt.uid, attempt.number, attempt.idempotency_key = None, uuid.uuid4(), 3, "another"
        with pytest.raises(IntegrityError, match="key stays"), transaction.atomic():
            attempt.save(force_insert=True)


def test_a_permit_does_not_outlive_the_word_that_it_is_there_although_nobody_has_agreed(clock: Clock) -> None:
    """The large amounts are no less protected than the small ones, where one word closes it at once."""
    operation = silent(clock, **ABOVE)
    approve(override(operation, Ask.OVERRIDE_PERMIT))
    asked = attest(operation, actor="cid")
    assert asked is not None
    told = operation.events.get(kind="withdrawn")
    assert (told.actor, told.reason) == ("policy", "Somebody says that it is there.")
    clock.advance(11)
    assert actions.claim(make.submission(operation.operation_type), actor="api:shop").decision == "hold"
    assert standing(operation) == "uncertain: expired"
    approve(asked)
    assert standing(operation) == "completed"


def test_what_people_write_is_redacted_before_it_is_kept(clock: Clock) -> None:
    """Events cannot be changed: a secret in a reason, or in where one looked, would stand there for ever."""
    secret = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    said: dict[str, Any] = {"actor": "ann", "reason": f"Authorization: Bearer {secret}"}
    operation, refused = silent(clock), make.tried(make.kind("a"), make.REFUSED)
    where: dict[str, Any] = {"where": f"With {secret}", "looked_at": database_now()}
    asked = actions.override(operation.pk, Ask.OVERRIDE_END, command_id=uuid.uuid4(), **where, **said)
    actions.refuse(asked.uid, command_id=uuid.uuid4(), **said | {"actor": "bob"})
    actions.end(refused.pk, command_id=uuid.uuid4(), **said)
    waiting = make.handed(make.invoice_type(name="b"))
    actions.cancel(waiting.pk, command_id=uuid.uuid4(), **said)
    actions.pause(waiting.operation_type.destination_id, why="Its rules cannot be read.")
    actions.resume(Pause.objects.get().uid, command_id=uuid.uuid4(), **said)
    meant = Correction({"order": "483", "total": "1.00"}, "1.00", "ZAR")
    actions.correct(refused.pk, meant, who=secret, **said)
    actions.correct(waiting.pk, meant, who="bob@example.com", **said)
    kept = [
        *Event.objects.values_list("reason", "data"),
        *Approval.objects.values_list("reason", "why", "data"),
    ]
    assert secret not in str(kept)
    assert str(kept).count("Authorization: [redacted]") >= 7
    assert waiting.events.get(kind="corrected").data["who"] == "bob@example.com", "a name, not a secret"


def test_a_second_click_hears_what_the_first_one_did_that_the_request_is_void(clock: Clock) -> None:
    operation, click = make.uncertain_operation(make.kind(**ABOVE)), uuid.uuid4()
    asked = attest(operation)
    assert asked is not None
    seen: dict[str, Any] = {"verdict": Verdict.DIFFERS, "complete": True, "content_digest": "another"}
    Lookup.objects.create(operation=operation, actor="worker", asked_at=database_now(), **seen)
    for _ in range(2):
        with pytest.raises(NotNow, match="void"):
            approve(asked, click=click)
    assert make.again(operation).state == State.UNCERTAIN


def test_what_an_override_may_no_longer_lead_to_is_not_approved(clock: Clock) -> None:
    operation = silent(clock)
    asked = override(operation, Ask.OVERRIDE_PERMIT)
    actions.pause(operation.operation_type.destination_id, why="Its rules cannot be read.")
    with pytest.raises(NotNow, match="an administrator resumes it first"):
        approve(asked)
    actions.resume(Pause.objects.get().uid, actor="ada", reason="Put right.", command_id=uuid.uuid4())
    approve(asked)
    assert operation.permits.open().count() == 1


def alone(operation: Operation, to: State | None, **fields: Any) -> None:
    """What somebody writes who passes by the requests: whole, with its event, in the application's role."""
    with locked(operation.pk) as (held, _):
        change(held, kind="moved", actor="ann", reason="On my word.", to=to, **fields)


def test_no_word_alone_ends_doubt_in_the_database_where_it_takes_two(clock: Clock) -> None:
    """Above the limit in *done*, and without a look-up in *did not happen*; an old approval counts once."""
    mine = {"evidence": "attested", "evidence_by": "ann", "destination_reference": "INV-7"}
    above, unlisted = make.kind("above", **ABOVE), make.kind("unlisted", review={"four_eyes_above": {}})
    agreed = make.uncertain_operation(make.kind("agreed", looks=False, **ABOVE))
    asked = attest(agreed)
    assert asked is not None
    approve(asked)
    actions.reopen(agreed.pk, kind=CaseKind.MISSING, actor="policy", reason="It is gone.")
    blind = make.uncertain_operation(make.kind("blind", lookup_proved_at=None))
    make.looked(blind)
    lines: tuple[tuple[Operation, State | None, dict[str, Any], str], ...] = (
        (make.uncertain_operation(above), State.COMPLETED, mine, "above its limit"),
        (make.uncertain_operation(unlisted), State.COMPLETED, mine, "above its limit"),
        (make.tried(above, make.done("INV-1"), key="done"), None, mine, "above its limit"),
        (agreed, State.COMPLETED, mine, "above its limit"),
        (agreed, State.FAILED, {}, "doubt ends"),
        (silent(clock), State.FAILED, {}, "doubt ends"),
        (blind, State.FAILED, {}, "doubt ends"),
    )
    for operation, to, fields, words in lines:
        before = make.again(operation).revision
        with pytest.raises(IntegrityError, match=words):
            alone(operation, to, **fields)
        assert make.again(operation).revision == before
    alone(make.uncertain_operation(make.kind("below")), State.COMPLETED, **mine)
    free = make.uncertain_operation(above, "free", amount=None, currency=None)
    alone(free, State.COMPLETED, **mine)
