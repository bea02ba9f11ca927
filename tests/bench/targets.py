"""What the console's figures are held to, and how they are told: on a terminal, for the README, to programs.

All targets are of the 95th of a hundred. A page of the queue takes at most twice a bare page's, and a tenth
of the Django admin's list of the same table; an operation's page and a search 30 ms at most, in process.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

TIMES_BARE, PART_OF_ADMIN, AT_MOST_MS = 2.0, 0.1, 30.0


@dataclass(frozen=True)
class Target:
    """One figure, and the most that it may be."""

    words: str
    found: float
    most: float

    @property
    def met(self) -> bool:
        """Say whether it is no more than that."""
        return self.found <= self.most

    def __str__(self) -> str:
        return f"{self.words} {self.found:.2f} of {self.most:g}"


@dataclass(frozen=True)
class Figure:
    """One kind of page: its milliseconds, and both by those of a bare page."""

    page: str
    median_ms: float
    p95_ms: float
    median_by_bare: float
    """That of each request by the bare page before it."""
    p95_by_bare: float
    targets: Sequence[Target] = field(default=())

    @property
    def met(self) -> str:
        """Say whether its targets are met, and which are not; empty where it has none."""
        missed = [f"not met: {one}" for one in self.targets if not one.met]
        return "; ".join(missed) if missed or not self.targets else "met"


def of_queue(p95_ms: float, *, bare_ms: float, admin_ms: float) -> list[Target]:
    """Return what a page of the queue is held to, beside the 95ths of a bare page and of the admin's list."""
    return [
        Target("by a bare page", p95_ms / bare_ms, TIMES_BARE),
        Target("of the admin's list", p95_ms / admin_ms, PART_OF_ADMIN),
    ]


def in_process(p95_ms: float) -> list[Target]:
    """Return what an operation's page and a search are held to."""
    return [Target("ms", p95_ms, AT_MOST_MS)]


def told(figures: Sequence[Figure], *, about: str) -> str:
    """Write the figures for a terminal."""
    rows = [f"{'':40}{'median ms':>10}{'p95 ms':>10}{'medians':>10}{'p95s':>8}  by a bare page; targets"]
    rows += [
        f"{one.page:40}{one.median_ms:10.1f}{one.p95_ms:10.1f}{one.median_by_bare:10.2f}{one.p95_by_bare:8.2f}"
        f"  {one.met}".rstrip()
        for one in figures
    ]
    return "\n".join([about, *rows, summary(figures)])


def readme(figures: Sequence[Figure], *, about: str) -> str:
    """Write the table for the README, as `python -m tests.bench.console --readme` prints it."""
    head = "| | median ms | 95th of a hundred, ms | median by a bare page | 95ths by a bare page | targets |"
    rows = [
        f"| {one.page} | {one.median_ms:.1f} | {one.p95_ms:.1f} | {one.median_by_bare:.2f} "
        f"| {one.p95_by_bare:.2f} | {one.met} |".replace("|  |", "| |")
        for one in figures
    ]
    return "\n".join([about, summary(figures), "", head, "|---|---:|---:|---:|---:|---|", *rows])


def summary(figures: Sequence[Figure]) -> str:
    """Say how many targets are met."""
    targets = [target for one in figures for target in one.targets]
    return f"{sum(target.met for target in targets)} of {len(targets)} targets are met."


def document(figures: Sequence[Figure], *, about: str) -> dict[str, Any]:
    """Return what `bench.json` says of the console."""
    return {
        "about": about,
        "figures": [
            {
                "page": one.page,
                "median_ms": round(one.median_ms, 2),
                "p95_ms": round(one.p95_ms, 2),
                "median_by_bare": round(one.median_by_bare, 3),
                "p95_by_bare": round(one.p95_by_bare, 3),
                "targets": [
                    {"of": to.words, "found": round(to.found, 3), "at_most": to.most, "met": to.met}
                    for to in one.targets
                ],
            }
            for one in figures
        ],
    }
