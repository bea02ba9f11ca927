"""Nudges: tasks that name an operation to take up. A lost one costs time, a second one nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.exceptions import EmptyResultSet
from django.db import connection, models, transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.tasks import async_task

from ledger.models import Destination, Operation, OperationType, Permit, TieoutNow, database_now

AGAIN_S = 30
"""The same operation is taken up again only after so many seconds."""
DEADLINE_S = 60.0
DEADLINE_MAX_S = 1000.0
"""Three of these stay below the queue's own `retry`, so that it never repeats what still runs."""
SEND = "ledger.worker.tasks.send"
LOOK = "ledger.worker.tasks.look"
HEED = "ledger.worker.tasks.heed"

TAKE = """
WITH due AS MATERIALIZED ({due})
UPDATE ledger_operation AS operation SET nudged_at = tieout_now()
FROM due, ledger_operationtype AS kind
WHERE operation.id = due.id AND kind.id = operation.operation_type_id
RETURNING operation.id, operation.nudged_at, kind.lease_s
"""


@dataclass(frozen=True)
class Taken:
    """An operation that this sweep has taken up; no other does for half a minute."""

    pk: int
    stamp: datetime
    lease_s: float


def deadline_s(lease_s: float) -> float:
    """Return how long one task may take in seconds: its attempt's lease, and time to look and to record."""
    return min(max(DEADLINE_S, lease_s + 30), DEADLINE_MAX_S)


def take(due: "models.QuerySet[Operation]", *, oldest: str, limit: int) -> list[Taken]:
    """Take up the oldest of what is due, in one statement; rows that somebody works on are left for later."""
    long_ago = database_now() - timedelta(seconds=AGAIN_S)
    # What a permit allows is new: it does not wait because of a nudge from before.
    allowed = Permit.objects.open().filter(operation=OuterRef("pk"), effective_at__gt=OuterRef("nudged_at"))
    free = Q(nudged_at=None) | Q(nudged_at__lte=long_ago) | Exists(allowed)
    rows = due.filter(free).order_by(oldest).select_for_update(skip_locked=True, of=("self",))
    with transaction.atomic(), connection.cursor() as cursor:
        try:
            sql, parameters = rows.values("id")[:limit].query.sql_with_params()
        except EmptyResultSet:  # Django sees without the database that nothing can be due
            return []
        cursor.execute(TAKE.format(due=sql), parameters)
        return sorted((Taken(*row) for row in cursor.fetchall()), key=lambda taken: taken.pk)


def nudge_sends(due: "models.QuerySet[Operation]", *, oldest: str, limit: int) -> int:
    """Take up what is due and tell the queue to send it; says how many. Marks and tasks commit together."""
    with transaction.atomic():
        taken = take(due, oldest=oldest, limit=limit)
        for one in taken:
            _enqueue(SEND, one)
    return len(taken)


def nudge_look(taken: Taken, *, task: str = LOOK) -> None:
    """Tell the queue to look an operation up that this sweep has taken up, if nobody has since."""
    with transaction.atomic():
        still_ours = Operation.objects.filter(pk=taken.pk).filter(
            Q(nudged_at=None) | Q(nudged_at=taken.stamp)
        )
        if still_ours.update(nudged_at=TieoutNow()):
            _enqueue(task, taken)


def begin_look(operation_id: int, *, for_s: float, told_of: bool = False) -> Operation | None:
    """Give the operation whose look-up is due to this task alone; None where it is not, or another looks.

    `told_of`: due because its destination spoke of it.
    """
    now = database_now()
    looks = Operation.objects.told_of(now) if told_of else Operation.objects.to_look_up(now)
    due = looks.filter(Q(nudged_at=None) | Q(nudged_at__lte=now))
    # Marked as nudged in the future: nobody takes it up before this task must have ended.
    if not due.filter(pk=operation_id).update(nudged_at=now + timedelta(seconds=for_s - AGAIN_S)):
        return None
    return Operation.objects.select_related("operation_type__destination").get(pk=operation_id)


def end_look(operation: Operation) -> None:
    """Take the mark of a look that came to its end back, so that what follows from it need not wait."""
    Operation.objects.filter(pk=operation.pk, nudged_at=operation.nudged_at).update(nudged_at=None)


def put_back(operation_id: int) -> None:
    """Take the mark of a task back that found no room at its destination: the next sweep comes again."""
    Operation.objects.filter(pk=operation_id).update(nudged_at=None)


def destination_of(operation_id: int) -> Destination:
    """Return where an operation goes."""
    return Destination.objects.get(types__operations=operation_id)


def lease_of(operation_id: int) -> float:
    """Return the lease of an operation's attempts in seconds; nought where there is no such operation."""
    lease = OperationType.objects.filter(operations=operation_id).values_list("lease_s", flat=True).first()
    return lease or 0


def waiting() -> int:
    """Return how many tasks wait in the queue."""
    waiting: int = OrmQ.objects.filter(key=Conf.CLUSTER_NAME, lock__lte=timezone.now()).count()
    return waiting


def _enqueue(task: str, taken: Taken) -> None:
    async_task(task, taken.pk, timeout=int(deadline_s(taken.lease_s)))
