"""What a plan's rules say: by which fields, amounts and days a record is an operation's.

Pure: a rule is read, and says what it says in words.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, StringConstraints, model_validator

from ledger.rules.calls import Expression
from ledger.rules.contracts import Section

NO_REFERENCE = "It carries no reference of ours."
"""Why a record cannot be read which a rule may tie all the same."""
RULES_MAX = 20
OurField = Literal[
    "key", "subject", "source.system", "source.reference", "source.version", "destination_reference"
]
"""What a rule may name of an operation."""
OURS: Mapping[str, str] = {
    "key": "key",
    "subject": "subject",
    "source.system": "source_system",
    "source.reference": "source_reference",
    "source.version": "source_version",
    "destination_reference": "destination_reference",
}
"""The columns in which an operation has them."""
NUMBER_THERE = "destination_reference"


class Rule(Section):
    """One rule: all that it says must hold, and then a record and an operation belong together.

    `on`: texts of the operation that stand at a place of the record, an expression. The currency is always
    the same; the amount is the same unless `tolerance` (by currency) or `percent` (of the operation's amount)
    lets it differ. `days`: how many days of the plan's zone may lie between them, either way.
    """

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
    on: dict[OurField, Expression] = {}
    tolerance: dict[str, str] = {}
    percent: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,2}(\.[0-9]{1,4})?$")] | None = None
    days: int | None = Field(None, ge=0, le=31)
    renumbered: bool = False
    """The destination lists under other ids than it has told of, so that a known number says nothing."""
    split: bool = False
    """All that has the same texts is one group, one with many or many with one: its sums have to be the same.

    Outside its window a run follows its parts while no more than `days` lie between two of them, at most
    twice as far; inside, all of one key is one group.
    """

    @model_validator(mode="after")
    def _tells(self) -> "Rule":
        if not self.on and self.days is None:
            raise ValueError(
                "an amount alone tells nothing apart; add days = 2, or on = { subject = … } with a place of"
                " the record"
            )
        if self.split and (not self.on or self.days is None or not self.exact):
            raise ValueError(
                "a group has a key, exact sums, and days; write on = { … } and days = 7, without tolerance"
                " or percent"
            )
        if self.tolerance and self.percent is not None:
            raise ValueError("tolerance and percent do not go together; write one of the two")
        return self

    @property
    def exact(self) -> bool:
        """Say whether the amounts have to be the same."""
        return not self.tolerance and self.percent is None

    def said(self) -> dict[str, Any]:
        """Return it as the file has it: what it leaves out is left out."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def allowed(self, amount: Decimal, currency: str, places: int) -> Decimal:
        """Return by how much a record may differ from an operation's amount, in major units.

        A percentage is taken of the amount without its sign and rounded down to the currency's minor unit.
        """
        if self.percent is None:
            return Decimal(self.tolerance.get(currency, "0"))
        unit = Decimal(1).scaleb(-places)
        return abs(amount) * Decimal(self.percent) / 100 // unit * unit


def words(rule: Rule) -> str:
    """Say what a rule asks: "bank-day: subject is payer.name; the same amount; at most 2 days apart"."""
    said = [f"{field} is {place}" for field, place in rule.on.items()]
    if rule.split:
        said.append("all of it together, by exact sums")
    elif rule.percent is not None:
        said.append(f"amounts at most {rule.percent} % apart, rounded down")
    elif rule.tolerance:
        amounts = ", ".join(f"{currency}\u00a0{text}" for currency, text in sorted(rule.tolerance.items()))
        said.append(f"amounts at most {amounts} apart")
    else:
        said.append("the same amount")
    if rule.days is not None:
        said.append("on the same day" if not rule.days else f"at most {rule.days} days apart")
    if rule.renumbered:
        said.append("whatever its number there")
    return f"{rule.name}: {'; '.join(said)}"


class _Ruled(Protocol):
    """A plan, as far as its rules go."""

    rules: Sequence[Mapping[str, Any]]


def of(plan: _Ruled) -> list[Rule]:
    """Return a plan's rules in their order, which is that of their priority."""
    return [Rule.read(rule) for rule in plan.rules]


def places(rules: Iterable[Rule]) -> list[str]:
    """Return the places of a record that any rule reads."""
    return sorted({place for rule in rules for place in rule.on.values()})


def reach(rules: Iterable[Rule]) -> timedelta:
    """Return how long before its window a run has to know records: a rule's days on either side, and a day.

    What belongs to an operation before the window could else be taken for that of one inside it.
    """
    days = [rule.days for rule in rules if rule.days is not None]
    return timedelta(days=2 * max(days) + 1) if days else timedelta()
