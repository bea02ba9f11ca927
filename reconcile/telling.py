"""One line of a run in words and as data, for what tells of differences."""

from ledger.rules.money import Money, show
from reconcile.models import Record
from reconcile.sums import amount_text


def record_shown(record: Record) -> dict[str, str | None]:
    """Return a record of the destination as the outside reads it; amounts are text, a day stays a day."""
    moment = record.occurred_at or record.occurred_on
    return {
        "id": record.external_id,
        "amount": None if record.amount is None else amount_text(record.amount, record.currency),
        "currency": record.currency,
        "status": record.status,
        "standing": record.standing,
        "occurred_at": None if moment is None else moment.isoformat(),
    }


def shown(line: Record) -> str:
    """Write a line's amount for people."""
    if line.amount is None:
        return "no amount"
    return f"{show(Money(line.amount, line.currency))}\u00a0{line.currency}"
