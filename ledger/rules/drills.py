"""What drills try of a contract, what came of it, and what that takes from the contract: pure."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum

from ledger.rules.contracts import REFUSES_US, Contract
from ledger.rules.digests import canonical


class Promise(StrEnum):
    """What a contract promises, as far as it can be tried."""

    SAME_KEY = "same_key"
    REPLAY_MARKED = "replay_marked"
    CHANGED_DATA = "changed_data"
    AT_ONCE = "at_once"
    LOST_ANSWER = "lost_answer"
    KEY_RETENTION = "key_retention"
    LOOKUP_FINDS = "lookup_finds"
    LOOKUP_ABSENT = "lookup_absent"
    LIST_WHOLE = "list_whole"
    REJECTED = "rejected"
    SAVES = "saves"
    VOID = "void"


class Tried(StrEnum):
    """What came of trying a promise."""

    HELD = "held"
    BROKEN = "broken"
    NOT_TRIED = "not_tried"


KEY = frozenset({Promise.SAME_KEY, Promise.AT_ONCE, Promise.LOST_ANSWER})
"""What "the same key makes no second effect" rests on."""
LOOKUP = frozenset({Promise.LOOKUP_FINDS, Promise.LOOKUP_ABSENT})
"""What "absence is proof" rests on."""


@dataclass(frozen=True)
class Result:
    """What came of one promise, and why; `hindered`: promised, and the drill could not try it."""

    promise: Promise
    tried: Tried
    why: str
    hindered: bool = False


@dataclass(frozen=True)
class Drilled:
    """What the latest drills say of a type as it is set up now: the days on which it held, or did not.

    What held counts for the rules under which it was tried. What did not counts on: of a key, at this place;
    of a look-up, until its rules change; until a later drill by the rules in force finds otherwise.
    """

    held: Mapping[Promise, date] = field(default_factory=dict)
    broken: Mapping[Promise, date] = field(default_factory=dict)

    @property
    def key_held_on(self) -> date | None:
        """The day on which the key was proved to make no second effect; None where it is not."""
        proved = all(promise in self.held for promise in KEY)
        return min(self.held[promise] for promise in KEY) if proved else None

    @property
    def key_broken_on(self) -> date | None:
        """The day on which one key made two effects; None where none did."""
        return max((self.broken[promise] for promise in KEY & self.broken.keys()), default=None)

    @property
    def lookup_broken_on(self) -> date | None:
        """The day on which a look-up was not to be trusted; None where it was."""
        return max((self.broken[promise] for promise in LOOKUP & self.broken.keys()), default=None)


UNDRILLED = Drilled()


def weakened(contract: Contract, drilled: Drilled) -> Contract:
    """Return the contract without what a drill has refuted."""
    broken = drilled.broken.keys()
    update: dict[str, object] = {}
    if drilled.key_broken_on is not None:
        update["key_retention_s"] = None  # the key is sent on, and nothing rests on it
    if Promise.CHANGED_DATA in broken:
        update["changed_data"] = "unknown"
    if Promise.SAVES in broken:
        update["saves"] = "unknown"
    if Promise.REJECTED in broken:
        # What refuses our credentials has not read what was sent.
        update["rejected"] = tuple(status for status in contract.rejected if status in REFUSES_US)
    return contract.model_copy(update=update) if update else contract


def exit_status(results: Iterable[Result]) -> int:
    """Return 0 where all that was tried held, 1 where something did not, 2 where it could not be tried."""
    found = list(results)
    if any(result.tried is Tried.BROKEN for result in found):
        return 1
    return 2 if any(result.hindered for result in found) else 0


def digest(*parts: object) -> str:
    """Return the digest of rules, or of a place, by which a later one is told from it."""
    return hashlib.sha256(canonical(list(parts))).hexdigest()
