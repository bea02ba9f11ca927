"""What a difference says of a group: what a rule has taken together, and by how much its sums are apart."""

from collections.abc import Sequence
from decimal import Decimal

from ledger.rules.states import Verdict
from reconcile.models import Record
from reconcile.sums import amount_text
from reconcile.sums import shown as money


def meant(line: Record) -> dict[str, str]:
    """Return an operation of a group as the outside reads it."""
    assert line.operation is not None and line.amount is not None  # it was summed
    amount = amount_text(line.amount, line.currency)
    return {"id": str(line.operation.uid), "key": line.reference, "amount": amount, "currency": line.currency}


def why(first: Record, ours: Sequence[Record], theirs: Sequence[Record]) -> str:
    """Say what stands together by which rule, and by how much exactly its sums are apart."""
    assert first.sum_apart is not None
    there = sum((_stands_for(line) for line in theirs), Decimal(0))
    ours_come_to = sum((_stands_for(line) for line in ours), Decimal(0))
    sums = f"{money(there, first.currency)} there, {money(ours_come_to, first.currency)} meant"
    beyond = there - ours_come_to - first.sum_apart
    more = f" Of another window: {money(-beyond, first.currency)}." if beyond else ""
    absent = next((f" {line.why}" for line in ours if line.looked == Verdict.ABSENT and line.why), "")
    return (
        f"Rule {first.rule} takes {_count(ours, 'operation')} and {_count(theirs, 'record')} together:"
        f" {sums}, {money(abs(first.sum_apart), first.currency)} apart.{more}{absent}"
    )


def _count(lines: Sequence[Record], word: str) -> str:
    return f"{len(lines)} {word}{'s' * (len(lines) != 1)}"


def _stands_for(line: Record) -> Decimal:
    """Return what a line counts in its group's sum: of a payout its gross."""
    amount = line.amount if line.gross is None else line.gross
    assert amount is not None  # it was summed
    return amount
