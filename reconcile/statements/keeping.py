"""What a person does with two dropped files: kept, sealed, for an hour, and gone when the person says so."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path, PurePath
from typing import Any

import psycopg
from django.contrib.auth.models import User
from django.core.files import File
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django_q.tasks import async_task

from ledger.actions.submission import payload_keys
from ledger.models import TieoutNow, database_now
from ledger.rules import sealing
from reconcile.histories.files import FileRefused
from reconcile.models import Run
from reconcile.statements.models import KEPT, TRIES_MAX, Comparison, Piece
from reconcile.statements.opening import BYTES_MAX

TASK = "reconcile.tasks.compare"
TIMEOUT_S = 900
"""How long the queue lets one be worked on; retry must be three times as long, see Q_CLUSTER."""
SIDES = ("source", "destination")
STATED = ("encoding", "decimal", "days", "sheet", "unit", "totals", "profile")
EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"
AGAIN = timedelta(seconds=30)
NAME_MAX = 100
PIECE_BYTES = 2**20
INSERT = """
INSERT INTO reconcile_piece (comparison_id, "of", number, sealed) VALUES (%s, %s, %s, %b)
"""
LARGE = 20 * 2**20
"""From how many bytes on a comparison is long work, of which a worker does one piece at a time."""
GIVEN_UP = f"It was broken off {TRIES_MAX} times, and is not tried again. Drop files of fewer days."


def drop(owner: User, dropped: Mapping[str, File[bytes] | None]) -> Comparison:
    """Keep two files in the place of a person's two before, and have a worker read them; FileRefused."""
    files = {side: _described(side, dropped.get(side)) for side in SIDES}
    if files["source"]["name"] == files["destination"]["name"]:
        files["destination"]["name"] = f"2 {files['destination']['name']}"[:NAME_MAX]
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)  # two drops at once: the later one stays
        forget(owner)
        size = sum(file["size"] for file in files.values())
        made = Comparison(owner=owner, size=size, forget_at=database_now() + KEPT)
        made.tell(files=files)
        made.save()
        for side in SIDES:
            file = dropped[side]
            assert file is not None  # described above
            keep(made, side, file.chunks(PIECE_BYTES))
    nudge(made)
    return made


def _described(side: str, file: File[bytes] | None) -> dict[str, Any]:
    if file is None or not file.size:
        which = "what should exist" if side == "source" else "what exists"
        raise FileRefused(f"The file of {which} {'is missing' if file is None else 'is empty'}.")
    name = "".join(letter for letter in PurePath(file.name or "").name if letter.isprintable())
    name = name[-NAME_MAX:].strip(" .") or f"{side}.csv"
    if file.size > BYTES_MAX:
        raise FileRefused(f"{name} is larger than 200 MB. Export fewer days at a time.")
    return {"name": name, "size": file.size, "named": {}, **dict.fromkeys(STATED, "")}


def keep(comparison: Comparison, of: str, parts: Iterable[bytes]) -> None:
    """Write sealed pieces, one after the other, in a transaction of the caller's.

    They are sent as bytes: in a statement's text each would take twice its size, and the process keeps that.
    """
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        for number, part in enumerate(parts):
            bound = _bound(comparison, of, number)
            sealed = sealing.seal(payload_keys(), part, bound_to=bound)
            cursor.execute(INSERT, [comparison.pk, of, number, sealed])


def parts(comparison: Comparison, of: str) -> Iterator[bytes]:
    """Yield what was kept, piece by piece; raises SealError."""
    rows = Piece.objects.filter(comparison=comparison, of=of).values_list("number", "sealed")
    for number, sealed in rows.iterator(chunk_size=4):
        yield sealing.unseal(payload_keys(), bytes(sealed), bound_to=_bound(comparison, of, number))


def _bound(comparison: Comparison, of: str, number: int) -> str:
    return f"{comparison.uid}/{of}/{number}"


def state(comparison: Comparison, stated: Mapping[str, Mapping[str, Any]], *, compare: bool) -> bool:
    """Say how the files are read, and have them compared, or only read again; False where it is at work."""
    with transaction.atomic():
        now = Comparison.objects.select_for_update().filter(pk=comparison.pk).first()
        if now is None or now.state in Comparison.WORKING:
            return False
        same = all(
            now.files[side].get(name) == value for side in SIDES for name, value in stated[side].items()
        )
        files = {side: now.files[side] | stated[side] for side in SIDES}
        readable = same and all(not now.read.get(side, {}).get("refused", True) for side in SIDES)
        state = Comparison.State
        now.state = state.COMPARING if compare and readable else state.READING
        now.goes_on = compare
        now.lines, now.tries, now.done_at = 0, 0, None
        now.tell(files=files, why="", report={})
        now.save(update_fields=["sealed", "state", "goes_on", "lines", "tries", "done_at"])
        now.pieces.filter(of__in=[Piece.Of.DIFFERENCES, Piece.Of.REJECTS]).delete()
    nudge(now)
    return True


@contextmanager
def examples() -> Iterator[dict[str, File[bytes]]]:
    """Open two made-up exports; order 471 is there four times."""
    with (EXAMPLES / "shop.csv").open("rb") as shop, (EXAMPLES / "books.csv").open("rb") as books:
        yield {"source": File(shop, "shop.csv"), "destination": File(books, "books.csv")}


def forget(owner: User) -> None:
    """Remove a person's files and all that was found in them; a worker that is at it stops."""
    Comparison.objects.filter(owner=owner).delete()


def nudge(comparison: Comparison) -> bool:
    """Tell a worker that files wait; not where long work would keep both of them from what is sent."""
    if _is_large(comparison) and (Run.objects.running().exists() or at_long_work(besides=comparison)):
        return False
    with transaction.atomic():
        ours = Comparison.objects.with_work().filter(pk=comparison.pk).update(nudged_at=TieoutNow())
        if ours:
            async_task(TASK, comparison.pk, timeout=TIMEOUT_S)
    return bool(ours)


def _is_large(comparison: Comparison) -> bool:
    return comparison.size > LARGE


def at_long_work(*, besides: Comparison | None = None) -> bool:
    """Say whether a large comparison is given to a worker."""
    return (long_work() if besides is None else long_work().exclude(pk=besides.pk)).exists()


def long_work() -> QuerySet[Comparison]:
    """Return the large comparisons that are given to a worker."""
    return Comparison.objects.with_work().filter(size__gt=LARGE).exclude(nudged_at=None)


def sweep() -> int:
    """Forget what has stood for an hour, and have a worker take up what waits; returns how many were told to.

    A task that died is missed half a minute later; one that finds another at it ends at once.
    """
    Comparison.objects.over().delete()
    long_ago = database_now() - AGAIN
    waiting = Comparison.objects.with_work().filter(Q(nudged_at=None) | Q(nudged_at__lte=long_ago))
    return sum(nudge(one) for one in waiting.order_by(F("nudged_at").asc(nulls_first=True), "pk")[:20])
