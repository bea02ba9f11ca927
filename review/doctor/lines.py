"""One line of what the doctor finds."""

from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """How something stands."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"


@dataclass(frozen=True)
class Line:
    """What was looked at, how it stands, and what to do; no remedy where all is well."""

    name: str
    standing: Standing
    words: str
    remedy: str = ""


def ok(name: str, words: str) -> Line:
    """Say that something is as it should be."""
    return Line(name, Standing.OK, words)


def warning(name: str, words: str, remedy: str) -> Line:
    """Say that something works, and could surprise somebody."""
    return Line(name, Standing.WARNING, words, remedy)


def wrong(name: str, words: str, remedy: str) -> Line:
    """Say that something does not work, or does not protect."""
    return Line(name, Standing.WRONG, words, remedy)
