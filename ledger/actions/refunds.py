"""What an operation may still refund of its source record; the database adds, one at a time."""

from decimal import Decimal

from django.db.models import DecimalField, F, Func

from ledger.models import Operation
from ledger.rules import money
from ledger.rules.states import State


def over(operation: Operation) -> str:
    """Say why it would refund too much, if it were claimed now; empty where it would not.

    One that was claimed before has its place among the others, unless it is proved not done.
    """
    fresh = operation.state == State.PENDING and operation.attempt_count == 0
    if not operation.operation_type.reviewing.refunds or not (fresh or operation.state == State.FAILED):
        return ""
    if operation.amount is None:
        return "It refunds and names no amount: nobody can say whether so much is left."
    left = _left(operation)
    if abs(operation.amount) <= left:
        return ""
    source = f"{operation.source_system} {operation.source_reference}".strip() or "no source record"
    asked, rest = (
        _shown(amount, operation.currency) for amount in (abs(operation.amount), max(left, Decimal(0)))
    )
    return f"It would refund {asked} of {source}, and {rest} is left there."


def _left(operation: Operation) -> Decimal:
    room = Func(
        F("pk"), function="ledger_refundable", output_field=DecimalField(max_digits=24, decimal_places=4)
    )
    found = Operation.objects.filter(pk=operation.pk).values_list(room, flat=True).get()
    return Decimal(0) if found is None else found


def _shown(amount: Decimal, currency: str) -> str:
    shown = money.show(money.Money(amount.quantize(Decimal(1).scaleb(-money.decimals(currency))), currency))
    return f"{shown}\u00a0{currency}"
