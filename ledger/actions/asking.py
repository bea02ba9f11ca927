"""Ask a second person: a request bound to what is known now."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction

from ledger.actions.changing import Word, answer_asked, change, locked, void_asked
from ledger.actions.reading import facts, latest_lookup
from ledger.models import Approval, Lookup, Operation
from ledger.rules.approvals import Answer, Ask, Bound, Together, due_at, what_changed
from ledger.rules.errors import Malformed, NotNow
from ledger.rules.facts import Facts, Sentence
from ledger.rules.states import Verdict

LAPSED = "Nobody answered in time."
WHERE, WHERE_MAX = "Say where you looked", 200
NOT_TOLD = ("description", "subject")
"""What a request says and its event does not: names of people, which nobody could take back."""


@dataclass(frozen=True)
class Sealed:
    """What would go out, sealed for the request with this id until it is answered."""

    uid: uuid.UUID
    digest: str
    payload: bytes


def together(operation: Operation, actor: str) -> Together:
    """Add up what this person would have closed alone with this operation, and say whether that takes two.

    The database adds, by the function that its guard asks: the two cannot differ.
    """
    if operation.amount is None or operation.operation_type.reviewing.four_eyes_above is None:
        return Together()
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM ledger_together(%s, %s)", [operation.pk, actor])
        return Together(*cursor.fetchone())


@contextmanager
def closing(operation_id: int) -> Iterator[tuple[Operation, datetime]]:
    """Lock an operation for who may close it alone; at an entity one after the other, so that sums are whole.

    That turn comes before the row's lock, as elsewhere: two that wait for each other would end in an error.
    """
    with one_at_a_time(operation_id), locked(operation_id) as held:
        yield held


@contextmanager
def one_at_a_time(operation_id: int) -> Iterator[None]:
    """Take the turn of an operation's entity until the transaction's end."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT ledger_one_closes(%s)", [operation_id])
        yield


def ask_locked(
    operation: Operation,
    now: datetime,
    ask: Ask,
    *,
    word: Word,
    data: dict[str, Any] | None = None,
    sealed: Sealed | None = None,
) -> Approval:
    """Ask for a second person to agree; it counts for as long as a permit of this type does."""
    lapse_locked(operation, now)
    expires_at = now + timedelta(seconds=operation.operation_type.permit_for_s)
    approval = Approval.objects.create(
        operation=operation,
        action=ask,
        maker=word.actor,
        reason=word.reason,
        command_id=word.command_id,
        made_at=now,
        expires_at=expires_at,
        due_at=due_at(now, expires_at, key_until=facts(operation).same_key_until(now)),
        payload_digest=operation.payload_digest,
        attempt_count=operation.attempt_count,
        lookup=_latest(operation),
        data=data or {},
        **_meant(sealed),
    )
    told = {name: value for name, value in approval.data.items() if name not in NOT_TOLD}
    change(
        operation,
        kind="asked",
        actor=word.actor,
        reason=word.reason,
        command_id=word.command_id,
        data={"approval": str(approval.uid), "asked": ask, **told},
    )
    return approval


def _meant(sealed: Sealed | None) -> dict[str, Any]:
    if sealed is None:
        return {}
    return {"uid": sealed.uid, "meant_digest": sealed.digest, "meant_sealed": sealed.payload}


def require_open(approval: Approval) -> None:
    """Raise NotNow with who was first where a request is answered."""
    if approval.decided_at is None:
        return
    said = {
        Answer.APPROVED: f"{approval.decided_by} approved it at {{at}}.",
        Answer.REFUSED: f"{approval.decided_by} refused it at {{at}}: {approval.why}",
        Answer.WITHDRAWN: f"{approval.decided_by} took it back at {{at}}.",
        Answer.VOIDED: f"It is void since {{at}}. {approval.why}",
        Answer.LAPSED: "It lapsed at {at}: nobody answered in time.",
    }[Answer(approval.answer)]
    why = Sentence(said, approval.decided_at)
    raise NotNow(str(why), sentence=why)


def require_late_enough(known: Facts, looked_at: datetime, now: datetime) -> None:
    """Raise where what was not there then may have come later."""
    if looked_at > now:
        raise Malformed("You cannot have looked later than now.")
    last = known.latest
    since = known.settles_at or (last.sender_ended_at if last else None)
    if since is not None and looked_at < since:
        why = Sentence("What was not there before {at} may still have come: look again.", since)
        raise NotNow(str(why), sentence=why)


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
        records=() if blind or lookup is None else tuple(lookup.records),
    )


def _latest(operation: Operation) -> Lookup | None:
    return latest_lookup(operation, tuple(operation.attempts.order_by("number")))
