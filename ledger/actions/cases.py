"""Cases without an operation: what a reconciliation found and nobody submitted."""

from datetime import timedelta

from django.db import transaction

from ledger.models import Case, Destination, Event, database_now
from ledger.rules.errors import NotFound
from ledger.rules.states import CaseKind


def open_case(
    *,
    kind: CaseKind,
    owner: str,
    due_s: float,
    at: Destination | None = None,
    actor: str,
    reason: str,
    data: dict[str, object] | None = None,
) -> Case:
    """Open a case that no operation carries; due in `due_s` seconds of the working hours at `at`."""
    with transaction.atomic():
        now = database_now()
        due_at = now + timedelta(seconds=due_s) if at is None else at.due_at(now, due_s)
        case = Case.objects.create(kind=kind, owner=owner, opened_at=now, due_at=due_at, destination=at)
        _tell(case, kind="held", actor=actor, reason=reason, data={"case_kind": kind, **(data or {})})
    return case


def close_case(case_id: int, *, actor: str, reason: str, data: dict[str, object] | None = None) -> None:
    """Close a case that no operation carries; one that is closed stays as it is."""
    with transaction.atomic():
        case = Case.objects.select_for_update().filter(pk=case_id, operation=None).first()
        if case is None:
            raise NotFound("There is no such case without an operation.")
        if case.closed_at is None:
            case.closed_at, case.closed_by = database_now(), actor
            case.save(update_fields=["closed_at", "closed_by"])
            _tell(case, kind="closed", actor=actor, reason=reason, data=data or {})


def _tell(case: Case, *, kind: str, actor: str, reason: str, data: dict[str, object]) -> None:
    Event.objects.create(kind=kind, actor=actor, reason=reason, data={"case": str(case.uid), **data})
