"""Empties the outbox by one way at a time: at least once, with a mark after the answer."""

import logging
import time
from datetime import datetime, timedelta

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.db.models import F, Value
from django.db.models.functions import Coalesce

from ledger.models import TieoutNow, database_now
from ledger.rules.webhooks import pause_s, rest_s
from ledger.worker.words import in_words
from review.models import Channel, Message, Notice
from review.notices.telling import Told, tell

WORK_S, TRY_S = 10.0, 10.0
"""How long a turn goes on with new messages, and how long one try takes at most."""
BUSY = timedelta(seconds=WORK_S + 4 * TRY_S)
"""For how long a way is one turn's; one that was killed leaves it to the next after this."""
NOT_BUILT = "It could not be put together: what went wrong is in the worker's log."
BATCH = 500
State = Message.State

log = logging.getLogger(__name__)


def deliver(channel_id: int) -> int:
    """Tell what is due by one way until it fails or time is over; returns how many it has taken."""
    mine = database_now() + BUSY
    if not Channel.objects.free().filter(pk=channel_id).update(busy_until=mine):
        return 0
    until, taken = time.monotonic() + WORK_S, 0
    try:
        while (message := _next(channel_id)) is not None and _one(message):
            taken += 1
            if time.monotonic() >= until:
                break
    finally:
        Channel.objects.filter(pk=channel_id, busy_until=mine).update(busy_until=TieoutNow())
    return taken


def forget_old() -> None:
    """Remove what was told or given up, and read notices, of so long ago that they are no longer kept."""
    until = database_now() - timedelta(days=settings.DELIVERIES_DAYS)
    over = Message.objects.exclude(state=State.WAITING).filter(made_at__lt=until)
    Message.objects.filter(pk__in=over.values("pk")[:BATCH]).delete()
    read = Notice.objects.filter(read_at__lt=until)
    Notice.objects.filter(pk__in=read.values("pk")[:BATCH]).delete()


def _next(channel_id: int) -> Message | None:
    due = Message.objects.due().filter(channel=channel_id).order_by("due_at", "pk")
    return due.select_related("channel", "person", "run__plan__operation_type__destination").first()


def _one(message: Message) -> bool:
    """Try one message and mark what came of it; False where its way is to be left alone."""
    try:
        told = tell(message)
    except (OperationalError, InterfaceError):
        raise  # the database is lost, which is no fault of this message
    except Exception as error:  # noqa: BLE001 - whatever it is, those behind it are not to wait for it
        log.error("Message %s: %s", message.uid, in_words(error))  # noqa: TRY400
        told = Told(NOT_BUILT, own=True)
    now = database_now()
    if told.taken:
        _mark(message, now, state=State.DELIVERED, due_at=None, delivered_at=now, words=told.words)
        well = {"failures": 0, "failing_since": None, "rests_until": None}
        Channel.objects.filter(pk=message.channel_id).update(**well)
        return True
    if told.gone:
        _mark(message, now, state=State.DROPPED, due_at=None, words=told.words)
        return True
    pause = pause_s(message.tries + 1)
    if pause is None:
        _mark(message, now, words=told.words, state=State.GIVEN_UP, due_at=None)
    else:
        _mark(message, now, words=told.words, due_at=now + timedelta(seconds=pause))
    if not told.own:
        _rest(message.channel, now)
    return told.own


def _mark(message: Message, now: datetime, **fields: object) -> None:
    tried = {"tried_at": now, "tries": F("tries") + 1}
    Message.objects.filter(pk=message.pk, state=State.WAITING).update(**tried, **fields)


def _rest(channel: Channel, now: datetime) -> None:
    """Leave a way alone for a while: what else is due by it would fail, and keep others waiting."""
    failures = channel.failures + 1
    Channel.objects.filter(pk=channel.pk).update(
        failures=failures,
        failing_since=Coalesce("failing_since", Value(now)),
        rests_until=now + timedelta(seconds=rest_s(failures)),
    )
