"""What the worker's sweep does for bulk actions: it tells the queue that one waits for a step."""

from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
from django_q.tasks import async_task

from ledger.models import TieoutNow, database_now
from review.bulk import commanding, freezing
from review.models import Bulk

TASK = "review.bulk.tasks.carry_on"
TIMEOUT_S = 120
AGAIN = timedelta(seconds=5)
"""A step that ends says so; one that died is missed by then. A second one finds that it is at work."""


def sweep() -> int:
    """Nudge the bulk action that has waited longest for a step, one at a time; returns how many."""
    freezing.forget_old()
    commanding.pass_on()
    commanding.lapse()
    now = database_now()
    busy = Q(nudged_at__gt=now - AGAIN)
    with_work = Bulk.objects.with_work(now)
    if with_work.filter(busy).exists():
        return 0  # one step at a time: a worker has to stay free for what is sent
    bulk = with_work.order_by(F("stepped_at").asc(nulls_first=True), "pk").first()
    if bulk is None:
        return 0
    with transaction.atomic():
        ours = Bulk.objects.filter(pk=bulk.pk).exclude(busy).update(nudged_at=TieoutNow())
        if ours:
            async_task(TASK, bulk.pk, timeout=TIMEOUT_S)
    return ours
