"""When is absence proof? One rule, for look-ups that are kept and for those that are only tried."""

from datetime import datetime, timedelta

from django.db.models import Q

from ledger.actions.drilling import drilled
from ledger.actions.reading import contract_of
from ledger.models import Operation, OperationType
from ledger.rules.records import Found
from ledger.rules.states import EFFECT, Verdict


def predates_rules(operation: Operation) -> bool:
    """Say whether it was first sent before the rules by which it is looked up last changed.

    Those rules may look elsewhere, at another account, or for a name that was not written then.
    """
    first_sent_at = operation.first_sent_at
    return first_sent_at is not None and first_sent_at < operation.operation_type.lookup_changed_at


def same_rules(operation: Operation) -> Q:
    """Return the condition for operations that were sent under the same rules, at the same account."""
    kind = operation.operation_type
    if predates_rules(operation):
        sent = Q(first_sent_at__lt=kind.lookup_changed_at)
        return sent & Q(account_first=operation.account_first)
    return Q(first_sent_at__gte=kind.lookup_changed_at, account_first=kind.destination.account)


def is_proof(operation: Operation, found: Found, *, asked_at: datetime, control_reference: str) -> bool:
    """Say whether a look-up proves that an operation's effect does not exist.

    Absent, read to its end, asked after the settle time, by a look-up that is known to find what was sent
    under the same rules: since they last changed, or by the control record of this very look-up; where only a
    status says so, by that record alone. No drill of those rules may have found that it does not tell what is
    there.
    """
    if found.verdict is not Verdict.ABSENT or not found.complete or not is_settled(operation, asked_at):
        return False
    kind = operation.operation_type
    if asked_at < kind.lookup_changed_at or drilled(kind).lookup_broken_on is not None:
        return False
    finds = kind.lookup_proved_at is not None and not predates_rules(operation)
    return (finds and not found.by_status) or bool(control_reference)


def is_settled(operation: Operation, asked_at: datetime) -> bool:
    """Say whether absence could be proof when it was asked: nobody was sending, or had only just sent."""
    last = None if operation._state.adding else operation.attempts.order_by("number").last()
    if last is not None and last.started_at is not None:
        settle_s = contract_of(operation).settle_s if last.outcome in EFFECT else 0
        if last.sender_ended_at is None or asked_at < last.sender_ended_at + timedelta(seconds=settle_s):
            return False
    return operation.settles_at is None or asked_at >= operation.settles_at


def note_finding(operation: Operation, asked_at: datetime) -> None:
    """Note that the look-up found a record that was sent under the rules in force."""
    kind = operation.operation_type
    if kind.lookup_proved_at is not None or predates_rules(operation):
        return
    unproved = OperationType.objects.filter(pk=kind.pk, lookup_proved_at=None)
    if unproved.filter(lookup_changed_at__lte=asked_at).update(lookup_proved_at=asked_at):
        kind.lookup_proved_at = asked_at
