"""Requests for a second person in words: what is asked, why two decide, and what follows."""

from collections.abc import Iterator
from datetime import datetime

from ledger.models import Approval, Operation
from ledger.rules.approvals import OVERRIDES, Answer, Ask
from review import amounts, wording
from review.instants import instant

NOTHING_SENT = "Nothing is sent. Its case is closed, and its automation is told that it did not happen."


def asks(approval: Approval) -> str:
    """Say what is asked, after "asks"."""
    return {
        Ask.ATTEST: f"to confirm it with reference {approval.data.get('reference', '')}",
        Ask.END: "to close it: it did not happen",
        Ask.OVERRIDE_END: "for an override: close it as not done",
        Ask.OVERRIDE_PERMIT: "for an override: one more try",
    }[Ask(approval.action)]


def name(approval: Approval) -> str:
    """Name what is asked, after "approve"."""
    return {
        Ask.ATTEST: f"the confirmation with reference {approval.data.get('reference', '')}",
        Ask.END: "the closing as not done",
        Ask.OVERRIDE_END: "the override that closes it as not done",
        Ask.OVERRIDE_PERMIT: "the override for one more try",
    }[Ask(approval.action)]


def why_two(operation: Operation, *, override: bool) -> str:
    """Say why one person is not enough."""
    there = operation.operation_type.destination.title
    if override:
        return f"{there} cannot be checked, so two people decide."
    limit = (operation.operation_type.reviewing.four_eyes_above or {}).get(operation.currency)
    if limit is None:
        return f"{operation.currency} has no limit, so two people decide."
    return f"Above {amounts.whole(limit, operation.currency)}, so two people decide."


def by_hand(approval: Approval, now: datetime) -> str:
    """Say where and when the maker looked; empty where nobody looked by hand."""
    if "looked_at" not in approval.data:
        return ""
    at = instant(datetime.fromisoformat(approval.data["looked_at"]), now)
    return f"Looked by hand at {at}, not there: {approval.data['where']}"


def follows(approval: Approval, operation: Operation) -> str:
    """Say what happens once it is approved, and what could go wrong."""
    there, noun = operation.operation_type.destination.title, operation.operation_type.noun
    return {
        Ask.ATTEST: f"It is shown as done on {approval.maker}’s word, not as seen in {there}, "
        "until a check finds it there.",
        Ask.END: NOTHING_SENT,
        Ask.OVERRIDE_END: f"{NOTHING_SENT} If it arrived all the same, nobody would see it from here.",
        Ask.OVERRIDE_PERMIT: f"If the first {noun} arrived all the same, {there} would hold two, "
        "and nobody could look.",
    }[Ask(approval.action)]


def lines(approval: Approval, operation: Operation, now: datetime) -> Iterator[str]:
    """Yield who asks for what and why, and until when it counts."""
    override = approval.action in OVERRIDES
    yield f"{approval.maker} asks {asks(approval)}. {why_two(operation, override=override)}"
    hand = by_hand(approval, now)
    if hand:
        yield f"{hand}."
    until = instant(approval.expires_at, now)
    yield f"Reason given: “{approval.reason}” The request counts until {until}."


def past(approval: Approval) -> tuple[str, str, str]:
    """Return icon, who, and what became of a request that is answered."""
    of = f"{name(approval)}, asked by {approval.maker}."
    match Answer(approval.answer):
        case Answer.APPROVED:
            return "completed", approval.decided_by, f"approved {of}"
        case Answer.REFUSED:
            return "failed", approval.decided_by, f"refused {of} “{approval.why}”"
        case Answer.WITHDRAWN:
            return "back", approval.decided_by, f"took back {name(approval)}. “{approval.why}”"
        case Answer.VOIDED | Answer.LAPSED:
            return "clock", wording.who(approval.decided_by), f"ended {of} {approval.why}"
