"""An order made up to try the API with, as the OpenAPI document shows it.

The API's page writes another number for 483, and other UUIDs, each time that it is opened: what is tried
there is really done, and must be none of the shop's own orders.
"""

from typing import Any

from ledger.door.answers import NOTHING_TOLD
from ledger.rules import errors

_ID = "4f2c8a51-0d5e-4c39-9a53-2f6f1f0a7d11"
_ATTEMPT_ID = "0b5f7c1e-6f0a-4d0c-9a53-2f6f1f0a7d11"
_OTHER_ID = "6c3d9a8e-2b1f-4f6e-8d0e-5f7c1e0b5f0a"
_TOKEN = "the token of the attempt's claim"  # noqa: S105 - a place for one
_KEY = "try/483/v1"
_PAYLOAD = {"order": "483", "total": "1240.00"}
_HANDED: dict[str, Any] = {
    "key": _KEY,
    "source": {"system": "try", "reference": "483", "version": "1", "run": "exec-9931"},
    "description": "Order 483, made up to try the API",
    "subject": "Nobody",
    "amount": "1240.00",
    "currency": "ZAR",
    "payload": _PAYLOAD,
}
_OPERATION: dict[str, Any] = {
    "id": _ID,
    "type": "invoice.create",
    "key": _KEY,
    "state": "pending",
    "description": "Order 483, made up to try the API",
    "subject": "Nobody",
    "source": {"system": "try", "reference": "483", "version": "1"},
    "amount": "1240.00",
    "currency": "ZAR",
    "destination_reference": None,
    "evidence": None,
    "first_cause": None,
    "corrects": None,
    "correction": None,
    "after": None,
    "accepted_at": "2026-11-30T09:42:00.120483+00:00",
    "updated_at": "2026-11-30T09:42:00.120483+00:00",
    "page": f"https://tieout.example.com/operations/{_ID}/",
}
_REMINDER = _OPERATION | {"type": "reminder.send", "state": "running"}
_ATTEMPT = {
    "id": _ATTEMPT_ID,
    "number": 1,
    "token": _TOKEN,
    "idempotency_key": "t1-g1-4ZJX2M7QK5T8W3N6R9B1C0D2F4",
    "payload_digest": "k1:9f2c…",
    "lease_expires_at": "2026-11-30T09:47:00.120483+00:00",
    "started_at": None,
}


_CORRECTION: dict[str, Any] = {
    "payload": {"order": "483", "total": "1420.00"},
    "amount": "1420.00",
    "currency": "ZAR",
    "who": "Thandi in the web shop",
    "why": "Two figures were swapped.",
}
_RISK = {
    "where": "Durban Books, customer Nobody",
    "when": "2026-11-30T10:15:00Z",
    "why": "The goods leave today.",
}


_POSTING: dict[str, Any] = {
    "type": "invoice.post",
    "key": "try/post/483/v1",
    "description": "Post the invoice of order 483, made up to try the API",
    "subject": "Nobody",
    "payload": {"order": "483"},
    "after": {"type": "invoice.create", "key": _KEY},
}
_CLAIM = {"type": "reminder.send", **_HANDED, "attempt_id": _ATTEMPT_ID, "lease_s": 300}
_OTHER = {
    "key": "try/484/v1",
    "description": "Order 484, made up to try the API",
    "attempt_id": _OTHER_ID,
    "source": {"system": "try", "reference": "484", "version": "1", "run": "exec-9931"},
}
_SENT = {"token": _TOKEN, "outcome": "succeeded", "destination_reference": "INV-1187", "http_status": 201}
_CLAIMED = NOTHING_TOLD | {
    "decision": "proceed",
    "operation": _REMINDER,
    "attempt": _ATTEMPT,
    "warnings": [],
}
_RECORDED = NOTHING_TOLD | {
    "decision": "skip",
    "operation": _REMINDER
    | {"state": "completed", "destination_reference": "INV-1187", "evidence": "answer"},
    "warnings": [],
}


def _one(summary: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"order-483": {"summary": summary, "value": value}}


REQUESTS: dict[str, dict[str, Any]] = {
    "submit": _one("Tieout makes the invoice", {"type": "invoice.create", **_HANDED})
    | {"after-another": {"summary": "Once the invoice is made, it is posted", "value": _POSTING}},
    "claim": _one("The caller sends the reminder", _CLAIM),
    "claim_batch": _one("Two at once", {"items": [_CLAIM, _CLAIM | _OTHER]}),
    "start": _one(
        "Just before the first byte", {"token": _TOKEN, "start_id": "7d1f0a6f-2f53-4a9c-8d0e-5f7c1e0b5f0a"}
    ),
    "heartbeat": _one("Five minutes more", {"token": _TOKEN, "lease_s": 300}),
    "outcome": _one("It was sent", _SENT),
    "outcome_batch": _one("It was sent", {"items": [{"attempt": _ATTEMPT_ID, **_SENT}]}),
    "hear": _one(
        "The destination says that it made the invoice",
        {
            "id": "evt_1187",
            "type": "invoice.created",
            "data": {"id": "INV-1187", "metadata": {"operation": _KEY}},
        },
    ),
    "correct": _one("It should have been 1420", _CORRECTION)
    | {
        "in-doubt": {"summary": "The first one may have happened", "value": _CORRECTION | {"override": _RISK}}
    },
}
"""By the name of the operation."""
ANSWERS: dict[tuple[str, int], dict[str, Any]] = {
    ("submit", 202): NOTHING_TOLD | {"decision": "proceed", "operation": _OPERATION, "warnings": []},
    ("claim", 201): _CLAIMED,
    ("claim_batch", 200): {"items": [{"index": 0, "status": 201, **_CLAIMED}]},
    ("outcome_batch", 200): {"items": [{"index": 0, "status": 200, **_RECORDED}]},
    ("correct", 202): NOTHING_TOLD
    | {
        "decision": "hold",
        "operation": _OPERATION | {"state": "uncertain"},
        "case": _OPERATION["page"],
        "retry_at": "2026-12-01T10:20:00.120483+00:00",
        "warnings": [],
    },
    ("hear", 200): {"heard": "known"},
    ("hear", 202): {"heard": "new"},
    ("find", 200): {"items": [{**_OPERATION, "case": None, "retry_at": None}], "next_cursor": None},
}
"""By the name of the operation and the status."""


def problem_example(kind: type[errors.TieoutError]) -> dict[str, Any]:
    """Return a problem document of a kind."""
    return {"summary": kind.title, "value": {**_refusal(kind).problem(), **NOTHING_TOLD}}


def _refusal(kind: type[errors.TieoutError]) -> errors.TieoutError:
    words = (kind.__doc__ or "").partition("\n")[0]
    return kind(words, wait_s=60) if issubclass(kind, errors.TooManyRequests) else kind(words)
