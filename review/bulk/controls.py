"""What a person can say about a bulk action now, and why not, where that is so."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.urls import reverse

from ledger.rules.leaves import Action
from review import access, approvers
from review.bulk import commanding
from review.bulk.counting import Counts, spaced
from review.models import Bulk
from review.models.bulk import Status
from review.reading import RIGHT

UNASKED = ("approve", "pause", "cancel")
"""What may be said without a reason."""


@dataclass(frozen=True)
class Control:
    """One thing to say about it: where it is sent, its words, and why not, where that is so."""

    url: str
    way: str
    words: str
    why_not: str = ""
    primary: bool = False

    @property
    def asks_why(self) -> bool:
        """Say whether it needs a reason; to stop never waits for words."""
        return self.way not in UNASKED


def doing(action: Action, count: int) -> str:
    """Say what is done with how many."""
    many = spaced(count)
    return {
        Action.CHECK: f"Check {many} now",
        Action.SEND_AGAIN: f"Send {many} again",
        Action.DID_NOT_HAPPEN: f"Close {many}: they did not happen",
    }[action]


def phrase(bulk: Bulk) -> str:
    """Say what is asked for, within a sentence: "send 3 again"."""
    words = doing(Action(bulk.action), bulk.frozen)
    return words[:1].lower() + words[1:]


def controls(bulk: Bulk, person: User, at: Counts, now: datetime) -> list[Control]:
    """Return what can be said now; the first is what is usual."""
    lacks = "" if access.may(person, RIGHT[Action(bulk.action)]) else access.lacking(person)
    words = doing(Action(bulk.action), at.open)
    match Status(bulk.status):
        case Status.PREVIEW:
            why_not = lacks or _not_yet(bulk, person, at)
            ways = [("start", words, why_not)]
        case Status.ASKED:
            second = _not_second(bulk, person, now)
            ways = [("approve", f"Approve: {words}", second), ("refuse", "Refuse", second)]
            ways += [("cancel", "Cancel", lacks)]
        case Status.RUNNING:
            ways = [("pause", "Pause", lacks), ("cancel", "Cancel the rest", lacks)]
        case Status.PAUSED | Status.STOPPED:
            above = not bulk.approved_by and commanding.takes_two(bulk)
            why_not = lacks or (commanding.ABOVE_BY_NOW if above else "")
            ways = [("resume", "Resume", why_not), ("cancel", "Cancel the rest", lacks)]
        case _:
            ways = []
    at_first = ("start", "approve", "resume")
    return [
        Control(reverse(f"bulk-{way}", args=[bulk.uid]), way, said, why_not, primary=way in at_first)
        for way, said, why_not in ways
    ]


def _not_second(bulk: Bulk, person: User, now: datetime) -> str:
    """Say why this person cannot answer for a second one; empty where they can."""
    if bulk.counts_until is None or now >= bulk.counts_until:
        return commanding.LAPSED
    return approvers.why_not(commanding.asked_by(bulk), person)


def _not_yet(bulk: Bulk, person: User, at: Counts) -> str:
    if bulk.maker != person.get_username():
        return f"It is {bulk.maker}’s list: freeze one of your own."
    if at.unread:
        return f"It is still being read: {spaced(at.frozen - at.unread)} of {spaced(at.frozen)}."
    return "" if at.open else "None of it allows this: each item says why."
