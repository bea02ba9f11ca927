"""What of the queue somebody looks at: saved view, filters and order, all of it in the address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self
from urllib.parse import urlencode

from ledger.rules.states import CaseKind

VIEWS = {
    "open": "All open",
    "person": "Needs a person",
    "late": "Late",
    "wrong": "Doubled or differs",
    "latest": "Latest, also done",
}
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
REASONS: dict[str, str] = {
    CaseKind.DIFFERS: "It differs",
    CaseKind.SEVERAL: "There are several",
    CaseKind.ABSENT: "It is absent",
    CaseKind.REFUSED: "It was refused",
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
}
"""Why an operation waits for a person."""
_MONEY = re.compile(r"\d{1,15}(\.\d{1,4})?", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Filter:
    """One address of the queue; empty fields filter nothing."""

    view: str = "open"
    state: str = ""
    found: str = ""
    type: str = ""
    owner: str = ""
    currency: str = ""
    destination: str = ""
    entity: str = ""
    age: str = ""
    least: str = ""
    most: str = ""
    reason: str = ""
    text: str = ""
    order: str = "risk"

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """Read an address; what is not known counts as not given."""
        given = {field.name: query.get(field.name, "").strip()[:200] for field in fields(cls)}
        # No name has a control character, and the database takes no NUL.
        given = {name: value for name, value in given.items() if not _CONTROL.search(value)}
        known = {"view": VIEWS, "state": STATES, "found": FOUND, "order": ORDERS}
        known |= {"age": AGES, "reason": REASONS}
        for name in ("least", "most"):
            given[name] = re.sub(r"[\s,]", "", given.get(name, ""))
            given[name] = given[name] if _MONEY.fullmatch(given[name]) else ""
        return cls(
            **{name: value for name, value in given.items() if value and value in known.get(name, {value})}
        )

    @property
    def address(self) -> str:
        """Return it as a query, without what is the default."""
        plain = Filter()
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        return urlencode({name: value for name, value in parts.items() if value != getattr(plain, name)})

    @property
    def narrowed(self) -> bool:
        """Say whether anything but the view and the order is chosen."""
        return replace(self, view="open", order="risk") != Filter()

    def without(self, name: str) -> str:
        """Return the address with one filter less."""
        return replace(self, **{name: ""}).address

    @property
    def words(self) -> str:
        """Name view and order."""
        return f"{VIEWS[self.view]}, {ORDERS[self.order]}"

    def at(self, view: str) -> "Filter":
        """Return the same address under another saved view."""
        return Filter(view=view, order=self.order)
