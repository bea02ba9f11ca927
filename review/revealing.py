"""Personal values of a payload that a type's rules hide: named for all, shown one at a time, on record."""

import uuid
from dataclasses import dataclass
from functools import cached_property

from django.contrib.auth.models import User

from ledger import actions
from ledger.models import Operation
from ledger.rules import actors, paths
from ledger.rules.errors import Malformed, TieoutError
from review import access, payloads, wording
from review.payloads import Private

NOTHING = "Nothing of its payload is hidden as personal."
NOT_KEPT = "Its payload is not kept here, or not any more."


@dataclass(frozen=True)
class Hidden:
    """What is hidden of one operation's payload, by its paths; `shown` is the one that is looked at now."""

    operation: Operation
    why_not: str
    shown: str = ""

    @cached_property
    def values(self) -> dict[str, str]:
        """The personal values in words, by their paths; what looks like a secret is none of them."""
        try:
            private = Private.of(self.operation.operation_type)
            fields = private.fields(actions.open_payload(self.operation))
        except TieoutError:
            return {}
        kept = {path: value for path, value in fields.items() if private.personal(path, value)}
        return {paths.dotted(path): payloads.words(value) for path, value in kept.items()}

    @property
    def note(self) -> str:
        """Say why there is nothing to show; empty where there is."""
        if self.values:
            return ""
        return NOT_KEPT if self.operation.payload_sealed is None else NOTHING

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Each path, and its value where it is the one that is looked at."""
        return [(path, value if path == self.shown else "") for path, value in self.values.items()]

    @property
    def left(self) -> bool:
        """Say whether there is a value that is not shown."""
        return any(path != self.shown for path in self.values)

    @property
    def name(self) -> str:
        """Name what it is of."""
        return wording.title(self.operation)


def of(operation: Operation, person: User) -> Hidden:
    """Say what of an operation's payload is hidden, and why this person may not look, where so."""
    return Hidden(operation, access.why_not(person, "reveal"))


def show(operation: Operation, *, person: User, path: str, reason: str, command_id: uuid.UUID) -> Hidden:
    """Show one value, once it is written down who looks. Raises NotAllowed, Malformed, NotNow."""
    access.require(person, "reveal")
    hidden = Hidden(operation, "", path)
    if path not in hidden.values:
        raise Malformed("Choose one of the fields below.")
    actor = actors.person(person.get_username())
    actions.reveal(operation.pk, path=path, actor=actor, reason=reason, command_id=command_id)
    return hidden
