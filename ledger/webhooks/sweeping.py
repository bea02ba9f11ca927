"""What the worker's sweep does for webhooks: a turn for each that has something due, beside the queue."""

import logging
import threading

from django.db import connection
from django.db.models import F

from ledger.models import Webhook
from ledger.webhooks import outbox
from ledger.worker.words import in_words

MOST = 16
"""Receivers that one worker tells at the same time; where there are more, they take turns."""

log = logging.getLogger(__name__)
_turns: dict[int, threading.Thread] = {}


def sweep() -> int:
    """Deliver what is due, each webhook's in a thread of its own; returns for how many a turn has begun.

    No task of the queue waits for a receiver, and no receiver for another one. The threads end with their
    process, whatever they are at: what has no mark is told again.
    """
    if not Webhook.objects.exists():
        return 0
    outbox.give_up_old()
    outbox.forget_old()
    for pk in [pk for pk, turn in _turns.items() if not turn.is_alive()]:
        del _turns[pk]
    # Whose last turn ended longest ago comes first.
    due = Webhook.objects.due().exclude(pk__in=_turns).order_by(F("busy_until").asc(nulls_first=True))
    begun = list(due.values_list("pk", flat=True)[: MOST - len(_turns)])
    for pk in begun:
        _turns[pk] = threading.Thread(target=_turn, args=(pk,), name=f"webhook {pk}", daemon=True)
        _turns[pk].start()
    return len(begun)


def _turn(webhook_id: int) -> None:
    """Deliver what is due to one webhook; what goes wrong is said, for the sweep comes again."""
    try:
        outbox.deliver(webhook_id)
    except Exception as error:  # noqa: BLE001 - its text may carry values
        log.error("Webhook %s: %s", webhook_id, in_words(error))  # noqa: TRY400
    finally:
        connection.close()
