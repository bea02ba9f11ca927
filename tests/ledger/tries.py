"""Tries that a caller makes and reports on, some of them late."""

from typing import Any

from ledger import actions
from ledger.actions import Report
from ledger.models import Attempt, Operation
from tests import factories as make
from tests.databases import Clock


def record(attempt: Attempt, token: str, report: Report) -> actions.Reply:
    return actions.record(attempt.uid, token=token, report=report, actor="api:shop")


def fell_silent(clock: Clock, **columns: Any) -> tuple[Operation, Attempt, str]:
    """A try whose lease ended without a word."""
    operation, attempt, token = make.claimed(make.kind(**columns))
    clock.advance(61)
    assert actions.expire(operation.pk, actor="worker")
    return make.again(operation), attempt, token


def two_tries(clock: Clock) -> tuple[Operation, tuple[Attempt, str], tuple[Attempt, str]]:
    """The first fell silent, and policy's permit let the same key go again."""
    operation, attempt, token = fell_silent(clock, looks=False)
    clock.advance(20)
    _, second, second_token = make.claimed(operation.operation_type)
    assert second.number == 2
    return operation, (attempt, token), (second, second_token)
