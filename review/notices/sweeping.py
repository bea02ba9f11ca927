"""What the worker's sweep does for notices: messages are made, and told, each way in a thread of its own."""

import logging
import threading

from django.db import connection

from ledger.worker.words import in_words
from review.models import Channel
from review.notices import making, outbox

MOST = 8
"""Ways by which one worker tells at the same time."""

log = logging.getLogger(__name__)
_turns: dict[int, threading.Thread] = {}


def sweep() -> int:
    """Make what is due and tell it, beside the queue; returns by how many ways a turn has begun.

    No task of the queue waits for a receiver, and no receiver for another one. The threads end with their
    process, whatever they are at: what has no mark is told again.
    """
    making.make()
    outbox.forget_old()
    for pk in [pk for pk, turn in _turns.items() if not turn.is_alive()]:
        del _turns[pk]
    due = Channel.objects.due().exclude(pk__in=_turns).order_by("busy_until", "pk")
    begun = list(due.values_list("pk", flat=True)[: MOST - len(_turns)])
    for pk in begun:
        _turns[pk] = threading.Thread(target=_turn, args=(pk,), name=f"notices {pk}", daemon=True)
        _turns[pk].start()
    return len(begun)


def _turn(channel_id: int) -> None:
    """Tell what is due by one way; what goes wrong is said, for the sweep comes again."""
    try:
        outbox.deliver(channel_id)
    except Exception as error:  # noqa: BLE001 - its text may carry values
        log.error("Channel %s: %s", channel_id, in_words(error))  # noqa: TRY400
    finally:
        connection.close()
