"""The trail, sealed and proved: seal what is settled, verify all of it, write it down for others."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction

from ledger.models import Event, Seal, database_now
from ledger.rules import chain

BATCH = 5000
"""Events that one seal covers at most."""
EVERY_S = 60.0
ENOUGH = 1000
"""So many are sealed at once, also sooner."""
WAIT_S = 0.5
"""How long is waited for those who were writing when sealing began; else the next time does it."""
_FIELDS = (
    "id",
    "uid",
    "operation_id",
    "attempt_id",
    "kind",
    "actor",
    "reason",
    "state_from",
    "state_to",
    "command_id",
    "revision",
    "data",
    "at",
)
_ONE_SEALER = "SELECT pg_try_advisory_xact_lock(hashtext('tieout trail'))"
# Whoever writes an event holds this lock before the event has its number, and until it has committed.
_WRITERS = """
    SELECT virtualtransaction FROM pg_locks
    WHERE relation = 'ledger_event'::regclass
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND mode = 'RowExclusiveLock' AND granted AND pid IS DISTINCT FROM pg_backend_pid()
"""


@dataclass(frozen=True)
class Verified:
    """What came of a walk through the whole trail; `left` events are not sealed yet."""

    events: int
    seals: int
    head: str
    left: int
    faults: list[str]
    words: str


def line_of(row: dict[str, Any]) -> str:
    """Return an event's row as the line that its seal covers; times in UTC, to the microsecond."""
    told = {name.removesuffix("_id"): row[name] for name in _FIELDS}
    for name in ("uid", "command"):
        told[name] = None if told[name] is None else str(told[name])
    told["at"] = row["at"].astimezone(UTC).isoformat(timespec="microseconds")
    return chain.written(told)


def latest() -> Seal | None:
    """Return the last seal."""
    return Seal.objects.order_by("-number").first()


def seal(*, least: int = 1) -> Seal | None:
    """Seal the next events, if `least` of them are settled; None where they are not, or another one seals."""
    settled = _settled()
    if settled is None:
        return None
    try:
        with transaction.atomic():
            return _sealed(settled, least)
    except IntegrityError:
        return None


def seal_all(*, within_s: float = 30.0) -> Seal | None:
    """Seal all that is settled, and return the last seal; a large trail goes on where time was over."""
    until = time.monotonic() + within_s
    while time.monotonic() < until and seal() is not None:
        pass
    return latest()


def verify(
    *, kept: dict[int, str] | None = None, write: Callable[[str], object] = lambda line: None
) -> Verified:
    """Walk through the trail in one snapshot; each line is also written, in the form that `chain` reads."""
    checker = chain.Checker(kept or {})
    write(chain.written({"format": chain.FORMAT, "version": 1}))
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        seals = Seal.objects.order_by("number").iterator(BATCH)
        following = next(seals, None)
        for row in Event.objects.order_by("pk").values(*_FIELDS).iterator(BATCH):
            while following is not None and row["id"] > following.through:
                _pass(checker, following, write)
                following = next(seals, None)
            line = line_of(row)
            checker.event(row["id"], line)
            write(line)
        while following is not None:
            _pass(checker, following, write)
            following = next(seals, None)
    left = checker.end()
    return Verified(checker.events, checker.number, checker.head, left, checker.faults, checker.words)


def _pass(checker: chain.Checker, one: Seal, write: Callable[[str], object]) -> None:
    told = {name: getattr(one, name) for name in ("after", "through", "count", "previous", "head")}
    told |= {
        "seal": one.number,
        "sealed_at": one.sealed_at.astimezone(UTC).isoformat(timespec="microseconds"),
    }
    checker.seal(told)
    write(chain.written(told))


def _settled() -> int | None:
    """Return the last event up to which nothing is still on its way to its commit; None if that takes long.

    Numbers are given before they commit, so a higher one may be seen before a lower one. Those who were
    writing after the highest was read are waited for: nobody else can have a lower one.
    """
    highest = Event.objects.order_by("-pk").values_list("pk", flat=True).first()
    if highest is None:
        return None
    writing, until = _writers(), time.monotonic() + WAIT_S
    while writing:
        if time.monotonic() > until:
            return None
        time.sleep(0.005)
        writing &= _writers()
    return highest


def _writers() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(_WRITERS)
        return {row[0] for row in cursor.fetchall()}


def _sealed(settled: int, least: int) -> Seal | None:
    with connection.cursor() as cursor:
        cursor.execute(_ONE_SEALER)
        if not cursor.fetchone()[0]:
            return None
    last = latest()
    after, previous, number = (last.through, last.head, last.number) if last else (0, chain.NOTHING, 0)
    events = Event.objects.filter(pk__gt=after, pk__lte=settled).order_by("pk").values(*_FIELDS)
    rows = list(events[:BATCH])
    if len(rows) < max(least, 1):
        return None
    return Seal.objects.create(
        number=number + 1,
        after=after,
        through=rows[-1]["id"],
        count=len(rows),
        previous=previous,
        head=chain.head_of(previous, map(line_of, rows)),
    )


def seal_in_time(*, within_s: float) -> bool:
    """Seal what has waited for EVERY_S, or is ENOUGH; False where time was over before all of it was."""
    last, until = latest(), time.monotonic() + within_s
    recent = last is not None and last.sealed_at > database_now() - timedelta(seconds=EVERY_S)
    if not seal(least=ENOUGH if recent else 1):
        return True
    while time.monotonic() < until:
        if seal(least=ENOUGH) is None:
            return True
    return False
