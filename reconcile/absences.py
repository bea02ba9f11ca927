"""What the list does not hold is looked up on its own, at that moment, before anyone calls it missing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db.models import F, QuerySet

from ledger.destinations import lookups
from ledger.models import Operation, OperationType, database_now
from ledger.rules.errors import TieoutError
from ledger.rules.moments import read_instant
from ledger.rules.states import Verdict
from reconcile import comparing, leasing
from reconcile.classes import ItemClass
from reconcile.models import Record, Run
from reconcile.pulling import Listed, Staging

LOOKS_MAX = 200
"""The most look-ups of one run; a list that holds nothing of ours is no reason to ask a million times."""
READ = 5
"""So many times as many lines are read: what nobody can ask about may stand in front."""
BLIND_MAX = 3
"""Look-ups in a row that could not look, before the rest is left as it is."""
PATIENCE_S = 120.0
"""How long each look-up waits for room at its destination; two stay below what a run may be silent."""
LOOKING = timedelta(minutes=5)
"""How long one run begins look-ups: those of a slow destination would outlive the queue's patience."""
LARGEST_FIRST = F("amount").desc(nulls_last=True)
NOT_ASKED = (
    "Not on the list, and not looked up: too many were absent, the check could not look, it took too long,"
    " or a pause began."
)
BLIND = "Not on the list, and the check could not look. {why}"
NO_LOOKUP = "Not on the list, and {there} cannot be checked for it."


@dataclass(frozen=True)
class Seen:
    """What one look-up came to: the verdict, whether absence is proved, its words and its records."""

    verdict: Verdict
    proof: bool
    why: str
    records: Sequence[Mapping[str, Any]] = ()
    """As a look-up keeps them."""


Look = Callable[[Operation], Seen]


def kept(run: Run, actor: str) -> Look:
    """Return a look-up that is kept as evidence and moves the operation as decisions say."""
    reason = f"Not on the list of {run.plan.operation_type.destination.title}."

    def look(operation: Operation) -> Seen:
        lookup = lookups.look(operation, actor=actor, reason=reason, patience_s=PATIENCE_S)
        return Seen(Verdict(lookup.verdict), lookup.proof, lookup.why, lookup.records)

    return look


def tried(operation: Operation) -> Seen:
    """Look up and keep nothing."""
    found, proof = lookups.tried(operation, patience_s=PATIENCE_S)
    return Seen(found.verdict, proof, found.why, found.stored())


def confirm(run: Run, look: Look) -> int:
    """Look up what is absent from the list, and note what each look-up found; returns how many were made.

    What an earlier process of the run has looked up is not looked up again.
    """
    kind = run.plan.operation_type
    absent = Record.objects.filter(
        run=run, side=Record.Side.LEDGER, item_class=ItemClass.UNCERTAIN, pair=None, looked=""
    )
    if not kind.has_lookup:
        with leasing.held(run):
            absent.update(why=NO_LOOKUP.format(there=kind.destination.title))
        return 0
    with leasing.held(run):
        absent.update(why=NOT_ASKED)
    wanted = _askable(run, absent, kind)
    if not wanted or _paused(kind):
        return 0
    with leasing.held(run):
        # What a look-up finds may have stood in another pair; everything is classified afresh afterwards.
        comparing.forget(run)
    staging = Staging.of(run)
    looks, blind, until = 0, 0, database_now() + LOOKING
    for line in wanted:
        seen = _look(line, kind, look)
        _note(line, seen, staging)
        looks += 1
        blind = blind + 1 if seen.verdict is Verdict.COULD_NOT_LOOK else 0
        if blind == BLIND_MAX or database_now() >= until or _paused(kind):
            break
    return looks


def _askable(run: Run, absent: QuerySet[Record], kind: OperationType) -> list[Record]:
    """Return what is looked up, the largest first; what nobody can ask about says so, and takes no turn."""
    left = max(LOOKS_MAX - Record.objects.filter(run=run).exclude(looked="").count(), 0)
    wanted: list[Record] = []
    lines = absent.select_related("operation__after").order_by(LARGEST_FIRST, "number")
    for line in lines[: left * READ]:
        operation = _operation(line, kind)
        if why := lookups.untold(operation):
            line.why = BLIND.format(why=why)[:300]
            with leasing.held(run):
                line.save(update_fields=["why"])
        elif len(wanted) < left:
            wanted.append(line)
    return wanted


def _operation(line: Record, kind: OperationType) -> Operation:
    assert line.operation is not None  # every line of the ledger has one: a constraint
    line.operation.operation_type = kind
    return line.operation


def _paused(kind: OperationType) -> bool:
    return kind.destination.pauses.open().of_all().exists()


def _look(line: Record, kind: OperationType, look: Look) -> Seen:
    operation = _operation(line, kind)
    if kind.lookup_proved_at is None:  # an earlier look of this run may have proved it
        kind.refresh_from_db(fields=["lookup_proved_at"])
    try:
        return look(operation)
    except TieoutError as error:
        return Seen(Verdict.COULD_NOT_LOOK, False, error.detail)


def _note(line: Record, seen: Seen, staging: Staging) -> None:
    """Write down what was found; a record that the list did not hold joins the destination's side."""
    line.looked, line.why = _verdict(seen), _words(seen)[:300]
    with leasing.held(staging.run):
        line.save(update_fields=["looked", "why"])
        staging.add([_listed(record) for record in seen.records], seen_at=database_now())


def _verdict(seen: Seen) -> str:
    unproved = seen.verdict is Verdict.ABSENT and not seen.proof
    return str(Verdict.COULD_NOT_LOOK if unproved else seen.verdict)


def _words(seen: Seen) -> str:
    if seen.verdict is Verdict.ABSENT:
        if seen.proof:
            return "Neither on the list nor found by a check of its own."
        return "Neither on the list nor found by a check of its own, which is no proof yet."
    if seen.verdict is Verdict.COULD_NOT_LOOK:
        return BLIND.format(why=seen.why).strip()
    return "Not on the list; a check of its own found it."


def _listed(stored: Mapping[str, Any]) -> Listed:
    """Read a record as a look-up keeps it."""
    amount = stored["amount"]
    return Listed(
        id=stored["id"],
        reference=stored["reference"],
        amount=None if amount is None else Decimal(amount),
        currency=stored["currency"],
        status=stored["status"],
        standing=stored["standing"],
        occurred_at=read_instant(stored["occurred_at"]),
        contents={"differs": stored["contents"]} if stored.get("contents") else None,
    )
