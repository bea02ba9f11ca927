"""Reverse one record of several: an operation of its own, linked to the one that has too many."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from ledger.actions.changing import change, locked, void_asked
from ledger.actions.holding import cancel_locked, close_locked, hold_locked, tie_corrected, void_permit
from ledger.actions.reading import contract_of
from ledger.actions.submission import Prepared, digest_keys, linked
from ledger.models import Choice, Event, Lookup, Operation, OperationType, TieoutNow, database_now
from ledger.rules import digests
from ledger.rules.actors import is_software
from ledger.rules.errors import LostRace
from ledger.rules.keys import MAX_LENGTH
from ledger.rules.money import Money, show
from ledger.rules.redaction import redact_text
from ledger.rules.reversals import CREDIT, VOID, Chosen, calls_of, left_of
from ledger.rules.states import LIVE, CaseKind, Outcome, State

OWN_LEASE_MARGIN_S = 10
BY_HAND = "Its rules name no call that reverses it: people do so at the destination, and a check closes it."
NAME_KEPT = 89
"""How much of a type's name stands in that of what reverses it; the rest is a number and the way."""
LOCK_TRIES = 5
"""How often they are taken anew, where others were made while they were waited for."""
CHANGED = "What was chosen is no longer as it was: nothing was reversed. It is chosen anew."
STANDS_BACK = "A newer choice stands in its place."
WAYS = {VOID: ("Void", "void"), CREDIT: ("Credit", "credit note")}
"""What is said of each way: what it does, and what it makes."""


@dataclass(frozen=True)
class Told:
    """Who lets a record be reversed and why, and until when that can be undone; None: it goes at once."""

    actor: str
    reason: str
    go_at: datetime | None = None
    command_id: uuid.UUID | None = None


def type_for(kind: OperationType, way: str) -> OperationType:
    """Return the type of operations that reverse what this one makes, by its rules as they are now.

    Raises LostRace where its name was given away at this moment.
    """
    columns = _columns(kind, way)
    found, made = kind.reversals.filter(name__endswith=f".{way}").first(), False
    if found is None:
        try:
            found, made = OperationType.objects.get_or_create(
                reverses=kind, name=_free_name(kind, way), defaults=columns
            )
        except IntegrityError:
            raise LostRace("Another type was made under its name; choose again.") from None
    changed = {name for name, value in columns.items() if getattr(found, name) != value}
    if changed and not made:
        unproved = {"lookup_proved_at": None, "lookup_changed_at": TieoutNow()} if "calls" in changed else {}
        OperationType.objects.filter(pk=found.pk).update(**columns, **unproved, changed_at=TieoutNow())
    return OperationType.objects.select_related("destination").get(pk=found.pk)


def follow_rules(kind: OperationType) -> None:
    """Let the types that reverse what this one makes follow its rules."""
    for name in kind.reversals.values_list("name", flat=True):
        type_for(kind, name.rpartition(".")[2])


def _free_name(kind: OperationType, way: str) -> str:
    """Return a name for what reverses it that no other type has: a file may call one of its own like that."""
    names = (
        f"{kind.name[:NAME_KEPT]}.{way}",
        *(f"{kind.name[:NAME_KEPT]}.{n}.{way}" for n in range(2, 1000)),
    )
    taken = set(
        OperationType.objects.filter(name__in=names).exclude(reverses=kind).values_list("name", flat=True)
    )
    return next(name for name in names if name not in taken)


def _columns(kind: OperationType, way: str) -> dict[str, Any]:
    """Return its rules: those of what it reverses. It refunds nothing itself: it takes a surplus back."""
    does, noun = WAYS[way]
    timeout_s = kind.destination.reach.timeout_s
    same = ("permit_for_s", "payload_keep_s", "owner", "contract", "retry", "destination")
    return {name: getattr(kind, name) for name in same} | {
        "label": f"{does} {kind.noun}",
        "review": {name: line for name, line in kind.review.items() if name != "refunds"},
        "noun": noun,
        "performed_by": OperationType.Performer.TIEOUT,
        "lease_s": kind.lease_s if kind.by_tieout else 2 * timeout_s + OWN_LEASE_MARGIN_S,
        "calls": calls_of(kind.how, way).stored(),
    }


@contextmanager
def locked_with_reversals(operation_id: int) -> Iterator[tuple[Operation, datetime]]:
    """Hold an operation and what reverses its records, these first, as their own completion does."""
    for _ in range(LOCK_TRIES):
        seen = list(_standing(operation_id))
        with ExitStack() as stack:
            for pk in seen:
                stack.enter_context(locked(pk))
            operation, now = stack.enter_context(locked(operation_id))
            if list(_standing(operation_id)) == seen:
                yield operation, now
                return
    raise LostRace("What reverses its records changes all the time; read the operation again.")


def _standing(operation_id: int) -> Iterator[int]:
    made = Operation.objects.filter(reverses=operation_id, corrected_at=None)
    return made.order_by("pk").values_list("pk", flat=True).iterator()


def chosen_for(reversal: Operation) -> Chosen:
    """Return what the latest choice says of the record that a reversal is of; LostRace where nothing."""
    choice = Choice.objects.filter(operation=reversal.reverses_id).select_related("lookup").last()
    records = choice.lookup.records if choice is not None else []
    goes = next((record for record in records if record["id"] == reversal.reversed_reference), None)
    if choice is None or goes is None:
        raise LostRace("What it reverses was chosen anew.")
    return Chosen(choice.kept, goes)


def first_tried_on(reversal: Operation) -> date:
    """Return the day of its first try, in its type's zone: on another day it would be another request.

    Of what was never tried it is the day of now.
    """
    at = reversal.attempts.order_by("number").values_list("claimed_at", flat=True).first() or database_now()
    return reversal.operation_type.day(at)


def make(
    operation: Operation, record: Mapping[str, Any], way: str, *, told: Told, now: datetime
) -> Operation:
    """Make the operation that reverses one record; without a call for it, a task for people."""
    kind = type_for(operation.operation_type, way)
    prepared = _prepared(operation, record, kind, way)
    calls = kind.how.send is not None
    made = _insert(operation, prepared, record, way=way, go_at=(told.go_at or now) if calls else None)
    Event.objects.create(
        operation=made,
        kind="accepted",
        actor=told.actor,
        reason=told.reason,
        state_to=State.PENDING,
        command_id=told.command_id,
        revision=made.revision,
        data={"reverses": str(operation.uid), "record": record["id"]},
    )
    if not calls:
        hold_locked(made, CaseKind.BY_HAND, actor="policy", reason=BY_HAND, now=now)
    return made


def _prepared(operation: Operation, record: Mapping[str, Any], kind: OperationType, way: str) -> Prepared:
    said = record.get("amount")
    amount = operation.amount if said is None else Decimal(said)
    currency = (record.get("currency") or operation.currency) if amount is not None else ""
    payload = {"operation": operation.key, "record": record["id"], "way": way}
    digest = digests.payload_digest(
        digest_keys(), payload, type=kind.name, amount=amount, currency=currency or None
    )
    key = _free_key(operation, kind, f"{way}/{record['id']}")
    return Prepared(uuid.uuid4(), kind, key, amount, currency, payload, digest, kept=True)


def _free_key(operation: Operation, kind: OperationType, name: str) -> str:
    """Return a key that tells what is reversed; one that was given up before is not used again."""
    key = f"{operation.key}/{name}"
    if len(key) > MAX_LENGTH - 4:
        key = f"{operation.uid}/{name}"[: MAX_LENGTH - 4]
    taken = Operation.objects.filter(operation_type=kind)
    number = 1
    while taken.filter(key=key if number == 1 else f"{key}/{number}").exists():
        number += 1
    return key if number == 1 else f"{key}/{number}"


def _insert(
    operation: Operation, prepared: Prepared, record: Mapping[str, Any], *, way: str, go_at: datetime | None
) -> Operation:
    name = operation.description or operation.key
    try:
        with transaction.atomic():
            return Operation.objects.create(
                **linked(prepared, operation),
                description=redact_text(f"{WAYS[way][0]} {record['id']} · {name}"),
                subject=operation.subject,
                next_try_at=go_at,
                reverses=operation,
                reversed_reference=record["id"],
            )
    except IntegrityError:
        raise LostRace("It is being reversed already; read the operation again.") from None


def retire(reversal: Operation, *, told: Told, now: datetime, reason: str = STANDS_BACK) -> None:
    """Let a locked reversal stand back: it never runs again, and its case is answered."""
    void_permit(reversal, reason, now=now)
    void_asked(reversal, reason)
    if reversal.state == State.PENDING:
        cancel_locked(reversal, actor=told.actor, reason=told.reason, now=now)
    change(
        reversal,
        kind="stood_back",
        actor=told.actor,
        reason=told.reason,
        command_id=told.command_id,
        corrected_at=now,
    )
    close_locked(reversal, actor="policy", reason=reason, now=now)


def look_before_credit(barred: Operation, now: datetime) -> bool:
    """Have what the destination refuses to void looked at before it is credited; False where it cannot be.

    That it cannot be voided does not prove that it is not void: the request may have come twice.
    """
    how = barred.operation_type.how.void
    if barred.reverses_id is None or how is None or how.credit is None:
        return False
    at = refusal_settles_at(barred) or now
    there = barred.operation_type.destination.title
    reason = f"{there} refuses to void it. It may be void already: a check tells, before it is credited."
    change(barred, kind="waits", actor="policy", reason=reason, told_look_at=max(at, now))
    return True


def refusal_settles_at(barred: Operation) -> datetime | None:
    """Return from when on a look tells whether what was refused is done all the same; None: not refused."""
    last = barred.attempts.order_by("number").last()
    if last is None or last.outcome != Outcome.REJECTED or last.sender_ended_at is None:
        return None
    return last.sender_ended_at + timedelta(seconds=contract_of(barred).settle_s)


def may_be_credited(barred: Operation) -> bool:
    """Say whether a void was refused, waits for nobody, and its rules say how to credit."""
    how = barred.operation_type.how.void
    free = barred.corrected_at is None and barred.held_at is None and barred.state == State.FAILED
    return barred.reverses_id is not None and free and how is not None and how.credit is not None


def credit_instead(barred: Operation, now: datetime) -> None:
    """Credit what the destination has refused to void, and what a check found to stand after that.

    Whoever chose has read that it may come to this; the void stands back.
    """
    there = barred.operation_type.destination.title
    told = Told("policy", f"{there} refuses to void it, and a check found that it stands: it is credited.")
    assert barred.reverses_id is not None  # of a void
    goes = chosen_for(barred).goes
    retire(barred, told=told, now=now, reason=told.reason)
    original = Operation.objects.select_related("operation_type__destination").get(pk=barred.reverses_id)
    make(original, goes, CREDIT, told=told, now=now)


def stop(reversal: Operation, now: datetime) -> None:
    """Hold a locked reversal whose choice no longer stands, and have what it was chosen for looked at."""
    told = reversal.cases.open().filter(kind=CaseKind.DIFFERS).exists()
    hold_locked(reversal, CaseKind.DIFFERS, actor="policy", reason=CHANGED, now=now)
    if told or reversal.reverses_id is None or reversal.corrected_at is not None:
        return
    with locked(reversal.reverses_id) as (operation, at):
        reason = f"{reversal.key} stopped: what was chosen is no longer as it was."
        data = {"reversal": str(reversal.uid), "reference": reversal.reversed_reference}
        change(operation, kind="reversal_stopped", actor="policy", reason=reason, data=data, told_look_at=at)


def left(operation: Operation, lookup: Lookup) -> list[tuple[str, Decimal, str]]:
    """Return what a look-up lists as left of records that were reversed in part: id, amount, currency."""
    listed = {record["id"]: record for record in lookup.records if record["standing"] not in LIVE}
    done = operation.reversals.filter(
        state=State.COMPLETED, corrected_at=None, reversed_reference__in=[*listed]
    )
    rest = []
    for one in done.order_by("pk"):
        record = listed[one.reversed_reference]
        if one.amount is None or record["amount"] is None or record["currency"] != one.currency:
            continue
        if remains := left_of(one.amount, Decimal(record["amount"])):
            rest.append((one.reversed_reference, remains, one.currency))
    return rest


def hold_left(operation: Operation, lookup: Lookup, now: datetime) -> None:
    """Hold a locked operation of whose surplus a look-up has just found something left."""
    words = [
        f"{number} is reversed in part: {show(Money(amount, cur))} {cur} is left."
        for number, amount, cur in left(operation, lookup)
    ]
    if words and not _answered(operation, " ".join(words)):
        hold_locked(operation, CaseKind.SEVERAL, actor="policy", reason=" ".join(words), now=now)


def _answered(operation: Operation, reason: str) -> bool:
    """Say whether a person has closed the last case of a locked operation, and it was held for just that."""
    case = operation.cases.order_by("pk").last()
    if case is None or case.closed_at is None or is_software(case.closed_by):
        return False
    held = operation.events.filter(kind="held").order_by("pk").last()
    return held is not None and held.reason == reason


def tie(done: Operation, now: datetime) -> None:
    """Tie what is locked and has just completed to what it corrects or reverses, or to its corrections."""
    tie_corrected(done, now)
    _tie_reversed(done)


def _tie_reversed(done: Operation) -> None:
    """Tell an operation that a locked reversal of one of its records is done, and have it looked at.

    It is looked at once nothing more is under way; only what that finds says that one is left.
    """
    if done.reverses_id is None or done.corrected_at is not None:
        return
    with locked(done.reverses_id) as (operation, now):
        change(
            operation,
            kind="reversed",
            actor="policy",
            reason=f"{done.reversed_reference} is reversed by {done.key}.",
            data={"reversal": str(done.uid), "reference": done.reversed_reference},
            told_look_at=operation.told_look_at if under_way(operation).exists() else now,
        )


def under_way(operation: Operation) -> QuerySet[Operation]:
    """Return what reverses its records by itself, now or soon: not held, neither done nor failed for good."""
    going = Q(state__in=[State.PENDING, State.RUNNING, State.UNCERTAIN])
    looked_at = Q(state=State.FAILED, told_look_at__isnull=False)
    return operation.reversals.filter(going | looked_at, corrected_at=None, held_at=None)
