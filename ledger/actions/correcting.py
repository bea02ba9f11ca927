"""Correct an operation: a new one, linked to it, stands in its place, and the old one never runs again."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from ledger.actions import resolving
from ledger.actions.changing import change, first_time, given, locked, void_asked
from ledger.actions.holding import cancel_locked, close_locked, void_permit
from ledger.actions.reading import facts
from ledger.actions.submission import (
    Prepared,
    Submission,
    changed_since,
    earlier_of,
    linked,
    prepare,
    refuse_changed,
    source_of,
)
from ledger.models import Event, Operation
from ledger.rules.errors import (
    CorrectionOpen,
    InFlight,
    LostRace,
    Malformed,
    NeedsOverride,
    NothingToCorrect,
    NotNow,
    TieoutError,
)
from ledger.rules.facts import Facts
from ledger.rules.leaves import Action, Leave, leaves
from ledger.rules.redaction import redact_name, redact_text
from ledger.rules.states import UNFINISHED, State

PATHS_TOLD = 50
"""How many of the paths that differ an event names."""
HOW = (
    'Post it with "override": {"where", "when", "why"}: where and when it was looked for, and why it goes '
    "ahead without proof. Then an approver decides."
)
STANDS_BACK = "A newer correction stands in its place."


@dataclass(frozen=True)
class Correction:
    """What is meant instead, whole; amounts are text. Words for people, left out, stay as they were."""

    payload: Mapping[str, Any]
    amount: str | None = None
    currency: str | None = None
    description: str | None = None
    subject: str | None = None


@dataclass(frozen=True)
class Ordered:
    """Who corrects, why, for whom, and by which command."""

    actor: str
    reason: str
    who: str
    command_id: uuid.UUID | None
    approval: str = ""
    """The second person's word that it stands on, where it needs one."""
    wait: timedelta = timedelta()
    """For how long it can be undone before it goes out."""

    def told(self, **more: object) -> dict[str, Any]:
        """Return an event's data; `who` is a name that the actor gave, and proves nothing."""
        said = {"who": self.who, "approval": self.approval}
        return {**{name: value for name, value in said.items() if value}, **more}


@dataclass(frozen=True)
class Draft:
    """A correction that could be made: its number, what it says, and the paths that this changes."""

    number: int
    prepared: Prepared
    changed: list[str]


def correct(
    operation_id: int,
    meant: Correction,
    *,
    actor: str,
    reason: str,
    who: str = "",
    command_id: uuid.UUID | None = None,
    revision: int | None = None,
    wait: timedelta = timedelta(),
) -> tuple[Operation, bool]:
    """Make the correction of an operation, and say whether it is new; one that waits is cancelled with it.

    The same words again, or the same command, are the same correction. `revision`: that of the operation as
    its corrector saw it; `wait`: how long nothing is sent, for it can be undone until then. Raises NotNow,
    NeedsOverride, InFlight and CorrectionOpen where it is not open, NothingToCorrect, PayloadChanged where a
    command is used again for something else, and LostRace where it is no longer as it was seen.
    """
    order = Ordered(actor, given(reason), redact_name(who), command_id, wait=wait)
    with locked_with_latest(operation_id) as (operation, now):
        again = _asked_before(operation, meant, order)
        if again is not None:
            return again, False
        require_unmoved(operation, revision)
        known = facts(operation)
        require_open(known, leaves(known, now, sitting=None)[Action.CORRECT])
        return correct_locked(operation, now, meant=meant, order=order), True


def correct_locked(
    operation: Operation, now: datetime, *, meant: Correction, order: Ordered, digest: str = ""
) -> Operation:
    """Make the correction of an operation that is locked with its latest one.

    `digest`: what was reviewed, and nothing else may go out; it must be the same as what is meant.
    """
    latest, draft = _latest(operation.pk), drafted(operation, meant)
    prepared = replace(draft.prepared, payload_digest=digest) if digest else draft.prepared
    link = {"correction": str(prepared.uid), "key": prepared.key}
    if latest is not None:
        _retire(latest, order, link, now)
    _stand_back(operation, order, {**link, "changed": draft.changed[:PATHS_TOLD]}, now)
    return _insert(operation, prepared, meant, number=draft.number, order=order, now=now)


def drafted(operation: Operation, meant: Correction) -> Draft:
    """Check what is meant, under the key that the next correction has; raises what is wrong with it."""
    latest = _latest(operation.pk)
    number, key = _next_key(operation, latest)
    prepared = _prepare(operation, meant, key)
    changed = changed_since(operation, prepared)
    if latest is None and not changed:
        raise NothingToCorrect(
            "It says what the operation says already. Allow another try of that one instead."
        )
    if latest is not None and latest.state == State.COMPLETED and _says(latest, meant):
        raise NothingToCorrect(
            f"{latest.key} says that already and is done: a second one would only double it."
        )
    return Draft(number, prepared, changed)


def _says(made: Operation, meant: Correction) -> bool:
    return not changed_since(made, _prepare(made, meant, made.key))


@contextmanager
def locked_with_latest(operation_id: int) -> Iterator[tuple[Operation, datetime]]:
    """Hold an operation and its latest correction, that one first, as its own completion does."""
    seen = _latest(operation_id)
    with ExitStack() as stack:
        if seen is not None:
            stack.enter_context(locked(seen.pk))
        operation, now = stack.enter_context(locked(operation_id))
        latest = _latest(operation_id)
        if latest is not None and latest != seen and latest.state not in UNFINISHED:
            raise LostRace("Another correction was made at the same moment; read the operation again.")
        yield operation, now


def _latest(operation_id: int) -> Operation | None:
    made = Operation.objects.select_related("operation_type__destination")
    return made.filter(corrects=operation_id).order_by("-correction_number").first()


def _asked_before(operation: Operation, meant: Correction, order: Ordered) -> Operation | None:
    """Return the correction that the same request has made already; a fresh command asks for a new one."""
    if order.command_id is None:
        return said_already(operation, meant)
    if first_time(order.command_id, operation, action="correct", actor=order.actor):
        return None
    return made_by(order.command_id, operation, meant)


def said_already(operation: Operation, meant: Correction) -> Operation | None:
    """Return the latest correction where it says the same."""
    latest = _latest(operation.pk)
    return latest if latest is not None and _says(latest, meant) else None


def made_by(command_id: uuid.UUID, operation: Operation, meant: Correction) -> Operation:
    """Return the correction that a command has made; PayloadChanged where that one is another one."""
    made = operation.corrections.get(events__kind="accepted", events__command_id=command_id)
    refuse_changed(made, _prepare(operation, meant, made.key))
    return made


def require_open(known: Facts, leave: Leave, *, override: bool = False) -> None:
    """Raise the refusal whose type says what would open a correction."""
    if leave.allowed:
        return
    kind: type[TieoutError] = NotNow
    if known.correction in UNFINISHED:
        kind = CorrectionOpen
    elif known.state is State.UNCERTAIN and not known.is_correction and not override:
        raise NeedsOverride(f"{leave.why} {HOW}", sentence=leave.why)
    elif known.state is State.RUNNING and not known.is_correction:
        kind = InFlight
    raise kind(str(leave.why), sentence=leave.why)


def require_unmoved(operation: Operation, revision: int | None) -> None:
    """Raise LostRace where a locked operation is no longer as a person saw it; None asks for nothing."""
    if revision is not None and revision != operation.revision:
        raise LostRace("It has changed since you opened the form. See where it stands now, and decide again.")


def _next_key(operation: Operation, latest: Operation | None) -> tuple[int, str]:
    """Return the next number whose key nobody has handed over as an operation of its own."""
    number = (latest.correction_number or 0) + 1 if latest is not None else 1
    of_type = Operation.objects.filter(operation_type=operation.operation_type)
    while of_type.filter(key=f"{operation.key}/c{number}").exists():
        number += 1
    return number, f"{operation.key}/c{number}"


def _prepare(operation: Operation, meant: Correction, key: str) -> Prepared:
    if operation.amount is not None and meant.amount is None:
        raise Malformed("The operation has an amount: give the amount and currency of its correction, too.")
    submission = Submission(
        operation.operation_type.name,
        meant.payload,
        key=key,
        source=source_of(operation),
        amount=meant.amount,
        currency=meant.currency,
        after=earlier_of(operation),
    )
    return prepare(submission, operation.operation_type, kept=True)


def _retire(latest: Operation, order: Ordered, link: dict[str, str], now: datetime) -> None:
    """Let the correction before stand back: it never runs again, and its case is answered."""
    void_permit(latest, STANDS_BACK, now=now)
    void_asked(latest, STANDS_BACK)
    change(
        latest,
        kind="corrected",
        actor=order.actor,
        reason=order.reason,
        data=order.told(**link),
        corrected_at=now,
    )
    close_locked(latest, actor="policy", reason=STANDS_BACK, now=now, data={**link})


def _stand_back(operation: Operation, order: Ordered, data: dict[str, object], now: datetime) -> None:
    """Mark what is corrected; where it waits, it is cancelled in the same breath."""
    void_permit(operation, "It is corrected.", now=now)
    void_asked(operation, "It is corrected.")
    if operation.state == State.PENDING:
        cancel_locked(operation, actor=order.actor, reason=order.reason, now=now)
    change(
        operation,
        kind="corrected",
        actor=order.actor,
        reason=order.reason,
        command_id=order.command_id,
        data=order.told(**data),
        corrected_at=operation.corrected_at or now,
    )


def _words(said: str | None, before: str) -> str:
    return before if said is None else redact_text(said)


def _insert(
    operation: Operation, prepared: Prepared, meant: Correction, *, number: int, order: Ordered, now: datetime
) -> Operation:
    try:
        with transaction.atomic():
            made = Operation.objects.create(
                **linked(prepared, operation),
                description=_words(meant.description, operation.description),
                subject=_words(meant.subject, operation.subject),
                next_try_at=now + order.wait if operation.after_id is None else None,
                after_id=operation.after_id,
                corrects=operation,
                correction_number=number,
            )
    except IntegrityError:
        raise LostRace("Its key was handed over at the same moment; ask again.") from None
    Event.objects.create(
        operation=made,
        kind="accepted",
        actor=order.actor,
        reason=order.reason,
        state_to=State.PENDING,
        command_id=order.command_id,
        revision=made.revision,
        data=order.told(corrects=str(operation.uid)),
    )
    if made.after_id is not None:
        resolving.advance(made, now)
    return made
