"""What weighs how much where money at risk is put in one order, and how that is said."""

from collections.abc import Iterable, Sequence

from ledger.models import OperationType
from ledger.rules.errors import RulesUnreadable
from reconcile.models import Display
from review.ranked import Scale


def scale(display: Display | None, types: Iterable[OperationType]) -> Scale:
    """Return the weights by the display's rates and the types' priorities."""
    rates = {currency: float(rate) for currency, rate in display.rates.items()} if display else {}
    priorities = {kind.pk: weight for kind in types if (weight := _priority(kind))}
    return Scale(rates, priorities)


def words(display: Display | None, currencies: Sequence[str], scale: Scale) -> str:
    """Say by what amounts of these currencies are compared; empty where there is nothing to say."""
    said = []
    if len(currencies) > 1:
        said.append(_rates(display, currencies) if display else NO_RATES)
    if scale.priorities:
        said.append("What has no amount counts as its type’s priority.")
    return " ".join(said)


NO_RATES = "Ordered by the figures of each currency: no display rates are set."


def _rates(display: Display, currencies: Sequence[str]) -> str:
    rated = [currency for currency in currencies if currency in display.rates]
    bare = [currency for currency in currencies if currency not in (*rated, display.currency)]
    day = f"{display.as_of.day}\u00a0{display.as_of:%b\u00a0%Y}"
    said = []
    if rated:
        told = ", ".join(f"1\u00a0{one} = {display.rates[one]}\u00a0{display.currency}" for one in rated)
        said.append(f"Ordered by display rates of {day}, {display.source}: {told}.")
    if bare:
        said.append(
            f"{', '.join(bare)}: no display rate, ordered by {'its' if len(bare) == 1 else 'their'} figures."
        )
    return " ".join(said)


def _priority(kind: OperationType) -> float:
    try:
        return float(kind.reviewing.priority)
    except RulesUnreadable:
        return 0.0
