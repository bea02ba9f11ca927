"""Records of a run that a completed reversal has offset, and those of which something is left."""

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Abs, Sign

from ledger.rules.states import LIVE, State
from reconcile.models import Record, Run

LEFT = Q(currency=F("by_currency"), amount__isnull=False, abs__gt=0, abs__lt=F("by_abs"), sign=F("by_sign"))
"""What `left_of` says of a record, as a condition."""


def offset(run: Run) -> QuerySet[Record]:
    """Return the records that are reversed, all of them or in part, each with its reversal: `by_uid`, …"""
    return _with_reversals(run).exclude(~LEFT, standing__in=LIVE)


def in_part(run: Run) -> QuerySet[Record]:
    """Return the records that stand no longer and of which something is left all the same."""
    return _with_reversals(run).exclude(standing__in=LIVE).filter(LEFT)


def _with_reversals(run: Run) -> QuerySet[Record]:
    ours = Record.objects.filter(
        run=run,
        side=Record.Side.DESTINATION,
        operation__reversals__state=State.COMPLETED.value,
        operation__reversals__corrected_at=None,
        operation__reversals__reversed_reference=F("external_id"),
    )
    by = {name: F(f"operation__reversals__{name}") for name in ("uid", "key", "amount", "currency")}
    named = ours.annotate(**{f"by_{name}": value for name, value in by.items()})
    return named.annotate(
        abs=Abs("amount"), sign=Sign("amount"), by_abs=Abs("by_amount"), by_sign=Sign("by_amount")
    )
