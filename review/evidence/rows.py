"""What a pack tells of an operation's rows, part by part."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ledger.models import Approval, Attempt, Case, Choice, Event, Lookup, Operation, Permit
from ledger.rules import digests, money
from review import amounts, asked, trail, wording
from review.evidence import ruled
from review.evidence.parts import Part, Row

_TRIES = {
    "claimed_at": "Claimed",
    "started_at": "First byte might go",
    "closed_at": "Ended",
    "by": "By",
    "outcome": "What came back",
    "http_status": "Status",
    "error_code": "Code",
    "message": "In words",
    "reference": "Reference",
    "replayed": "A repeated answer",
    "absence_proved_at": "Proved not done",
    "absence_on_word_at": "Not done, on two people’s word",
    "key_sent": "Key sent",
    "payload_digest": "Payload digest",
    "rules_version": "Rules, version",
    "source_run": "Source run",
    "id": "Id",
}
_LOOKUPS = {
    "asked_at": "Asked",
    "answered_at": "Answered",
    "by": "By",
    "verdict": "Verdict",
    "found": "Found",
    "complete": "Read to its end",
    "proof": "Absence is proof",
    "why": "Why not",
    "control": "Proved itself by finding",
    "digest": "Digest of what was found",
    "id": "Id",
}
_PERMITS = {
    "given_at": "Given",
    "by": "By",
    "reason": "Reason",
    "source": "Given by",
    "effective_at": "In effect from",
    "lapses_at": "Lapses",
    "spent_at": "Spent",
    "withdrawn_at": "Taken back",
    "withdrawn_by": "Taken back by",
    "rests_on": "Rests on check",
}
_APPROVALS = {
    "asked": "Asked",
    "maker": "By",
    "made_at": "Asked at",
    "reason": "Reason",
    "expires_at": "Lapses",
    "answer": "Answer",
    "decided_by": "Answered by",
    "decided_at": "Answered at",
    "why": "Their reason",
    "rests_on": "Rests on check",
    "payload_digest": "Payload digest",
    "says": "As asked",
}
_CHOICES = {
    "made_at": "Chosen at",
    "by": "By",
    "reason": "Reason",
    "kept": "Kept",
    "reversed": "To be reversed",
    "amount": "Sum of these",
    "currency": "Currency",
    "agreed_by": "Agreed by",
    "rests_on": "Rests on check",
}
_CASES = {
    "kind": "Case",
    "owner": "Owner",
    "opened_at": "Opened",
    "due_at": "Due",
    "closed_at": "Closed",
    "closed_by": "By",
}
_EVENTS = {
    "id": "Event",
    "at": "When",
    "who": "Who",
    "did": "Did",
    "reason": "Reason",
    "moved": "State",
    "seal": "Seal",
}


def tries(rows: Iterable[Attempt]) -> Part:
    """Tell each try with its outcome."""
    found: list[Row] = [
        {
            "number": one.number,
            "claimed_at": one.claimed_at,
            "started_at": one.started_at,
            "closed_at": one.closed_at,
            "by": wording.who(one.actor),
            "outcome": one.outcome or ("in flight" if one.closed_at is None else ""),
            "http_status": one.http_status,
            "error_code": one.error_code,
            "message": one.message,
            "reference": one.destination_reference,
            "replayed": one.replayed or None,
            "absence_proved_at": one.cleared_at,
            "absence_on_word_at": one.worded_at,
            "key_sent": one.idempotency_key,
            "payload_digest": one.payload_digest,
            "rules_version": one.rules_version,
            "source_run": one.run,
            "id": str(one.uid),
        }
        for one in rows
    ]
    return Part("tries", "Tries", "blocks", _TRIES, found, block="Try")


def lookups(rows: Sequence[Lookup], *, note: str) -> Part:
    """Tell each check with what was found, and the digest of that."""
    found: list[Row] = [
        {
            "number": len(rows) - place,
            "asked_at": one.asked_at,
            "answered_at": one.answered_at,
            "by": wording.who(one.actor),
            "verdict": one.verdict.replace("_", " "),
            "found": [record(each) for each in one.records],
            "complete": one.complete,
            "proof": one.proof,
            "why": one.why,
            "control": one.control_reference,
            "digest": one.content_digest,
            "id": str(one.uid),
            "records": list(one.records),
        }
        for place, one in enumerate(rows)
    ]
    return Part(
        "lookups", "Checks at the destination", "blocks", _LOOKUPS, found[::-1], note=note, block="Check"
    )


def record(found: dict[str, Any]) -> str:
    """Name one record that a destination held: "INV-1187, open, 1 240.00 ZAR"."""
    amount = amounts.whole(found.get("amount"), found.get("currency", ""))
    parts = (found.get("id", ""), found.get("status") or found.get("standing", ""), amount)
    differs = f"differs in {', '.join(found['differs'])}" if found.get("differs") else ""
    return ", ".join(part for part in (*parts, differs) if part)


def permits(rows: Iterable[Permit]) -> Part:
    """Tell who allowed another try, why, and what became of it."""
    found: list[Row] = [
        {
            "given_at": one.given_at,
            "by": wording.who(one.actor),
            "reason": one.reason,
            "source": "a person" if one.source == Permit.Source.PERSON else "the rules",
            "effective_at": one.effective_at,
            "lapses_at": one.lapses_at,
            "spent_at": one.spent_at,
            "withdrawn_at": one.withdrawn_at,
            "withdrawn_by": wording.who(one.withdrawn_by),
            "rests_on": str(one.lookup.uid) if one.lookup else "",
        }
        for one in rows
    ]
    return Part("permits", "Leave for another try", "blocks", _PERMITS, found, block="Permit")


def approvals(rows: Iterable[Approval]) -> Part:
    """Tell what two people decided: who asked, who answered, and their reasons."""
    found: list[Row] = [
        {
            "asked": wording.first_up(asked.asks(one)),
            "maker": asked.maker(one),
            "made_at": one.made_at,
            "reason": one.reason,
            "expires_at": one.expires_at,
            "answer": one.answer or "not answered",
            "decided_by": wording.who(one.decided_by),
            "decided_at": one.decided_at,
            "why": one.why,
            "rests_on": str(one.lookup.uid) if one.lookup else "",
            "payload_digest": one.payload_digest,
            "says": dict(one.data),
        }
        for one in rows
    ]
    return Part("approvals", "Decided by two", "blocks", _APPROVALS, found, block="Request")


def choices(rows: Iterable[Choice]) -> Part:
    """Tell which of several records was kept and which go, who chose so and why."""
    found: list[Row] = [
        {
            "made_at": one.made_at,
            "by": wording.who(one.actor),
            "reason": one.reason,
            "kept": one.kept,
            "reversed": list(one.reversed),
            "amount": money.written(one.amount, one.currency) if one.amount is not None else "",
            "currency": one.currency,
            "agreed_by": wording.who(one.approval.decided_by) if one.approval else "",
            "rests_on": str(one.lookup.uid),
        }
        for one in rows
    ]
    return Part("choices", "One of several chosen", "blocks", _CHOICES, found, block="Choice")


def cases(rows: Iterable[Case]) -> Part:
    """Tell when software stopped, and whose the question was."""
    found: list[Row] = [
        {
            "kind": wording.first_up(one.kind.replace("_", " ")),
            "owner": one.owner,
            "opened_at": one.opened_at,
            "due_at": one.due_at,
            "closed_at": one.closed_at,
            "closed_by": wording.who(one.closed_by),
        }
        for one in rows
    ]
    return Part("cases", "Cases", "table", _CASES, found)


def events(rows: Sequence[Event], seals: Mapping[int, int], *, there: str, note: str) -> Part:
    """Tell the whole trail, each event with the number of the seal that covers it, by its id."""
    found: list[Row] = []
    for one in rows:
        line = trail.line(one, there=there)
        states = (one.state_from, one.state_to)
        found.append(
            {
                "id": one.pk,
                "at": one.at,
                "who": line.who,
                "did": line.did,
                "reason": one.reason,
                "moved": " to ".join(states) if all(states) else one.state_to,
                "seal": seals.get(one.pk),
                "actor": one.actor,
                "kind": one.kind,
                "revision": one.revision,
                "data": dict(one.data),
                "uid": str(one.uid),
            }
        )
    return Part("events", "Trail", "table", _EVENTS, found, note=note)


_RULES = {
    "now_says": "In force now",
    "now_digest": "Digest of these",
    "version": "Version",
    "changed_at": "Changed last",
    "first_says": "When it was first tried",
    "first_digest": "Digest of those",
    "guarantee": "Guarantee",
    "note": "Which count",
}


def rules(operation: Operation, *, guarantee: str) -> Part:
    """Tell by which rules it was decided: those in force now, and those of the first try."""
    kind = operation.operation_type
    row: Row = {
        "now_says": ruled.said(kind.contract),
        "now": dict(kind.contract),
        "now_digest": _digest(kind.contract),
        "version": kind.rules_version,
        "changed_at": kind.changed_at,
        "first_says": ruled.said(operation.contract_first) if operation.contract_first else [],
        "first": dict(operation.contract_first) if operation.contract_first else None,
        "first_digest": _digest(operation.contract_first) if operation.contract_first else "",
        "guarantee": guarantee,
        "note": "The stricter of the two counts.",
    }
    return Part("rules", "Rules of the destination", "facts", _RULES, [row])


def _digest(contract: object) -> str:
    return f"sha256:{hashlib.sha256(digests.canonical(contract)).hexdigest()}"


_PAYLOAD = {"path": "Field", "value": "Value"}


def payload(fields: Sequence[tuple[str, str]] | None, *, why: str) -> Part:
    """Tell what was handed over, as far as whoever reads may see it; `why` says what is not here."""
    found: list[Row] = [{"path": path, "value": value} for path, value in fields or ()]
    return Part("payload", "What was handed over", "table", _PAYLOAD, found, note=why)


_LINKS = {
    "how": "How",
    "name": "Operation",
    "key": "Key",
    "state": "State",
    "reference": "Reference",
    "amount": "Amount",
    "currency": "Currency",
}


def links(rows: Iterable[tuple[str, Operation]]) -> Part:
    """Tell what it is tied to."""
    found: list[Row] = [
        {
            "how": how,
            "name": wording.name(one),
            "key": one.key,
            "state": one.state,
            "reference": one.destination_reference,
            "amount": amount_of(one),
            "currency": one.currency,
            "id": str(one.uid),
        }
        for how, one in rows
    ]
    return Part("links", "Tied to it", "table", _LINKS, found)


def amount_of(operation: Operation) -> str:
    """Write an amount as data: "1240.00", in its currency's decimals; empty where there is none."""
    return "" if operation.amount is None else money.written(operation.amount, operation.currency)
