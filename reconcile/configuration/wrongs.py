"""What is wrong with a configuration file, gathered so that all of it is said at once."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from ledger.rules.paths import dotted

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Wrong:
    """One wrong line: where it is, what is wrong and what to write instead."""

    what: str
    remedy: str
    path: Path = ()
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        column = f", column {self.column}" if self.column else ""
        place = f"line {self.line}{column}" if self.line else ""
        where = ": ".join(part for part in (place, dotted(self.path) if self.path else "") if part)
        return f"{where}\n    {self.what}\n    {self.remedy}" if where else f"{self.what}\n    {self.remedy}"


@dataclass
class Wrongs:
    """Collects wrong places; of one place the first complaint stands, for the others follow from it."""

    found: list[Wrong] = field(default_factory=list)
    partial: bool = False
    """Some lines could not be read at all, so that nothing can be called missing."""
    incomplete: set[Path] = field(default_factory=set)
    """Sections whose preset is not there, so that nothing in them can be called missing either."""

    def add(self, path: Path, what: str, remedy: str) -> None:
        """Note what is wrong at a path, unless it was complained about before."""
        if all(wrong.path != path for wrong in self.found):
            self.found.append(Wrong(what=what, remedy=remedy, path=path))

    def misses(self, path: Path) -> bool:
        """Say whether lines that were meant for this section could not be read."""
        return self.partial or path[:2] in self.incomplete

    def has(self, path: Path) -> bool:
        """Say whether this place, or one inside it, was complained about."""
        return any(wrong.path[: len(path)] == path for wrong in self.found)


class Refused(Exception):
    """The whole file is refused; `wrongs` says why, in the file's order."""

    def __init__(self, wrongs: Iterable[Wrong]) -> None:
        self.wrongs = sorted(wrongs, key=lambda wrong: (wrong.line or 0, wrong.column or 0))
        super().__init__("\n".join(str(wrong) for wrong in self.wrongs))


def choices(name: object, known: Iterable[str], *, none: str = "There is none yet.") -> str:
    """Return the remedy for an unknown name: the one that was probably meant, and what there is."""
    there = sorted(known)
    if not there:
        return none
    return f"{meant(name, there)}There {'is' if len(there) == 1 else 'are'}: {', '.join(there)}."


def meant(name: object, known: Iterable[str]) -> str:
    """Return the question for the known name that was probably meant, or nothing."""
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f'Did you mean "{close[0]}"? ' if close else ""
