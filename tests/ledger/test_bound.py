"""What a request is bound to: only changed content ends it, and says what changed; and when it is due."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from ledger.models import Approval, Operation
from ledger.rules.records import Found, RecordSeen
from ledger.rules.states import Standing, Verdict
from tests import factories as make
from tests.databases import Clock
from tests.ledger.test_approvals import ABOVE, answered, attest

AT_FIRST, LATER = "1\u00a0240.00", "1\u00a0300.00"
CHANGES: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "amount": (
        {"INV-1": "1240.00"},
        {"INV-1": "1300.00"},
        f"The record changed: amount {AT_FIRST} → {LATER}.",
    ),
    "more": (
        {"INV-1": "1240.00"},
        {"INV-1": "1300.00", "INV-2": "1300.00"},
        f"What is there changed: INV-1: amount {AT_FIRST} → {LATER}; INV-2 is there, {LATER} ZAR.",
    ),
    "fewer": (
        dict.fromkeys(("INV-1", "INV-2", "INV-3"), "1240.00"),
        dict.fromkeys(("INV-1", "INV-2"), "1240.00"),
        "What is there changed: INV-3 is gone.",
    ),
    "first": ({}, {"INV-1": "1300.00"}, f"What is there changed: INV-1 is there, {LATER} ZAR."),
    "void": ({"INV-1": "1300.00"}, {"INV-1": "void"}, "The record changed: status done → void."),
}


def found(operation: Operation, records: dict[str, str]) -> Found:
    """What a look-up finds: a record of each amount, or a void one."""
    seen = []
    for name, amount in records.items():
        standing = Standing.VOID if amount == "void" else Standing.DONE
        much = Decimal("1300.00" if amount == "void" else amount)
        differs = ("amount",) if much != operation.amount else ()
        seen.append(RecordSeen(name, operation.key, much, "ZAR", standing.value, standing, None, differs))
    verdict = Verdict.SEVERAL if len(seen) > 1 else Verdict.DIFFERS
    return Found(verdict, complete=True, records=tuple(seen))


def test_only_changed_content_ends_a_request_and_says_what_changed(clock: Clock) -> None:
    for name, (then, now, said) in CHANGES.items():
        operation = make.uncertain_operation(make.kind(name=name, retry={"attempts": 1}, **ABOVE))
        if then:
            make.looked(operation, found(operation, then))
        asked = attest(operation)
        assert asked is not None
        for same in (make.BLIND, found(operation, then) if then else make.BLIND):
            make.looked(operation, same)
            assert answered(asked) == ("", ""), "nothing new"
        make.looked(operation, found(operation, now))
        assert answered(asked) == ("voided", "policy")
        assert asked.why == operation.events.get(kind="ask_voided").reason == said


def test_a_request_is_due_before_the_key_s_window_closes(clock: Clock) -> None:
    kind = make.kind("key", contract={"key_retention": "2h", "key_margin": "10m"}, **ABOVE)
    operation = make.uncertain_operation(kind)
    asked = attest(operation)
    assert asked is not None and operation.first_sent_at is not None
    lease = timedelta(seconds=kind.lease_s)
    assert asked.due_at == operation.first_sent_at + timedelta(minutes=110) - lease
    assert asked.expires_at - asked.made_at == timedelta(days=1)
    row = Approval.objects.filter(pk=asked.pk)
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        row.update(due_at=asked.expires_at)
    closed = make.uncertain_operation(make.kind("closed", contract={"key_retention": "0s"}, **ABOVE))
    later = attest(closed)
    assert later is not None and later.due_at == later.made_at + timedelta(hours=12), "half of its time"
