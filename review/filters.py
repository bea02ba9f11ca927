"""What of the queue somebody looks at: saved view, filters and order, all of it in the address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self
from urllib.parse import urlencode

from ledger.rules.states import CaseKind

VIEWS = {
    "open": "All open",
    "person": "Needs a person",
    "late": "Late",
    "escalated": "Escalated",
    "wrong": "Doubled or differs",
    "snoozed": "Snoozed",
    "latest": "Latest, also done",
}
COUNTED = ("open", "person", "late", "escalated", "wrong", "snoozed")
"""The views whose tabs say how many they hold."""
RESTING = ("open", "person", "wrong")
"""The views whose rows leave out what is snoozed, unless it is asked for. Totals never leave it out."""
RESTS = {"with": "Listed as well"}
WHO = {"me": "Mine", "team": "My team’s", "nobody": "Nobody’s"}
STATES = {
    "uncertain": "May have happened",
    "failed": "Did not happen",
    "completed": "Done",
    "running": "In progress",
    "pending": "Waiting",
}
FOUND = {
    "one_match": "One match",
    "differs": "Differs",
    "several": "Several",
    "absent": "Absent",
    "could_not_look": "Could not look",
    "unchecked": "Not checked yet",
}
ORDERS = {
    "risk": "Money at risk × age",
    "due": "Due first",
    "age": "Oldest first",
    "amount": "Largest amount",
}
AGES = {
    "1": "Older than an hour",
    "24": "Older than a day",
    "168": "Older than a week",
    "720": "Older than 30 days",
}
"""From how many hours on."""
YOUNGER = {hours: words.replace("Older than", "Up to") for hours, words in AGES.items()}
"""Up to how many hours; with an age it is a span."""
REASONS: dict[str, str] = {
    CaseKind.DIFFERS: "It differs",
    CaseKind.SEVERAL: "There are several",
    CaseKind.ABSENT: "It is absent",
    CaseKind.REFUSED: "It was refused",
    CaseKind.BY_HAND: "To be reversed by hand",
    CaseKind.COULD_NOT_LOOK: "Nobody could look",
    CaseKind.EXPIRED: "It fell silent",
    CaseKind.ACCEPTED: "Accepted for too long",
    CaseKind.UNPROVED: "Nothing can prove it",
    CaseKind.LIMIT: "No tries are left",
    CaseKind.MISSING: "It is gone again",
    CaseKind.THERE_AFTER_ALL: "There after all",
    CaseKind.BOTH_THERE: "There beside its correction",
    CaseKind.LAPSED: "A permit lapsed",
    CaseKind.FIRST: "What comes first is in doubt",
    CaseKind.REFUND: "It refunds too much",
}
"""Why an operation waits for a person."""
DOUBT, DIFFERENCE = "doubt", "difference"
CAUSES = {**REASONS, DOUBT: "In doubt, software looks", DIFFERENCE: "A difference of a run"}
"""Why anything stands in the queue: also what nobody is asked about yet, and what no operation carries."""
GROUPS = {"cause": "By cause and destination"}
_MONEY = re.compile(r"\d{1,15}(\.\d{1,4})?", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Reader:
    """Who looks at an address: a person's name and teams; "mine" means theirs."""

    name: str = ""
    teams: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Filter:
    """One address of the queue; empty fields filter nothing."""

    view: str = "open"
    state: str = ""
    found: str = ""
    type: str = ""
    owner: str = ""
    who: str = ""
    currency: str = ""
    destination: str = ""
    entity: str = ""
    age: str = ""
    younger: str = ""
    least: str = ""
    most: str = ""
    reason: str = ""
    rests: str = ""
    """Whether what is snoozed stands among the rows, too."""
    text: str = ""
    order: str = "risk"
    group: str = ""
    """How rows are put together; empty: each stands by itself."""
    reader: Reader = field(default=Reader(), compare=False)
    """No part of the address: one address is everybody's."""

    @classmethod
    def read(cls, query: Mapping[str, str], reader: Reader) -> Self:
        """Read an address as somebody's; what is not known counts as not given."""
        given = {name: query.get(name, "").strip()[:200] for name in _named(cls)}
        # No name has a control character, and the database takes no NUL.
        given = {name: value for name, value in given.items() if not _CONTROL.search(value)}
        known = {"view": VIEWS, "state": STATES, "found": FOUND, "order": ORDERS}
        known |= {"age": AGES, "younger": YOUNGER, "reason": CAUSES, "group": GROUPS, "rests": RESTS}
        for name in ("least", "most"):
            given[name] = re.sub(r"[\s,]", "", given.get(name, ""))
            given[name] = given[name] if _MONEY.fullmatch(given[name]) else ""
        return cls(
            **{name: value for name, value in given.items() if value and value in known.get(name, {value})},
            reader=reader,
        )

    @property
    def address(self) -> str:
        """Return it as a query, without what is the default."""
        plain = Filter()
        parts = {name: getattr(self, name) for name in _named(Filter)}
        return urlencode({name: value for name, value in parts.items() if value != getattr(plain, name)})

    @property
    def narrowed(self) -> bool:
        """Say whether anything but the view and the order is chosen."""
        return replace(self, view="open", order="risk", group="") != Filter()

    def without(self, name: str) -> str:
        """Return the address with one filter less."""
        nothing: dict[str, Any] = {name: ""}
        return replace(self, **nothing).address

    @property
    def grouped(self) -> bool:
        """Say whether rows are put together; what is done has no cause to go by."""
        return bool(self.group) and self.view != "latest"

    @property
    def otherwise(self) -> str:
        """Return the address of the same rows in groups, or each by itself."""
        return replace(self, group="" if self.group else "cause").address

    @property
    def whole(self) -> "Filter":
        """Return the address with what is snoozed: what totals are taken of."""
        return replace(self, rests="with") if self.view in RESTING else self

    @property
    def resting(self) -> "Filter":
        """Return the address of what is snoozed of it, where that is left out of its rows."""
        return replace(self, view="snoozed", rests="")

    @property
    def words(self) -> str:
        """Name view and order."""
        return f"{VIEWS[self.view]}, {ORDERS[self.order]}"

    def at(self, view: str) -> "Filter":
        """Return the same address under another saved view."""
        return Filter(view=view, order=self.order, group=self.group, reader=self.reader)


def _named(kind: type[Filter]) -> list[str]:
    """Return what stands in an address."""
    return [one.name for one in fields(kind) if one.compare]
