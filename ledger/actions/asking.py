"""Ask a second person: a request bound to what is known now."""

from datetime import datetime, timedelta
from typing import Any

from ledger.actions.changing import Word, answer_asked, change, void_asked
from ledger.actions.reading import latest_lookup
from ledger.models import Approval, Lookup, Operation
from ledger.rules.approvals import Answer, Ask, Bound, needs_two, what_changed
from ledger.rules.states import Verdict

LAPSED = "Nobody answered in time."


def needs_second(operation: Operation) -> bool:
    """Say whether closing this operation's value takes two people."""
    return needs_two(operation.amount, operation.currency, operation.operation_type.reviewing.four_eyes_above)


def ask_locked(
    operation: Operation, now: datetime, ask: Ask, *, word: Word, data: dict[str, Any] | None = None
) -> Approval:
    """Ask for a second person to agree; it counts for as long as a permit of this type does."""
    lapse_locked(operation, now)
    approval = Approval.objects.create(
        operation=operation,
        action=ask,
        maker=word.actor,
        reason=word.reason,
        command_id=word.command_id,
        made_at=now,
        expires_at=now + timedelta(seconds=operation.operation_type.permit_for_s),
        payload_digest=operation.payload_digest,
        attempt_count=operation.attempt_count,
        lookup=_latest(operation),
        data=data or {},
    )
    change(
        operation,
        kind="asked",
        actor=word.actor,
        reason=word.reason,
        command_id=word.command_id,
        data={"approval": str(approval.uid), "asked": ask, **approval.data},
    )
    return approval


def lapse_locked(operation: Operation, now: datetime) -> bool:
    """End a request that nobody answered in time; False where there is none."""
    approval = Approval.objects.open().filter(operation=operation, expires_at__lte=now).first()
    if approval is not None:
        answer_asked(operation, approval, Answer.LAPSED, actor="policy", reason=LAPSED)
    return approval is not None


def void_changed(operation: Operation) -> str:
    """End the open request of a locked operation where what it was bound to has changed; says what has."""
    approval = Approval.objects.open().filter(operation=operation).select_related("lookup").first()
    if approval is None:
        return ""
    then = _bound(approval.payload_digest, approval.attempt_count, approval.lookup)
    now = _bound(operation.payload_digest, operation.attempt_count, _latest(operation))
    changed = what_changed(Ask(approval.action), then, now)
    if changed:
        void_asked(operation, changed)
    return changed


def _bound(payload_digest: str, attempts: int, lookup: Lookup | None) -> Bound:
    blind = lookup is None or lookup.verdict == Verdict.COULD_NOT_LOOK
    return Bound(
        payload_digest,
        attempts,
        found="" if blind or lookup is None else lookup.content_digest,
        absent=lookup is not None and lookup.verdict == Verdict.ABSENT,
    )


def _latest(operation: Operation) -> Lookup | None:
    return latest_lookup(operation, tuple(operation.attempts.order_by("number")))
