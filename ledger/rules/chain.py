"""The chain over the trail: each seal's head is made from the one before it and from the events it covers.

This file needs nothing but Python, so that whoever holds an export proves it without us:
`python3 chain.py EXPORT [SEAL:HEAD …]`. An export has a line for each event and, behind those that it covers,
one for each seal. `head = SHA-256(head before, newline, then each event's line and a newline)`, in hex; the
first head before is 64 zeros. What the owner of the database has rewritten, seals and all, a head that was
kept elsewhere shows.
Exit 0 whole, 1 not whole, 2 not to be read.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

NOTHING = "0" * 64
"""The head before the first seal."""
FORMAT = "tieout-trail"
HEAD_LEAST = 16
"""Characters of a head that was kept elsewhere, at least; more are compared where more were kept."""


def written(value: Mapping[str, Any]) -> str:
    """Return an event or a seal as its line: ASCII, members by name, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def head_of(previous: str, lines: Iterable[str]) -> str:
    """Return the head that follows `previous` over these lines, in their order."""
    made = hashlib.sha256(f"{previous}\n".encode())
    for line in lines:
        made.update(f"{line}\n".encode())
    return made.hexdigest()


@dataclass
class Checker:
    """Walks a trail once: events as they come, then the seal behind them; `faults` is what does not fit."""

    kept: Mapping[int, str] = field(default_factory=dict)
    """Heads that were kept elsewhere, or how they begin, by the number of their seal."""
    head: str = NOTHING
    number: int = 0
    through: int = 0
    events: int = 0
    faults: list[str] = field(default_factory=list)
    _lines: list[str] = field(default_factory=list)
    _ids: list[int] = field(default_factory=list)

    def event(self, number: int, line: str) -> None:
        """Take the next event: its id and its line."""
        self._ids.append(number)
        self._lines.append(line)

    def seal(self, seal: Mapping[str, Any]) -> None:
        """Take the seal behind the events that came since the one before."""
        which = f"Seal {seal['seal']}"
        if (seal["seal"], seal["previous"], seal["after"]) != (self.number + 1, self.head, self.through):
            self.faults.append(f"{which} does not follow the one before it.")
        if len(self._ids) != seal["count"]:
            found = f"{len(self._ids)} of {seal['count']} events"
            self.faults.append(
                f"{which}, events {seal['after'] + 1} to {seal['through']}: {found} are there."
            )
        elif head_of(seal["previous"], self._lines) != seal["head"]:
            self.faults.append(
                f"{which}, events {seal['after'] + 1} to {seal['through']}: an event was changed."
            )
        kept = self.kept.get(seal["seal"], "")
        if not seal["head"].startswith(kept.lower()):
            self.faults.append(f"{which} has not the head that was kept: events up to it were rewritten.")
        self.number, self.head, self.through = seal["seal"], seal["head"], seal["through"]
        self.events += len(self._ids)
        self._lines, self._ids = [], []

    def end(self) -> int:
        """Return how many events came after the last seal; a kept head whose seal is not there is a fault."""
        for number in sorted(self.kept):
            if number > self.number:
                self.faults.append(f"Seal {number}, whose head was kept, is not there.")
        return len(self._ids)

    @property
    def words(self) -> str:
        """Say how far it is sealed, with the head to keep."""
        sealed = f"{self.events} events are sealed by {self.number} seals"
        return f"{sealed}; keep this head: {self.number}:{self.head}"


def kept(words: Iterable[str]) -> dict[int, str]:
    """Read heads as they were printed, `SEAL:HEAD`; raises ValueError."""
    found = {}
    for word in words:
        number, _, head = word.partition(":")
        if (
            not number.isdecimal()
            or len(head) < HEAD_LEAST
            or not set(head.lower()) <= set("0123456789abcdef")
        ):
            raise ValueError(
                f"A head is written as SEAL:HEAD, with at least {HEAD_LEAST} characters: not {word}"
            )
        found[int(number)] = head
    return found


def checked(lines: Iterable[str], heads: Mapping[int, str]) -> tuple[Checker, int]:
    """Walk an export; returns the checker and how many events no seal covers yet. Raises ValueError."""
    rows: Iterator[str] = (line.rstrip("\n") for line in lines)
    if json.loads(next(rows, "null") or "null") != {"format": FORMAT, "version": 1}:
        raise ValueError("This is no export of a trail.")
    checker = Checker(heads)
    for line in rows:
        read = json.loads(line)
        if "seal" in read:
            checker.seal(read)
        else:
            checker.event(read["id"], line)
    return checker, checker.end()


def main(arguments: list[str]) -> int:
    """Check the export that is named first against itself and the heads behind it."""
    try:
        with open(arguments[0], encoding="ascii") as file:
            checker, left = checked(file, kept(arguments[1:]))
    except (IndexError, KeyError, TypeError, ValueError, OSError) as error:
        print(f"Not to be read: {error}", file=sys.stderr)
        return 2
    for fault in checker.faults:
        print(fault, file=sys.stderr)
    print(checker.words if not checker.faults else "The trail is not whole.")
    if left:
        print(f"No seal covers the last {left} events yet.")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
