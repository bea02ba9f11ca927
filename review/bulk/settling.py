"""What is under way: sent and seen, refused, in doubt, or called back before it went."""

import uuid
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q

from ledger import actions
from ledger.models import Permit, database_now
from ledger.rules.errors import TieoutError
from ledger.rules.states import State, Verdict
from review.bulk.counting import WRONG
from review.bulk.items import again, finish, found, look, surprise, told, watched
from review.models import Bulk, BulkItem
from review.models.bulk import Outcome, Status

AT_ONCE = 10
PAUSE = timedelta(seconds=2)
"""Between two looks for what is not there yet."""
CALLED_BACK = "The bulk action was halted before it went out."


def settle(bulk: Bulk) -> bool:
    """Settle what has moved; where the bulk action is halted, call back what has not gone out."""
    under_way = bulk.items.filter(outcome="", acted_at__isnull=False)
    under_way = under_way.select_related("operation__operation_type__destination").order_by("number")
    permit = Permit.objects.filter(command_id=OuterRef("command_id"))
    moved = False
    if bulk.status != Status.RUNNING:
        for item in under_way.filter(Exists(permit.open()))[:AT_ONCE]:
            moved = _call_back(item) or moved
    now = database_now()
    still = Q(operation__state__in=[State.RUNNING, State.PENDING])
    settles = Q(operation__state=State.UNCERTAIN, operation__held_at=None, surprised_at__isnull=False)
    spent = Exists(permit.filter(spent_at__isnull=False))
    over = Exists(permit.filter(withdrawn_at__isnull=False)) | Q(spent) & ~still & ~settles
    lately = Q(looked_at__gt=now - PAUSE, looked_at__gte=F("acted_at"))
    for item in under_way.filter(over).exclude(lately)[:AT_ONCE]:
        moved = True
        with watched(item):
            _settle(item, bulk)
    return moved


def _call_back(item: BulkItem) -> bool:
    """Take back the permit of an item that has not gone out; it is left then. False where it has gone."""
    try:
        with transaction.atomic():
            command_id = uuid.uuid5(item.command_id or uuid.uuid4(), "back")
            actions.withdraw(item.operation_id, actor="policy", reason=CALLED_BACK, command_id=command_id)
            BulkItem.objects.filter(pk=item.pk, outcome="").update(
                acted_at=None, command_id=None, canary=False, turn=F("turn") + 1
            )
    except TieoutError:
        return False
    return True


def _settle(item: BulkItem, bulk: Bulk) -> None:
    permit = Permit.objects.select_related("attempt").get(command_id=item.command_id)
    if permit.withdrawn_at is not None:
        why = "Nobody used its permit in time." if permit.lapsed else f"{permit.withdrawn_by} took it back."
        finish(item, Outcome.HELD, why, surprised=True)
        return
    operation = again(item)
    match State(operation.state):
        case State.FAILED:
            said = permit.attempt.message if permit.attempt else ""
            finish(item, Outcome.REFUSED, said or "It did not happen.", surprised=True)
        case State.UNCERTAIN if operation.held_at is not None:
            finish(item, Outcome.HELD, "It may have happened: a person decides.", surprised=True)
        case State.UNCERTAIN:
            surprise(item, "It may have happened: no answer that proves anything.")
        case State.COMPLETED:
            _verify(item, bulk)


def _verify(item: BulkItem, bulk: Bulk) -> None:
    """Ask the destination what it holds by now; what it does not show yet is asked for again."""
    kind = item.operation.operation_type
    if not kind.has_lookup:
        why = f"By its own answer: {kind.destination.title} cannot be checked."
        finish(item, Outcome.UNSEEN, why)
        return
    try:
        lookup = look(item, bulk)
    except TieoutError as error:
        finish(item, Outcome.HELD, told(error), surprised=True)
        return
    operation = lookup.operation  # as its check has left it
    right = lookup.verdict == Verdict.ONE_MATCH and operation.state == State.COMPLETED
    if right and operation.held_at is None:
        finish(item, Outcome.VERIFIED, found(lookup, operation), seen=lookup)
    elif lookup.verdict in WRONG or right:
        finish(item, Outcome.HELD, found(lookup, operation), surprised=True)
