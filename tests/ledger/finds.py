"""What a look-up may find of an operation, and how an operation stands after it."""

from collections.abc import Callable

from ledger.models import Operation
from ledger.rules.records import Found
from ledger.rules.states import Standing
from tests import factories as make
from tests.ledger.trails import sound

Finding = Callable[[Operation], Found]


def one(standing: Standing = Standing.DONE) -> Finding:
    return lambda operation: make.there(operation, "INV-1", standing=standing)


def several(operation: Operation) -> Found:
    return make.there(operation, "INV-1", "INV-2")


def differs(operation: Operation) -> Found:
    return make.there(operation, "INV-1", amount="9.00", differs=("amount",))


def absent(operation: Operation) -> Found:
    return make.ABSENT


def blind(operation: Operation) -> Found:
    return make.BLIND


def standing(operation: Operation) -> str:
    operation = sound(operation)
    case = make.case_of(operation)
    return f"{operation.state}: {case}" if case else operation.state
