"""Requests for a second person in words: what is asked, why two decide, and what follows."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal

from ledger.models import Approval, Operation
from ledger.rules import approvals
from ledger.rules.approvals import OVERRIDES, Answer, Ask, Together
from review import amounts, wording
from review.instants import instant, span

PATHS_SHOWN = 12
NOTHING_SENT = "Nothing is sent. Its case is closed, and its automation is told that it did not happen."


def asks(approval: Approval) -> str:
    """Say what is asked, after "asks"."""
    return {
        Ask.ATTEST: f"to confirm it with reference {approval.data.get('reference', '')}",
        Ask.END: "to close it: it did not happen",
        Ask.OVERRIDE_END: "for an override: close it as not done",
        Ask.OVERRIDE_PERMIT: "for an override: one more try",
        Ask.OVERRIDE_CORRECT: "for an override: correct what may have happened",
        Ask.CHOOSE: f"to keep {approval.data.get('kept', '')} and reverse the others",
    }[Ask(approval.action)]


def name(approval: Approval) -> str:
    """Name what is asked, after "approve"."""
    return {
        Ask.ATTEST: f"the confirmation with reference {approval.data.get('reference', '')}",
        Ask.END: "the closing as not done",
        Ask.OVERRIDE_END: "the override that closes it as not done",
        Ask.OVERRIDE_PERMIT: "the override for one more try",
        Ask.OVERRIDE_CORRECT: "the correction of what may have happened",
        Ask.CHOOSE: f"the choice that keeps {approval.data.get('kept', '')}",
    }[Ask(approval.action)]


def maker(approval: Approval) -> str:
    """Name who asks, and for whom an automation says that it asks."""
    whom = approval.data.get("who", "")
    return f"{wording.who(approval.maker)} for {whom}" if whom else wording.who(approval.maker)


def two(approval: Approval, operation: Operation) -> str:
    """Say why one person is not enough for what is asked."""
    if approval.action == Ask.OVERRIDE_CORRECT:
        return "It may have happened all the same, so two people decide."
    if approval.action in OVERRIDES:
        return f"{operation.operation_type.destination.title} cannot be checked, so two people decide."
    said = approval.data
    if approval.action == Ask.CHOOSE:
        limit = (operation.operation_type.reviewing.four_eyes_above or {}).get(said["currency"])
        above = f"Above {amounts.whole(limit, said['currency'])}" if limit is not None else "Without a limit"
        return f"{above}, with what {maker(approval)} decided alone that day, so two people decide."
    total = Decimal(said["together"]) if "together" in said else operation.amount
    limit = (operation.operation_type.reviewing.four_eyes_above or {}).get(operation.currency)
    counted = Together(said.get("today", 0), said.get("tied", 0), total, limit, takes_two=True)
    return why_two(operation, counted)


def why_two(operation: Operation, counted: Together) -> str:
    """Say why one person is not enough: by its amount alone, or with what is added to it."""
    limit = counted.above
    if limit is None:
        return f"{operation.currency} has no limit, so two people decide."
    above = f"bove {amounts.whole(limit, operation.currency)}, so two people decide."
    if operation.amount is None or abs(operation.amount) > limit:
        return f"A{above}"
    today = f"{counted.today} {'other' if counted.today == 1 else 'others'} of today" if counted.today else ""
    tied = f"{counted.tied} tied to it" if counted.tied else ""
    others = " and ".join(part for part in (today, tied) if part)
    return f"With {others}, {amounts.whole(counted.total, operation.currency)}: a{above}"


def by_hand(approval: Approval, now: datetime) -> str:
    """Say where and when the maker looked; empty where nobody looked by hand."""
    if "looked_at" not in approval.data:
        return ""
    at = instant(datetime.fromisoformat(approval.data["looked_at"]), now)
    if approval.action == Ask.OVERRIDE_CORRECT:
        return f"Looked by hand at {at}, which proves nothing: {approval.data['where']}"
    return f"Looked by hand at {at}, not there: {approval.data['where']}"


def changes(approval: Approval, operation: Operation) -> str:
    """Say what a correction would change, by path and never by value, and its amounts; empty for others."""
    said = approval.data
    if approval.action == Ask.CHOOSE:
        total = amounts.whole(said["amount"], said["currency"])
        return f"Reverses {', '.join(said['reversed'])}{f', together {total}' if total else ''}"
    if approval.action != Ask.OVERRIDE_CORRECT:
        return ""
    shown = said["changed"][:PATHS_SHOWN]
    more = said["paths"] - len(shown)
    paths = f"{', '.join(shown)}{f' and {more} more' if more else ''}" if shown else "nothing in its payload"
    old, new = _amounts(approval, operation)
    stays = f"the amount stays {old}" if old else ""
    amount = stays if old == new else f"{old or 'no amount'} becomes {new or 'no amount'}"
    words = [f"{name} “{said[name]}”" for name in ("description", "subject") if name in said]
    return ". ".join(part for part in (f"Changes {paths}", wording.first_up(amount), *words) if part)


def _amounts(approval: Approval, operation: Operation) -> tuple[str, str]:
    """Return the amount of the operation and that of its correction; empty where one has none."""
    said = approval.data
    new = amounts.whole(said["amount"], said["currency"] or "")
    return amounts.whole(operation.amount, operation.currency), new


def follows(approval: Approval, operation: Operation) -> str:
    """Say what happens once it is approved, and what could go wrong."""
    if approval.action == Ask.OVERRIDE_CORRECT:
        return _follows_correction(approval, operation)
    there, noun = operation.operation_type.destination.title, operation.operation_type.noun
    return {
        Ask.ATTEST: f"It is shown as done on {approval.maker}’s word, not as seen in {there}, "
        "until a check finds it there.",
        Ask.END: NOTHING_SENT,
        Ask.CHOOSE: f"The others are reversed in {there}, each by an operation of its own. "
        "That cannot be taken back there.",
        Ask.OVERRIDE_END: f"{NOTHING_SENT} If it arrived all the same, nobody would see it from here.",
        Ask.OVERRIDE_PERMIT: f"If the first {noun} arrived all the same, {there} would hold two, "
        "and nobody could look.",
    }[Ask(approval.action)]


def _follows_correction(approval: Approval, operation: Operation) -> str:
    there, noun = operation.operation_type.destination.title, operation.operation_type.noun
    old, new = _amounts(approval, operation)
    both = f", {old} and {new}" if old and new else ""
    return (
        f"A new {noun}, {approval.data['key']}, is made. This one never runs again, and stays in the queue, "
        f"in doubt. If the first {noun} arrived all the same, {there} would hold both{both}."
    )


def due(made_at: datetime, due_at: datetime, expires_at: datetime, now: datetime) -> str:
    """Say until when a request should be answered, whatever it asks, and until when it counts."""
    counts, at = f"counts until {instant(expires_at, now)}", instant(due_at, now)
    window = due_at < approvals.due_at(made_at, expires_at)
    if due_at <= now:
        closed = ", when the key’s window closed" if window else ""
        return f"was due {at}{closed}, {span(now - due_at)} late; {counts}"
    before = ", before the key’s window closes" if window else ""
    return f"due by {at}, {span(due_at - now)} from now{before}; {counts}"


def left(due_at: datetime, now: datetime) -> tuple[str, bool]:
    """Say in a word how long is left to answer, or how late it is; and whether it is late."""
    if due_at <= now:
        return f"{span(now - due_at)} late", True
    return f"due {instant(due_at, now)}, {span(due_at - now)} left", False


def lines(approval: Approval, operation: Operation, now: datetime) -> Iterator[str]:
    """Yield who asks for what and why, and until when it counts."""
    yield f"{maker(approval)} asks {asks(approval)}. {two(approval, operation)}"
    for line in (changes(approval, operation), by_hand(approval, now)):
        if line:
            yield f"{line}."
    if "risk" in approval.data:
        yield f"Why not wait for proof: “{approval.data['risk']}”"
    until = due(approval.made_at, approval.due_at, approval.expires_at, now)
    yield f"Reason given: “{approval.reason}” The request {'is ' * until.startswith('due')}{until}."


def undone_by(approval: Approval) -> str:
    """Say what takes back what was approved; empty where it was not."""
    if approval.answer != Answer.APPROVED:
        return ""
    return {
        Ask.ATTEST: "A check that finds it otherwise takes it up again.",
        Ask.END: "A check that finds it there takes it up again.",
        Ask.OVERRIDE_END: "If it is seen there after all, a check takes it up again.",
        Ask.OVERRIDE_PERMIT: "Its page undoes it for ten seconds; afterwards a duplicate is reversed there.",
        Ask.OVERRIDE_CORRECT: "The correction’s own page cancels it before it is sent.",
        Ask.CHOOSE: "Its page undoes it for ten seconds; what was reversed by then stays reversed.",
    }[Ask(approval.action)]


def past(approval: Approval) -> tuple[str, str, str]:
    """Return icon, who, and what became of a request that is answered."""
    of = f"{name(approval)}, asked by {maker(approval)}."
    match Answer(approval.answer):
        case Answer.APPROVED:
            return "completed", approval.decided_by, f"approved {of}"
        case Answer.REFUSED:
            return "failed", approval.decided_by, f"refused {of} “{approval.why}”"
        case Answer.WITHDRAWN:
            return "back", approval.decided_by, f"took back {name(approval)}. “{approval.why}”"
        case Answer.VOIDED | Answer.LAPSED:
            return "clock", wording.who(approval.decided_by), f"ended {of} {approval.why}"
