"""A success that is told late is followed by no second one: what was taken for not done is in doubt again."""

import uuid
from dataclasses import replace

import pytest

from ledger import actions
from ledger.actions import Report
from ledger.actions.told import LATE_MAX
from ledger.models import OperationType, database_now
from ledger.rules.errors import NotNow, OutcomeDiffers
from ledger.rules.states import CaseKind, State
from tests import factories as make
from tests.databases import Clock
from tests.ledger.finds import standing
from tests.ledger.tries import fell_silent, record, two_tries


@pytest.mark.parametrize("report", [make.done("INV-1"), make.TAKEN])
@pytest.mark.parametrize("tries", [5, 1])
def test_a_success_told_after_absence_was_proved_is_not_done_a_second_time(
    clock: Clock, report: Report, tries: int
) -> None:
    operation, attempt, token = fell_silent(clock, retry={"attempts": tries})
    clock.advance(60)
    make.looked(operation)
    assert make.again(operation).state == (State.PENDING if tries > 1 else State.FAILED)
    with pytest.raises(OutcomeDiffers):
        record(attempt, token, report)
    assert standing(operation) == "uncertain: there_after_all"
    clock.advance(60)
    assert actions.claim(make.submission(operation.operation_type), actor="api:shop").decision == "hold"


def test_what_was_told_of_an_earlier_try_stops_the_one_under_way_from_being_followed(clock: Clock) -> None:
    operation, attempt, token = fell_silent(clock)
    clock.advance(60)
    make.looked(operation)
    clock.advance(60)
    _, second, second_token = make.claimed(operation.operation_type)
    with pytest.raises(OutcomeDiffers):
        record(attempt, token, make.done("INV-1"))
    record(second, second_token, make.UNREACHED)
    assert standing(operation) == "uncertain: there_after_all"


@pytest.mark.parametrize("report", [make.UNREACHED, make.REFUSED, make.SILENCE])
def test_a_success_after_another_word_stops_what_comes_after(clock: Clock, report: Report) -> None:
    operation, first, second = two_tries(clock)
    record(*second, report)
    with pytest.raises(OutcomeDiffers):
        record(*first, make.done("INV-1"))
    assert standing(operation) == "uncertain: there_after_all"


def test_a_check_from_before_a_late_success_allows_no_other_try(clock: Clock) -> None:
    operation, first, second = two_tries(clock)
    record(*second, make.SILENCE)
    OperationType.objects.update(calls=make.kind(name="other").calls, lookup_proved_at=database_now())
    clock.advance(60)
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    make.looked(operation, actor="ann")
    with pytest.raises(OutcomeDiffers):
        record(*first, make.done("INV-1"))
    with pytest.raises(NotNow, match="check made by you"):
        make.permitted(operation)


def test_a_success_told_of_an_older_key_is_not_protected_by_the_present_one(clock: Clock) -> None:
    """Its absence was proved, so the next try had a new key; then it is told to have worked after all."""
    kind = make.kind(contract={"saves": "all"})
    operation, attempt, token = make.claimed(kind)
    record(attempt, token, replace(make.SILENCE, http_status=500))
    clock.advance(60)
    make.looked(operation)
    clock.advance(60)
    _, second, second_token = make.claimed(kind)
    record(second, second_token, make.SILENCE)
    assert second.idempotency_key != attempt.idempotency_key
    make.looked(operation, make.BLIND, actor="ann")
    assert actions.facts(make.again(operation)).same_key_protects(clock.now())
    with pytest.raises(OutcomeDiffers):
        record(attempt, token, make.done("INV-1"))
    assert standing(operation) == "uncertain: there_after_all"
    make.looked(operation, make.BLIND, actor="ann")
    with pytest.raises(NotNow, match="no key protects us"):
        make.permitted(operation)


def test_late_reports_are_kept_once_each_and_so_many_at_most(clock: Clock) -> None:
    """The caller that repeats itself for ever fills no trail; a success is never crowded out by refusals."""
    operation, attempt, token = fell_silent(clock, looks=False, retry={"attempts": 1})

    def told(report: Report) -> str:
        with pytest.raises(OutcomeDiffers) as refused:
            record(attempt, token, report)
        return refused.value.detail

    def kept() -> int:
        return operation.events.filter(kind="late").count()

    for _ in range(3):
        assert "kept as evidence" in told(make.REFUSED)
    assert kept() == 1
    codes = [told(replace(make.REFUSED, error_code=f"E{number}")) for number in range(LATE_MAX + 3)]
    assert kept() == LATE_MAX
    assert "this one is not" in codes[-1] and "this one is not" not in codes[0]
    told(make.TAKEN)
    before = make.again(operation).revision
    told(make.TAKEN)
    assert (kept(), make.again(operation).revision) == (LATE_MAX + 1, before)
    assert standing(operation) == "uncertain: expired"
    assert record(attempt, token, make.done("INV-1")).decision == "skip"
    for number in range(LATE_MAX + 2):
        told(make.done(f"INV-{number + 2}"))
    assert kept() == LATE_MAX + 1 + LATE_MAX
    assert standing(operation) == "completed: several"


def test_a_repeated_success_is_kept_again_once_its_absence_was_proved(clock: Clock) -> None:
    operation, attempt, token = fell_silent(clock)
    clock.advance(60)
    make.looked(operation)
    for _ in range(2):
        with pytest.raises(OutcomeDiffers):
            record(attempt, token, make.done("INV-1"))
        assert standing(operation) == "uncertain: there_after_all"
        clock.advance(60)
        make.looked(operation, actor="ann")
        actions.end(operation.pk, actor="ann", reason="It is not there.", command_id=uuid.uuid4())
        assert standing(operation) == "failed"
    assert operation.events.filter(kind="late").count() == 2


@pytest.mark.parametrize("late_first", [True, False])
@pytest.mark.parametrize("end", ["look", "word"])
def test_two_references_are_seen_whichever_came_first(clock: Clock, late_first: bool, end: str) -> None:
    operation, first, second = two_tries(clock)
    record(*second, make.SILENCE)
    actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")

    def late() -> None:
        with pytest.raises(OutcomeDiffers):
            record(*first, make.done("INV-1"))

    def completed() -> None:
        if end == "look":
            make.looked(operation, make.there(operation, "INV-2"))
        else:
            click = uuid.uuid4()
            actions.attest(operation.pk, actor="ann", reason="Seen.", command_id=click, reference="INV-2")

    for act in (late, completed) if late_first else (completed, late):
        act()
    assert standing(operation) == "completed: several"
