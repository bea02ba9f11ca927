"""A limit is not passed by small steps: what one person alone closes is added, and what is tied to it.

| counts beside it                                  | does not                                      |
|---------------------------------------------------|-----------------------------------------------|
| what they closed alone of its type today          | another person's, another type's, yesterday's |
| tied to it by correction or source, closed alone  | the same at another entity                    |
| under whatever name their account had             | what a second person agreed to                |
| in its currency                                   | in another                                    |
"""

import uuid
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError

from ledger import actions
from ledger.actions.changing import Word, change, locked
from ledger.actions.people import end_locked
from ledger.models import Approval, DecidedAlone, Operation, OperationType
from ledger.rules.errors import TieoutError
from ledger.rules.states import State
from tests import factories as make
from tests.databases import Clock
from tests.ledger.asking import Asked, refused
from tests.ledger.sessions import at_once
from tests.people import agrees

LIMITS: dict[str, Any] = {"review": {"four_eyes_above": {"ZAR": "10000.00", "EUR": "10000.00"}}}


def doubtful(of: OperationType, key: str, amount: str = "4000.00", **more: Any) -> Operation:
    return make.uncertain_operation(of, key, amount=amount, **more)


def attest(operation: Operation, *, actor: str = "ann") -> Approval | None:
    said: dict[str, Any] = {
        "reason": "I saw it.",
        "command_id": uuid.uuid4(),
        "reference": f"INV-{operation.pk}",
    }
    return actions.attest(operation.pk, actor=actor, **said)


def approve(asked: Approval | None, *, actor: str = "bob") -> None:
    assert asked is not None
    agrees(actor)
    actions.approve(asked.uid, actor=actor, reason="", command_id=uuid.uuid4())


def alone(operation: Operation, *, actor: str = "ann") -> None:
    """What somebody writes who passes by the actions, with its event, in the application's role."""
    mine: dict[str, Any] = {"evidence": "attested", "evidence_by": actor, "destination_reference": "INV-7"}
    with locked(operation.pk) as (held, _):
        change(held, kind="attested", actor=actor, reason="On my word.", to=State.COMPLETED, **mine)


def test_many_small_ones_of_a_day_do_not_pass_the_limit_of_one(clock: Clock) -> None:
    """Through the action and past it; what two closed, another's, and another currency's are not added."""
    kind, other = make.kind(**LIMITS), make.kind("other", **LIMITS)
    assert attest(doubtful(kind, "1")) is None
    assert attest(doubtful(kind, "2", "6000.00")) is None, "at the limit"
    third = doubtful(kind, "3", "0.01")
    asked = attest(third)
    assert asked is not None
    assert (asked.data["today"], asked.data["tied"], asked.data["together"]) == (2, 0, "10000.0100")
    approve(asked)
    with pytest.raises(IntegrityError, match="on the words of two"):
        alone(doubtful(kind, "4", "0.01"))
    alone(doubtful(kind, "5"), actor="eve")
    assert attest(doubtful(other, "6")) is None
    assert attest(doubtful(kind, "7", "10000.00", currency="EUR")) is None
    assert attest(doubtful(kind, "8"), actor="eve") is None
    assert attest(doubtful(kind, "9"), actor="eve") is not None
    assert DecidedAlone.objects.filter(operation=third).count() == 0
    clock.advance(86400)
    assert attest(doubtful(kind, "10", "10000.00")) is None, "a new day"


def test_closing_as_not_done_counts_too_and_an_open_case_as_well(clock: Clock) -> None:
    kind = make.kind(retry={"attempts": 1}, **LIMITS)
    first, second = doubtful(kind, "1", "6000.00"), doubtful(kind, "2", "6000.00")
    for operation in (first, second):
        clock.advance(60)
        make.looked(operation, actor="ann")
    said: dict[str, Any] = {"actor": "ann", "reason": "Not there."}
    assert actions.end(first.pk, command_id=uuid.uuid4(), **said) is None
    with (
        pytest.raises(IntegrityError, match="is closed by two"),
        locked(second.pk) as (operation, now),
    ):
        end_locked(operation, now, Word("ann", "Not there.", uuid.uuid4()))
    assert actions.end(second.pk, command_id=uuid.uuid4(), **said) is not None


def test_what_is_tied_to_it_is_added_whoever_closed_it_and_when(clock: Clock) -> None:
    kind = make.kind(**LIMITS)
    elsewhere = make.kind(
        "elsewhere",
        destination=make.destination("coast", entity="Coast (Pty) Ltd", account="coast"),
        **LIMITS,
    )
    source = {"source": {"system": "shop", "reference": "483"}}
    assert attest(doubtful(kind, "1", "6000.00", **source), actor="eve") is None
    assert attest(doubtful(elsewhere, "1", "6000.00", **source)) is None
    clock.advance(3 * 86400)
    again = doubtful(kind, "2", "6000.00", **source)
    assert actions.together(again, "ann").takes_two
    with pytest.raises(IntegrityError, match="on the words of two"):
        alone(again)
    asked = attest(again)
    assert asked is not None
    assert (asked.data["today"], asked.data["tied"]) == (0, 1)
    assert attest(doubtful(kind, "3", "6000.00", source={"system": "shop", "reference": "484"})) is None

    wrong = make.tried(kind, make.REFUSED, key="4", amount="6000.00")
    actions.end(wrong.pk, actor="max", reason="It is wrong.", command_id=uuid.uuid4())
    meant = actions.Correction({"order": "4", "total": "6000.00"}, "6000.00", "ZAR")
    correction, _ = actions.correct(wrong.pk, meant, actor="eve", reason="Right.", who="eve")
    _, attempt, token = make.held(
        actions.claim(make.submission(kind, correction.key, **_as(correction)), actor="api:shop")
    )
    actions.record(attempt.uid, token=token, report=make.SILENCE, actor="api:shop")
    assert actions.together(correction, "bob").tied == 1


def _as(correction: Operation) -> dict[str, Any]:
    payload = {"order": "4", "total": "6000.00"}
    return {"payload": payload, "amount": "6000.00", "currency": correction.currency}


def test_a_day_is_one_of_its_types_zone(clock: Clock) -> None:
    clock.set(datetime(2026, 11, 30, 21, 30, tzinfo=UTC))  # half past eleven at night in Johannesburg
    there = make.kind("there", review=LIMITS["review"] | {"timezone": "Africa/Johannesburg"})
    utc = make.kind("utc", **LIMITS)
    for kind in (there, utc):
        assert attest(doubtful(kind, f"{kind.name} 1", "9999.00")) is None
    clock.advance(3600)
    assert attest(doubtful(there, "there 2", "9999.00")) is None
    assert attest(doubtful(utc, "utc 2", "9999.00")) is not None


def test_another_name_of_the_same_account_has_no_limit_of_its_own(clock: Clock) -> None:
    ann, kind = User.objects.create(username="ann"), make.kind(**LIMITS)
    assert attest(doubtful(kind, "1", "9999.00")) is None
    User.objects.filter(pk=ann.pk).update(username="anna")
    assert attest(doubtful(kind, "2", "9999.00"), actor="anna") is not None


def test_two_closed_at_the_same_moment_are_added_too(clock: Clock) -> None:
    """Both had been within the limit when they were read; one is done, and the other asks."""
    kind = make.kind(**LIMITS)
    for number in range(3):
        pair = [doubtful(kind, f"{number} {one}", "9999.00") for one in range(2)]
        acts = [partial(_closed, one, f"ann{number}") for one in pair]
        assert sorted(at_once(acts)) == ["asked", "done"]
    for _ in range(2):
        pair = [doubtful(kind, str(uuid.uuid4()), "9999.00") for _ in range(2)]
        assert sorted(at_once([partial(_forced, one) for one in pair])) == ["done", "refused"]


def _closed(operation: Operation, actor: str) -> str:
    return "done" if attest(operation, actor=actor) is None else "asked"


def _forced(operation: Operation) -> str:
    try:
        alone(operation, actor=f"eve{Operation.objects.count()}")
    except (IntegrityError, TieoutError):
        return "refused"
    return "done"


def test_what_one_has_closed_alone_is_on_record_for_good(clock: Clock, sql: Asked) -> None:
    assert attest(doubtful(make.kind(**LIMITS), "1")) is None
    assert [(one.actor, one.operation.key) for one in DecidedAlone.objects.all()][:1] == [("ann", "1")]
    for command in ("UPDATE ledger_decidedalone SET actor = 'bob'", "DELETE FROM ledger_decidedalone"):
        with refused("the ledger only grows"):
            sql.execute(command.encode())
    operation = Operation.objects.get()
    for derived in (
        f"ledger_decidedalone (operation_id, actor) VALUES ({operation.pk}, 'bob')",
        "ledger_settledalone (operation_type_id, actor, amount, currency) "
        f"VALUES ({operation.operation_type_id}, 'ann', -5000, 'ZAR')",
    ):
        with refused("the ledger only grows"):
            sql.execute(f"INSERT INTO {derived}".encode())
