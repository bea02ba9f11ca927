"""How long a payload is kept: until its time is over, and never while it could still be sent."""

from ledger.actions.changing import change, locked
from ledger.models import Operation


def remove_payload(operation_id: int, *, actor: str) -> bool:
    """Remove a payload that was kept for its time; its digests stay. False where it is not over, or gone."""
    with locked(operation_id) as (operation, now):
        if not Operation.objects.past_keeping(now).filter(pk=operation.pk).exists():
            return False
        days = operation.operation_type.payload_keep_s / 86400
        reason = f"It was kept for {days:g} days after the operation came to its end."
        change(
            operation, kind="payload_removed", actor=actor, reason=reason, shown=False, payload_sealed=None
        )
        return True
