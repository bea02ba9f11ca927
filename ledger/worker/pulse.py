"""Whether work still goes through the queue: a beat that is sent through it, run, and acknowledged."""

import time
from datetime import datetime
from typing import Any

from django_q.brokers.orm import ORM
from django_q.models import OrmQ
from django_q.tasks import async_task

from ledger.worker import heart

BEAT = "ledger.worker.tasks.beat"
EVERY_S = 3.0
SILENT_S = 12.0
START_S = 30.0


class _Noting(ORM):  # type: ignore[misc]  # django-q2 has no types
    """The queue's broker, which notes the row that it wrote: it is gone once the task is acknowledged."""

    row: int

    def enqueue(self, task: Any) -> Any:
        self.row = super().enqueue(task)
        return self.row


class Pulse:
    """The signs of life of one cluster; silence is measured by this process's clock, not the database's."""

    def __init__(self) -> None:
        self._beat: int | None = None
        self._seen: datetime | None = None
        self._asked_at = self._alive_at = float("-inf")

    @property
    def silent(self) -> bool:
        """Whether the last sign of life is too long ago."""
        return time.monotonic() - self._alive_at > SILENT_S

    def begin(self) -> None:
        """Wait anew, and longer, for a first sign: a cluster or the database has only just come up."""
        # A beat that went down with another cluster would come back only after an hour.
        OrmQ.objects.filter(pk=self._beat).delete()
        self._beat = None
        self._seen, _ = heart.felt()
        self._asked_at = float("-inf")
        self._alive_at = time.monotonic() + START_S - SILENT_S

    def feel(self) -> bool:
        """Take notice of every sign of life, and send the next beat; True where the last one came back."""
        now = time.monotonic()
        seen, busy = heart.felt()
        came_back = self._beat is not None and not OrmQ.objects.filter(pk=self._beat).exists()
        if came_back or seen != self._seen:
            self._alive_at = now
        elif busy:
            # It may be what a killed cluster left; it must not cut the patience with a new one short.
            self._alive_at = max(now, self._alive_at)
        self._seen = seen
        if came_back:
            self._beat = None
        if self._beat is None and now - self._asked_at >= EVERY_S:
            broker = _Noting()
            async_task(BEAT, broker=broker)
            self._beat, self._asked_at = broker.row, now
        return came_back
