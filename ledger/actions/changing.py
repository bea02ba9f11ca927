"""The one way in which an operation's row changes: locked, guarded by its revision, and told by an event."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, transaction
from django.db.models import Model, QuerySet

from ledger import sight
from ledger.models import (
    Approval,
    Attempt,
    Command,
    Deputy,
    Event,
    Operation,
    TieoutNow,
    database_now,
)
from ledger.rules.actors import is_software
from ledger.rules.approvals import Answer
from ledger.rules.errors import Conflict, LostRace, Malformed, NotFound
from ledger.rules.redaction import redact_text
from ledger.rules.states import State

Row = TypeVar("Row", bound=Model)
REASON_MAX = 1000
ASKED_IN = (State.UNCERTAIN, State.FAILED, State.COMPLETED)
"""Where a second person may have been asked; a running or waiting one is nobody's to decide."""


def given(words: str, *, limit: int = REASON_MAX, ask: str = "Give a reason") -> str:
    """Return a person's words, redacted; raises Malformed where there are none that can be kept."""
    words = words.strip()
    kept = redact_text(words, limit) if len(words) <= limit and "\0" not in words else ""
    if not kept:
        raise Malformed(f"{ask}: 1 to {limit} characters.")
    return kept


KEEP_COMMAND = """
INSERT INTO ledger_command (command_id, operation_id, action, actor) VALUES (%s, %s, %s, %s)
ON CONFLICT (command_id) DO NOTHING
"""
"""One statement where asking first and a savepoint would be four: each item of a list passes here."""


@dataclass(frozen=True)
class Word:
    """A person's decision: whose it is, why, and the click that carries it out."""

    actor: str
    reason: str
    command_id: uuid.UUID


@contextmanager
def locked(operation_id: int) -> Iterator[tuple[Operation, datetime]]:
    """Open a transaction that holds the operation's row; the time is read after the wait for it.

    Who does not see it finds none. What is decided about it rests on everything, whoever decides.
    """
    with transaction.atomic():
        operation = (
            # Without the key: rows that only point here (a run's lines, a bulk import) keep nobody waiting.
            Operation.objects.select_for_update(of=("self",), no_key=True)
            .select_related("operation_type__destination")
            .filter(pk=operation_id)
            .first()
        )
        if operation is None:
            raise NotFound("There is no such operation.")
        with sight.whole():
            yield operation, database_now()


def change(
    operation: Operation,
    *,
    kind: str,
    actor: str,
    reason: str,
    to: State | None = None,
    attempt: Attempt | None = None,
    command_id: uuid.UUID | None = None,
    data: Mapping[str, Any] | None = None,
    shown: bool = True,
    **fields: object,
) -> None:
    """Write fields and, where `to` is given, the move; one event tells it. LostRace: someone was first.

    `shown`: false where it is no change to who follows the operation from outside.
    """
    source = operation.state
    if to is not None:
        if source in ASKED_IN:
            void_asked(operation, "It is no longer as it was when this was asked.")
        fields = {**_arriving(to), **fields, "state": to}
    _write(operation, fields, shown=shown)
    Event.objects.create(
        operation=operation,
        attempt=attempt,
        kind=kind,
        actor=actor,
        reason=reason,
        state_from=source if to is not None else "",
        state_to=to or "",
        command_id=command_id,
        revision=operation.revision,
        data={**(data or {}), **_standing_in(command_id, actor)},
    )


def _standing_in(command_id: uuid.UUID | None, actor: str) -> dict[str, list[str]]:
    """Name for whom a person stands in as they decide; software stands in for nobody."""
    if command_id is None or is_software(actor):
        return {}
    account = get_user_model()._default_manager.filter(username=actor).values("pk")
    found = Deputy.objects.standing(TieoutNow()).filter(deputy_account__in=account).order_by("principal")
    names = list(found.values_list("principal", flat=True).distinct())
    return {"for": names} if names else {}


def _write(operation: Operation, fields: Mapping[str, object], *, shown: bool) -> None:
    """Write fields with the next revision, guarded by the present one and the present state."""
    revision = operation.revision + 1
    guarded = Operation.objects.filter(pk=operation.pk, state=operation.state, revision=operation.revision)
    stamp = {"changed_at": TieoutNow()} if shown else {}
    if not guarded.update(**fields, **stamp, revision=revision):
        raise LostRace("Somebody else changed this operation first; read it again.")
    for name, value in fields.items():
        setattr(operation, name, value)
    operation.revision = revision
    operation.__dict__.pop("changed_at", None)  # the database said it: whoever asks reads it from there
    told = [name for name, value in fields.items() if isinstance(value, TieoutNow)]
    if told:
        operation.refresh_from_db(fields=told)


def void_asked(operation: Operation, reason: str) -> None:
    """End the open request for a second person, if there is one: what it was asked of has changed."""
    approval = Approval.objects.open().filter(operation=operation).first()
    if approval is not None:
        answer_asked(operation, approval, Answer.VOIDED, actor="policy", reason=reason)


def answer_asked(
    operation: Operation,
    approval: Approval,
    answer: Answer,
    *,
    actor: str,
    reason: str,
    command_id: uuid.UUID | None = None,
) -> None:
    """Answer a request of a locked operation, once; its event tells who and why.

    What was sealed for it is gone from the row with that; the object keeps it, for who carries it out.
    """
    approval.answer, approval.decided_by, approval.why = answer, actor, reason
    approval.decided_at = database_now()
    said = {name: getattr(approval, name) for name in ("answer", "decided_by", "why", "decided_at")}
    Approval.objects.filter(pk=approval.pk).update(**said, meant_sealed=None)
    data = {"approval": str(approval.uid), "asked": approval.action, "maker": approval.maker}
    change(operation, kind=f"ask_{answer}", actor=actor, reason=reason, command_id=command_id, data=data)


def _arriving(to: State) -> dict[str, object]:
    """Fields that a state empties; what it needs is given with the move."""
    empty: dict[str, object] = {"lease_until": None, "next_try_at": None, "look_at": None, "nudged_at": None}
    if to is not State.UNCERTAIN:
        empty |= {"look_count": 0}
    if to in (State.COMPLETED, State.FAILED):
        empty |= {"finished_at": TieoutNow(), "taken_at": None}
    return empty


def once(known: QuerySet[Row], make: Callable[[], Row]) -> Row:
    """Return what a click has made, or make it; of two of the same at once both get what the first made."""
    row = known.first()
    if row is not None:
        return row
    try:
        with transaction.atomic():
            return make()
    except IntegrityError:
        row = known.first()
        if row is None:
            raise
        return row


def first_time(command_id: uuid.UUID | None, operation: Operation, *, action: str, actor: str) -> bool:
    """Keep a person's command; False where the same click was carried out before. Needs the row's lock."""
    if command_id is None:
        return True
    with connection.cursor() as cursor:
        cursor.execute(KEEP_COMMAND, [command_id, operation.pk, action, actor])
        if cursor.rowcount:
            return True
    command = Command.objects.get(command_id=command_id)
    if (command.operation_id, command.action, command.actor) != (operation.pk, action, actor):
        raise Conflict("This command was already used for something else; open the page again.")
    return False
