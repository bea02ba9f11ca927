"""Empties the outbox for one webhook at a time: at least once, with marks after the answer."""

import logging
import time
from datetime import datetime, timedelta

from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, Subquery, Value
from django.db.models.functions import Coalesce

from ledger.models import Delivery, Operation, Permit, TieoutNow, Webhook, database_now
from ledger.rules.webhooks import GIVEN_UP_S, GONE, LATEST, pause_s, rest_s
from ledger.webhooks.posting import TIMEOUT_S, Answered, post
from ledger.worker.words import in_words

log = logging.getLogger(__name__)

BATCH = 500
"""As many that are over go in one sweep."""
WORK_S = 10.0
"""How long a turn goes on with new deliveries, so that those who wait for one come to it."""
BUSY_S = WORK_S + 2 * TIMEOUT_S
"""For how long a webhook is one turn's; one that was killed leaves it to the next after this."""
NOT_YET = timedelta(seconds=60)
State = Delivery.State
NOTHING_LEFT = "The permit is no longer open: there is nothing to tell."
NOT_WANTED = "Its webhook no longer takes this: its events or types have changed."
NOT_BUILT = "It could not be put together: what went wrong is in the worker's log."
TOO_OLD = "Its receiver has not answered for three days."


def deliver(webhook_id: int) -> int:
    """Deliver what is due to one webhook until it fails or time is over; returns how many it has taken.

    However little time there is, one is tried: a turn that tries none would be followed by others like it.
    """
    now = database_now()
    mine = now + timedelta(seconds=BUSY_S)
    if not Webhook.objects.free().filter(pk=webhook_id).update(busy_until=mine):
        return 0
    until, taken = time.monotonic() + WORK_S, 0
    try:
        while (delivery := _next(webhook_id)) is not None and _one(delivery):
            taken += 1
            if time.monotonic() >= until:
                break
    finally:
        Webhook.objects.filter(pk=webhook_id, busy_until=mine).update(busy_until=TieoutNow())
    return taken


def give_up_old() -> int:
    """Give up what has waited longer than any back-off for a receiver that does not answer.

    What is asked for again waits anew: its receiver's silence counts from then.
    """
    since = database_now() - timedelta(seconds=GIVEN_UP_S)
    old = Delivery.objects.filter(state=State.WAITING, made_at__lte=since, webhook__failing_since__lte=since)
    return old.update(state=State.GIVEN_UP, due_at=None, words=TOO_OLD)


def forget_old() -> int:
    """Remove a batch of what was told so long ago that it is no longer kept; returns how many.

    What waits, what was given up and what the page shows first stays.
    """
    latest = Delivery.objects.order_by("-pk").values_list("pk", flat=True)[LATEST - 1 : LATEST]
    until = database_now() - timedelta(days=settings.DELIVERIES_DAYS)
    with transaction.atomic():
        old = Delivery.objects.over(until).filter(pk__lt=Subquery(latest)).order_by("made_at")
        # Who asks for one again meanwhile has it locked.
        found = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
        return Delivery.objects.filter(pk__in=found).delete()[0]


def _next(webhook_id: int) -> Delivery | None:
    due = Delivery.objects.due().filter(webhook=webhook_id).order_by("due_at", "pk")
    return due.select_related("webhook", "event", "operation__operation_type__destination").first()


def _one(delivery: Delivery) -> bool:
    """Try one delivery and mark what came of it; False where its receiver is to be left alone."""
    if not _wanted(delivery):
        _mark(delivery, state=State.GIVEN_UP, due_at=None, words=NOT_WANTED)
        return True
    if delivery.kind == "permit.open" and not _in_effect(delivery):
        return True
    try:
        answered = post(delivery)
    except (OperationalError, InterfaceError):
        raise  # the database is lost, which is no fault of this message
    except Exception as error:  # noqa: BLE001 - whatever it is, those behind it are not to wait for it
        log.error("Delivery %s: %s", delivery.uid, in_words(error))  # noqa: TRY400
        _count(delivery, Answered(NOT_BUILT))
        return True
    return _told(delivery, answered)


def _wanted(delivery: Delivery) -> bool:
    """Say whether its webhook still wants to be told of this kind and type."""
    webhook, of = delivery.webhook, delivery.operation.operation_type.name
    return delivery.kind in webhook.events and (not webhook.types or of in webhook.types)


def _told(delivery: Delivery, answered: Answered) -> bool:
    """Mark what a receiver said; False where it is to be left alone."""
    if answered.taken:
        now = database_now()
        _mark(delivery, state=State.DELIVERED, due_at=None, delivered_at=now, **_tried(answered, now))
        well = {"failures": 0, "failing_since": None, "rests_until": None}
        Webhook.objects.filter(pk=delivery.webhook_id).update(**well)
        return True
    _rest(delivery.webhook, _count(delivery, answered))
    return False


def _count(delivery: Delivery, answered: Answered) -> datetime:
    """Count a failed try, and return when it was."""
    now = database_now()
    _mark(delivery, **_tried(answered, now), **_after_failure(delivery, answered, now))
    return now


def _tried(answered: Answered, now: datetime) -> dict[str, object]:
    return {
        "tried_at": now,
        "http_status": answered.status,
        "words": answered.words,
        "tries": F("tries") + 1,
    }


def _after_failure(delivery: Delivery, answered: Answered, now: datetime) -> dict[str, object]:
    pause = None if answered.status == GONE else pause_s(delivery.tries + 1)
    if pause is None:
        return {"state": State.GIVEN_UP, "due_at": None}
    return {"due_at": now + timedelta(seconds=pause)}


def _rest(webhook: Webhook, now: datetime) -> None:
    """Leave a receiver alone for a while: what else is due for it would fail, and keep others waiting."""
    failures = webhook.failures + 1
    Webhook.objects.filter(pk=webhook.pk).update(
        failures=failures,
        # As it stands now: who asked for one again in the meantime has let the silence count anew.
        failing_since=Coalesce("failing_since", Value(now)),
        rests_until=now + timedelta(seconds=rest_s(failures)),
    )


def _in_effect(delivery: Delivery) -> bool:
    """Say whether a permit can be used now; where it cannot, it is told later, or no more."""
    now = database_now()
    permit = Permit.objects.open().filter(uid=delivery.event.data["permit"], lapses_at__gt=now).first()
    if permit is None:
        _mark(delivery, state=State.DROPPED, due_at=None, words=NOTHING_LEFT)
        return False
    if Operation.objects.permitted(now).filter(pk=delivery.operation_id).exists():
        return True
    _mark(delivery, due_at=max(now + NOT_YET, permit.effective_at))
    return False


def _mark(delivery: Delivery, **fields: object) -> None:
    Delivery.objects.filter(pk=delivery.pk, state=State.WAITING).update(**fields)
