"""Whose a case is: given to a person or a team, handed over, put off and taken up; each with its event."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from ledger.actions import levels
from ledger.actions.changing import first_time, given, locked
from ledger.actions.reading import facts
from ledger.models import Case, Event, Operation, database_now
from ledger.rules.errors import Malformed, NotFound, NotNow
from ledger.rules.states import State

ASSIGNED, TAKEN, GIVEN_BACK, WOKEN = "Assigned.", "Taken.", "Given to its team.", "Taken up again."
"""What stands for a reason where somebody hands a case on, or takes it up, without a word."""
SNOOZE_MAX = timedelta(days=92)
COMMENT = "commented"


@dataclass(frozen=True)
class Passing:
    """Something that comes to its end while a case is put off, and when."""

    what: str
    at: datetime


def assign(case_uid: uuid.UUID, *, actor: str, reason: str = "", to: str = "", team: str = "") -> bool:
    """Give an open case to a person (empty: to nobody) and, where named, to another team.

    False where it is theirs already. Raises NotFound, NotNow.
    """
    with open_case_locked(case_uid) as (case, operation, now):
        owner = team or case.owner
        if (case.owner, case.assignee) == (owner, to):
            return False
        words = reason.strip() or (TAKEN if to == actor else ASSIGNED if to else GIVEN_BACK)
        _hand_on(case, operation, now, owner=owner, to=to, actor=actor, reason=given(words))
    return True


def hand_over(case_uid: uuid.UUID, *, actor: str, reason: str, of: str, to: str, team: str = "") -> bool:
    """Give a case of one person to another with a note; False where it is no longer theirs, or closed.

    Raises NotFound, Malformed.
    """
    words = given(reason, ask="Write a note for whoever takes it")
    try:
        with open_case_locked(case_uid) as (case, operation, now):
            if case.assignee != of or of == to:
                return False
            hand = {"owner": team or case.owner, "to": to, "actor": actor, "reason": words}
            _hand_on(case, operation, now, **hand, kind="handed_over")
    except NotNow:
        return False
    return True


def snooze(case_uid: uuid.UUID, *, actor: str, reason: str, until: datetime, knowingly: bool = False) -> None:
    """Put an open case off until an instant, or until anything happens to its operation.

    Raises NotNow where something comes to its end before that and it is not done `knowingly`; Malformed.
    """
    words = given(reason)
    with open_case_locked(case_uid) as (case, operation, now):
        if not now < until <= now + SNOOZE_MAX:
            raise Malformed(f"Choose an instant between now and {SNOOZE_MAX.days} days from now.")
        passed = [one for one in passing(case, operation, now) if one.at < until]
        if passed and not knowingly:
            raise NotNow("Something comes to its end before that: say that you know.")
        case.snoozed_until, case.snoozed_revision = until, operation.revision if operation else None
        case.save(update_fields=["snoozed_until", "snoozed_revision"])
        data: dict[str, object] = {"until": until.isoformat(), "passes": [one.what for one in passed]}
        _tell(case, operation, kind="snoozed", actor=actor, reason=words, data=data)


def set_aside(
    case_uid: uuid.UUID, *, actor: str, reason: str, until: datetime, due_at: datetime | None
) -> None:
    """Put an open case off until an instant, as what it asks stands as it is until then.

    `due_at`: when it is due instead, and goes to nobody before; None leaves that as it is. Raises NotNow.
    """
    with open_case_locked(case_uid) as (case, operation, _):
        case.snoozed_until, case.snoozed_revision = until, operation.revision if operation else None
        if due_at is not None and due_at > case.due_at:
            case.due_at, case.escalates_at = due_at, due_at if case.level else None
        case.save(update_fields=["snoozed_until", "snoozed_revision", "due_at", "escalates_at"])
        data: dict[str, object] = {
            "until": until.isoformat(),
            "passes": [],
            "due_at": case.due_at.isoformat(),
        }
        _tell(case, operation, kind="snoozed", actor=actor, reason=given(reason), data=data)


def wake(case_uid: uuid.UUID, *, actor: str, due_at: datetime | None = None) -> bool:
    """Take a case up again that was put off, due at an instant if not sooner; False where it is awake."""
    with open_case_locked(case_uid) as (case, operation, now):
        sooner = due_at is not None and due_at < case.due_at
        if not sooner and not case.is_snoozed(now, operation.revision if operation else None):
            return False
        case.snoozed_until = case.snoozed_revision = None
        if due_at is not None and sooner:
            case.due_at, case.escalates_at = due_at, due_at if case.level else None
        case.save(update_fields=["snoozed_until", "snoozed_revision", "due_at", "escalates_at"])
        _tell(case, operation, kind="woken", actor=actor, reason=WOKEN)
    return True


def comment(operation_id: int, *, actor: str, text: str, command_id: uuid.UUID) -> bool:
    """Write a remark on an operation, redacted; it decides nothing. False for the same click again."""
    words = given(text, ask="Write a comment")
    with locked(operation_id) as (operation, _):
        if not first_time(command_id, operation, action=COMMENT, actor=actor):
            return False
        Event.objects.create(
            operation=operation, kind=COMMENT, actor=actor, reason=words, command_id=command_id
        )
    return True


def passing(case: Case, operation: Operation | None, now: datetime) -> list[Passing]:
    """Return what of a case comes to its end after now, the first one first; an operation's row is read."""
    found = [Passing("its due time", case.due_at)]
    if operation is not None:
        known = facts(operation)
        if known.asked is not None:
            found.append(Passing("the request for a second person", known.asked.expires_at))
        undecided = known.state in (State.UNCERTAIN, State.FAILED) and known.key_covers_doubt
        if undecided and known.window_closes_at is not None:
            found.append(
                Passing(f"the time for which {known.destination} remembers our key", known.window_closes_at)
            )
    return sorted((one for one in found if one.at > now), key=lambda one: one.at)


@contextmanager
def open_case_locked(case_uid: uuid.UUID) -> Iterator[tuple[Case, Operation | None, datetime]]:
    """Lock an open case, its operation first, as everybody does who changes both; raises NotFound, NotNow."""
    named = Case.objects.filter(uid=case_uid).first()
    if named is None:
        raise NotFound("There is no such case.")
    if named.operation_id is not None:
        with locked(named.operation_id) as (operation, now):
            yield _still_open(case_uid), operation, now
    else:
        with transaction.atomic():
            case = _still_open(case_uid)
            yield case, None, database_now()


def _still_open(case_uid: uuid.UUID) -> Case:
    case = Case.objects.select_for_update().get(uid=case_uid)
    if case.closed_at is not None:
        raise NotNow("It is answered already: there is nothing left to do.")
    return case


def _hand_on(
    case: Case,
    operation: Operation | None,
    now: datetime,
    *,
    owner: str,
    to: str,
    actor: str,
    reason: str,
    kind: str = "assigned",
) -> None:
    before = {"was_owner": case.owner, "was": case.assignee}
    moved = owner != case.owner
    case.owner, case.assignee = owner, to
    case.save(update_fields=["owner", "assignee", *(levels.begin(case, operation, now) if moved else ())])
    _tell(case, operation, kind=kind, actor=actor, reason=reason, data={"owner": owner, "to": to, **before})


def _tell(
    case: Case,
    operation: Operation | None,
    *,
    kind: str,
    actor: str,
    reason: str,
    data: dict[str, object] | None = None,
) -> None:
    """Write the event; nothing that is known of the operation has changed, so its revision stays."""
    said = {"case": str(case.uid), **(data or {})}
    Event.objects.create(operation=operation, kind=kind, actor=actor, reason=reason, data=said)
