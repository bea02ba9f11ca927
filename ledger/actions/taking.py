"""Take in what stands at a destination and no operation carries: done by what was found, and never sent."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from ledger.actions.looking import complete_waiting, keep_evidence
from ledger.actions.submission import Prepared, digest_keys, key_for
from ledger.models import Event, Operation, OperationType, database_now
from ledger.rules import digests, keys
from ledger.rules.errors import NotNow
from ledger.rules.records import Found
from ledger.rules.redaction import redact_text
from ledger.rules.states import State, Verdict

THERE = "An operation has this key already: see its page."
NOT_ONE = "Not exactly one record that stands carries it: there is nothing to take in."


@dataclass(frozen=True)
class Taken:
    """What is taken in: the record's reference as the key, and what was found under it, and when."""

    key: str
    found: Found
    asked_at: datetime


def take_in(
    kind: OperationType, taken: Taken, *, actor: str, reason: str, command_id: uuid.UUID
) -> Operation:
    """Make an operation of one standing record, with its amount; it is done at once, by that evidence.

    Raises NotNow where an operation has that key, or not one record stands there; KeyMalformed.
    """
    record = taken.found.match
    if record is None or taken.found.verdict is not Verdict.ONE_MATCH or not record.live:
        raise NotNow(NOT_ONE)
    with transaction.atomic():
        if Operation.objects.filter(operation_type=kind, key=keys.check(taken.key)).exists():
            raise NotNow(THERE)
        operation = _made(kind, taken)
        Event.objects.create(
            operation=operation,
            kind="taken_in",
            actor=actor,
            reason=reason,
            state_to=State.PENDING,
            command_id=command_id,
            revision=operation.revision,
            data={"record": record.id},
        )
        lookup = keep_evidence(
            operation, taken.found, asked_at=taken.asked_at, actor=actor, reason=reason, listed=True
        )
        complete_waiting(operation, lookup, database_now(), reference=record.id)
    return operation


def _made(kind: OperationType, taken: Taken) -> Operation:
    record = taken.found.match
    assert record is not None  # asked before
    amount, currency = record.amount, record.currency if record.amount is not None else ""
    payload = {"taken_in": record.id}
    digest = digests.payload_digest(
        digest_keys(), payload, type=kind.name, amount=amount, currency=currency or None
    )
    prepared = Prepared(uuid.uuid4(), kind, taken.key, amount, currency, payload, digest, kept=True)
    return Operation.objects.create(
        uid=prepared.uid,
        operation_type=kind,
        key=prepared.key,
        state=State.PENDING,
        description=redact_text(f"{kind.noun[:1].upper()}{kind.noun[1:]} {record.id}, taken in"),
        amount=amount,
        currency=currency,
        payload_digest=digest,
        leaf_digests=prepared.leaf_digests(),
        payload_sealed=prepared.sealed(),
        idempotency_key=key_for(kind, prepared.key, generation=1, key_max=kind.promises.key_max),
    )
