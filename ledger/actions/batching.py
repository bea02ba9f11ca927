"""Many claims, or many outcomes, at once: what is new and simple in one statement, the rest one by one.

Each is answered as if it had come alone, one after the other in their order. A statement decides for an item
what the one for a single item would decide, or leaves it out; what is left out, refused or named twice goes
alone.
"""

import unicodedata
import uuid
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import DatabaseError, DataError, IntegrityError, InterfaceError, OperationalError
from psycopg.rows import DictRow
from pydantic_core import to_json

from ledger.actions import accepting, kinds, recording, statements
from ledger.actions.accepting import Asked, Reply
from ledger.actions.submission import Submission, key_of
from ledger.models import Operation
from ledger.rules.errors import TieoutError
from ledger.rules.outcomes import Report
from ledger.rules.states import Outcome

Row = TypeVar("Row")

Answer = Reply | Exception
"""What came of one item: its reply, or what it would have raised alone."""

UNDONE = "40"
"""The class of what PostgreSQL says where it has undone a transaction and goes on: a dead-lock, say."""
GONE = ("08", "57P")
"""The classes of what is said of a server, or a way to it, that ends."""


@dataclass(frozen=True)
class Told:
    """What is reported of one attempt."""

    attempt_uid: uuid.UUID
    token: str = field(repr=False)
    report: Report


def claim_all(submissions: Sequence[Submission], *, actor: str) -> Iterator[Answer]:
    """Claim each, in their order; each answer is given before the next is acted on, and spoils none."""
    asked, items = _asked(submissions, actor=actor)
    rows = _written("accept_batch", items, actor=actor)
    standing = {at: row for at, row in rows.items() if not row["created"]}
    _read_leaves(asked, standing)
    repeated = _or_alone(lambda: accepting.answer_repeated(asked, standing))

    def answer(at: int, submission: Submission) -> Reply:
        if at not in rows:
            return accepting.claim(submission, actor=actor)
        if rows[at]["created"]:
            return accepting.answer_first(asked[at], rows[at])
        if repeated is None:
            return accepting.answer_known(asked[at], rows[at])
        # Where it is refused, it is so by the rules in force: the statement has compared them.
        return repeated.get(at) or accepting.answer_standing(asked[at], rows[at])

    yield from _each(answer, submissions)


def record_all(told: Sequence[Told], *, actor: str) -> Iterator[Answer]:
    """Record each, in their order; each answer is given before the next is acted on, and spoils none."""
    rows = _written("complete_batch", _successes(told), actor=actor)
    rows |= _reported_before(told, known=rows)

    def answer(at: int, one: Told) -> Reply:
        if at in rows:
            return recording.reply_to(recording.read_as(rows[at]))
        return recording.record(one.attempt_uid, token=one.token, report=one.report, actor=actor)

    yield from _each(answer, told)


def _asked(submissions: Sequence[Submission], *, actor: str) -> tuple[dict[int, Asked], list[dict[str, Any]]]:
    """Return the claims that may go together, by their places, and what the statement is told of each.

    They are the first under each key and attempt_id, and none that a claim before it names in `after`: what
    goes alone is acted on later than these, so that nothing that it rests on may overtake it. What cannot be
    asked goes alone, and is refused there.
    """
    asked: dict[int, Asked] = {}
    items: list[dict[str, Any]] = []
    seen: set[Hashable] = set()
    for at, submission in enumerate(submissions):
        again = submission.attempt_id is not None and _known(seen, submission.attempt_id)
        # What is kept of a correction, and whether what comes first is done, is read first.
        reads = submission.payload is None or submission.after is not None
        if submission.after is not None:
            _known(seen, _name(submission.after.type_name, submission.after.key))
        try:
            kind = kinds.remembered(submission.type_name)
            reads = reads or bool(kind.reviewing.refunds)
            if _known(seen, _name(kind.name, key_of(submission, kind))) or again or reads:
                continue
            one = accepting.ask(submission, kind, actor=actor)
            items.append(accepting.row_of(one.submission, one.prepared, one.ticket) | {"at": at})
        except TieoutError:
            continue
        asked[at] = one
    return asked, items


def _name(type_name: str, key: str) -> Hashable:
    """Name an operation; spellings that Unicode calls alike are one: the second is warned of the first."""
    return type_name, unicodedata.normalize("NFKC", key)


def _read_leaves(asked: Mapping[int, Asked], standing: Mapping[int, DictRow]) -> None:
    """Read, for claims with another payload than what stands there, the leaves that tell what differs."""
    changed = {
        row["id"]: row
        for at, row in standing.items()
        if not asked[at].prepared.same_as(row["payload_digest"])
    }
    if changed:
        found = Operation.objects.filter(pk__in=changed.keys()).values_list("pk", "leaf_digests")
        for pk, leaf_digests in (_or_alone(lambda: dict(found)) or {}).items():
            changed[pk]["leaf_digests"] = leaf_digests


def _known(seen: set[Hashable], name: Hashable) -> bool:
    """Say whether it was seen before, and remember it."""
    before = name in seen
    seen.add(name)
    return before


def _successes(told: Iterable[Told]) -> list[dict[str, Any]]:
    """Return the successes that may go together: the first report of each attempt."""
    seen: set[Hashable] = set()
    return [
        recording.row_of(one.attempt_uid, token=one.token, report=recording.as_kept(one.report)) | {"at": at}
        for at, one in enumerate(told)
        if not _known(seen, one.attempt_uid)
        and one.report.outcome is Outcome.SUCCEEDED
        and not one.report.replayed
    ]


def _reported_before(told: Sequence[Told], *, known: Container[int]) -> dict[int, DictRow]:
    """Return where the operations stand of which the very same was reported before, by the items' places."""
    items = [
        recording.row_of(one.attempt_uid, token=one.token, report=recording.as_kept(one.report)) | {"at": at}
        for at, one in enumerate(told)
        if at not in known
    ]
    if not items:
        return {}
    read = _or_alone(
        lambda: {row["at"]: row for row in statements.run_for_all("reported", recording.reported(items))}
    )
    repeated: dict[int, DictRow] = {}
    acted_on: set[int] = set()
    for at, row in sorted((read or {}).items()):
        # What an item before it does to its operation, its answer tells.
        if row["known"] and row["corrected_at"] is None and row["id"] not in acted_on:
            repeated[at] = row
        else:
            acted_on.add(row["id"])
    return repeated


def _or_alone(ask: Callable[[], dict[int, Row]]) -> dict[int, Row] | None:
    """Answer many at once; None where the database does not: each then goes alone, and is told why."""
    try:
        return ask()
    except (DatabaseError, InterfaceError):
        return None


def _written(name: str, items: Sequence[Mapping[str, Any]], *, actor: str) -> dict[int, DictRow]:
    """Run a statement over these items; gives the rows by the items' places, none where it was undone."""
    if not items:
        return {}
    values: dict[str, Any] = {"items": to_json(items).decode(), "actor": actor}
    values |= {"revision_max": recording.REVISION_OF_A_FIRST_TRY}
    try:
        return {row["at"]: row for row in statements.run_for_all(name, values)}
    except DatabaseError as error:
        # One item has undone all, or a lease was lost by waiting: each then goes alone.
        if not _state(error).startswith(UNDONE) and not isinstance(error, IntegrityError | DataError):
            raise
        return {}


def _each(answer: Callable[[int, Any], Reply], items: Sequence[object]) -> Iterator[Answer]:
    """Answer one by one; what one raises is its answer. A database that is lost is so for the rest, too."""
    lost: Exception | None = None
    for at, item in enumerate(items):
        try:
            given = lost or answer(at, item)
        except Exception as error:  # noqa: BLE001  # none spoils another; the door says what each means
            given = error
            lost = error if _is_lost(error) else None
        yield given


def _is_lost(error: Exception) -> bool:
    """Say whether the database itself is gone, and not one statement: each further item would wait for it."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = _state(error)
    return not state or state.startswith(GONE)


def _state(error: Exception) -> str:
    """Return PostgreSQL's code for an error, where it sent one."""
    return getattr(error.__cause__, "sqlstate", None) or ""
