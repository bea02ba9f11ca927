"""What a destination tells by its own webhooks: evidence and a reason to look, never a move by itself."""

from datetime import datetime, timedelta

from django.db import connection, transaction

from ledger.actions.changing import change, locked
from ledger.models import Destination, Heard, Operation
from ledger.rules import actors
from ledger.rules.hearing import Told, pause_s, says_nothing_new
from ledger.rules.states import Evidence, State

DAY = timedelta(days=1)
KEPT_A_DAY = 20
"""Events of one operation that come on the trail within a day where nothing can be looked up."""
COUNT = """
INSERT INTO ledger_unsigned (destination_id, count, last_at) VALUES (%s, 1, tieout_now())
ON CONFLICT (destination_id) DO UPDATE SET count = ledger_unsigned.count + 1, last_at = excluded.last_at
"""


def hear(destination: Destination, told: Told) -> str:
    """Take a signed event in: "new", "known" where it was heard before, "nothing" where it is not about ours.

    What it names is looked up soon; the look-up alone decides.
    """
    if not told.reference or told.account not in (None, destination.account):
        return "nothing"
    named = Operation.objects.filter(operation_type__destination=destination, key=told.reference)
    with transaction.atomic():
        ids = list(named.order_by("pk").values_list("pk", flat=True))
        if not ids:
            return "nothing"
        _, new = Heard.objects.get_or_create(destination=destination, event_id=told.id)
        if not new:
            return "known"
        for operation_id in ids:
            with locked(operation_id) as (operation, now):
                _heed(operation, told, now)
    return "new"


def refuse_unsigned(destination: Destination) -> None:
    """Count an event whose signature proves nothing; nothing else is kept of it."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [destination.pk])


def unheard(operation_id: int) -> None:
    """Forget that a look-up was due because its destination spoke: there nothing can be looked up."""
    Operation.objects.filter(pk=operation_id).update(told_look_at=None)


def _heed(operation: Operation, told: Told, now: datetime) -> None:
    if _known(operation, told):
        return
    if operation.told_look_at is not None:
        # One look answers for all that was told before it.
        Operation.objects.filter(pk=operation.pk).update(told_at=now)
        return
    looks = operation.operation_type.has_lookup
    if not looks and operation.events.filter(kind="heard", at__gt=now - DAY).count() >= KEPT_A_DAY:
        return
    destination = operation.operation_type.destination
    change(
        operation,
        kind="heard",
        actor=f"{actors.DESTINATION}{destination.name}",
        reason=f"{destination.title} told of it.",
        data={"event": told.id, "event_type": told.type},
        shown=False,
        told_at=now,
        told_look_at=next_look_at(operation, now) if looks else None,
    )


def _known(operation: Operation, told: Told) -> bool:
    """Say whether it is told of what is finished, and as we know it."""
    if operation.held_at is not None or operation.evidence == Evidence.ATTESTED:
        return False
    return says_nothing_new(
        told,
        map=operation.operation_type.how.record,
        state=State(operation.state),
        key=operation.key,
        destination_reference=operation.destination_reference,
        amount=operation.amount,
        currency=operation.currency,
    )


def next_look_at(operation: Operation, now: datetime) -> datetime:
    """Return when an operation may next be looked up because its destination spoke: at once, a few times."""
    asked = list(operation.lookups.filter(asked_at__gt=now - DAY).values_list("asked_at", flat=True))
    if not asked:
        return now
    return max(now, max(asked) + timedelta(seconds=pause_s(len(asked))))
