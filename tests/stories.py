"""Operations in every state, brought there by the ledger's own actions: no row is written by hand."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from ledger import actions
from ledger.models import Attempt, Destination, Operation, OperationType, Permit, database_now
from ledger.rules.outcomes import Report
from ledger.rules.records import Found, RecordSeen
from ledger.rules.states import Outcome, Standing, State, Verdict
from tests.databases import Clock

ABSENT = Found(Verdict.ABSENT, complete=True)
BLIND = Found(Verdict.COULD_NOT_LOOK, complete=False, why="The list broke off after page 2.")


@dataclass
class Durban:
    """Two operation types at Durban: invoices that Tieout sends, reminders that their caller sends."""

    clock: Clock
    base_url: str = "http://127.0.0.1:1"
    invoice: OperationType = field(init=False)
    reminder: OperationType = field(init=False)

    def __post_init__(self) -> None:
        """Make the rows that `configure` would."""
        books = Destination.objects.create(
            name="books",
            title="Durban Books",
            entity="Durban Trading (Pty) Ltd",
            connector="http",
            account="main",
            connection={
                "base_url": self.base_url,
                "timeout": 3,
                "open_url": "http://127.0.0.1:8010/invoices/{destination_reference}",
            },
        )
        mail = Destination.objects.create(
            name="mailroom",
            title="Mailroom",
            entity="Durban Trading (Pty) Ltd",
            connector="http",
            account="main",
            connection={"base_url": self.base_url, "timeout": 3},
        )
        self.invoice = OperationType.objects.create(
            name="invoice.create",
            destination=books,
            label="Create invoice",
            noun="invoice",
            performed_by="tieout",
            lease_s=30,
            owner="finance",
            contract={"idempotency": "header", "key_retention": "24h", "settle": "30s", "saves": "2xx"},
            calls=CALLS,
            retry={"attempts": 1},
            review={"due": "4h"},
        )
        self.reminder = OperationType.objects.create(
            name="reminder.send",
            destination=mail,
            label="Send reminder",
            noun="reminder",
            performed_by="caller",
            lease_s=60,
            owner="operations",
            contract={},
            calls={},
            retry={"attempts": 1},
            review={"due": "4h"},
        )

    def invoiced(
        self, order: int, amount: str = "1240.00", *, currency: str = "ZAR", subject: str = "Acme"
    ) -> Operation:
        """Hand an invoice over; nothing is sent yet."""
        submission = actions.Submission(
            "invoice.create",
            {"order": str(order), "total": amount},
            key=f"order/webshop/{order}/v1",
            source={"system": "webshop", "reference": str(order), "version": "1"},
            description=f"Order {order}",
            subject=subject,
            amount=amount,
            currency=currency,
        )
        return actions.submit(submission, actor="api:webshop").operation

    def reminded(self, order: int, *, lease_s: float = 60) -> tuple[Operation, Attempt, str]:
        """Let an automation claim a reminder; its claim counts as started."""
        submission = actions.Submission(
            "reminder.send",
            {"order": str(order)},
            key=f"reminder/{order}/1",
            source={"system": "webshop", "reference": str(order)},
            description=f"Reminder for order {order}",
            subject="Acme",
            lease_s=lease_s,
        )
        reply = actions.claim(submission, actor="api:webshop")
        assert reply.attempt is not None
        assert reply.token is not None
        return reply.operation, reply.attempt, reply.token

    def started(self, operation: Operation, *, look: Found = ABSENT) -> tuple[Attempt, str] | None:
        """Claim and start one try as the worker does; None where the look before it settled it."""
        claimed = actions.claim_to_send(operation.pk, actor="worker")
        assert claimed is not None, "nothing is due"
        if claimed.attempt.number > 1 and not actions.before_send(
            claimed, found=look, asked_at=database_now(), actor="worker"
        ):
            return None
        actions.start(claimed.attempt.uid, token=claimed.token, start_id=uuid.uuid4(), actor="worker")
        return claimed.attempt, claimed.token

    def tried(self, operation: Operation, report: Report, *, after_s: float = 3) -> Operation:
        """Make one whole try that ends like this."""
        started = self.started(operation)
        assert started is not None
        attempt, token = started
        self.clock.advance(after_s)
        actions.record(attempt.uid, token=token, report=report, actor="worker")
        return self.again(operation)

    def silent(self, order: int, amount: str = "1240.00", **more: Any) -> Operation:
        """An invoice that was sent and never answered: it may have happened."""
        return self.tried(self.invoiced(order, amount, **more), SILENT)

    def looked(self, operation: Operation, found: Found, *, actor: str = "worker") -> Operation:
        """Keep a look-up as if the destination had been asked now."""
        actions.keep_lookup(
            operation.pk,
            found=found,
            asked_at=database_now(),
            actor=actor,
            reason="A look.",
            control_reference="INV-1",
        )
        return self.again(operation)

    def absent(self, order: int, amount: str = "1240.00", **more: Any) -> Operation:
        """An invoice whose absence is proved at the limit: it did not happen."""
        operation = self.silent(order, amount, **more)
        self.clock.advance(31)
        return self.looked(operation, ABSENT)

    def allowed(self, operation: Operation, *, actor: str = "ann") -> Permit:
        """Let a person look and allow one more try."""
        self.looked(operation, ABSENT, actor=actor)
        return actions.permit(
            operation.pk, actor=actor, reason="Acme is waiting for it.", command_id=uuid.uuid4()
        )

    def expired(self, order: int) -> Operation:
        """A reminder whose automation fell silent."""
        operation, _, _ = self.reminded(order, lease_s=1)
        self.clock.advance(20)
        actions.expire(operation.pk, actor="policy")
        return self.again(operation)

    def blind(self, order: int, amount: str, **more: Any) -> Operation:
        """An invoice in doubt that nobody could look up."""
        operation = self.silent(order, amount, **more)
        for _ in range(4):
            self.clock.advance(60)
            operation = self.looked(operation, BLIND)
        return operation

    def every_state(self) -> dict[str, Operation]:
        """Operations in every state that a page can show, some five hours old."""
        several_ = self.silent(471, "865.00", subject="Umgeni Cycles")
        differs = self.silent(466, "4960.00", subject="North Coast Dairy")
        old = {
            "several": self.looked(several_, several(several_, *(f"INV-118{n}" for n in range(1, 5)))),
            "differs": self.looked(differs, differing(differs, "INV-1160", "5580.00")),
            "absent": self.absent(483),
            "allowed": self.absent(484, "99.00", subject="Glenwood School"),
            "refused": self.tried(self.invoiced(455, "7315.00", subject="Ballito Surf"), REFUSED),
            "completed": self.tried(
                self.invoiced(402, "1860.00", subject="Bluff Hardware"), done("INV-1187")
            ),
            "could_not_look": self.blind(318, "18400.00", subject="Marine Parade Hotel"),
            "expired": self.expired(398),
        }
        self.clock.advance(5 * 3600)
        taken = self.invoiced(377, "960.00", currency="EUR", subject="Hafenkontor GmbH")
        running = self.invoiced(485, "415.00", subject="Berea Coffee")
        self.started(running)
        new = {
            "accepted": self.tried(taken, TAKEN),
            "uncertain": self.silent(476, "12650.00", subject="Pinetown Tools"),
            "running": self.again(running),
            "pending": self.invoiced(412, "980.00", subject="Cargo & Kin"),
        }
        self.looked(old["absent"], ABSENT, actor="ann")
        self.allowed(old["allowed"])
        return {name: self.again(operation) for name, operation in (old | new).items()}

    def has_thousands_alike(self, count: int = 3000, *, state: State | None = None) -> None:
        """Add so many rows like each operation that is there (in this state); only ids and keys differ."""
        those = f"WHERE state = '{state}'" if state else ""
        columns = [field.column for field in Operation._meta.fields if field.column != "id"]
        values = {name: name for name in columns} | {"uid": "gen_random_uuid()", "key": "key || '/' || n"}
        self.clock.database.as_superuser(
            "SET session_replication_role = replica",
            f"INSERT INTO ledger_operation ({', '.join(columns)}) "
            f"SELECT {', '.join(values[name] for name in columns)} "
            f"FROM ledger_operation, generate_series(1, {count}) AS n {those}",
            "ANALYZE ledger_operation",
        )

    def again(self, operation: Operation) -> Operation:
        """Read it again."""
        return Operation.objects.select_related("operation_type__destination").get(pk=operation.pk)


SILENT = Report(Outcome.UNCERTAIN, error_code="silent", message="No answer within 3 s.")
REFUSED = Report(Outcome.REJECTED, http_status=422, error_code="http_422", message="The customer is blocked.")
UNKNOWN_TO_THEM = Report(
    Outcome.REJECTED, http_status=401, error_code="http_401", message="The token is wrong."
)
UNSENT = Report(Outcome.RETRYABLE, error_code="not_sent", message="The connection was refused.")
TAKEN = Report(Outcome.ACCEPTED, http_status=202)
CALLS: dict[str, Any] = {
    "send": {"path": "/invoices", "set": {"metadata.operation": "{key}"}},
    "record": {
        "id": "id",
        "reference": "metadata.operation",
        "amount": "total",
        "currency": "currency",
        "status": "status",
        "pending_statuses": ["processing"],
        "failed_statuses": ["declined"],
        "void_statuses": ["void"],
        "occurred_at": "created_at",
    },
    "lookup": {"path": "/invoices?reference={key}", "items": "data"},
}


def report(attempt: Attempt, token: str, outcome: Report, *, actor: str = "api:webshop") -> None:
    """Report how a caller's attempt ended."""
    actions.record(attempt.uid, token=token, report=outcome, actor=actor)


def done(number: str) -> Report:
    """An answer that proves it."""
    return Report(Outcome.SUCCEEDED, http_status=201, destination_reference=number)


def record(
    operation: Operation,
    number: str,
    *,
    amount: str | None = None,
    standing: Standing = Standing.DONE,
    differs: tuple[str, ...] = (),
    at: datetime | None = None,
) -> RecordSeen:
    """One record of the destination that carries the operation's key."""
    value = Decimal(amount) if amount else operation.amount
    status = {Standing.DONE: "open", Standing.PENDING: "processing"}.get(standing, str(standing))
    return RecordSeen(number, operation.key, value, operation.currency, status, standing, at, differs)


def one(operation: Operation, number: str, standing: Standing = Standing.DONE) -> Found:
    """One match."""
    return Found(Verdict.ONE_MATCH, complete=True, records=(record(operation, number, standing=standing),))


def several(operation: Operation, *numbers: str) -> Found:
    """More than one."""
    return Found(Verdict.SEVERAL, complete=True, records=tuple(record(operation, n) for n in numbers))


def differing(operation: Operation, number: str, amount: str) -> Found:
    """One with another amount."""
    return Found(
        Verdict.DIFFERS,
        complete=True,
        records=(record(operation, number, amount=amount, differs=("amount",)),),
    )


@pytest.fixture
def durban(clock: Clock) -> Durban:
    """Durban, whose destination nobody reaches; a test that needs more has its own."""
    return Durban(clock)
