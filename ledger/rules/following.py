"""What an operation comes after: done and fit to be built on, still to come, or at an end."""

from dataclasses import dataclass
from datetime import datetime

from ledger.rules.states import State

CHAIN_MAX = 20
"""How many operations may come one after the other, the last one included."""
FOLLOW_S = 30.0
"""How long to wait, before asking again, for what comes first."""


@dataclass(frozen=True)
class Earlier:
    """How what comes first is named: by its type and key, which are known before it is answered."""

    type_name: str
    key: str


@dataclass(frozen=True)
class First:
    """What an operation comes after, or the correction that stands in its place."""

    key: str
    state: State
    held: bool = False
    permitted: bool = False
    """Whether another try of it is allowed."""
    reference: str = ""
    finished_at: datetime | None = None
    named: bool = False
    """Whether what is sent after it names its reference."""
    same_account: bool = True
    """Whether its destination still has the account at which it was made."""
    used: str = ""
    """The reference with which the latest try went out."""

    @property
    def useless(self) -> str:
        """Why nothing can be built on it, although it is done; empty where it can, or is not done."""
        if self.state is not State.COMPLETED:
            return ""
        if self.named and not self.reference:
            return "is done, and its reference is not known"
        if not self.same_account:
            return "was made at another account"
        return ""

    @property
    def done(self) -> bool:
        """Whether what comes after it may go."""
        return self.state is State.COMPLETED and not self.held and not self.useless

    @property
    def ended(self) -> bool:
        """Whether nothing goes on with it by itself, and nobody has been asked about it."""
        if self.useless:
            return not self.held
        return self.state is State.FAILED and not self.held and not self.permitted

    @property
    def why(self) -> str:
        """Why what comes after it does not go now; empty where it may."""
        return self.why_called(self.key)

    def why_called(self, name: str) -> str:
        """Say the same under another name, for who may not know its key."""
        if self.done:
            return ""
        if self.ended:
            return f"It comes after {name}, which {self.useless or 'did not happen'}."
        if self.held:
            return f"Waits for {name}, which waits for a person."
        return f"Waits for {name}."
