"""One row of the queue in words: did it happen, what was found, who has it, and what comes next."""

from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Self
from uuid import UUID

from ledger import actions
from ledger.models import Operation, OperationType, Permit
from ledger.rules.contracts import REFUSES_US
from ledger.rules.errors import RulesUnreadable
from ledger.rules.states import DOUBT, CaseKind, Outcome, State, Verdict
from reconcile.classes import ItemClass
from review import amounts, queue, told, wording
from review.instants import instant, span
from review.models import Item
from review.queue import Entry
from review.seen import Meant, Seen

_BADGES = {
    ItemClass.UNREADABLE: wording.Badge("uncertain", "Cannot be read", "could_not_look"),
    ItemClass.AMBIGUOUS: wording.Badge("uncertain", "Could be several", "could_not_look"),
    ItemClass.UNEXPECTED: wording.Badge("completed", "There, unexpected", "completed", but=True),
    ItemClass.DUPLICATE: wording.Badge("completed", "There, doubled", "completed", but=True),
    ItemClass.NEVER_SUBMITTED: wording.Badge("failed", "Not handed over", "failed"),
}
"""How differences without an operation are stamped; another class has its own name and symbol."""


@dataclass(frozen=True)
class Row:
    """What one row shows; `operation` carries the annotations of `review.told`, or is None."""

    operation: Any
    address: str
    noun: str
    amount: Decimal | None
    at_risk: Decimal | None
    """The money at risk where it stands in the queue and has an amount."""
    currency: str
    badge: wording.Badge
    name: str
    found_icon: str
    found: str
    age: str
    due: str
    due_at: datetime | None
    late: bool
    rests_until: datetime | None
    """Until when it is snoozed; None where it is not."""
    owner: str
    escalated: str
    """Who has it besides, because nobody answered in time; empty for nobody."""
    case: UUID | None
    """Its open case, where whose it is can be changed."""
    next: str
    asks: bool

    @property
    def stake(self) -> str:
        """How much is at risk, where that is not simply the amount: "3 720.00 at risk"."""
        if self.at_risk is None or self.amount is None or self.at_risk == abs(self.amount):
            return ""
        return f"{amounts.show(self.at_risk, self.currency)} at risk"

    @classmethod
    def of(cls, operation: Any, now: datetime, *, refuted: Container[int]) -> Self:
        """Read an annotated operation; no query. `refuted`: the types whose look-up a drill has refuted."""
        state = State(operation.state)
        seen = Seen.read(operation.seen) if operation.seen else None
        if seen is not None and operation.operation_type_id in refuted:
            seen = seen.unproved
        verdict = seen.verdict if seen else None
        trouble = wording.trouble(state, verdict=verdict, case=operation.case_kind)
        trouble = None if operation.reverses_id is not None else trouble
        taken = operation.taken_at is not None
        icon, found = _found(operation, seen, now, trouble=trouble)
        absent = seen is not None and seen.proof and operation.permit is None
        rests_until = _rests(operation.case_snoozed, now)
        due, late = _due(operation.due_at, now, rests_until=rests_until)
        asks, step = _next(operation, seen, now)
        name = wording.name(operation)
        return cls(
            operation=operation,
            address=queue.address(operation.uid, None, None),
            noun=operation.operation_type.noun,
            amount=operation.amount,
            at_risk=operation.at_risk,
            currency=operation.currency,
            badge=wording.badge(state, trouble=trouble, taken=taken, absent=absent),
            name=f"{name} · {operation.subject}" if operation.subject else name,
            found_icon=icon,
            found=found,
            age=span(now - operation.accepted_at),
            due=due,
            due_at=operation.due_at,
            late=late,
            rests_until=rests_until,
            owner=_whose(operation) or ("software" if state is not State.COMPLETED else "–"),
            escalated=operation.case_escalated_to or "",
            case=operation.case_uid,
            next=step,
            asks=asks,
        )


def of_difference(item: Item, now: datetime) -> Row:
    """Read a difference that no operation carries; no query."""
    finding, kind = item.finding, item.operation_type
    assert finding is not None  # an item without an operation has one
    item_class, there = ItemClass(finding.item_class), kind.destination.title
    case = item.case
    rests_until = _rests(case.snoozed_until if case else None, now)
    due, late = _due(item.due_at, now, rests_until=rests_until)
    first_id = finding.destination[0]["id"] if finding.destination else ""
    many = f", {finding.items} items" if finding.items > 1 else ""
    return Row(
        operation=None,
        address=queue.address(None, finding.pk, finding.run.uid),
        noun=kind.noun,
        amount=item.amount,
        at_risk=item.at_risk,
        currency=item.currency,
        badge=_BADGES.get(
            item_class, wording.Badge("uncertain", item_class.title(there), item_class.shown.icon)
        ),
        name=finding.reference or first_id or "Without a number",
        found_icon=item_class.shown.icon,
        found=f"{item_class.title(there)}{many}",
        age=span(now - item.since),
        due=due,
        due_at=item.due_at,
        late=late,
        rests_until=rests_until,
        owner=item.assignee or item.owner,
        escalated=case.escalated_to if case else "",
        case=case.uid if case else None,
        next="Decide",
        asks=True,
    )


def listed(entries: Sequence[Entry], now: datetime) -> list[Row]:
    """Read the rows of the queue in their order; one query at most, as `rows`."""
    known = {row.operation.pk: row for row in rows([one.operation for one in entries if one.operation], now)}
    return [
        of_difference(one.item, now) if one.item is not None else known[one.operation.pk] for one in entries
    ]


def rows(operations: Collection[Any], now: datetime) -> list[Row]:
    """Read annotated operations in their order; one query where any silence is taken for proof, or none."""
    refuted = _refuted(operations)
    return [Row.of(one, now, refuted=refuted) for one in operations]


def stamps(operations: Collection[Operation], now: datetime) -> dict[int, wording.Badge]:
    """Return the badge of each by its id, the queue's own; three queries at most."""
    pks = {one.pk for one in operations}
    return {row.operation.pk: row.badge for row in rows(told.read(pks), now)}


def _refuted(operations: Collection[Any]) -> Container[int]:
    """Return the types whose look-up a drill has refuted, so that no silence of theirs proves anything."""
    kinds = {
        one.operation_type_id: one.operation_type for one in operations if one.seen and one.seen["proof"]
    }
    drilled = actions.drilled_each([*kinds.values()]) if kinds else {}
    return {pk for pk, found in drilled.items() if found.lookup_broken_on is not None}


def _meant(operation: Any) -> Meant:
    doubt = operation.state == State.UNCERTAIN
    noun = operation.operation_type.noun
    return Meant(
        noun,
        operation.amount,
        operation.currency,
        operation.settles_at,
        doubt,
        operation.reverses_id is not None,
    )


def _found(operation: Any, seen: Seen | None, now: datetime, *, trouble: Verdict | None) -> tuple[str, str]:
    tried = operation.tried or {}
    match State(operation.state):
        case State.RUNNING:
            at = tried.get("started_at")
            sent = f", sent {instant(datetime.fromisoformat(at), now)}" if at else ", not sent yet"
            return "running", f"Try {tried.get('number', 1)}{sent}"
        case State.PENDING if operation.reverses_id is not None:
            by_hand = operation.case_kind == CaseKind.BY_HAND
            return "pending", "To be reversed by hand" if by_hand else "Not reversed yet"
        case State.PENDING if seen is None or not seen.live:
            return "pending", "Nothing exists there"
        case State.COMPLETED if seen is None and trouble is None:
            return "completed", operation.destination_reference or "Done"
    if operation.cancelled_at is not None:
        return "failed", "Cancelled before it was sent"
    if seen is not None and not _refused_itself(operation, seen):
        return seen.icon, _told(seen, _meant(operation), now)
    if trouble is not None:
        return str(trouble), "By a reconciliation"
    return _unseen(operation, tried)


def _told(seen: Seen, meant: Meant, now: datetime) -> str:
    before = seen.before
    if before is None:
        return seen.short(meant)
    found = before.short(meant)
    return f"{seen.short(meant)}. {instant(before.asked_at, now)}: {found[:1].lower()}{found[1:]}"


def _refused_itself(operation: Any, seen: Seen | None) -> bool:
    """Say whether the destination refused what it was sent; a silence since then leaves that the cause."""
    tried = operation.tried or {}
    refused = operation.state == State.FAILED and tried.get("outcome") == Outcome.REJECTED
    itself = refused and tried["http_status"] not in REFUSES_US
    return itself and (seen is None or seen.verdict is Verdict.ABSENT)


def _unseen(operation: Any, tried: dict[str, Any]) -> tuple[str, str]:
    kind = operation.operation_type
    if operation.taken_at is not None:
        return "unchecked", "Taken, still being worked on"
    if tried.get("outcome") == Outcome.REJECTED:
        why = tried["message"].rstrip(".") or f"status {tried['http_status']}"
        return "failed", f"Refused: {why}"
    if operation.state == State.FAILED and tried.get("outcome") in DOUBT and not checkable(kind):
        return "failed", "Not there, on two people’s word"
    if operation.state == State.FAILED:
        return "failed", "Every try is proved not done"
    if not checkable(kind):
        return "could_not_look", f"{kind.destination.title} cannot be checked"
    return "unchecked", "Not checked yet"


def checkable(kind: OperationType) -> bool:
    """Say whether it can be checked; rules that cannot be read must not take the whole list down."""
    try:
        return kind.has_lookup
    except RulesUnreadable:
        return True


def _whose(operation: Any) -> str:
    return operation.case_assignee or operation.case_owner or ""


def _rests(until: datetime | None, now: datetime) -> datetime | None:
    return until if until is not None and now < until else None


def _due(due_at: datetime | None, now: datetime, *, rests_until: datetime | None = None) -> tuple[str, bool]:
    if due_at is None:
        return "–", False
    if rests_until is not None:
        return f"snoozed, {instant(rests_until, now)}", due_at < now
    if due_at < now:
        return f"{span(now - due_at)} late", True
    return instant(due_at, now), False


def _next(operation: Any, seen: Seen | None, now: datetime) -> tuple[bool, str]:
    """Return whether a person is asked, and the next step in two or three words."""
    if operation.permit is not None:
        at = instant(datetime.fromisoformat(operation.permit["effective_at"]), now)
        return False, f"Allowed, {at}" if operation.permit[
            "source"
        ] == Permit.Source.PERSON else f"Sent again {at}"
    state = State(operation.state)
    if state is State.RUNNING:
        return False, f"Answer by {instant(operation.lease_until, now)}"
    if operation.paused and operation.held_at is None and state in (State.PENDING, State.UNCERTAIN):
        return False, "Paused"
    if state is State.PENDING and operation.waits_for is not None and operation.next_try_at is None:
        held = operation.held_at is not None
        return held, "Decide" if held else f"Waits for {operation.waits_for}"
    if state is State.PENDING and operation.held_at is None:
        at = operation.next_try_at
        return False, f"Next try {instant(at, now)}" if at and at > now else "Next try now"
    if operation.asked:
        return True, "Approve or refuse"
    if operation.held_at is None:
        at = operation.look_at
        software = f"Software looks {instant(at, now)}" if at and at > now else "Software looks now"
        return False, software if state is State.UNCERTAIN else "–"
    return True, _asked(operation, seen)


def _asked(operation: Any, seen: Seen | None) -> str:
    kind = operation.operation_type
    if _refused_itself(operation, seen) and operation.reverses_id is None:
        return "Correct it"
    if not kind.has_lookup:
        return "Decide"
    if (
        seen is None
        or seen.verdict is Verdict.COULD_NOT_LOOK
        or (seen.verdict is Verdict.ABSENT and not seen.proof)
    ):
        return "Check now"
    if seen.verdict is Verdict.ABSENT and operation.paused:
        return "Paused"
    # A check of one's own comes first: what this one found counts for whoever made it, for five minutes.
    if seen.verdict is Verdict.ABSENT:
        return f"Check, then {'send again' if kind.by_tieout else 'allow another try'}"
    return {Verdict.SEVERAL: "Check, then choose one", Verdict.DIFFERS: "See what differs"}.get(
        seen.verdict, "Look at it"
    )
