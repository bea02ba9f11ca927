"""The queue's heartbeat: when work last went through it, and until when a task may keep a worker busy."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import connection
from django.db.models import Case, F, Value, When
from django.db.models.functions import Greatest

from ledger.models import Heartbeat, TieoutNow, database_now

QUEUE = "queue"
BEAT = """
INSERT INTO ledger_heartbeat (name, beat_at, busy_until) VALUES (%s, tieout_now(), tieout_now())
ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at
"""


def beat() -> None:
    """Note that work goes through the queue at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(BEAT, [QUEUE])


@contextmanager
def busy(for_s: float) -> Iterator[None]:
    """Tell that a worker may be at one task for so many seconds, so that its silence is not taken for death.

    When it ends the mark goes back, unless another task has put it further: as long as every worker is busy
    the mark of the one that began last stands, and where a worker is free the beats go through.
    """
    until = database_now() + timedelta(seconds=for_s)
    queue = Heartbeat.objects.filter(name=QUEUE)
    queue.update(busy_until=Greatest("busy_until", Value(until)))
    try:
        yield
    finally:
        mine = When(busy_until=until, then=TieoutNow())
        queue.update(beat_at=TieoutNow(), busy_until=Case(mine, default=F("busy_until")))
