"""What the register says of one thing, and how that is written in a terminal."""

import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

State = Literal["completed", "said", "uncertain", "failed"]
"""In order, in order by people's word alone, to be asked about, or wrong."""
ANSWERED: frozenset[State] = frozenset({"completed", "said"})
STANDS: dict[State, str] = {
    "failed": "Not in order",
    "uncertain": "To be asked about",
    "completed": "In order",
}
"""How a thing stands as a whole, the worst first."""
WIDTH = 100
_MARKS = {"completed": "ok ", "said": "say", "uncertain": "ask", "failed": "NO "}
_UNITS_S = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Check:
    """One of the three checks: what it is about, what is known in a word or two, and the rest."""

    about: str
    state: State
    said: str
    more: str = ""


@dataclass(frozen=True)
class Seen:
    """One thing that the ledger has seen or misses; `flagged` where somebody should look."""

    words: str
    flagged: bool = False


@dataclass(frozen=True)
class Entry:
    """An operation type or an automation: checks, a promise and its end, answers, what was seen."""

    name: str
    title: str
    under: tuple[str, ...]
    checks: tuple[Check, ...]
    promise: str
    beyond: str
    answers: tuple[tuple[str, str], ...]
    seen: tuple[Seen, ...]

    @property
    def in_order(self) -> bool:
        """Say whether each check is answered, and nothing that was seen speaks against it."""
        return self.state == "completed"

    @property
    def state(self) -> State:
        """Return how it stands as a whole: in order, to be asked about, or wrong."""
        found = {check.state for check in self.checks}
        if "failed" in found:
            return "failed"
        flagged = any(one.flagged for one in self.seen)
        return "uncertain" if "uncertain" in found or flagged or not found else "completed"

    @property
    def words(self) -> str:
        """Return that in words."""
        return STANDS[self.state]

    @property
    def worst_first(self) -> tuple[int, str]:
        """Return its place in a list: what is wrong, what is to be asked about, what is in order."""
        return list(STANDS).index(self.state), self.name


@dataclass(frozen=True)
class Register:
    """Every operation type and every automation; so many of each type's latest operations were looked at."""

    types: tuple[Entry, ...]
    automations: tuple[Entry, ...]
    looked_at: int

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return all of them."""
        return (*self.types, *self.automations)

    @property
    def headline(self) -> str:
        """Say how many are in order: "3 of 4 are in order"."""
        every, good = len(self.entries), sum(entry.in_order for entry in self.entries)
        if every == 1:
            return "The only one is in order" if good else "The only one is not in order yet"
        return f"All {every} are in order" if good == every else f"{good or 'None'} of {every} are in order"

    def only(self, types: Collection[str], automations: Collection[str]) -> "Register":
        """Return these alone, by their names."""
        return Register(
            tuple(entry for entry in self.types if entry.name in types),
            tuple(entry for entry in self.automations if entry.name in automations),
            self.looked_at,
        )


def lines(register: Register) -> list[str]:
    """Write a register for a terminal, at most 100 columns wide."""
    written = [f"{register.headline}."] if register.entries else []
    for entry in register.entries:
        names = dict.fromkeys((entry.title, entry.name))
        written += ["", " · ".join((*names, *entry.under)), *_lines(entry)]
    return [line.replace("\u00a0", " ") for line in written]


def _lines(entry: Entry) -> Iterator[str]:
    for check in entry.checks:
        yield from _wrapped(_MARKS[check.state], "; ".join(filter(None, (_about(check), check.more))))
    for one in entry.seen:
        yield from _wrapped(_MARKS["uncertain"] if one.flagged else "-  ", one.words)
    yield from _wrapped("   ", f"“{entry.promise}”")
    if entry.beyond:
        yield from _wrapped("   ", entry.beyond)
    for number, (question, answer) in enumerate(entry.answers, 1):
        yield from _wrapped(f"{number}  ", f"{question} {answer}")


def _about(check: Check) -> str:
    return f"{check.about}: {check.said}"


def _wrapped(mark: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"  {mark} ", subsequent_indent=" " * 6, break_on_hyphens=False
    )


def span(seconds: float) -> str:
    """Write seconds for people in one unit: "30 s", "10 min", "24 h", "35 d"."""
    for unit, length in _UNITS_S:
        many = 2 * length if unit == "d" else length
        if seconds >= many and seconds % length == 0:
            return f"{seconds / length:.0f}\u00a0{unit}"
    return f"{seconds:g}\u00a0s"


def several(count: int, noun: str) -> str:
    """Write a count with its noun: "1 try", "5 tries"."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def listed(words: Collection[str], last: str = "and") -> str:
    """Join words as in a sentence: "a, b and c"."""
    *before, end = words
    return f"{', '.join(before)} {last} {end}" if before else end
