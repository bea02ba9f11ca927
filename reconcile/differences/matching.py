"""Match by hand: what is missing is a record that no operation carries, on a person's word."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self

from django.db import transaction

from ledger import actions as ledger
from ledger.actions.changing import given, once
from ledger.models import Operation, database_now
from ledger.rules.errors import NotNow
from ledger.rules.states import LIVE, CaseKind, State
from reconcile.carrying import ABSENT
from reconcile.classes import ItemClass
from reconcile.differences import actions, leaves, looking
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding, Record, Run

CANDIDATES = 20
LOOKED_AT = 1000
"""Of so many of the latest, those with the nearest amounts are candidates."""


@dataclass(frozen=True)
class Pair:
    """What is missing, and the record of nobody's that it may be; begun from either."""

    missing: Finding
    extra: Finding

    @classmethod
    def of(cls, one: Finding, other: Finding) -> Self:
        """Put two differences in their places."""
        return cls(one, other) if one.item_class in ABSENT else cls(other, one)

    @property
    def apart(self) -> Decimal | None:
        """What is there less what was meant; None in two currencies, or where one has no amount."""
        meant, there = self.missing, self.extra
        if meant.amount is None or there.amount is None or meant.currency != there.currency:
            return None
        return there.amount - meant.amount

    @property
    def far(self) -> tuple[bool, Decimal]:
        """How little the two look like one: in two currencies, then by the amount."""
        return self.missing.currency != self.extra.currency, abs(self.apart or Decimal(0))


def candidates(finding: Finding) -> Sequence[Pair]:
    """Return what a missing one or a record of nobody's could be matched with, the nearest amount first."""
    done = Finding.objects.filter(run__plan=finding.run.plan_id, run__state=Run.State.DONE)
    living = done.filter(lives=True).order_by("-pk")
    if finding.item_class in ABSENT:
        found = living.filter(item_class=ItemClass.UNEXPECTED, operation=None)
        near = [one for one in found[:LOOKED_AT] if _one(one) is not None and not one.elsewhere]
    else:
        found = living.filter(item_class__in=ABSENT, operation__isnull=False).select_related("operation")
        near = [one for one in found[:LOOKED_AT] if not leaves.why_unfit(one, Way.MATCH)]
    return sorted((Pair.of(finding, one) for one in near), key=lambda pair: pair.far)[:CANDIDATES]


def why_unfit(finding: Finding) -> str:
    """Say why a difference that is open is not one to be matched by hand, from either side; empty: it is."""
    return leaves.why_unfit(finding, Way.MATCH) if finding.item_class in ABSENT else _why_not_record(finding)


def _one(finding: Finding) -> dict[str, Any] | None:
    standing = [record for record in finding.destination if record["standing"] in LIVE]
    return standing[0] if len(standing) == 1 and len(finding.destination) == 1 else None


def match(
    finding: Finding,
    other: Finding,
    *,
    actor: str,
    reason: str,
    command_id: uuid.UUID,
    seen: actions.Seen | None = None,
) -> Decision:
    """Say that a missing one is that record: its operation is done on this word, or a second person is asked.

    `seen`: what the destination holds of the other now, where it could be asked. NotNow where it cannot be.
    """
    words = given(reason)

    def make() -> Decision:
        kept = _locked(finding, other, seen=seen)
        record, operation = _one(other), kept.operation
        assert record is not None and operation is not None  # asked just now
        if operation.state == State.FAILED:
            ledger.reopen(operation.pk, kind=CaseKind.THERE_AFTER_ALL, actor=actor, reason=words)
        approval = ledger.attest(
            operation.pk, actor=actor, reason=words, command_id=command_id, reference=record["id"]
        )
        decision = actions.made(
            kept, Way.MATCH, actor=actor, words=words, now=database_now(), until=None, command_id=command_id
        )
        decision.other, decision.operation, decision.approval = other, operation, approval
        decision.record = {**record, "reference": other.reference}
        if approval is None:
            decision.in_force_at = decision.made_at
        else:
            decision.expires_at = approval.expires_at
        decision.save()
        kind = "difference_asked" if approval else "difference_matched"
        actions.tell(decision, kind, actor=actor, reason=words)
        return decision

    with transaction.atomic():
        return once(Decision.objects.filter(command_id=command_id, finding=finding), make)


def _locked(finding: Finding, other: Finding, *, seen: actions.Seen | None) -> Finding:
    """Hold both, so that nobody decides about either meanwhile; NotNow says why the two are not matched."""
    both = Finding.objects.select_for_update(of=("self",)).select_related(*actions.READ).order_by("pk")
    kept = {one.pk: one for one in both.filter(pk__in=[finding.pk, other.pk])}[finding.pk]
    if why := leaves.why_not(kept, Way.MATCH) or _why_not_with(other):
        raise NotNow(why)
    if seen and (why := looking.changed(other, seen[0])):
        raise NotNow(f"{why} Run the reconciliation again.")
    return kept


def _why_not_with(other: Finding) -> str:
    latest = leaves.current(other)
    if latest is None or latest.pk != other.pk:
        return leaves.SUPERSEDED
    if latest.run.state != Run.State.DONE:
        return leaves.UNDONE
    if why := _why_not_record(other):
        return why
    before = leaves.standing(other)
    return f"{before.maker} has decided about that record already: {before.why_said}" if before else ""


def _why_not_record(other: Finding) -> str:
    if other.operation_id is not None or other.item_class != ItemClass.UNEXPECTED or _one(other) is None:
        return "Only one record that no operation carries is matched by hand."
    return "An operation of another type carries it already." if other.elsewhere else ""


def take_effect() -> None:
    """Let the answers of second persons, given on the operations, count for what was matched with them."""
    answered = Decision.objects.open().exclude(approval=None).exclude(approval__decided_at=None)
    for pk in list(answered.values_list("pk", flat=True)):
        with transaction.atomic():
            decision = Decision.objects.select_for_update(of=("self",)).get(pk=pk)
            approval = decision.approval
            if approval is not None and decision.decided_at is None:
                actions.answer_as(decision, approval)


def follow(plan_id: int, run_id: int, *, actor: str) -> None:
    """End what was matched by hand where this run has seen its record otherwise, or one of its own."""
    matched = Decision.objects.in_force().filter(plan=plan_id, way=Way.MATCH)
    for decision in matched.select_related("operation", "finding__run").order_by("pk"):
        if why := _undone(decision, run_id):
            actions.end(decision.uid, actor=actor, why=why)


def _undone(decision: Decision, run_id: int) -> str:
    """Say why a match holds no longer; empty where it does, or this run has not looked at it."""
    record, operation = decision.record, decision.operation
    assert record is not None and isinstance(operation, Operation)  # a constraint
    lines = Record.objects.filter(run=run_id, side=Record.Side.DESTINATION)
    seen = lines.filter(external_id=record["id"]).first()
    if seen is not None and seen.operation_id == operation.pk:
        return ""
    if seen is not None:
        own = lines.filter(reference=operation.key).exclude(pk=seen.pk).exists()
        other = f"{operation.key} has a record of its own" if own else f"{record['id']} is otherwise now"
        return f"Run {run_id} saw that {other}: the match is undone."
    again = leaves.current(decision.finding)
    if again is not None and again.run_id == run_id:
        return f"Run {run_id} no longer found {record['id']}: the match is undone."
    return ""
