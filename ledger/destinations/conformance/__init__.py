"""A kit that plays a destination to a connector and says what holds; users run it on classes of their own."""

from ledger.destinations.conformance.calling import Subject
from ledger.destinations.conformance.checks import BROKEN, HELD, UNPLAYED, Result, check
from ledger.destinations.conformance.doubles import HttpDouble, Request
from ledger.destinations.conformance.scenes import Double, Held, Play, Scene, Stage

__all__ = [
    "BROKEN",
    "HELD",
    "UNPLAYED",
    "Double",
    "Held",
    "HttpDouble",
    "Play",
    "Request",
    "Result",
    "Scene",
    "Stage",
    "Subject",
    "check",
]
