"""What a worker does with two dropped files: it reads how they are written, and compares them.

A process that dies takes its database session with it, and with that the lock by which nobody else is at it.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import islice
from typing import IO, Any

from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from ledger.models import TieoutNow
from reconcile.histories.files import FileRefused
from reconcile.statements import comparing, files, keeping, telling
from reconcile.statements.columns import HeaderUntold
from reconcile.statements.keeping import SIDES, STATED
from reconcile.statements.models import TOLD, TRIES_MAX, Comparison, Piece
from reconcile.statements.profiles import choosing
from reconcile.statements.profiles.rules import ProfileRules
from reconcile.statements.reading import Line, Statement
from reconcile.statements.stating import How
from reconcile.statements.telling import Compared
from reconcile.statements.unlinked import Unlinked
from reconcile.sums import amount_text

LOCK = 0x74C0
"""The class of the advisory locks of comparisons."""
PREVIEWED = 5
"""How many lines of a file are shown as parsed."""
EVERY_S = 0.5
PART = 500
"""Differences in one piece of the result."""


class Forgotten(Exception):
    """The person has removed the files meanwhile."""


def carry_on(pk: int) -> bool:
    """Read or compare what waits under this number; False where nothing does, or another process is at it.

    What cannot be read is said on the comparison, where its person sees it.
    """
    with _alone(pk) as alone:
        waits = alone and Comparison.objects.with_work().filter(pk=pk).first()
        if not waits:
            return False
        waits.tries += 1
        if waits.tries > TRIES_MAX:
            _end(waits, state=Comparison.State.FAILED, why=keeping.GIVEN_UP)
            return True
        _end(waits, tries=waits.tries)
        with ExitStack() as held:
            paths = {side: held.enter_context(_written(waits, side)) for side in SIDES}
            if waits.state == Comparison.State.READING:
                _read(waits, paths)
            if waits.state == Comparison.State.COMPARING:
                _compare(waits, paths)
    return True


@contextmanager
def _alone(pk: int) -> Iterator[bool]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK, pk % 2**31])
        ours = bool(cursor.fetchone()[0])
        try:
            yield ours
        finally:
            if ours:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK, pk % 2**31])


def _written(comparison: Comparison, side: str) -> Unlinked:
    """Put a file back together; the words about it name it."""
    return Unlinked(comparison.files[side]["name"], keeping.parts(comparison, side))


def _how(comparison: Comparison, side: str, said: ProfileRules | None) -> How:
    given = comparison.files[side]
    stated = {what: given.get(what, "") for what in STATED if what != "profile"}
    return choosing.how(
        side, given["named"], profile=given.get("profile", ""), said=said, **stated, on_page=True
    )


def _read(comparison: Comparison, paths: dict[str, Unlinked]) -> None:
    """Decide how both files are written, and show their first lines as parsed."""
    read = {side: _storable(_looked(comparison, side, paths[side])) for side in SIDES}
    whole = not any(told["refused"] for told in read.values())
    state = Comparison.State
    comparison.state = state.COMPARING if whole and comparison.goes_on else state.READ
    _end(comparison, read=read, state=comparison.state)


def _looked(comparison: Comparison, side: str, path: Unlinked) -> dict[str, Any]:
    """Look at one file; its profile is kept as it is now, so that the comparison is by what was shown."""
    chosen = comparison.files[side].get("profile", "")
    try:
        said = choosing.known(chosen) if chosen else None
    except FileRefused as refusal:
        return {"refused": refusal.detail, "header": []}
    told = _previewed(path, _how(comparison, side, said))
    return told | {"rules": None if said is None else said.kept()}


def _previewed(path: Unlinked, how: How) -> dict[str, Any]:
    try:
        statement = Statement.opened(path, how)
        lines = list(islice(statement.lines(), PREVIEWED))
    except HeaderUntold as refusal:
        return {
            "refused": refusal.detail,
            "header": [cell.strip()[:100] for cell in refusal.header][:100],
            "sheets": [*refusal.sheets],
        }
    except FileRefused as refusal:
        return {"refused": refusal.detail, **_headings(path, how)}
    header = [cell[:100] for cell in statement.layout.columns.header[:100]]
    told = telling.how_read(statement) | {
        "refused": "",
        "header": header,
        "lines": statement.rows,
        "sheets": [*statement.layout.sheets],
        "cut": statement.cut,
        "mixed": statement.mixed,
        "settled": sorted(statement.settled),
    }
    return told | {"first": [_shown(line) for line in lines]}


def _headings(path: Unlinked, how: How) -> dict[str, Any]:
    """Return the headings of a file that is refused for something else, and what is found under them."""
    try:
        found = files.look(path, how).columns
    except FileRefused:
        return {"header": []}
    return {"header": [cell[:100] for cell in found.header[:100]], "columns": dict(found.names)}


def _storable(told: dict[str, Any]) -> dict[str, Any]:
    """Take out the one character that no text in the database has."""
    stored: dict[str, Any] = json.loads(json.dumps(told).replace("\\u0000", "\\ufffd"))
    return stored


def _shown(line: Line) -> list[Any]:
    amount = "" if line.amount is None else amount_text(line.amount, line.currency)
    day = line.day.isoformat() if line.day else ""
    return [line.number, line.shown, amount, line.currency, day, line.id, line.why]


def _known(comparison: Comparison, side: str, path: Unlinked) -> Statement:
    """Open a file by what was decided when it was read: it is not looked through a second time."""
    told = comparison.read[side]
    rules = told.get("rules")
    how = _how(comparison, side, None if rules is None else ProfileRules.read(rules))
    decided = {what: told.get(what, False) for what in ("cut", "mixed")}
    layout = files.look(path, how)
    return Statement(layout, told["decimal_mark"], told["days"] or "", unit=how.unit, how=how, **decided)


def _compare(comparison: Comparison, paths: dict[str, Unlinked]) -> None:
    """Compare both files, and keep the report; what cannot be read goes back to the person."""
    state = Comparison.State
    with tempfile.TemporaryFile("w+") as spool, closing(_aside()) as aside:
        source, destination = (_known(comparison, side, paths[side]) for side in SIDES)
        watch = _watching(comparison, aside)
        try:
            with comparing.compared(source, destination, watch=watch) as (tie, sums, found):
                done = Compared(source, destination, tie, sums)
                report = _storable(telling.head(done)) | {
                    "headline": telling.headline(done),
                    "tie": tie.stored(),
                }
                told = telling.told(done, found)
                while part := list(islice(told, PART)):
                    spool.write(json.dumps(part) + "\n")
        except FileRefused as refusal:
            _end(comparison, state=state.READ, why=refusal.detail)
            return
        except Forgotten:
            return
        spool.seek(0)
        rejects = [[side.name, *one] for side in (source, destination) for one in side.rejects]
        _keep(comparison, report, spool, rejects)


def _keep(comparison: Comparison, report: dict[str, Any], spool: IO[str], rejects: list[list[Any]]) -> None:
    with transaction.atomic():
        if Comparison.objects.select_for_update().filter(pk=comparison.pk).exists():
            keeping.keep(comparison, Piece.Of.DIFFERENCES, (part.encode() for part in spool))
            parts = (rejects[at : at + PART] for at in range(0, len(rejects), PART))
            keeping.keep(comparison, Piece.Of.REJECTS, (json.dumps(part).encode() for part in parts))
            _end(comparison, state=Comparison.State.DONE, report=report, done_at=TieoutNow())


def _aside() -> BaseDatabaseWrapper:
    """Open a second connection: what the first has written is never committed, and nobody would see it."""
    return connections.create_connection("default")


def _watching(comparison: Comparison, aside: BaseDatabaseWrapper) -> Any:
    """Return what tells the page how far it is, and stops where the files are gone."""
    said = time.monotonic()

    def watch(lines: int) -> None:
        nonlocal said
        if time.monotonic() - said < EVERY_S:
            return
        said = time.monotonic()
        with aside.cursor() as cursor:
            cursor.execute("UPDATE reconcile_comparison SET lines = %s WHERE id = %s", [lines, comparison.pk])
            if not cursor.rowcount:
                raise Forgotten

    return watch


def _end(comparison: Comparison, **changed: Any) -> None:
    told = {name: changed.pop(name) for name in [*changed] if name in TOLD}
    if told:
        comparison.tell(**told)
        changed["sealed"] = comparison.sealed
    Comparison.objects.filter(pk=comparison.pk).update(**changed)
