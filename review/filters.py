"""What of the queue somebody looks at: saved view, filters and order, all of it in the address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self
from urllib.parse import urlencode

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
    order: str = "risk"

    @classmethod
    def read(cls, query: Mapping[str, str]) -> Self:
        """Read an address; what is not known counts as not given."""
        given = {field.name: query.get(field.name, "")[:100] for field in fields(cls)}
        # No name has a control character, and the database takes no NUL.
        given = {name: value for name, value in given.items() if not _CONTROL.search(value)}
        known = {"view": VIEWS, "state": STATES, "found": FOUND, "order": ORDERS}
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

    @property
    def words(self) -> str:
        """Name view and order."""
        return f"{VIEWS[self.view]}, {ORDERS[self.order]}"

    def at(self, view: str) -> "Filter":
        """Return the same address under another saved view."""
        return Filter(view=view, order=self.order)
