"""Pause a destination that refuses our credentials or is not set up rightly, and resume it: one case."""

import uuid
from datetime import datetime

from django.db import transaction
from django.db.models import F

from ledger.actions.changing import given
from ledger.actions.holding import hold_locked
from ledger.models import Attempt, Case, Destination, Event, Operation, Pause, Refusal, database_now
from ledger.rules.errors import NotFound, NotNow
from ledger.rules.facts import Sentence
from ledger.rules.states import CaseKind, Outcome, State

OWNER = "administrators"
"""The team that a pause's case goes to: destinations are theirs."""
WHY_MAX = 500
DUE_S = 4 * 3600.0
"""When the case is due where no type's rules can say it."""


def pause_locked(operation: Operation, attempt: Attempt, now: datetime) -> None:
    """Pause the destination that refused this attempt, or for which it could not be prepared; join a pause.

    A caller's own credentials stop callers only. The operation's row comes first, then the destination's.
    """
    kind = operation.operation_type
    destination = Destination.objects.select_for_update(no_key=True).get(pk=kind.destination_id)
    pause = Pause.objects.open().stopping(kind).order_by("pk").first()
    if pause is None:
        status, whose = attempt.http_status or 0, "our" if kind.by_tieout else "an automation’s"
        why = f"{destination.title} refused {whose} credentials with status {status}."
        if attempt.outcome != Outcome.REJECTED:
            why = f"{destination.title} cannot be used as it is set up. {attempt.message}"
        begun = Pause(destination=destination, why=why, http_status=status, callers_only=not kind.by_tieout)
        pause = _begin(begun, now, due_s=kind.reviewing.due_s, attempt=attempt)
    if attempt.outcome == Outcome.REJECTED:
        Refusal.objects.create(attempt=attempt, pause=pause)


def pause(destination_id: int, *, why: str) -> None:
    """Pause a destination that cannot be used, as one case; one that is paused stays as it is."""
    with transaction.atomic():
        destination = Destination.objects.select_for_update(no_key=True).get(pk=destination_id)
        if not destination.pauses.open().of_all().exists():
            words = f"{destination.title} cannot be used. {why}"
            _begin(Pause(destination=destination, why=words, http_status=0), database_now(), due_s=DUE_S)


def _begin(pause: Pause, now: datetime, *, due_s: float, attempt: Attempt | None = None) -> Pause:
    due_at, why = pause.destination.due_at(now, due_s), pause.why
    case = Case.objects.create(
        kind=CaseKind.PAUSED, owner=OWNER, opened_at=now, due_at=due_at, destination=pause.destination
    )
    pause.case, pause.why, pause.paused_at = case, why[:WHY_MAX], now
    pause.save(force_insert=True)
    data: dict[str, object] = {
        "case": str(case.uid),
        "case_kind": case.kind,
        "http_status": pause.http_status,
    }
    if pause.callers_only:
        data["callers_only"] = True
    _tell(pause, kind="paused", actor="policy", reason=why, attempt=attempt, data=data)
    return pause


def resume(pause_uid: uuid.UUID, *, actor: str, reason: str, command_id: uuid.UUID) -> Pause:
    """Let a paused destination be used again: what waits goes on, and each that was refused asks a person.

    The same click again changes nothing. Raises NotFound, and NotNow where somebody else was first.
    """
    reason = given(reason)
    with transaction.atomic():
        # Here the destination's row comes first. Who waits for it holds an operation whose try has just
        # ended, and none that failed by this pause is tried again while `decide` keeps it waiting.
        Destination.objects.select_for_update(no_key=True).filter(pauses__uid=pause_uid).first()
        pause = Pause.objects.select_related("destination", "case").filter(uid=pause_uid).first()
        if pause is None:
            raise NotFound("There is no such pause.")
        if pause.resumed_at is not None:
            if pause.command_id == command_id:
                return pause
            words = Sentence(f"{pause.resumed_by} resumed it already, at {{at}}.", pause.resumed_at)
            raise NotNow(str(words), sentence=words)
        now = database_now()
        pause.resumed_at, pause.resumed_by, pause.command_id = now, actor, command_id
        pause.save(update_fields=["resumed_at", "resumed_by", "command_id"])
        pause.case.closed_at, pause.case.closed_by = now, actor
        pause.case.save(update_fields=["closed_at", "closed_by"])
        asked = _ask_of_each(pause, now)
        data = {"case": str(pause.case.uid), "refused": asked}
        _tell(pause, kind="resumed", actor=actor, reason=reason, command_id=command_id, data=data)
    return pause


def _ask_of_each(pause: Pause, now: datetime) -> int:
    """Open a case for each operation that the pause's refusals have failed; says for how many."""
    refused = (
        Operation.objects.select_for_update(of=("self",), no_key=True)
        .select_related("operation_type")
        .filter(
            state=State.FAILED,
            held_at=None,
            corrected_at=None,
            attempts__refusal__pause=pause,
            attempts__number=F("attempt_count"),
        )
        .order_by("pk")
    )
    for operation in refused:
        reason = "Its destination refused the credentials, and is resumed: it can be tried again."
        hold_locked(operation, CaseKind.REFUSED, actor="policy", reason=reason, now=now)
    return len(refused)


def _tell(
    pause: Pause,
    *,
    kind: str,
    actor: str,
    reason: str,
    data: dict[str, object],
    attempt: Attempt | None = None,
    command_id: uuid.UUID | None = None,
) -> None:
    Event.objects.create(
        kind=kind,
        actor=actor,
        reason=reason,
        attempt=attempt,
        command_id=command_id,
        data={"pause": str(pause.uid), "destination": pause.destination.name, **data},
    )
