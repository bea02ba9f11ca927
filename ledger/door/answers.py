"""What an automation is told: a decision, the operation, the attempt, and where a person decides."""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from pydantic_core import to_json

from ledger import actions
from ledger.models import Attempt, Operation, database_now
from ledger.rules import money
from ledger.rules.states import State

NOTHING_TOLD: dict[str, None] = dict.fromkeys(("decision", "operation", "attempt", "case", "retry_at"))
"""The members of every answer, where there is nothing to say."""


class Site(Protocol):
    """Where people reach this installation: a request knows, or the settings."""

    def build_absolute_uri(self, location: str, /) -> str:
        """Return a whole address."""


def respond(
    body: dict[str, Any],
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: Mapping[str, str] = {},
) -> HttpResponse:
    """Return a response of JSON."""
    response = HttpResponse(to_json(body), status=status, content_type=content_type)
    response["Content-Length"] = str(len(response.content))
    for name, value in headers.items():
        response[name] = value
    return response


def told(
    request: HttpRequest,
    operation: Operation,
    *,
    decision: str | None,
    attempt: Attempt | None = None,
    token: str | None = None,
    retry_at: datetime | None = None,
) -> dict[str, Any]:
    """Return the members that answers and problem documents have in common."""
    to_a_person = decision == "hold" or operation.held_at is not None
    return {
        "decision": decision,
        "operation": operation_members(request, operation, correction=actions.correction_of(operation)),
        "attempt": attempt_members(attempt, token) if attempt else None,
        "case": page(request, operation) if to_a_person else None,
        "retry_at": instant(retry_at),
    }


def standing(operation: Operation) -> str:
    """Return the decision for a caller that may do nothing now: skip, hold or wait."""
    stands = actions.correction_of(operation) if operation.state == State.FAILED else None
    if State.COMPLETED in (operation.state, stands and stands.state):
        return "skip"
    return "hold" if operation.held_at is not None or operation.state == State.FAILED else "wait"


def operation_members(request: Site, operation: Operation, *, correction: Operation | None) -> dict[str, Any]:
    """Return an operation as the API shows it, and what stands in its place; its type must be loaded."""
    return {
        "id": str(operation.uid),
        "type": operation.operation_type.name,
        "key": operation.key,
        "state": operation.state,
        "description": operation.description,
        "subject": operation.subject,
        "source": {
            "system": operation.source_system,
            "reference": operation.source_reference,
            "version": operation.source_version,
        },
        "amount": _amount(operation),
        "currency": operation.currency or None,
        "destination_reference": operation.destination_reference or None,
        "evidence": operation.evidence or None,
        "first_cause": operation.first_cause or None,
        "corrects": _link(request, operation.corrects if operation.corrects_id else None),
        "correction": _link(request, correction),
        "after": _after(request, operation),
        "accepted_at": instant(operation.accepted_at),
        "updated_at": instant(operation.changed_at),
        "page": page(request, operation),
    }


def correct_at(request: HttpRequest, operation: Operation) -> str:
    """Return the address where a correction is posted: that of the original, also for a correction."""
    original = operation.corrects or operation
    return request.build_absolute_uri(f"/api/v1/operations/{original.uid}/correction")


def _link(request: Site, other: Operation | None) -> dict[str, Any] | None:
    if other is None:
        return None
    return {"id": str(other.uid), "key": other.key, "state": other.state, "page": page(request, other)}


def shows_first(request: Site, operation: Operation) -> bool:
    """Say whether who asks, or is told, may learn of what an operation comes after, maybe of another type."""
    types, first = getattr(getattr(request, "auth", None), "types", None), operation.after
    if not types or first is None:
        return True
    same = first.operation_type_id == operation.operation_type_id
    return same or first.operation_type.name in types


def _after(request: Site, operation: Operation) -> dict[str, Any] | None:
    if operation.after_id is None or not shows_first(request, operation):
        return None
    first = actions.standing_first(operation)
    linked = _link(request, first)
    assert first is not None and linked is not None
    done = first.state == State.COMPLETED and first.destination_reference
    return {**linked, "destination_reference": first.destination_reference if done else None}


def listed_operation(request: Site, operation: Operation, *, correction: Operation | None) -> dict[str, Any]:
    """Return an operation, its case, and when it is next taken up."""
    return {
        **operation_members(request, operation, correction=correction),
        "case": page(request, operation) if operation.held_at is not None else None,
        "retry_at": instant(operation.next_try_at or operation.look_at or operation.lease_until),
    }


def whole_operation(request: Site, operation: Operation) -> dict[str, Any]:
    """Return an operation with its attempts and what the last check found."""
    lookup = operation.lookups.order_by("-id").first()
    return {
        **listed_operation(request, operation, correction=actions.correction_of(operation)),
        "attempts": [_tried(attempt) for attempt in operation.attempts.order_by("number")],
        "verdict": lookup.verdict if lookup else None,
        "checked_at": instant(lookup.asked_at) if lookup else None,
    }


def attempt_members(attempt: Attempt, token: str | None) -> dict[str, Any]:
    """Return the attempt that a caller holds; the token only with its claim."""
    return {
        "id": str(attempt.uid),
        "number": attempt.number,
        **({"token": token} if token else {}),
        "idempotency_key": attempt.idempotency_key,
        "payload_digest": attempt.payload_digest,
        "lease_expires_at": instant(attempt.lease_until),
        "started_at": instant(attempt.started_at),
    }


def page(request: Site, operation: Operation) -> str:
    """Return the address of an operation's page."""
    return f"{_pages(request)}{operation.uid}/"


def _pages(request: Site) -> str:
    """Return what the addresses of all pages have in common; a batch asks five hundred times."""
    known: str | None = getattr(request, "pages", None)
    if known is None:
        known = request.build_absolute_uri("/operations/")
        request.pages = known  # type: ignore[attr-defined]  # a request lives as long as its answer
    return known


def instant(value: datetime | None) -> str | None:
    """Write an instant as RFC 3339 with its offset."""
    return value.isoformat() if value else None


def in_words(value: datetime) -> str:
    """Write an instant for people: in the installation's zone, to the next whole second."""
    there = (value + timedelta(microseconds=-value.microsecond % 1_000_000)).astimezone(settings.DISPLAY_ZONE)
    return f"{there:%Y-%m-%d %H:%M:%S %Z}"


def retry_after(retry_at: datetime | None) -> str:
    """Return whole seconds from the database's now until an instant, 1 at least, for Retry-After."""
    if retry_at is None:
        return "1"
    return str(max(math.ceil((retry_at - database_now()).total_seconds()), 1))


def _amount(operation: Operation) -> str | None:
    if operation.amount is None:
        return None
    return money.written(operation.amount, operation.currency)


def _tried(attempt: Attempt) -> dict[str, Any]:
    return {
        "id": str(attempt.uid),
        "number": attempt.number,
        "outcome": attempt.outcome,
        "claimed_at": instant(attempt.claimed_at),
        "started_at": instant(attempt.started_at),
        "ended_at": instant(attempt.closed_at),
        "http_status": attempt.http_status,
        "error_code": attempt.error_code or None,
        "message": attempt.message or None,
        "destination_reference": attempt.destination_reference or None,
        "idempotency_key": attempt.idempotency_key,
    }
