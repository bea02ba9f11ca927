"""What the queue can be filtered by, and what it is filtered by: select boxes and chips."""

from collections import Counter
from dataclasses import dataclass

from ledger.models import OperationType
from review import filters


@dataclass(frozen=True)
class Choice:
    """One select box: its label, name, words for no choice, values with words, and the chosen one."""

    label: str
    name: str
    nothing: str
    values: list[tuple[str, str]]
    current: str
    more: bool = False
    """It stands folded, with those that are asked for less often."""


@dataclass(frozen=True)
class Chip:
    """One filter in force, and the query of the address without it."""

    words: str
    without: str


def offered(chosen: filters.Filter, currencies: list[str], types: list[OperationType]) -> list[Choice]:
    """Return the select boxes of an address."""
    owners, places = sorted({kind.owner for kind in types}), {kind.destination for kind in types}
    titles = sorted((place.name, place.title) for place in places)
    entities = sorted({place.entity for place in places})
    codes = sorted({*currencies, chosen.currency} - {""})
    choices = [
        Choice("State", "state", "Any state", [*filters.STATES.items()], chosen.state),
        Choice("Found", "found", "Anything found", [*filters.FOUND.items()], chosen.found),
        Choice("Type", "type", "Any type", _told_apart(types), chosen.type),
        Choice("Who has it", "who", "Anybody’s", _whose(chosen.who), chosen.who),
        Choice("Currency", "currency", "Any currency", _plain(codes), chosen.currency),
    ]
    if chosen.view != "latest":
        choices.append(Choice("Order", "order", "", [*filters.ORDERS.items()], chosen.order))
    if chosen.view in filters.RESTING:
        resting = [*filters.RESTS.items()]
        choices.append(
            Choice("Snoozed", "rests", "Without what is snoozed", resting, chosen.rests, more=True)
        )
    reasons = [(str(kind), words) for kind, words in filters.CAUSES.items()]
    return [
        *choices,
        Choice("Team", "owner", "Any team", _plain(owners), chosen.owner, more=True),
        Choice("Reason", "reason", "Any reason", reasons, chosen.reason, more=True),
        Choice("Age", "age", "Older than: any", [*filters.AGES.items()], chosen.age, more=True),
        Choice("Age at most", "younger", "Up to: any", [*filters.YOUNGER.items()], chosen.younger, more=True),
        Choice("Destination", "destination", "Any destination", titles, chosen.destination, more=True),
        Choice("Entity", "entity", "Any entity", _plain(entities), chosen.entity, more=True),
    ]


def chips(chosen: filters.Filter, choices: list[Choice]) -> list[Chip]:
    """Return what filters an address, each with the way to be rid of it."""
    found = {
        choice.name: f"{choice.label}: {dict(choice.values).get(choice.current, choice.current)}"
        for choice in choices
        if choice.nothing and choice.current
    }
    written = {"least": "From", "most": "Up to", "text": "Text:"}
    given = {name: getattr(chosen, name) for name in written}
    found |= {name: f"{written[name]} {value}" for name, value in given.items() if value}
    return [Chip(words, chosen.without(name)) for name, words in found.items()]


def _plain(values: list[str]) -> list[tuple[str, str]]:
    return [(value, value) for value in values]


def _whose(current: str) -> list[tuple[str, str]]:
    """Return whose it may be; a person by name where the address asks for one."""
    named = [] if not current or current in filters.WHO else [(current, current)]
    return [*filters.WHO.items(), *named]


def _told_apart(types: list[OperationType]) -> list[tuple[str, str]]:
    """Return names and labels; two that are called alike carry their names as well."""
    often = Counter(kind.label for kind in types)
    return [
        (kind.name, f"{kind.label} ({kind.name})" if often[kind.label] > 1 else kind.label) for kind in types
    ]
