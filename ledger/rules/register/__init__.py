"""The register: each operation type and automation, what was said of it beside what the ledger has seen.

Facts in, words out; page, print and `configure --check` say the same. `entries` is what comes out, `types`
and `automations` find the words.
"""

from operator import attrgetter

from ledger.rules.register.automations import automation_entry
from ledger.rules.register.entries import Check, Entry, Register, Seen, lines
from ledger.rules.register.facts import AutomationFacts, Facts, Traffic, TypeFacts, UnreadableType
from ledger.rules.register.types import type_entry, unreadable_entry

__all__ = [
    "AutomationFacts",
    "Check",
    "Entry",
    "Facts",
    "Register",
    "Seen",
    "Traffic",
    "TypeFacts",
    "UnreadableType",
    "lines",
    "register",
]

_WORST_FIRST = attrgetter("worst_first")


def register(facts: Facts) -> Register:
    """Say of each operation type and automation how it stands."""
    types = [type_entry(kind, facts) for kind in facts.types]
    types += [unreadable_entry(kind) for kind in facts.unreadable]
    automations = [automation_entry(one, facts) for one in facts.automations if not one.gone]
    return Register(
        types=tuple(sorted(types, key=_WORST_FIRST)),
        automations=tuple(sorted(automations, key=_WORST_FIRST)),
        looked_at=facts.looked_at,
    )
