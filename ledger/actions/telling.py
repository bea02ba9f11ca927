"""Tell a webhook once more: an administrator's word, with its event."""

import uuid
from typing import Any

from django.db import transaction

from ledger.models import Delivery, Event, Webhook, database_now
from ledger.rules.errors import NotFound

WAITING = Delivery.State.WAITING
ASKED = "Asked for on the page of deliveries."


def send_again(delivery_uid: uuid.UUID, *, actor: str) -> bool:
    """Let a delivery be tried again at once, under the same id; False where that is due already.

    Raises NotFound.
    """
    with transaction.atomic():
        found = Delivery.objects.select_for_update(of=("self",)).select_related("webhook", "operation")
        delivery = found.filter(uid=delivery_uid).first()
        if delivery is None:
            raise NotFound("There is no such delivery.")
        now = database_now()
        if delivery.state == WAITING and delivery.due_at is not None and delivery.due_at <= now:
            return False
        Delivery.objects.filter(pk=delivery.pk).update(state=WAITING, due_at=now, tries=0, delivered_at=None)
        # What is asked for now is new, however long its receiver has been silent.
        Webhook.objects.filter(pk=delivery.webhook_id).update(rests_until=None, failing_since=None)
        data = {
            "delivery": str(delivery.uid),
            "webhook": delivery.webhook.name,
            "operation": str(delivery.operation.uid),
            "told": delivery.kind,
            "before": _before(delivery),
        }
        Event.objects.create(kind="told_again", actor=actor, reason=ASKED, data=data)
    return True


def _before(delivery: Delivery) -> dict[str, Any]:
    """Return what was known of a delivery, which its row forgets: its event is the proof from now on."""
    at = delivery.delivered_at
    return {
        "state": delivery.state,
        "tries": delivery.tries,
        "http_status": delivery.http_status,
        "delivered_at": at.isoformat() if at else None,
    }
