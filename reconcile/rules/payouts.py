"""Payouts: what a record says that its net was made of, and what of it nothing explains."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Q

from ledger.rules import records
from ledger.rules.calls import Expression, RecordMap
from ledger.rules.contracts import Section
from reconcile.models import Record, Run
from reconcile.rules.declared import Rule
from reconcile.sums import amount_text

TAKEN_OFF = ("fee", "tax", "refund", "reserve")
"""Parts that make the net less than the gross, where they are counted above nought."""
SHOWN = 50

UNEXPLAINED = """
SELECT currency, sum(apart) FROM (
    SELECT currency, abs(unexplained) AS apart FROM reconcile_record
    WHERE run_id = %(run)s AND side = 'destination' AND unexplained <> 0
    UNION ALL
    SELECT currency, abs(min(sum_apart)) FROM reconcile_record
    WHERE run_id = %(run)s AND side = 'destination' AND grouped <> '' AND sum_apart <> 0
        AND becomes IN ('amount_over', 'amount_under')
    GROUP BY grouped, currency HAVING bool_or(gross IS NOT NULL AND NOT parts ? 'gross')
) AS left_over GROUP BY currency
"""


class Payout(Section):
    """Where a record says what its amount, the net, was made of; `signed`: each part has its own sign.

    Without it gross and fx are added, and fee, tax, refund and reserve are taken off.
    """

    gross: Expression | None = None
    fee: Expression | None = None
    tax: Expression | None = None
    refund: Expression | None = None
    reserve: Expression | None = None
    fx: Expression | None = None
    signed: bool = False

    @property
    def places(self) -> dict[str, str]:
        """Return the place of each part that is declared."""
        named = ("gross", *TAKEN_OFF, "fx")
        return {name: place for name in named if (place := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Parts:
    """What a record says of its parts, each with the sign that it has in the net; major units."""

    told: dict[str, Decimal]
    gross: Decimal
    """What it stands for on our side: as told, or the net and what was taken off it."""
    unexplained: Decimal
    """The net less all parts, where the gross is told; else nought."""

    def stored(self) -> dict[str, str]:
        """Return the parts as text."""
        return {name: f"{amount:f}" for name, amount in self.told.items()}


def read(rules: Payout, map: RecordMap, item: object, net: Decimal, *, currency: str) -> Parts:
    """Read a payout's parts in the unit of its record; raises Unreadable. What is not there is nought."""
    told = {}
    for name, place in rules.places.items():
        own = map.model_copy(update={"amount": place})
        amount, _ = records.read_money(own, item, assumed_currency=currency)
        if amount is not None:
            told[name] = -amount if name in TAKEN_OFF and not rules.signed else amount
    others = sum((amount for name, amount in told.items() if name != "gross"), Decimal(0))
    gross = told.get("gross", net - others)
    return Parts(told, gross, net - gross - others)


def unexplained(run: Run) -> Iterator[dict[str, Any]]:
    """Return payouts that their parts do not explain, the first ones; amounts are text."""
    lines = Record.objects.filter(run=run, side=Record.Side.DESTINATION, gross__isnull=False)
    apart = Q(becomes__in=("amount_over", "amount_under")) & ~Q(parts__has_key="gross")
    for line in lines.filter(~Q(unexplained=0) | apart).order_by("number")[:SHOWN]:
        left = line.unexplained or line.sum_apart
        assert left is not None and line.amount is not None and line.parts is not None
        yield {
            "id": line.external_id,
            "currency": line.currency,
            "net": amount_text(line.amount, line.currency),
            "parts": {name: amount_text(Decimal(text), line.currency) for name, text in line.parts.items()},
            "unexplained": amount_text(left, line.currency),
        }


def refused(payout: Payout | None, rules: tuple[Rule, ...]) -> str:
    """Say why a plan's payout cannot be; empty where it can."""
    if payout is None:
        return ""
    if not payout.places:
        return "payout names no part."
    return "" if any(rule.split for rule in rules) else "A payout is set beside what it pays by a key."
