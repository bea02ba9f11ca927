"""Brings generated worlds into a database, lets the product run over them, and reads what it says.

The destination's side goes the run's own way: a connector lists it, page by page, and the run reads, stages,
compares, checks and ties it (`running.execute`, a dry one). Operations are rows as their actions leave them,
written at once and past their guards: how they come into a state has tests of its own, and a world in some
seconds would prove less than some hundred do. A check of its own is answered by the world, for what a look-up
makes of a destination's answer has its own tests as well.
"""

import itertools
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger.actions.submission import digest_keys
from ledger.models import Attempt, Operation, OperationType, Permit
from ledger.rules.calls import ListCall
from ledger.rules.connections import Connection
from ledger.rules.digests import leaf_digests
from ledger.rules.states import Outcome, State, Verdict
from reconcile import absences, leasing
from reconcile.absences import Seen
from reconcile.actions import start
from reconcile.models import Finding, Plan, Record, Run
from reconcile.rules.declared import Rule
from reconcile.running import execute
from reconcile.sources.rules import RowMap, SourceRules
from reconcile.sums import sides_of
from tests.databases import Clock, Database
from tests.reconcile import oracle
from tests.reconcile.books import HELD, Books
from tests.reconcile.oracle import Difference, Item, Judged, Line
from tests.reconcile.worlds import (
    DECIMALS,
    NOW,
    TEN_DAYS,
    Declared,
    First,
    Meant,
    Order,
    Row,
    Rules,
    There,
    World,
)

PAGE = 40
STATUSES = {
    "done": ("open", "paid"),
    "pending": ("processing", "on the moon"),
    "failed": ("declined",),
    "void": ("void",),
}
AMOUNTS_WRONG = ("ten", 10.5, "1,860.00", None, "10.55555", {"decimal": "10.50"})
PLACES = {"number": "{source.reference}", "shop": "{source.system}"}
FILLED = ("ledger_operation", "ledger_attempt", "ledger_permit")


@dataclass
class Said:
    """What a run said: its items, its differences, its figures."""

    run: Run
    items: Counter[Item]
    differences: Counter[Difference]


@dataclass
class Stage:
    """A database in which worlds are played, each batch by a type and a plan of its own."""

    books: Books
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    others: OperationType = field(init=False)
    """The type of what reverses, and of what comes first."""

    def __post_init__(self) -> None:
        self.others = self._kind("others", TEN_DAYS)

    def _kind(self, name: str, rules: Rules) -> OperationType:
        kind = copy(self.books.plan.operation_type)
        kind.pk, kind.name = None, name
        if not rules.asks:
            kind.calls = {name: call for name, call in kind.calls.items() if name != "lookup"}
        if rules.places:
            kind.calls = kind.calls | {"lookup": kind.calls["lookup"] | {"match": PLACES}}
            kind.key_template = "order/{source.system}/{source.reference}"
        if rules.contents:
            kind.calls = kind.calls | {"record": kind.calls["record"] | {"compare": {"note": "memo"}}}
        kind._state.adding = True
        kind.save()
        return OperationType.objects.select_related("destination").get(pk=kind.pk)

    def plan(self, rules: Rules) -> Plan:
        """Make a plan that says what these rules do, over a new type."""
        name = f"played-{next(self.numbers)}"
        return Plan.objects.create(
            name=name,
            operation_type=self._kind(name, rules),
            timezone=rules.zone,
            window_s=86400.0,
            grace_s=rules.grace.total_seconds(),
            tolerance={cur: str(major(amount, cur)) for cur, amount in (rules.tolerance or {}).items()},
            tolerance_cap={cur: str(major(amount, cur)) for cur, amount in (rules.cap or {}).items()},
            source=source_of(rules),
            rules=[rule_of(rule) for rule in rules.declared],
        )

    def play(self, rules: Rules, worlds: Sequence[World]) -> Said:
        """Run over some worlds and return what the run says."""
        plan = self.plan(rules)
        orders = [order for world in worlds for order in world.orders]
        self._fill(plan.operation_type, orders)
        HELD.pages, HELD.rows, HELD.as_of = pages(orders), rows(orders), NOW - rules.lag
        run = start(plan, window_from=rules.window_from, window_to=rules.window_to, actor="ann", dry_run=True)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(absences, "tried", lambda operation: _seen(operation.key, orders))
            patched.setattr(leasing, "discard", lambda run: None)  # its lines are read first
            found = execute(run)
        said = Said(run, _items(run), Counter(map(_difference, found)))
        leasing.discard(run)
        return said

    def _fill(self, kind: OperationType, orders: Sequence[Order]) -> None:
        meant = [order for order in orders if order.meant is not None]
        operations = [_operation(kind, order) for order in meant]
        for operation, order in zip(operations, meant, strict=True):
            assert order.meant is not None
            operation.after = self._firsts(order.name, order.meant.after)
        Operation.objects.bulk_create(operations)
        Attempt.objects.bulk_create(
            _attempt(operation, order.meant.tried)
            for operation, order in zip(operations, meant, strict=True)
            if order.meant is not None and order.meant.tried is not None
        )
        Operation.objects.bulk_create(
            self._reversal(operation, order, record)
            for operation, order in zip(operations, meant, strict=True)
            for record in order.there
            if record.reversal is not None
        )

    def _firsts(self, name: str, firsts: Sequence[First]) -> Operation | None:
        """Make what comes first, the farthest one before all others."""
        before: Operation | None = None
        for place, first in reversed(list(enumerate(firsts))):
            key = f"{self.others.pk}/{next(self.numbers)}/{name}/first/{place}"
            before = Operation.objects.create(
                **_row(self.others, key, first.state),
                leaf_digests={},
                held_at=NOW if first.held else None,
                after=before,
            )
            if first.permitted:
                Permit.objects.create(
                    operation=before,
                    source=Permit.Source.PERSON,
                    actor="ann",
                    reason="Again.",
                    effective_at=NOW,
                    lapses_at=NOW + timedelta(days=1),
                )
        return before

    def _reversal(self, operation: Operation, order: Order, record: There) -> Operation:
        by = record.reversal
        assert by is not None
        return Operation(
            **_row(self.others, f"{next(self.numbers)}/{order.name}/void/{record.number}", by.state),
            leaf_digests={},
            amount=major(by.amount, by.currency),
            currency=by.currency,
            reverses=operation,
            reversed_reference=f"INV-{record.number}",
            corrected_at=NOW if by.corrected else None,
        )


@contextmanager
def staged(books: Books, *, database: Database, clock: Clock) -> Iterator[Stage]:
    """Hold the clock still and the guards of what is filled off, while worlds are played."""
    clock.set(NOW)
    with database.rewriting(*FILLED):
        yield Stage(books)


def major(amount: int, currency: str) -> Decimal:
    """Write whole minor units as an amount."""
    return Decimal(amount).scaleb(-DECIMALS[currency])


def minor(amount: Decimal | None, currency: str) -> int:
    """Read an amount in whole minor units; it must be exact."""
    units = (amount or Decimal(0)).scaleb(DECIMALS.get(currency, 0))
    assert units == int(units), f"{amount} {currency} is no whole number of minor units"
    return int(units)


def _row(kind: OperationType, key: str, state: str) -> dict[str, Any]:
    return {
        "operation_type": kind,
        "key": key,
        "state": state,
        "payload_digest": "k1:0",
        "idempotency_key": key,
        "lease_until": NOW + timedelta(hours=1) if state == State.RUNNING else None,
        "evidence": "answer" if state == State.COMPLETED else "",
    }


def _operation(kind: OperationType, order: Order) -> Operation:
    meant = order.meant
    assert meant is not None
    own = next((oracle.id_of(record) for record in order.there if record.own), "")
    own = f"INV-{meant.known}" if meant.known else own
    return Operation(
        **_row(kind, order.name, meant.state),
        amount=None if meant.amount is None else major(meant.amount, meant.currency),
        currency=meant.currency,
        source_system="shop",
        source_reference=order.source,
        subject=meant.subject,
        leaf_digests=_leaves(meant),
        accepted_at=meant.accepted,
        held_at=NOW if meant.held else None,
        cancelled_at=NOW if meant.cancelled else None,
        corrected_at=NOW if meant.corrected else None,
        next_try_at=meant.due,
        attempt_count=int(meant.tried is not None),
        destination_reference=own,
    )


def _leaves(meant: Meant) -> dict[str, str]:
    """Return the digests of a payload that says what was meant."""
    payload = {} if meant.says is None else {"note": meant.says}
    return leaf_digests(digest_keys(), payload, amount=None, currency=None)


def _attempt(operation: Operation, tried: datetime) -> Attempt:
    ended = operation.state != State.RUNNING
    return Attempt(
        operation=operation,
        number=1,
        token_hash=uuid.uuid4().hex,
        actor="api:shop",
        idempotency_key=operation.key,
        payload_digest="k1:0",
        claimed_at=tried,
        lease_until=tried + timedelta(minutes=1),
        closed_at=tried if ended else None,
        outcome=Outcome.UNCERTAIN if ended else None,
    )


def pages(orders: Sequence[Order]) -> list[list[dict[str, Any]] | None]:
    """Return the list, page by page; what changes while it is read stands on the first one as it was."""
    listed = [(order, record) for order in orders for record in order.there if not record.late]
    listed.sort(key=lambda one: one[1].number)
    first = [
        item(order, record, amount=record.before) for order, record in listed if record.before is not None
    ]
    rest = [item(order, record, amount=record.amount) for order, record in listed]
    return [first, *(rest[at : at + PAGE] for at in range(0, len(rest), PAGE))]


def item(order: Order, record: There, *, amount: int | None) -> dict[str, Any]:
    """Write a record as its destination lists it."""
    statuses, made = STATUSES[record.standing], record.made
    # A time without a zone cannot be placed, and is as good as none.
    told = (
        made.isoformat()
        if made is not None
        else (None, "2026-11-10T12:00:00", "yesterday")[record.number % 3]
    )
    total: object = str(major(amount or 0, record.currency))
    if record.trouble == "amount":
        total = AMOUNTS_WRONG[record.number % len(AMOUNTS_WRONG)]
    return {
        "id": oracle.id_of(record) or None,
        **_reference(order),
        "total": total,
        "currency": (None, "RAND")[record.number % 2] if record.trouble == "currency" else record.currency,
        "status": None if record.trouble == "status" else statuses[record.number % len(statuses)],
        "created_at": told,
        **({"payer": {"name": f" {record.payer} "}} if record.payer else {}),
        "memo": record.says,
    }


def source_of(rules: Rules) -> dict[str, Any] | None:
    """Return how a plan's source is reached and read, where it has one: rows name a key, or what makes it."""
    if not rules.source:
        return None
    made_of = {"system": "'shop'"} if rules.places else {"key": "key"}
    return SourceRules(
        connector="tests.reconcile.books:Sourced",
        connection=Connection(base_url="http://shop.test"),
        list=ListCall(),
        record=RowMap(**made_of),
    ).stored()


def rule_of(rule: Declared) -> dict[str, Any]:
    """Write a rule as the plan keeps it."""
    allowed = {cur: str(major(amount, cur)) for cur, amount in (rule.tolerance or {}).items()}
    return Rule(
        name=rule.name,
        on={"subject": "payer.name"} if rule.subject else {},
        tolerance=allowed,
        percent=None if rule.percent is None else str(float(rule.percent)),
        days=rule.days,
        renumbered=rule.renumbered,
        split=rule.split,
    ).said()


def rows(orders: Sequence[Order]) -> list[list[dict[str, Any]] | None]:
    """Return the source's rows, page by page."""
    listed = sorted(((order, row) for order in orders for row in order.rows), key=lambda one: one[1].number)
    items = [row_item(order, row) for order, row in listed]
    return [items[at : at + PAGE] for at in range(0, len(items), PAGE)]


def row_item(order: Order, row: Row) -> dict[str, Any]:
    """Write a row as its source lists it."""
    key = {"reference": order.source} if order.source else {"key": order.name}
    return {
        **({"key": "a\nb"} if row.trouble == "key" else key),
        "amount": AMOUNTS_WRONG[row.number % len(AMOUNTS_WRONG)]
        if row.trouble == "amount"
        else str(major(row.amount, row.currency)),
        "currency": (None, "RAND")[row.number % 2] if row.trouble == "currency" else row.currency,
        "status": "cancelled" if row.cancelled else (None, "open")[row.number % 2],
        "date": row.dated.isoformat() if row.dated is not None else None,
    }


def _reference(order: Order) -> dict[str, Any]:
    if not order.source:
        return {"metadata": {"operation": oracle.key_of(order) or None}}
    shop = {"drill": oracle.key_of(order), "nothing": None}.get(order.carries, "shop")
    return {"number": order.source, "shop": shop}


def _seen(key: str, orders: Sequence[Order]) -> Seen:
    """Answer a check of its own."""
    order = next(order for order in orders if order.name == key)
    assert order.meant is not None
    late = sorted((record for record in order.there if record.late), key=lambda record: record.number)
    if late:
        verdict = Verdict.SEVERAL if len(late) > 1 else Verdict.ONE_MATCH
        return Seen(verdict, False, "", [_kept(order, record) for record in late])
    if order.meant.answer == "blind":
        return Seen(Verdict.COULD_NOT_LOOK, False, "It is closed on Sundays.")
    return Seen(Verdict.ABSENT, order.meant.answer == "absent", "")


def _kept(order: Order, record: There) -> dict[str, Any]:
    """Write a record as a look-up keeps it."""
    return {
        "id": oracle.id_of(record),
        "reference": oracle.key_of(order),
        "amount": str(major(record.amount, record.currency)),
        "currency": record.currency,
        "status": STATUSES[record.standing][0],
        "standing": record.standing,
        "occurred_at": record.made.isoformat() if record.made is not None else None,
        **({"contents": ["note"]} if order.meant and order.meant.says not in (None, record.says) else {}),
    }


def _items(run: Run) -> Counter[Item]:
    lines = Record.objects.filter(run=run).order_by("number")
    rows = lines.values_list(
        "side",
        "reference",
        "external_id",
        "item_class",
        "pair__external_id",
        "paired_with__reference",
        "backs__reference",
    )
    items: Counter[Item] = Counter()
    for side, reference, identity, item_class, *others in rows:
        items[Item(side, reference, identity, item_class or "", next(filter(None, others), ""))] += 1
    return items


def _difference(finding: Finding) -> Difference:
    amount = None if finding.amount is None else minor(finding.amount, finding.currency)
    return Difference(finding.item_class, finding.reference, finding.items, amount, finding.currency)


def figures(said: Said) -> dict[str, Any]:
    """Return a run's figures as the oracle has its own."""
    tie = said.run.tie
    return {
        "ledger": {currency: _sum(side, currency) for currency, side in tie["ledger"].items()},
        "destination": {
            currency: _sum(side, currency) for currency, side in tie["destination"].items() if side["count"]
        },
        "source": {
            currency: _sum(side, currency)
            for currency, side in tie.get("source", {}).items()
            if side["count"]
        },
        "lines": {
            (line["class"], line["currency"]): Line(
                line["items"],
                **{side: _sum(line[side], line["currency"]) for side in sides_of(line)},
            )
            for line in tie["lines"]
        },
        "reversed": {
            (told["reference"], told["currency"]): (
                told["items"],
                *(minor(Decimal(told[part]), told["currency"]) for part in ("surplus", "net")),
            )
            for told in said.run.reversed
        },
    }


def _sum(side: dict[str, Any], currency: str) -> tuple[int, int]:
    return side["count"], minor(Decimal(side["amount"]), currency)


def apart(said: Said, judged: Judged) -> list[str]:
    """Say where a run and the oracle are of two minds; nothing where they agree on all."""
    wrong = [f"only the run: {one}" for one in (said.items - judged.items)]
    wrong += [f"only the oracle: {one}" for one in (judged.items - said.items)]
    wrong += [f"only the run: {one}" for one in (said.differences - judged.differences)]
    wrong += [f"only the oracle: {one}" for one in (judged.differences - said.differences)]
    for name, value in figures(said).items():
        meant = getattr(judged, name)
        if value != meant:
            names = {one for one in value.keys() | meant.keys() if value.get(one) != meant.get(one)}
            wrong += [f"{name} {one}: the run {value.get(one)}, the oracle {meant.get(one)}" for one in names]
    if not said.run.explained or any(Decimal(left) for left in said.run.residual.values()):
        wrong.append(f"unexplained: {said.run.residual} {said.run.tie['unexplained_items']}")
    return wrong
