"""Correct what may have happened: somebody takes the risk in their own words, and a second person agrees."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ledger.actions.asking import WHERE, WHERE_MAX, Sealed, ask_locked, lapse_locked, require_late_enough
from ledger.actions.asking import require_open as require_unanswered
from ledger.actions.changing import Word, first_time, given, void_asked
from ledger.actions.correcting import (
    PATHS_TOLD,
    Correction,
    Draft,
    Ordered,
    correct_locked,
    drafted,
    locked_with_latest,
    made_by,
    require_open,
    require_unmoved,
    said_already,
)
from ledger.actions.reading import facts
from ledger.actions.submission import payload_keys
from ledger.models import Approval, Operation
from ledger.rules import digests, sealing
from ledger.rules.answering import corrects_in_doubt
from ledger.rules.approvals import Answer, Ask
from ledger.rules.errors import Conflict
from ledger.rules.redaction import redact_name

DIFFERS = "What would go out now is not what was asked for."


@dataclass(frozen=True)
class Risk:
    """The words of who takes the risk: where and when it was looked for, and why not to wait for proof."""

    where: str
    looked_at: datetime
    why: str


def correct_in_doubt(
    operation_id: int,
    meant: Correction,
    *,
    risk: Risk,
    actor: str,
    reason: str,
    who: str,
    command_id: uuid.UUID | None = None,
    revision: int | None = None,
) -> tuple[Operation | Approval, bool]:
    """Ask a second person for the correction of an operation in doubt, and say whether that is new.

    Returns the correction itself where the same request was approved already. Raises as `correct` does,
    NotNow also where the request was refused or is void, and Conflict where a command was used otherwise.
    """
    order = Ordered(actor, given(reason), redact_name(who), command_id)
    with locked_with_latest(operation_id) as (operation, now):
        lapse_locked(operation, now)
        before = _asked_before(operation, meant, order)
        if before is not None:
            return before, False
        require_unmoved(operation, revision)
        known = facts(operation)
        require_open(known, corrects_in_doubt(known, now), override=True)
        require_late_enough(known, risk.looked_at, now)
        return _ask(operation, now, meant=meant, risk=risk, order=order), True


def _asked_before(operation: Operation, meant: Correction, order: Ordered) -> Operation | Approval | None:
    """Return what the same request has led to: the open one, or the correction."""
    asked = operation.approvals.filter(action=Ask.OVERRIDE_CORRECT)
    if order.command_id is None:
        waiting = asked.open().first()
        return waiting if waiting and _same(operation, meant, waiting) else said_already(operation, meant)
    if first_time(order.command_id, operation, action=Ask.OVERRIDE_CORRECT, actor=order.actor):
        return None
    approval = asked.get(command_id=order.command_id)
    if approval.answer == Answer.APPROVED:
        return made_by(order.command_id, operation, meant)
    require_unanswered(approval)
    if not _same(operation, meant, approval):
        raise Conflict("This command was already used for another correction; make a new one.")
    return approval


def _same(operation: Operation, meant: Correction, approval: Approval) -> bool:
    prepared = drafted(operation, meant).prepared
    return prepared.key == approval.data["key"] and prepared.same_as(approval.meant_digest)


def _ask(operation: Operation, now: datetime, *, meant: Correction, risk: Risk, order: Ordered) -> Approval:
    """Open the request, with what would go out sealed under it and bound by its digest."""
    draft, uid = drafted(operation, meant), uuid.uuid4()
    plain = digests.canonical(draft.prepared.payload)
    sealed = sealing.seal(payload_keys(), plain, bound_to=str(uid))
    return ask_locked(
        operation,
        now,
        Ask.OVERRIDE_CORRECT,
        word=Word(order.actor, order.reason, order.command_id or uuid.uuid4()),
        data={**_said(risk), **_would_change(meant, draft), "who": order.who},
        sealed=Sealed(uid, draft.prepared.payload_digest, sealed),
    )


def _said(risk: Risk) -> Mapping[str, Any]:
    return {
        "where": given(risk.where, limit=WHERE_MAX, ask=WHERE),
        "looked_at": risk.looked_at.isoformat(timespec="seconds"),
        "risk": given(risk.why),
    }


def _would_change(meant: Correction, draft: Draft) -> Mapping[str, Any]:
    """Tell what would go out and what differs, by path and amount; the payload's values stay sealed."""
    words = {"description": meant.description, "subject": meant.subject}
    return {
        "key": draft.prepared.key,
        "amount": meant.amount,
        "currency": meant.currency,
        "changed": draft.changed[:PATHS_TOLD],
        "paths": len(draft.changed),
        **{name: word for name, word in words.items() if word is not None},
    }


def void_differing(operation: Operation, approval: Approval) -> str:
    """End a request whose correction would go out as something else than was reviewed; says so, or nothing.

    Its key may have been handed over meanwhile, or the type's rules may write other members.
    """
    if approval.action != Ask.OVERRIDE_CORRECT or approval.decided_at is not None:
        return ""
    if _same(operation, _opened(approval), approval):
        return ""
    void_asked(operation, DIFFERS)
    return DIFFERS


def correct_approved(operation: Operation, now: datetime, approval: Approval) -> Operation:
    """Make the correction that was approved, in the maker's name, as it was reviewed."""
    order = Ordered(
        approval.maker,
        approval.reason,
        approval.data["who"],
        approval.command_id,
        approval=str(approval.uid),
    )
    meant = _opened(approval)
    return correct_locked(operation, now, meant=meant, order=order, digest=approval.meant_digest)


def _opened(approval: Approval) -> Correction:
    assert approval.meant_sealed is not None  # for as long as it is open: a constraint
    plain = sealing.unseal(payload_keys(), bytes(approval.meant_sealed), bound_to=str(approval.uid))
    said = approval.data
    return Correction(
        json.loads(plain), said["amount"], said["currency"], said.get("description"), said.get("subject")
    )
