"""What a reply of the ledger is over HTTP: a status and members, or a refusal with members of its own."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.http import HttpRequest, HttpResponse

from ledger import actions
from ledger.actions import Reply, Submission
from ledger.door import answers, auth, problems
from ledger.door.schemas import ClaimIn, SubmissionIn
from ledger.models import Operation
from ledger.rules import actors
from ledger.rules.errors import Conflict, InFlight, NotFound, OnHold, TieoutError, Waiting, WrongDoor
from ledger.rules.following import Earlier
from ledger.rules.states import State

ELSEWHERE = "It comes after an operation of a type that this token does not cover."


def require(request: HttpRequest, handed: SubmissionIn) -> None:
    """Raise TypeNotAllowed where the token does not cover a type that is named; no key is looked up."""
    auth.require(request, handed.type)
    if handed.after is not None:
        auth.require(request, handed.after.type)


def submission(handed: SubmissionIn, key: str | None) -> Submission:
    """Return what was handed over as actions take it."""
    return Submission(
        type_name=handed.type,
        payload=handed.payload,
        key=key,
        source=handed.source.model_dump(exclude_none=True),
        description=handed.description or "",
        subject=handed.subject or "",
        amount=handed.amount,
        currency=handed.currency,
        attempt_id=handed.attempt_id if isinstance(handed, ClaimIn) else None,
        lease_s=handed.lease_s if isinstance(handed, ClaimIn) else None,
        after=Earlier(handed.after.type, handed.after.key) if handed.after is not None else None,
    )


def status(reply: Reply) -> int:
    """Return the status of an answer to a claim or an outcome: 201 where an attempt was made."""
    return 201 if reply.decision == "proceed" and not reply.replayed else 200


def claimed(request: HttpRequest, reply: Reply) -> dict[str, Any]:
    """Return the members of a claim's answer; raises the refusal where nobody may go ahead now."""
    if reply.decision in ("wait", "hold"):
        raise refusal(request, reply)
    return members(request, reply)


def members(request: HttpRequest, reply: Reply) -> dict[str, Any]:
    """Return the members of an answer."""
    body = {**_told(request, reply), "warnings": reply.warnings}
    kept = reply.operation.corrects_id is not None and reply.operation.payload_sealed is not None
    if reply.attempt is not None and kept:
        body["payload"] = actions.open_payload(reply.operation)
    return body


def answered(
    request: HttpRequest, reply: Reply, *, status: int = 200, headers: Mapping[str, str] = {}
) -> HttpResponse:
    """Answer what was asked alone."""
    return answers.respond(members(request, reply), status=status, headers=headers)


def refused(request: HttpRequest, reply: Reply) -> HttpResponse:
    """Answer 409 to what was asked alone."""
    return problems.document(refusal(request, reply), retry_at=reply.retry_at)


def refusal(request: HttpRequest, reply: Reply) -> TieoutError:
    """Return why nobody may go ahead: something else goes on with it, or a person decides first."""
    told, reason = _told(request, reply), reply.reason
    if not answers.shows_first(request, reply.operation):
        reason = ELSEWHERE  # the reason may name it
    if reply.decision == "hold":
        return OnHold(f"{reason} Decide at {told['case']}", **told)
    kind = InFlight if reply.operation.state == State.RUNNING else Waiting
    when = f" Ask again at {answers.in_words(reply.retry_at)}." if reply.retry_at else ""
    return kind(f"{reason}{when}", **told)


def _told(request: HttpRequest, reply: Reply) -> dict[str, Any]:
    return answers.told(
        request,
        reply.operation,
        decision=reply.decision,
        attempt=reply.attempt,
        token=reply.token,
        retry_at=reply.retry_at,
    )


def admit(request: HttpRequest, found: Mapping[str, Any] | None) -> None:
    """Let the caller use a caller's attempt of a type its token covers; `found` says whose it is."""
    if found is None:
        raise NotFound("There is no attempt with this id.")
    auth.require(request, found["type_name"])
    with about(found["operation_id"]):
        if not found["actor"].startswith(actors.AUTOMATION):
            raise WrongDoor("Tieout makes this attempt itself: nobody else starts it or reports on it.")


@contextmanager
def about(operation_id: int) -> Iterator[None]:
    """Let a refusal carry the operation as it stands then."""
    try:
        yield
    except Conflict as conflict:
        carry(conflict, operation_id)
        raise


def carry(conflict: Conflict, operation_id: int) -> None:
    """Let a refusal carry the operation as it stands now."""
    operations = Operation.objects.select_related("operation_type")
    conflict.members["about"] = operations.get(pk=operation_id)
