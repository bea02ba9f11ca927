"""What the register rests on: what was configured and said, and what the ledger has seen of late."""

from dataclasses import dataclass
from datetime import date

from ledger.rules.calls import RetryPolicy
from ledger.rules.contracts import Contract
from ledger.rules.drills import Drilled
from ledger.rules.layers import Layer


@dataclass(frozen=True)
class TypeFacts:
    """One operation type; `contract` is what counts, without what a drill has refuted; `due_s` seconds."""

    name: str
    label: str
    noun: str
    destination: str
    account: str
    by_tieout: bool
    side_effect: bool
    key_template: str
    owner: str
    contract: Contract
    policy: RetryPolicy
    due_s: float
    has_lookup: bool
    lookup_proved_on: date | None
    drilled: Drilled
    doubled: int = 0
    """Records of the source, among the latest operations, that stand under more than one key."""
    alike: tuple[str, ...] = ()
    """Other types that look for the same records."""
    working: bool = False
    """Of `due_s`, only the working hours of its entity count."""


@dataclass(frozen=True)
class UnreadableType:
    """An operation type whose rules this version cannot read."""

    name: str
    label: str
    destination: str
    why: str


@dataclass(frozen=True)
class AutomationFacts:
    """One automation: what its section says, if it has one, and its living API token."""

    name: str
    title: str
    registered: bool
    types: tuple[str, ...] = ()
    retries: str = ""
    layers: tuple[Layer, ...] = ()
    stable_key: str = ""
    last_failure: str = ""
    owner: str = ""
    gone: bool = False
    """It was seen, and has neither a section nor a living token: nothing can come from it any more."""
    has_token: bool = False
    token_types: tuple[str, ...] = ()
    """The types that its token covers; empty means every type."""


@dataclass(frozen=True)
class Traffic:
    """What one automation did for one type, among the type's latest operations."""

    automation: str
    type_name: str
    operations: int = 0
    """Operations that it was the first to bring."""
    claims: int = 0
    claimed: int = 0
    """Operations that it claimed."""
    with_id: int = 0
    """Claims with an `attempt_id`, which may be asked for again."""
    again: int = 0
    """Claims asked for again, because their answer was lost."""
    silent: int = 0
    """Claims whose lease ran out without a word."""
    doubted: int = 0
    """Those of them of which nobody knows yet what came of them."""


@dataclass(frozen=True)
class Facts:
    """All that the register is made of; `looked_at`: how many of a type's latest operations were read."""

    types: tuple[TypeFacts, ...]
    automations: tuple[AutomationFacts, ...]
    traffic: tuple[Traffic, ...] = ()
    unreadable: tuple[UnreadableType, ...] = ()
    looked_at: int = 0

    def kinds(self, one: AutomationFacts) -> list[TypeFacts]:
        """Return the types that an automation is registered for, or was seen to make."""
        seen = {traffic.type_name for traffic in self.traffic if traffic.automation == one.name}
        return [kind for kind in self.types if kind.name in seen or kind.name in one.types]

    def comes_through(self, one: AutomationFacts) -> bool:
        """Say whether what an automation does may come through Tieout at all: it has a token, or was seen."""
        return one.has_token or any(traffic.automation == one.name for traffic in self.traffic)
