"""The HTTP API: parse, act, answer. What is decided is decided by `ledger.actions`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query

from ledger import actions
from ledger.actions import statements
from ledger.door import answers, auth, batches, hearing, limits, listing, problems, refusals, replies
from ledger.door.openapi import (
    ANY_EVENT,
    KEY_HEADER,
    Documented,
    answering,
)
from ledger.door.reading import StrictParser, only_known, operation_key, refuse_key_header
from ledger.door.schemas import (
    BatchOut,
    ClaimBatchIn,
    ClaimIn,
    CorrectionIn,
    HeardOut,
    HeartbeatIn,
    ListIn,
    ListOut,
    OutcomeBatchIn,
    OutcomeIn,
    StartIn,
    SubmissionIn,
    WholeOperationOut,
)
from ledger.models import Approval, Attempt, Operation
from ledger.rules.errors import NotFound, OutcomeDiffers, StartedElsewhere

REPLAYED = {"Idempotent-Replayed": "true"}

api = Documented(
    title="Tieout",
    version="1",
    description="Should this run again, and how do we prove that it has not already happened?",
    docs_url=None,
    auth=auth.Bearer(),
    parser=StrictParser(),
)
problems.install(api)
api.add_decorator(only_known)


@api.post(
    "operations",
    summary="Hand an operation to Tieout",
    **answering(200, 202, refusing=refusals.HANDED, extra=KEY_HEADER),
)
def submit(request: HttpRequest, handed: SubmissionIn) -> HttpResponse:
    """Tieout performs it. The same one again is answered with where it stands."""
    replies.require(request, handed)
    reply = actions.submit(
        replies.submission(handed, operation_key(request, handed.key)), actor=auth.actor(request)
    )
    if reply.decision == "hold":
        return replies.refused(request, reply)
    headers = {} if reply.created else dict(REPLAYED)
    if reply.decision == "wait":
        headers["Retry-After"] = answers.retry_after(reply.retry_at)
    return replies.answered(request, reply, status=200 if reply.decision == "skip" else 202, headers=headers)


@api.get("operations", summary="List operations", **answering(200, schema=ListOut, refusing=refusals.ASKED))
def find(request: HttpRequest, asked: Query[ListIn]) -> HttpResponse:
    """In the order of the last change. `next_cursor` leads to the next page, and is null on the last one."""
    page = listing.page(asked, auth.types(request, asked.type))
    stand = actions.corrections_of(page.operations)
    items = [answers.listed_operation(request, one, correction=stand.get(one.pk)) for one in page.operations]
    return answers.respond({"items": items, "next_cursor": page.next_cursor})


@api.post(
    "operations/claim",
    summary="Claim an operation to perform it",
    **answering(200, 201, refusing=refusals.CLAIMED, extra=KEY_HEADER),
)
def claim(request: HttpRequest, handed: ClaimIn) -> HttpResponse:
    """The caller performs it, under a lease. Only `proceed` means: do it now."""
    replies.require(request, handed)
    reply = actions.claim(
        replies.submission(handed, operation_key(request, handed.key)), actor=auth.actor(request)
    )
    if reply.decision in ("wait", "hold"):
        return replies.refused(request, reply)
    if reply.decision == "skip":
        return replies.answered(request, reply, headers=REPLAYED)
    return replies.answered(request, reply, status=replies.status(reply))


@api.post(
    "attempts/{uuid:uid}/start",
    summary="Start an attempt",
    **answering(200, refusing=(*refusals.HELD, StartedElsewhere)),
)
def start(request: HttpRequest, uid: UUID, handed: StartIn) -> HttpResponse:
    """Comes before the first byte of the call. The same `start_id` again is the same start."""
    with _attempt(request, uid):
        held = actions.start(uid, token=handed.token, start_id=handed.start_id, actor=auth.actor(request))
    return _held(request, held)


@api.post(
    "attempts/{uuid:uid}/heartbeat",
    summary="Extend a living lease",
    **answering(200, refusing=refusals.HELD),
)
def heartbeat(request: HttpRequest, uid: UUID, handed: HeartbeatIn) -> HttpResponse:
    """Still at work. `lease_expires_at` says until when; a lease that has ended is never revived."""
    with _attempt(request, uid):
        held = actions.extend(uid, token=handed.token, lease_s=handed.lease_s, actor=auth.actor(request))
    return _held(request, held)


@api.post(
    "attempts/{uuid:uid}/outcome",
    summary="Report what came back",
    **answering(200, refusing=(*refusals.HELD, OutcomeDiffers)),
)
def outcome(request: HttpRequest, uid: UUID, handed: OutcomeIn) -> HttpResponse:
    """Ends the attempt. The same outcome again is the same report; what comes late is kept as evidence."""
    with _attempt(request, uid):
        reply = actions.record(uid, token=handed.token, report=handed.report(), actor=auth.actor(request))
    headers = {"Retry-After": answers.retry_after(reply.retry_at)} if reply.decision == "wait" else {}
    return replies.answered(request, reply, headers=headers)


@api.post(
    "operations/claim-batch",
    summary="Claim up to 500 operations",
    **answering(200, schema=BatchOut, refusing=refusals.BODY),
)
def claim_batch(request: HttpRequest, handed: ClaimBatchIn) -> HttpResponse:
    """Each item is claimed and answered by itself; one that is refused spoils no other."""
    refuse_key_header(request)
    limits.count_items(request, len(handed.items))
    return batches.claims(request, handed.items)


@api.post(
    "attempts/outcome-batch",
    summary="Report what came back of up to 500 attempts",
    **answering(200, schema=BatchOut, refusing=refusals.BODY),
)
def outcome_batch(request: HttpRequest, handed: OutcomeBatchIn) -> HttpResponse:
    """Each item is recorded and answered by itself; one that is refused spoils no other."""
    refuse_key_header(request)
    limits.count_items(request, len(handed.items))
    return batches.outcomes(request, handed.items)


@api.post(
    "operations/{uuid:uid}/correction",
    summary="Correct an operation",
    **answering(200, 201, 202, refusing=refusals.CORRECTED),
)
def correct(request: HttpRequest, uid: UUID, handed: CorrectionIn) -> HttpResponse:
    """A new operation stands in its place. What the caller performs is claimed under the new key.

    What may have happened is corrected under an `override` only, once an approver agrees.
    """
    operation = _operation(request, uid)
    with replies.about(operation.pk):
        made, new = _corrected(operation, handed, actor=auth.actor(request))
    if isinstance(made, Approval):
        return _waits(request, operation, made, new=new)
    decision = answers.standing(made)
    headers = {} if new else dict(REPLAYED)
    taken = new and made.next_try_at is not None
    if made.operation_type.by_tieout and (taken or actions.is_due(made)):
        decision = "proceed"
    elif decision == "wait":
        headers["Retry-After"] = answers.retry_after(made.next_try_at)
    body = {**answers.told(request, made, decision=decision, retry_at=made.next_try_at), "warnings": []}
    return answers.respond(body, status=201 if new else 200, headers=headers)


def _corrected(
    operation: Operation, handed: CorrectionIn, *, actor: str
) -> tuple[Operation | Approval, bool]:
    """Make the correction, or ask for it; say whether that is new."""
    given: dict[str, Any] = {"reason": handed.why, "who": handed.who, "command_id": handed.command_id}
    if handed.override is None:
        return actions.correct(operation.pk, handed.meant(), actor=actor, **given)
    risk = handed.override.risk()
    return actions.correct_in_doubt(operation.pk, handed.meant(), risk=risk, actor=actor, **given)


def _waits(request: HttpRequest, operation: Operation, asked: Approval, *, new: bool) -> HttpResponse:
    """Answer 202: a second person decides on the operation's page, or the request lapses at `retry_at`."""
    operation.refresh_from_db()
    told = answers.told(request, operation, decision="hold", retry_at=asked.expires_at)
    return answers.respond({**told, "warnings": []}, status=202, headers={} if new else REPLAYED)


@api.get("operations/{uuid:uid}", summary="Read an operation", **answering(200, schema=WholeOperationOut))
def read(request: HttpRequest, uid: UUID) -> HttpResponse:
    """An operation as it stands, with its attempts and what the last check found."""
    return answers.respond(answers.whole_operation(request, _operation(request, uid)))


@api.post(
    "destinations/{slug:name}/events",
    auth=None,
    summary="Take in an event of a destination",
    **answering(200, 202, schema=HeardOut, refusing=refusals.SIGNED, signed=True, extra=ANY_EVENT),
)
def hear(request: HttpRequest, name: str) -> HttpResponse:
    """For the destination itself, which signs. Evidence and a reason to look, never a move by itself."""
    heard = hearing.take(request, name)
    return answers.respond({"heard": heard}, status=200 if heard == "known" else 202)


def _operation(request: HttpRequest, uid: UUID) -> Operation:
    """Return an operation of a type that the caller's token covers."""
    operation = Operation.objects.select_related("operation_type").filter(uid=uid).first()
    if operation is None:
        raise NotFound("There is no operation with this id.")
    auth.require(request, operation.operation_type.name)
    return operation


@contextmanager
def _attempt(request: HttpRequest, uid: UUID) -> Iterator[None]:
    """Let the caller use a caller's attempt of a type its token covers; a refusal carries the operation."""
    found = statements.run("attempt", {"uid": uid})
    replies.admit(request, found)
    assert found is not None
    with replies.about(found["operation_id"]):
        yield


def _held(request: HttpRequest, held: Attempt) -> HttpResponse:
    """Answer the holder of an attempt: go on."""
    told = answers.told(request, held.operation, decision="proceed", attempt=held)
    return answers.respond({**told, "warnings": []})
