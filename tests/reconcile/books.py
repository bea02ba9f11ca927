"""A destination, an operation type and a plan to reconcile, with the sandbox or our own list behind them."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db.models import Sum

from ledger import actions
from ledger.actions import Reply, Report, Submission
from ledger.destinations import sending
from ledger.destinations.connectors.base import (
    IncompletePull,
    ListPage,
    ListRequest,
    Looked,
    LookRequest,
    SendRequest,
    Target,
)
from ledger.models import Operation
from ledger.rules.outcomes import Answer
from ledger.rules.states import Outcome
from reconcile.actions import start
from reconcile.classes import ItemClass, is_finding
from reconcile.configuration import configure
from reconcile.differences import actions as differences
from reconcile.differences.models import Way
from reconcile.models import Finding, Plan, Run
from reconcile.running import execute, window
from reconcile.sources.rules import Control
from reconcile.sums import Line
from tests.sandboxes import Sandbox

FILE = """
[destinations.books]
name = "Durban Books"
entity = "Durban Trading (Pty) Ltd"
connector = "{connector}"
account = "main"
base_url = "{url}"
timeout = "3s"

[destinations.books.contract]
idempotency = "header"
key_retention = "24h"
changed_data = "rejects"
saves = "all"
settle = "0s"

[operation_types."invoice.create"]
destination = "books"
label = "Create invoice"
performed_by = "{performed_by}"
owner = "finance"
lease = "30s"
key = "order/{{source.system}}/{{source.reference}}/v{{source.version}}"

[operation_types."invoice.create".send]
path = "/invoices"
set = {{ "metadata.operation" = "{{key}}" }}

[operation_types."invoice.create".record]
id = "id"
reference = "metadata.operation"
amount = "total"
currency = "currency"
status = "status"
pending_statuses = ["processing"]
done_statuses = ["open", "paid"]
failed_statuses = ["declined"]
void_statuses = ["void"]
occurred_at = "created_at"

[operation_types."invoice.create".lookup]
path = "/invoices?reference={{key}}"
items = "data"
paging = {{ style = "cursor", next = "next_cursor", parameter = "cursor" }}

[operation_types."invoice.create".list]
path = "/invoices?updated_since={{since}}&limit={limit}"
items = "data"
paging = {{ style = "cursor", next = "next_cursor", parameter = "cursor" }}

[operation_types."invoice.create".retry]
attempts = 1

[plans.invoices]
operation_type = "invoice.create"
schedule = "15 6 * * 1-5"
timezone = "Africa/Johannesburg"
window = "35d"
grace = "{grace}"
tolerance = {{ ZAR = "{tolerance}" }}
recipients = ["finance@example.com"]
"""

SOURCE = """
[plans.invoices.source]
name = "Web shop"
connector = "tests.reconcile.books:Sourced"
base_url = "http://shop.test"
record = { system = "'shop'", version = "'1'" }
"""
"""Who says what should exist: the rows that the test writes."""

STALL = """
[destinations.stall]
name = "Durban Books, market stall"
entity = "Durban Trading (Pty) Ltd"
connector = "tests.reconcile.books:Listed"
account = "stall"
base_url = "http://books.test"

[operation_types."invoice.issue"]
destination = "stall"
performed_by = "caller"
"""
"""Another account at the same address, whose type makes invoices under keys of its own."""

LISTED = "tests.reconcile.books:Listed"


@dataclass
class Held:
    """What the destination without a server holds, page by page; None as a page breaks the list off."""

    pages: list[list[dict[str, Any]] | None] = field(default_factory=list)
    looks: int = 0
    blind: bool = False
    as_of: datetime | None = None
    """The instant that its look-ups tell of, where that is not now."""
    rows: list[list[dict[str, Any]] | None] = field(default_factory=list)
    """What the source holds, page by page; None as a page breaks the list off."""
    counts: list[list[dict[str, Any]]] = field(default_factory=list)
    """What the source counts of itself, each time that it is asked."""


HELD = Held()


class Listed:
    """A connector by Python path: lists and looks up in HELD, which the test fills."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def send(self, request: SendRequest) -> Answer:
        return Answer("not_sent", detail="It takes nothing.")

    def look_up(self, request: LookRequest) -> Looked:
        HELD.looks += 1
        if HELD.blind:
            return Looked((), complete=False, why="It is closed on Sundays.")
        items = [item for page in HELD.pages for item in page or []]
        ours = [
            item for item in items if (item.get("metadata") or {}).get("operation") == request.values["key"]
        ]
        shown = tuple(item for item in ours if not item.get("unlooked"))
        return Looked(shown, complete=True, as_of=HELD.as_of)

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        for number in range(request.place["page"] if request.place else 0, len(HELD.pages)):
            page = HELD.pages[number]
            if page is None:
                raise IncompletePull("The list broke off.")
            yield ListPage([item for item in page if not item.get("unlisted")], {"page": number + 1})


class Sourced:
    """A connector by Python path: lists the rows of HELD, and counts as the test says."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def send(self, request: SendRequest) -> Answer:
        raise AssertionError("nothing is sent to a source")

    def look_up(self, request: LookRequest) -> Looked:
        raise AssertionError("a source is not asked for one operation")

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        if isinstance(request.call, Control):
            yield ListPage([*HELD.counts.pop(0)])
            return
        for number in range(request.place["row page"] if request.place else 0, len(HELD.rows)):
            page = HELD.rows[number]
            if page is None:
                raise IncompletePull("The list broke off.")
            yield ListPage([*page], {"row page": number + 1}, as_of=HELD.as_of)


def row(
    order: str, *, amount: object = "100.00", currency: str | None = "ZAR", **more: Any
) -> dict[str, Any]:
    """One row of the shop's orders; without `date` it tells no time."""
    return {"reference": order, "amount": amount, "currency": currency, **more}


def record(
    number: int,
    *,
    key: str | None,
    total: object = "100.00",
    currency: str | None = "ZAR",
    status: str | None = "open",
    **more: Any,
) -> dict[str, Any]:
    """One record as a destination lists it; without `created_at` it tells no time."""
    return {
        "id": f"INV-{number}",
        "metadata": {"operation": key},
        "total": total,
        "currency": currency,
        "status": status,
        **more,
    }


@dataclass
class Books:
    """The configured world of one test."""

    plan: Plan
    sandbox: Sandbox | None = None

    @classmethod
    def configured(
        cls,
        folder: Path,
        *,
        sandbox: Sandbox | None = None,
        performed_by: str = "tieout",
        source: str = "",
        **values: str,
    ) -> "Books":
        """Take the file in through `configure`; without a sandbox, the list is HELD."""
        HELD.__init__()  # type: ignore[misc]  # a fresh one for each test, where the connector finds it
        file = folder / "books.toml"
        known = {"grace": "0s", "tolerance": "0.00", "limit": "200"} | values
        url = sandbox.url if sandbox else "http://books.test"
        file.write_text(
            FILE.format(connector="http" if sandbox else LISTED, url=url, performed_by=performed_by, **known)
            + source
        )
        configure(file, check=False)
        return cls(Plan.objects.select_related("operation_type__destination").get(name="invoices"), sandbox)

    def submission(self, order: str, *, amount: str | None = "100.00", currency: str = "ZAR") -> Submission:
        """What the shop hands over for one order."""
        return Submission(
            type_name="invoice.create",
            key=None,
            source={"system": "shop", "reference": order, "version": "1"},
            description=f"Invoice for order {order}",
            subject="customer 77",
            amount=amount,
            currency=currency if amount is not None else None,
            payload={
                "order": order,
                "total": amount or "0.00",
                "currency": currency,
                "metadata": {"operation": key_of(order)},
            },
            attempt_id=None,
            lease_s=None,
        )

    def submitted(self, order: str, *, amount: str | None = "100.00", currency: str = "ZAR") -> Operation:
        """An operation that waits to be sent."""
        reply = actions.submit(self.submission(order, amount=amount, currency=currency), actor="api:shop")
        return reply.operation

    def sent(self, order: str, *, amount: str | None = "100.00", currency: str = "ZAR") -> Operation:
        """An operation that was sent once to the sandbox, whatever came of it."""
        operation = self.submitted(order, amount=amount, currency=currency)
        sending.send(operation.pk)
        return refreshed(operation)

    def claimed(
        self,
        order: str,
        outcome: Outcome | None,
        *,
        reference: str = "",
        amount: str | None = "100.00",
        currency: str = "ZAR",
    ) -> Operation:
        """An operation of the caller's, with what the caller reported; None leaves it running."""
        reply = actions.claim(self.submission(order, amount=amount, currency=currency), actor="api:shop")
        assert reply.attempt is not None
        assert reply.token is not None
        if outcome is not None:
            report = Report(outcome, destination_reference=reference)
            actions.record(reply.attempt.uid, token=reply.token, report=report, actor="api:shop")
        return refreshed(reply.operation)

    def elsewhere(self, folder: Path, order: str) -> Reply:
        """What the claim of an operation of another type gave; its key is that of the order."""
        (folder / "stall.toml").write_text(STALL)
        configure(folder / "stall.toml")
        meant = replace(self.submission(order), type_name="invoice.issue", key=key_of(order), source={})
        return actions.claim(meant, actor="api:stall")

    def outside(self, order: str, *, total: str = "100.00", currency: str = "ZAR") -> str:
        """An invoice that an older connector makes behind our back; returns its number."""
        assert self.sandbox is not None
        body = {
            "total": total,
            "currency": currency,
            "order": order,
            "metadata": {"operation": key_of(order)},
        }
        made: dict[str, str] = self.sandbox.call("POST", "/invoices", body=body).json
        return made["id"]

    def run(
        self, first: date | None = None, last: date | None = None, *, keep: bool = True
    ) -> tuple[Run, list[Finding]]:
        """Reconcile over the plan's own window, or over some days."""
        start_at, to = window(self.plan, first, last)
        run = start(self.plan, window_from=start_at, window_to=to, actor="ann", dry_run=not keep)
        return run, execute(run)


def closed(finding: Finding, *, actor: str, reason: str) -> None:
    """A person closes what no operation carries."""
    differences.decide(finding, Way.CLOSE, actor=actor, reason=reason, command_id=command_id())


def key_of(order: str) -> str:
    """The operation key of an order."""
    return f"order/shop/{order}/v1"


def refreshed(operation: Operation) -> Operation:
    """The operation as it stands now."""
    return Operation.objects.select_related("operation_type__destination").get(pk=operation.pk)


def adds_up(run: Run) -> None:
    """Every item is in one class, nothing is left over, and findings stand for all that is not in order."""
    assert run.explained, run.tie
    assert not any(Decimal(amount) for amount in run.residual.values())
    assert sum(held["count"] for held in run.classes.values()) == run.totals["items"]
    for name, held in run.classes.items():
        if is_finding(ItemClass(name)):
            found = run.findings.filter(item_class=name).aggregate(items=Sum("items"))["items"] or 0
            assert found == held["count"], name
    assert held_of(run) == {
        (line["class"], line["currency"]): line
        for line in run.tie["lines"]
        if is_finding(ItemClass(line["class"]))
    }, "what differences hold is what the tie-out has of their classes"


def held_of(run: Run) -> dict[tuple[str, str], dict[str, Any]]:
    """What a run's differences hold together, as lines of the tie-out."""
    lines: dict[tuple[str, str], Line] = {}
    for line in (Line.read(held) for finding in run.findings.all() for held in finding.held or ()):
        lines.setdefault((line.item_class, line.currency), Line(line.item_class, line.currency)).add(line)
    return {name: line.stored() for name, line in lines.items()}


def counts(run: Run) -> dict[str, int]:
    """The classes that hold anything."""
    return {name: held["count"] for name, held in run.classes.items() if held["count"]}


def command_id() -> uuid.UUID:
    """A click."""
    return uuid.uuid4()


def loaded(text: str) -> dict[str, Any]:
    """JSON that a command printed."""
    document: dict[str, Any] = json.loads(text)
    return document
