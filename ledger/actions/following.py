"""What an operation is to come after: found by its type and key as it is handed over."""

from ledger.models import Operation, OperationType
from ledger.rules.errors import AfterUnknown, Malformed
from ledger.rules.following import CHAIN_MAX, Earlier


def find_first(earlier: Earlier | None, kind: OperationType, *, key: str) -> Operation | None:
    """Return the operation that one under this key is to come after; None where it stands by itself.

    Raises AfterUnknown where there is none, Malformed where it cannot be that one, or has to be named.
    """
    if earlier is None:
        if kind.names_first:
            raise Malformed(
                f'{kind.name} names what it comes after: give "after" with its type and key.',
                errors=[{"path": "after", "problem": "is missing"}],
            )
        return None
    if (earlier.type_name, earlier.key) == (kind.name, key):
        raise Malformed("An operation cannot come after itself: name another one in after.")
    named = Operation.objects.select_related("operation_type")
    first = named.filter(operation_type__name=earlier.type_name, key=earlier.key).first()
    if first is None:
        raise AfterUnknown(
            f"There is no operation {earlier.key} of type {earlier.type_name} to come after. "
            "Hand that one over first."
        )
    if first.operation_type.destination_id != kind.destination_id:
        raise Malformed(
            f"{earlier.key} is not for {kind.destination.title}: "
            "an operation comes after one of its own destination."
        )
    _refuse_long(first)
    return first


def _refuse_long(first: Operation) -> None:
    """Refuse what would be one too many of those that come one after the other; raises Malformed."""
    length, above = 2, first.after_id
    while above is not None:
        length += 1
        if length > CHAIN_MAX:
            raise Malformed(f"At most {CHAIN_MAX} operations come one after the other.")
        above = Operation.objects.values_list("after_id", flat=True).get(pk=above)
