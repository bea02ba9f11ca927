"""A row of what cannot be undone: whose it is, its scene, how it is done, and what stands afterwards."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tests.browser.hands import Hand
from tests.review.test_every_door import DOORS, Form, Place, Scene

REASON = "They have asked, and I have looked."


TRAIL = "Reason, for the trail"


Name = str | re.Pattern[str]


Do = Callable[[Hand, Form], None]
Begins = Callable[[str], str]


def itself(address: str) -> str:
    """Begin at the address."""
    return address.partition("?")[0]


def at(address: str) -> Begins:
    """Begin at this address, whichever one it is about."""
    return lambda _: address


def as_it_is(address: str) -> str:
    """Begin at the address, with what it asks for."""
    return address


def above(address: str) -> str:
    """Begin at the page of what it is about."""
    return itself(address).rstrip("/").rpartition("/")[0] + "/"


@dataclass(frozen=True)
class Row:
    """One thing that cannot be undone."""

    name: str
    route: str
    who: str
    do: Do
    says: str | re.Pattern[str]
    """What stands on the page afterwards."""
    kinds: str
    """The kinds of the events that whoever does it makes by it."""
    reason: str = REASON
    begins: Begins = above
    gone: Callable[[Form], bool] = lambda form: True
    """Where no event tells of it: whether it is so now."""
    made: Scene | None = None

    def scene(self, place: Place, name: str) -> tuple[str, Form]:
        """Make a scene in which it can be done: the address, and what its form takes."""
        return (self.made or DOORS[self.route].scene)(place, name)


def unfolded(hand: Hand, name: Name) -> None:
    """Open what hides a button."""
    if not hand.called(name).is_visible():
        hand.click("Other")


def asked(button: Name, **fields: str) -> Do:
    """A button of an operation's page; the question over it, what it asks for, and Confirm."""

    def do(hand: Hand, form: Form) -> None:
        unfolded(hand, button)
        hand.click(button)
        for label, value in fields.items():
            hand.write(label.replace("_", " "), value)
        hand.write(TRAIL, REASON)
        hand.click("Confirm")

    return do


def written(button: Name, label: str = TRAIL, *before: Name) -> Do:
    """What leads to a form, its reason, and its button."""

    def do(hand: Hand, form: Form) -> None:
        for one in before:
            hand.click(one)
        hand.write(label, REASON)
        hand.click(button)

    return do


def approvals(first: str, button: str) -> Do:
    """From the list of approvals: what leads to it, and the question."""

    def do(hand: Hand, form: Form) -> None:
        hand.click(re.compile(f"^{first}"))
        hand.write(TRAIL, REASON)
        hand.click(button)

    return do


def pressed(name: Name) -> Do:
    """One button, and no question: what it does is no decision, or can be asked for again."""
    return lambda hand, form: hand.click(name)
