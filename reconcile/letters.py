"""What a plan's recipients are mailed of a run: what it came to in totals, from the snapshot of its page."""

from dataclasses import dataclass
from decimal import Decimal

from reconcile import reports
from reconcile.models import Run
from reconcile.sums import shown


@dataclass(frozen=True)
class Letter:
    """A subject, and the lines above the link to the run's page."""

    subject: str
    lines: list[str]


def of(run: Run) -> Letter:
    """Say what an ended run came to: totals alone, no item; of one that failed no figure, for none counts."""
    if run.state != Run.State.DONE:
        words = f"{run.plan.name} did not run whole"
        return Letter(
            words, [f"{words}, and says nothing: no class, no total and no difference of it counts."]
        )
    headline = _plain(reports.headline(run, reports.Open.stored(run)))
    items = sum(held["count"] for held in run.classes.values())
    lines = [
        f"{run.plan.name}: {reports.window(run)}.",
        headline,
        f"{items} items in classes; {run.totals['items']} counted without them.",
    ]
    lines += [_totals(run, currency) for currency in run.tie["currencies"]]
    return Letter(f"{run.plan.name}: {headline}", lines)


def _totals(run: Run, currency: str) -> str:
    """Write what each side comes to in one currency, and what of it nothing explains."""
    told = []
    for side, name in reports.sides_named(run).items():
        held = run.tie[side].get(currency, {"count": 0, "amount": "0"})
        items = f"{held['count']} item{'s' * (held['count'] != 1)}"
        told.append(
            f"{name} {_amount(held['amount'], currency)} in {items}" if currency else f"{name} {items}"
        )
    left = _amount(run.residual[currency], currency) if currency else str(run.totals["unexplained_items"])
    return f"{'' if currency else 'Without an amount: '}{', '.join(told)}; unexplained {left}."


def _amount(text: str, currency: str) -> str:
    return _plain(shown(Decimal(text), currency)) if currency else ""


def _plain(text: str) -> str:
    """Return text without the spaces that only a page needs."""
    return text.replace("\u00a0", " ")
