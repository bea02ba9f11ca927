"""What can be played to a connector, and what a double has to offer for it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from ledger.destinations.connectors.base import Target


class Scene(StrEnum):
    """What happens at the step of a play; all steps before it are answered."""

    ANSWERS = "answers"
    REFUSES = "refuses the connection"
    RESETS = "resets the connection once the request is there, its effect made"
    SILENT = "never answers"
    DRIPS = "answers byte by byte, without end"
    GARBLES = "answers with garbage"
    FAILS = "answers with status 500, its effect made"
    BREAKS_OFF = "breaks its answer off in the middle"
    UNKNOWN = "answers with status 401"
    FORBIDS = "answers with status 403"
    MISSES = "answers with status 404"
    LIMITS = "answers with status 429"
    IS_DOWN = "answers with status 503"
    SHOWS_A_PAGE = "answers with status 200 and a page for people"
    SHOWS_THAT_IT_MISSES = "answers with a page for people and status 404"
    RESTARTS = "answers each later page with the first one"


REFUSALS: Mapping[Scene, int] = {
    Scene.UNKNOWN: 401,
    Scene.FORBIDS: 403,
    Scene.MISSES: 404,
    Scene.LIMITS: 429,
    Scene.IS_DOWN: 503,
}
"""The status of each scene in which a question is refused, which says nothing of what is held."""
PAGES: Mapping[Scene, int] = {Scene.SHOWS_A_PAGE: 200, Scene.SHOWS_THAT_IT_MISSES: 404}
"""The status of each scene in which a page for people is shown: a gateway's, whatever it says."""


@dataclass(frozen=True)
class Held:
    """One record that the played destination holds."""

    reference: str
    number: int


@dataclass(frozen=True)
class Play:
    """One thing to play: the scene, at which step it comes (from 1), and what is held there.

    `asked` is what the connector will be asked for: "send", "look_up" or "list". With `ignores_filter` a
    look-up is answered with everything that is held.
    """

    scene: Scene
    asked: str
    held: tuple[Held, ...] = ()
    at: int = 1
    ignores_filter: bool = False


@dataclass
class Stage:
    """What a connector is pointed at, and what was seen: each request, and whether it may make something."""

    target: Target
    requests: list[tuple[str, bool]] = field(default_factory=list)
    in_transaction: bool = False
    watch: Callable[[], bool] = lambda: False
    """Tells whether who is calling has a transaction of Tieout's open."""
    trouble: str = ""
    """Why the double could not answer; then nothing is said of the connector."""

    @property
    def made(self) -> bool:
        """Say whether a request came that may have made something."""
        return any(makes for _, makes in self.requests)


class Double(Protocol):
    """A destination that is played. What it cannot play is left out, and said."""

    scenes: frozenset[Scene]

    def playing(self, play: Play, target: Target) -> AbstractContextManager[Stage]:
        """Play a scene to whoever is pointed at the stage's target; several may come, one after the other."""
