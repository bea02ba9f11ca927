"""One click is one command: pressed twice it is one, and a later deliberate one is another."""

import uuid

import pytest

from ledger import actions
from ledger.models import Operation, Permit
from ledger.rules.errors import Conflict, NotNow
from ledger.rules.states import CaseKind, State
from tests import factories as make
from tests.databases import Clock, Database


def held(clock: Clock) -> Operation:
    """In doubt, held, and absent by now as a check would show."""
    operation = make.uncertain_operation(make.kind())
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    clock.advance(60)
    return make.again(operation)


def test_30_pressed_twice_is_one_and_a_later_click_is_another(clock: Clock) -> None:
    operation = held(clock)
    make.looked(operation, actor="ann")
    click = uuid.uuid4()
    first = make.permitted(operation, command_id=click)
    assert make.permitted(operation, command_id=click) == first
    with pytest.raises(NotNow, match="Already allowed by ann"):
        make.permitted(operation)
    assert Permit.objects.count() == 1
    actions.withdraw(operation.pk, actor="ann", reason="Not now.", command_id=uuid.uuid4())
    assert make.permitted(operation, command_id=click) == first, "the same click is still the first one"
    assert make.permitted(operation) != first


def test_one_click_does_one_thing_by_one_person_to_one_operation(clock: Clock) -> None:
    operation = held(clock)
    make.looked(operation, actor="ann")
    click = uuid.uuid4()
    make.permitted(operation, command_id=click)
    other = make.uncertain_operation(make.kind(name="other"))
    with pytest.raises(Conflict, match="already used"):
        actions.end(operation.pk, actor="ann", reason="Not there.", command_id=click)
    with pytest.raises(Conflict, match="already used"):
        make.permitted(operation, actor="bob", command_id=click)
    with pytest.raises(Conflict, match="already used"):
        make.permitted(other, command_id=click)
    with pytest.raises(Conflict, match="already used"):
        make.looked(operation, actor="ann", command_id=click)


def test_a_refused_click_is_no_command_yet(clock: Clock) -> None:
    operation = held(clock)
    click = uuid.uuid4()
    with pytest.raises(NotNow):
        make.permitted(operation, command_id=click)
    make.looked(operation, actor="ann")
    assert make.permitted(operation, command_id=click).command_id == click


def test_a_check_pressed_twice_is_one_look(database: Database) -> None:
    operation = make.uncertain_operation(make.kind())
    click = uuid.uuid4()
    first = make.looked(operation, actor="ann", command_id=click)
    assert make.looked(operation, make.there(operation, "INV-1"), actor="ann", command_id=click) == first
    assert operation.lookups.count() == 1
    assert make.again(operation).state == State.UNCERTAIN
