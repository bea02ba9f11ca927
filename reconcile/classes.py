"""The fifteen classes in their order: every item of a run is in exactly one of them."""

from dataclasses import dataclass
from enum import StrEnum


class ItemClass(StrEnum):
    """What comparing says of one item; the order is the order in which it is asked."""

    UNREADABLE = "unreadable"
    OUT_OF_SCOPE = "out_of_scope"
    AMBIGUOUS = "ambiguous"
    DUPLICATE = "duplicate_at_destination"
    CURRENCY_DIFFERS = "currency_differs"
    AMOUNT_OVER = "amount_over"
    AMOUNT_UNDER = "amount_under"
    PAYLOAD_DIFFERS = "payload_differs"
    STATUS_DIFFERS = "status_differs"
    MATCHED = "matched"
    IN_FLIGHT = "in_flight"
    UNCERTAIN = "uncertain"
    MISSING = "missing_at_destination"
    UNEXPECTED = "unexpected_at_destination"
    NEVER_SUBMITTED = "never_submitted"

    @property
    def shown(self) -> "Shown":
        """How people see it."""
        return SHOWN[self]

    def title(self, destination: str) -> str:  # type: ignore[override]  # a class has a title, not a title case
        """Name it for people, with the destination's own name."""
        return SHOWN[self].name.format(there=destination)

    def sentence(self, destination: str, source: str = "") -> str:
        """Say what it means, with the destination's own name, and the source's where there is one."""
        more = f" {BY_SOURCE[self].format(source=source)}" if source and self in BY_SOURCE else ""
        return SHOWN[self].meaning.format(there=destination) + more


@dataclass(frozen=True)
class Shown:
    """A class as people see it: its name, what it means, and its symbol; {there} is the destination."""

    name: str
    meaning: str
    icon: str


SHOWN: dict[ItemClass, Shown] = {
    ItemClass.UNREADABLE: Shown(
        "Unreadable",
        "{there} lists it without a reference of ours, or with an amount that cannot be read.",
        "could_not_look",
    ),
    ItemClass.OUT_OF_SCOPE: Shown(
        "Out of scope",
        "Cancelled before it was sent, voided there, made by a drill, or of another window.",
        "pending",
    ),
    ItemClass.AMBIGUOUS: Shown("Ambiguous", "It could be of more than one operation.", "could_not_look"),
    ItemClass.DUPLICATE: Shown(
        "Duplicate at {there}",
        "{there} holds more than one under this reference; these are the surplus.",
        "several",
    ),
    ItemClass.CURRENCY_DIFFERS: Shown("Currency differs", "{there} holds it in another currency.", "differs"),
    ItemClass.AMOUNT_OVER: Shown("Amount over", "{there} holds more than was meant.", "differs"),
    ItemClass.AMOUNT_UNDER: Shown("Amount under", "{there} holds less than was meant.", "differs"),
    ItemClass.PAYLOAD_DIFFERS: Shown(
        "Payload differs", "{there} holds other contents than were meant.", "differs"
    ),
    ItemClass.STATUS_DIFFERS: Shown(
        "Status differs", "It is on record there in a status that does not stand, or is not final.", "differs"
    ),
    ItemClass.MATCHED: Shown(
        "Matched", "Meant once, and there once, with the same amount and currency.", "one_match"
    ),
    ItemClass.IN_FLIGHT: Shown(
        "In flight",
        "A try is under way, or ended too recently to be judged; or it waits for what comes first.",
        "running",
    ),
    ItemClass.UNCERTAIN: Shown(
        "Uncertain",
        "Not on {there}’s list, and a check of its own could not prove that it is absent.",
        "uncertain",
    ),
    ItemClass.MISSING: Shown(
        "Missing at {there}",
        "Not on {there}’s list, and a check of its own proved that it is absent.",
        "absent",
    ),
    ItemClass.UNEXPECTED: Shown(
        "Unexpected at {there}",
        "{there} holds it, and Tieout has no operation of this type for it, or one that did not happen.",
        "unexpected",
    ),
    ItemClass.NEVER_SUBMITTED: Shown(
        "Never submitted", "The source has it, and Tieout was never asked.", "pending"
    ),
}

BY_SOURCE: dict[ItemClass, str] = {
    ItemClass.UNREADABLE: "Or a row of {source} that cannot be read.",
    ItemClass.OUT_OF_SCOPE: "Or {source} has it as cancelled, and it is nowhere; or as of another window.",
    ItemClass.AMBIGUOUS: "Or {source} lists it more than once.",
    ItemClass.CURRENCY_DIFFERS: "Or {source} has it in another currency.",
    ItemClass.AMOUNT_OVER: "Or {source} has less.",
    ItemClass.AMOUNT_UNDER: "Or {source} has more.",
    ItemClass.STATUS_DIFFERS: "Or it stands there, and {source} has it as cancelled.",
    ItemClass.MATCHED: "{source} has it, too.",
    ItemClass.IN_FLIGHT: "Or {source} has it, or lacks it, for too short a time.",
    ItemClass.UNEXPECTED: "Or {source} has no row of it.",
}
"""What more is in a class where the plan has a source."""

NO_FINDING = frozenset({ItemClass.MATCHED, ItemClass.IN_FLIGHT, ItemClass.OUT_OF_SCOPE})
"""Classes that need nobody; every other one is a finding."""


def is_finding(item_class: ItemClass) -> bool:
    """Say whether items of this class are differences that somebody has to explain."""
    return item_class not in NO_FINDING
