"""What was told late of an effect, and what it speaks against."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import Max

from ledger.actions.changing import change
from ledger.actions.holding import hold_locked, reopen_locked, void_permit
from ledger.models import Attempt, Event, Operation
from ledger.rules.states import CaseKind, Outcome, State

THERE = (Outcome.SUCCEEDED, Outcome.ACCEPTED)
SURPLUS = (CaseKind.SEVERAL, CaseKind.DIFFERS)
"""Cases about what is there, which neither a success nor a person's word for one record answers."""
LATE_MAX = 20
"""Different late reports of one outcome that are kept of an attempt, since its absence was last proved."""


def told_late(operation: Operation) -> list[Event]:
    """Return the successes and acceptances told late whose absence nobody has proved since."""
    return _told_late(operation, _proved_at(operation))


def _told_late(operation: Operation, proved_at: datetime | None) -> list[Event]:
    late = operation.events.filter(kind="late", data__outcome__in=THERE).select_related("attempt")
    return [event for event in late if not _disproved(event, proved_at)]


def kept_alike(operation: Operation, attempt: Attempt, data: Mapping[str, object]) -> tuple[bool, bool]:
    """Say whether a late report is kept already, and whether there is room to keep another one."""
    proved_at = _proved_at(operation)
    late = operation.events.filter(attempt=attempt, kind="late", data__outcome=data["outcome"])
    kept = [event.data for event in late.select_related("attempt") if not _disproved(event, proved_at)]
    return dict(data) in kept, len(kept) < LATE_MAX


def _proved_at(operation: Operation) -> datetime | None:
    at: datetime | None = operation.lookups.filter(proof=True).aggregate(at=Max("asked_at"))["at"]
    return at


def _disproved(event: Event, proved_at: datetime | None) -> bool:
    tried = event.attempt
    answered = (proved_at, tried.cleared_at, tried.worded_at) if tried else (proved_at,)
    return any(at is not None and at >= event.at for at in answered)


def heed_late(operation: Operation, now: datetime) -> None:
    """Stop a locked operation that was taken for not done, or would be, against what was told late.

    What waits becomes a doubt as well, so that a person may confirm it, which a hold alone would not allow.
    """
    reason = "Told late: it is there, or may be. Nothing is sent again by itself."
    case = operation.cases.open().first()
    if operation.state in (State.COMPLETED, State.RUNNING):
        return
    # What was told of an attempt speaks against the proof that it did nothing.
    told = [event.attempt_id for event in told_late(operation)]
    operation.attempts.filter(pk__in=told).update(cleared_at=None, worded_at=None)
    if operation.state == State.UNCERTAIN and case is not None and case.kind in SURPLUS:
        void_permit(operation, reason, now=now)
        return
    if operation.state == State.PENDING:
        change(operation, kind="settled", actor="policy", reason=reason, to=State.FAILED)
    reopen_locked(operation, CaseKind.THERE_AFTER_ALL, actor="policy", reason=reason, now=now)


def hold_doubled(operation: Operation, reference: str, now: datetime) -> None:
    """Open a duplicate case where a success names another record than the one that is known."""
    known = operation.destination_reference
    if operation.reversals.filter(state=State.COMPLETED, reversed_reference=reference).exists():
        return
    if operation.state == State.COMPLETED and reference and known and reference != known:
        hold_locked(
            operation,
            CaseKind.SEVERAL,
            actor="policy",
            reason="A late success names a second record.",
            now=now,
            data={"reference": reference},
        )


def check_told(operation: Operation, now: datetime) -> None:
    """Open that case where the other success was told first: for whatever has just completed."""
    proved_at = _proved_at(operation)
    for event in _told_late(operation, proved_at):
        if event.data["outcome"] == Outcome.SUCCEEDED:
            hold_doubled(operation, event.data["reference"], now)
    for earlier in operation.attempts.in_doubt().filter(outcome=Outcome.SUCCEEDED, worded_at=None):
        if proved_at is None or earlier.closed_at is None or proved_at < earlier.closed_at:
            hold_doubled(operation, earlier.destination_reference, now)
