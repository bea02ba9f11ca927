"""What nobody has answered in time goes to the next level: marked, on record, and still its owner's."""

import uuid
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from ledger.actions import levels
from ledger.actions.assigning import open_case_locked
from ledger.actions.changing import locked
from ledger.models import Approval, Case, Event, Operation, database_now
from ledger.rules import escalating
from ledger.rules.errors import NotFound, NotNow

ACTOR = "policy"
OVERDUE, STILL_OPEN = "Its due time has passed.", "Nobody has answered it since."
ASKED_OVERDUE = "The request for a second person has passed its due time."
BATCH = 100


def overdue() -> list[uuid.UUID]:
    """Return cases that a next level should have, those first that have waited longest."""
    found = Case.objects.to_escalate(database_now())
    return list(found.values_list("uid", flat=True)[:BATCH])


def escalate(case_uid: uuid.UUID) -> bool:
    """Let an open case go to its next level; its owner, and who has it, stay. False where none is due.

    Snoozed ones too: who put it off beyond its due time has said that they know.
    """
    try:
        with open_case_locked(case_uid) as (case, operation, now):
            return _climb(case, operation, now)
    except (NotNow, NotFound):
        return False


def _climb(case: Case, operation: Operation | None, now: datetime) -> bool:
    next_at = case.due_at if case.level == 0 else None
    next_at = case.escalates_at or next_at
    if next_at is None or next_at > now:
        return False
    steps, there = levels.of_team(case.owner), levels.there(case, operation)
    if case.step >= len(steps):
        return _keep(case, escalates_at=None)
    step = steps[case.step]
    begins = levels.later(there, case.escalated_at or case.due_at, step.after_s)
    if begins > now:
        return _keep(case, escalates_at=begins)
    case.level, case.escalated_at, case.escalated_to = case.level + 1, now, step.to
    case.step += 1
    further = steps[case.step : case.step + 1]
    case.escalates_at = levels.later(there, now, further[0].after_s) if further else None
    case.save(update_fields=["level", "step", "escalated_at", "escalated_to", "escalates_at"])
    Event.objects.create(
        operation=operation,
        kind="escalated",
        actor=ACTOR,
        reason=OVERDUE if case.level == 1 else STILL_OPEN,
        data={"case": str(case.uid), "level": case.level, "to": step.to, "owner": case.owner},
    )
    return True


def _keep(case: Case, *, escalates_at: datetime | None) -> bool:
    """Note when it is to be looked at again; one with no level left is not looked at any more."""
    if escalates_at is None and case.level == 0:
        escalates_at = Case.NEVER
    case.escalates_at = escalates_at
    case.save(update_fields=["escalates_at"])
    return False


def overdue_asks(now: datetime) -> "QuerySet[Approval]":
    """Return open requests that have passed their due time and still count."""
    return Approval.objects.waiting(now).filter(escalated_at=None, due_at__lte=now)


def escalate_ask(operation_id: int) -> bool:
    """Mark an operation's open request that has passed its due time; False where there is none."""
    with locked(operation_id) as (operation, now):
        asked = overdue_asks(now).select_for_update(no_key=True).filter(operation=operation).first()
        if asked is None:
            return False
        mark_overdue(asked, now, operation=operation, approval=str(asked.uid))
    return True


def mark_overdue(asked: Any, now: datetime, *, operation: Operation | None = None, **named: object) -> None:
    """Mark a locked request, of whatever floor, as past its due time; its event tells all approvers.

    `named`: how events name it.
    """
    asked.escalated_at = now
    asked.save(update_fields=["escalated_at"])
    Event.objects.create(
        operation=operation,
        kind="escalated",
        actor=ACTOR,
        reason=ASKED_OVERDUE,
        data={**named, "to": escalating.APPROVERS},
    )
