"""Choose one of several records: it is kept, and the others are reversed, each by an operation of its own."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from ledger.actions import people
from ledger.actions.asking import ask_locked, one_at_a_time
from ledger.actions.changing import Word, change, first_time, given
from ledger.actions.holding import cancel_locked
from ledger.actions.reading import sitting
from ledger.actions.reversing import Told, locked_with_reversals, make, retire
from ledger.models import Approval, Choice, Lookup, Operation
from ledger.rules.approvals import Ask
from ledger.rules.errors import LostRace, Malformed, NotNow
from ledger.rules.leaves import UNDO, Action
from ledger.rules.reversals import way_of
from ledger.rules.states import LIVE, State

CHANGED = "What is there has changed since you chose. See what it holds now, and choose again."
GONE = "The one to keep does not stand there."


@dataclass(frozen=True)
class Split:
    """One record of several that is kept, those that go (as stored), and the sum of these.

    `amount` is None where no amount is known; `currency` is empty where they are in more than one.
    """

    kept: Mapping[str, Any]
    go: tuple[Mapping[str, Any], ...]
    amount: Decimal | None
    currency: str


def split(operation: Operation, lookup: Lookup, keep: str) -> Split:
    """Return what keeping one record means; Malformed where no record of that id stands among others."""
    live = [record for record in lookup.records if record["standing"] in LIVE]
    kept = next((record for record in live if record["id"] == keep), None)
    go = tuple(record for record in live if record["id"] != keep)
    if kept is None or not go:
        raise Malformed(GONE)
    said = [record["amount"] for record in go]
    amounts = [operation.amount if amount is None else Decimal(amount) for amount in said]
    known = [amount for amount in amounts if amount is not None]
    if not known:
        return Split(kept, go, None, "")
    currencies = {record["currency"] or operation.currency for record in go}
    return Split(kept, go, sum(known, Decimal()), currencies.pop() if len(currencies) == 1 else "")


def choice_needs_second(operation: Operation, chosen: Split, actor: str) -> bool:
    """Say whether reversing that much takes two people, with what this person did alone today.

    The database says so, by the function that its guard asks: the two cannot differ.
    """
    if chosen.amount is None or operation.operation_type.reviewing.four_eyes_above is None:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ledger_choice_takes_two(%s, %s, %s, %s)",
            [operation.pk, chosen.amount, chosen.currency, actor],
        )
        return bool(cursor.fetchone()[0])


def choose(
    operation_id: int, *, keep: str, seen: str, actor: str, reason: str, command_id: uuid.UUID
) -> Choice | Approval:
    """Keep one record and reverse the others; or, above the limit, ask a second person for it.

    `seen`: the content digest of the check that it was chosen by. Raises NotNow where it is not open,
    LostRace where something else is there by now, Malformed for a record that does not stand there.
    """
    word = Word(actor, given(reason), command_id)
    with one_at_a_time(operation_id), locked_with_reversals(operation_id) as (operation, now):
        if not first_time(command_id, operation, action="choose", actor=actor):
            return _chosen_before(command_id)
        people.require(operation, Action.CHOOSE, actor=actor, now=now)
        lookup = sitting(operation, actor, now=now)
        if lookup is None or lookup.content_digest != seen:
            raise LostRace(CHANGED)
        chosen = split(operation, lookup, keep)
        if choice_needs_second(operation, chosen, actor):
            return ask_locked(operation, now, Ask.CHOOSE, word=word, data=_asked(chosen))
        return _choose_locked(operation, now, word, lookup=lookup, chosen=chosen)


def _chosen_before(command_id: uuid.UUID) -> Choice | Approval:
    made = Choice.objects.filter(command_id=command_id).first()
    return made or Approval.objects.get(command_id=command_id)


def _asked(chosen: Split) -> dict[str, Any]:
    return {
        "kept": chosen.kept["id"],
        "reversed": [record["id"] for record in chosen.go],
        "amount": None if chosen.amount is None else f"{chosen.amount:f}",
        "currency": chosen.currency,
    }


def choose_approved(operation: Operation, now: datetime, word: Word, approval: Approval) -> None:
    """Carry out what two people have agreed on; what was found must be what was asked about."""
    lookup = operation.lookups.order_by("-asked_at", "-id").first()
    if lookup is None or approval.lookup is None or lookup.content_digest != approval.lookup.content_digest:
        raise NotNow(CHANGED)
    chosen = split(operation, lookup, approval.data["kept"])
    _choose_locked(operation, now, word, lookup=lookup, chosen=chosen, approval=approval)


def _choose_locked(
    operation: Operation,
    now: datetime,
    word: Word,
    *,
    lookup: Lookup,
    chosen: Split,
    approval: Approval | None = None,
) -> Choice:
    told = Told(word.actor, word.reason, now + UNDO)
    goes = [record["id"] for record in chosen.go]
    _refuse_in_doubt(operation, chosen.kept["id"])
    _retire(operation, {chosen.kept["id"], *goes}, told=told, now=now)
    choice = Choice.objects.create(
        operation=operation,
        kept=chosen.kept["id"],
        reversed=goes,
        amount=chosen.amount,
        currency=chosen.currency,
        actor=word.actor,
        reason=word.reason,
        command_id=approval.command_id if approval is not None else word.command_id,
        lookup=lookup,
        approval=approval,
        made_at=now,
    )
    void = operation.operation_type.how.void
    made = [make(operation, record, way_of(void, record), told=told, now=now) for record in chosen.go]
    data = _asked(chosen) | {"choice": str(choice.uid), "reversals": [str(one.uid) for one in made]}
    change(
        operation,
        kind="chosen",
        actor=word.actor,
        reason=word.reason,
        command_id=word.command_id,
        data=data | ({"approval": str(approval.uid)} if approval is not None else {}),
    )
    return choice


def _refuse_in_doubt(operation: Operation, keep: str) -> None:
    """Raise NotNow where the record to keep may have been reversed already, also by what stands back."""
    doubts = operation.reversals.filter(reversed_reference=keep, state__in=[State.RUNNING, State.UNCERTAIN])
    if (first := doubts.first()) is not None:
        raise NotNow(
            f"{keep} may be reversed already: the outcome of {first.key} is not known. "
            "Check that first, or keep another."
        )


def _retire(operation: Operation, live: Iterable[str], *, told: Told, now: datetime) -> None:
    """Let reversals of a choice before stand back; one whose record is gone for good stays as it is."""
    standing = Operation.objects.filter(reverses=operation, corrected_at=None)
    for before in standing.select_related("operation_type__destination"):
        if before.state != State.COMPLETED or before.reversed_reference in live:
            retire(before, told=told, now=now)


def undo_choice(operation_id: int, *, actor: str, reason: str, command_id: uuid.UUID) -> None:
    """Take a choice back before anything of it goes out: its reversals are cancelled."""
    reason = given(reason)
    with locked_with_reversals(operation_id) as (operation, now):
        if not first_time(command_id, operation, action="withdraw", actor=actor):
            return
        people.require(operation, Action.UNDO, actor=actor, now=now)
        waiting = Operation.objects.filter(reverses=operation, corrected_at=None, state=State.PENDING)
        for reversal in waiting.select_related("operation_type__destination"):
            cancel_locked(reversal, actor=actor, reason=reason, now=now)
        change(operation, kind="withdrawn", actor=actor, reason=reason, command_id=command_id)
