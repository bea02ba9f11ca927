"""The queue's heartbeat: when work last went through it, and until when a task may keep a worker busy."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Case, F, When

from ledger.models import Heartbeat, TieoutNow, database_now
from ledger.models.sessions import LIVES, SINCE

QUEUE = "queue"
BEAT = """
INSERT INTO ledger_heartbeat (name, beat_at, busy_until) VALUES (%s, tieout_now(), tieout_now())
ON CONFLICT (name) DO UPDATE SET beat_at = excluded.beat_at
"""
AT_WORK = LIVES.format(pid="busy_pid", since="busy_since")
MARK = """
UPDATE ledger_heartbeat SET busy_until = %(until)s, busy_pid = pg_backend_pid(), busy_since = {since}
WHERE name = %(name)s AND (busy_until < %(until)s OR NOT {at_work})
"""
FELT = """
SELECT beat_at, busy_until > tieout_now() AND {at_work} FROM ledger_heartbeat WHERE name = %s
"""


def beat() -> None:
    """Note that work goes through the queue at this moment."""
    with connection.cursor() as cursor:
        cursor.execute(BEAT, [QUEUE])


@contextmanager
def busy(for_s: float) -> Iterator[None]:
    """Tell that a worker may be at one task for so many seconds, so that its silence is not taken for death.

    When it ends the mark goes back, unless another task has put it further: as long as every worker is busy
    the mark of the one that began last stands, and where a worker is free the beats go through. A mark stands
    no longer than the worker's own session: one that was killed may have taken the way to all tasks with it.
    """
    until = database_now() + timedelta(seconds=for_s)
    queue = Heartbeat.objects.filter(name=QUEUE)
    with connection.cursor() as cursor:
        cursor.execute(MARK.format(since=SINCE, at_work=AT_WORK), {"name": QUEUE, "until": until})
    try:
        yield
    finally:
        mine = When(busy_until=until, then=TieoutNow())
        queue.update(beat_at=TieoutNow(), busy_until=Case(mine, default=F("busy_until")))


def felt() -> tuple[datetime | None, bool]:
    """Return when work last went through the queue, and whether a task says that it may be at work."""
    with connection.cursor() as cursor:
        cursor.execute(FELT.format(at_work=AT_WORK), [QUEUE])
        return cursor.fetchone() or (None, False)
