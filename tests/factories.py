"""Small makers of rows: what `configure` would write, and operations brought there by actions."""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ledger import actions
from ledger.actions import Claimed, Reply, Report, Submission
from ledger.models import Attempt, Destination, Lookup, Operation, OperationType, Permit, database_now
from ledger.rules.records import Found, RecordSeen
from ledger.rules.states import Outcome, Standing, Verdict

ABSENT = Found(Verdict.ABSENT, complete=True)
BLIND = Found(Verdict.COULD_NOT_LOOK, complete=False, why="The list broke off after page 2.")
SILENCE = Report(Outcome.UNCERTAIN, error_code="silent", message="No answer within 3 s.")
REFUSED = Report(Outcome.REJECTED, http_status=422, error_code="http_422", message="The customer is blocked.")
UNREACHED = Report(Outcome.RETRYABLE, error_code="not_sent", message="Not a byte was sent.")
TAKEN = Report(Outcome.ACCEPTED, http_status=202)
CONTRACT: dict[str, Any] = {"idempotency": "header", "key_retention": "24h", "saves": "2xx", "settle": "30s"}
RECORD = {"id": "id", "reference": "metadata.operation", "amount": "total", "status": "status"}
LOOKUP = {"path": "/invoices?reference={key}", "items": "data"}


def done(reference: str = "INV-1") -> Report:
    """A success that names its record."""
    return Report(Outcome.SUCCEEDED, destination_reference=reference, http_status=201)


def destination(name: str = "books", **columns: Any) -> Destination:
    """A destination; the same name again is the same one."""
    row = {
        "title": "Durban Books",
        "entity": "Durban Trading (Pty) Ltd",
        "connector": "http",
        "account": "main",
        "connection": {"base_url": "http://127.0.0.1:1", "timeout": 3},
    }
    return Destination.objects.get_or_create(name=name, defaults=row | columns)[0]


def kind(
    name: str = "invoice.create",
    *,
    by: str = "caller",
    looks: bool = True,
    contract: Mapping[str, Any] = {},
    retry: Mapping[str, Any] = {},
    **columns: Any,
) -> OperationType:
    """An operation type: keys for 24 h and, unless told otherwise, a look-up that has proved itself."""
    calls: dict[str, Any] = {"send": {"path": "/invoices"}, "record": RECORD}
    row = {
        "destination": destination(),
        "label": "Create invoice",
        "noun": "invoice",
        "performed_by": by,
        "lease_s": 60,
        "owner": "finance",
        "contract": CONTRACT | dict(contract),
        "calls": calls | ({"lookup": LOOKUP} if looks else {}),
        "retry": {"attempts": 5, "base": "10s"} | dict(retry),
        "review": {"due": "4h"},
        "lookup_proved_at": database_now() if looks else None,
    }
    return OperationType.objects.create(name=name, **(row | columns))


def invoice_type(**changes: Any) -> OperationType:
    """Invoices that Tieout sends."""
    as_sent: dict[str, Any] = {"by": "tieout"}
    return kind(**(as_sent | changes))


def reminder_type(**changes: Any) -> OperationType:
    """Reminders that their caller sends, where nothing protects a second one: no keys and no look-up."""
    weak = {"idempotency": "none", "key_retention": "unknown"}
    as_reminded: dict[str, Any] = {"name": "reminder.send", "looks": False, "contract": weak}
    return kind(**(as_reminded | changes))


def submission(of: OperationType, key: str = "order/483", **changes: Any) -> Submission:
    """What an automation hands over."""
    made = Submission(
        of.name, {"order": "483", "total": "1240.00"}, key=key, amount="1240.00", currency="ZAR"
    )
    return replace(made, **changes)


def handed(of: OperationType, key: str = "order/483", **changes: Any) -> Operation:
    """An operation that waits for Tieout to send it."""
    return actions.submit(submission(of, key, **changes), actor="api:shop").operation


def claimed(of: OperationType, key: str = "order/483", **changes: Any) -> tuple[Operation, Attempt, str]:
    """An operation that its caller has just claimed, with the attempt and its token."""
    return held(actions.claim(submission(of, key, **changes), actor="api:shop"))


def held(reply: Reply) -> tuple[Operation, Attempt, str]:
    """What a claim gave; it must have given something."""
    assert reply.decision == "proceed", (reply.decision, reply.reason)
    assert reply.attempt is not None and reply.token is not None
    return reply.operation, reply.attempt, reply.token


def to_send(operation: Operation) -> Claimed:
    """The worker's claim of an operation that is due."""
    made = actions.claim_to_send(operation.pk, actor="worker")
    assert made is not None, "nothing is due"
    return made


def tried(of: OperationType, *reports: Report, key: str = "order/483", **changes: Any) -> Operation:
    """An operation whose caller claimed it once for each report; each claim must be due."""
    for report in reports:
        operation, attempt, token = claimed(of, key, **changes)
        actions.record(attempt.uid, token=token, report=report, actor="api:shop")
    return again(operation)


def uncertain_operation(of: OperationType, key: str = "order/483", **changes: Any) -> Operation:
    """An operation whose only try was met by silence."""
    return tried(of, SILENCE, key=key, **changes)


def looked(operation: Operation, found: Found = ABSENT, *, actor: str = "worker", **more: Any) -> Lookup:
    """Keep a look-up as if the destination had been asked now."""
    asked: dict[str, Any] = {"asked_at": database_now(), "reason": "A look."} | more
    return actions.keep_lookup(operation.pk, found=found, actor=actor, **asked)


def permitted(operation: Operation, *, actor: str = "ann", command_id: uuid.UUID | None = None) -> Permit:
    """A person's leave for one more try."""
    click = command_id or uuid.uuid4()
    return actions.permit(operation.pk, actor=actor, reason="The customer waits.", command_id=click)


def there(
    operation: Operation,
    *ids: str,
    amount: str = "1240.00",
    standing: Standing = Standing.DONE,
    differs: tuple[str, ...] = (),
) -> Found:
    """What a look-up finds: these records, all alike."""
    records = tuple(
        RecordSeen(name, operation.key, Decimal(amount), "ZAR", standing.value, standing, None, differs)
        for name in ids
    )
    verdict = Verdict.SEVERAL if len(ids) > 1 else Verdict.DIFFERS if differs else Verdict.ONE_MATCH
    return Found(verdict, complete=True, records=records)


def again(operation: Operation) -> Operation:
    """The operation as it stands now."""
    return Operation.objects.select_related("operation_type__destination").get(pk=operation.pk)


def case_of(operation: Operation) -> str:
    """The kind of its open case, or nothing."""
    case = operation.cases.filter(closed_at=None).first()
    return case.kind if case else ""
