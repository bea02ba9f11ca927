"""What the worker's sweep does for webhooks: a task for each that has something due."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django_q.tasks import async_task

from ledger.models import TieoutNow, Webhook, database_now
from ledger.webhooks import outbox

TASK = "ledger.webhooks.tasks.deliver"
AGAIN = timedelta(seconds=30)


def sweep() -> int:
    """Have workers deliver what is due; returns to how many webhooks."""
    if not Webhook.objects.exists():
        return 0
    outbox.give_up_old()
    free = Q(nudged_at=None) | Q(nudged_at__lte=database_now() - AGAIN)
    due = list(Webhook.objects.due().filter(free).values_list("pk", flat=True))
    return sum(_nudge(pk, free) for pk in due)


def _nudge(webhook_id: int, free: Q) -> bool:
    with transaction.atomic():
        ours = bool(Webhook.objects.filter(free, pk=webhook_id).update(nudged_at=TieoutNow()))
        if ours:
            async_task(TASK, webhook_id, timeout=int(outbox.BUSY_S))
    return ours
