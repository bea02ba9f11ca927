"""A person's notices in words: what was given to them, by whom, with which word, and what is late."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from ledger.actions.assigning import ASSIGNED, GIVEN_BACK, TAKEN
from ledger.models import TieoutNow
from ledger.rules.approvals import Answer
from review import trail, trail_page, wording
from review.models import Notice

SHOWN = 50
_NO_WORD = frozenset({ASSIGNED, GIVEN_BACK, TAKEN, *trail.UNSAID})
_SAID = (Notice.Kind.GIVEN, Notice.Kind.NAMED, Notice.Kind.ANSWERED)
"""What is told with the word that somebody wrote with it."""


@dataclass(frozen=True)
class Line:
    """One notice as pages show it."""

    at: datetime
    words: str
    """What was done, before the link."""
    what: str
    """The link's words."""
    address: str
    note: str
    """Somebody's own words with it; never sent anywhere."""
    unread: bool


@dataclass(frozen=True)
class Inbox:
    """A person's latest notices; one query."""

    lines: list[Line]
    until: datetime | None
    """The latest of them, up to which they are marked as read."""

    @property
    def unread(self) -> bool:
        """Say whether there is anything to mark."""
        return any(line.unread for line in self.lines)


def of(person: User, *, most: int = SHOWN, unread_only: bool = False) -> Inbox:
    """Read a person's notices, the latest first."""
    found = Notice.objects.filter(person=person).order_by("-at", "-pk")
    found = found.unread() if unread_only else found
    notices = list(found.select_related("event__operation__operation_type")[:most])
    return Inbox([_line(one) for one in notices], notices[0].at if notices else None)


def mark(person: User, until: datetime) -> int:
    """Mark as read what stood there by then; returns how many."""
    return Notice.objects.unread().filter(person=person, at__lte=until).update(read_at=TieoutNow())


def _line(notice: Notice) -> Line:
    words, what, address = _WORDS[notice.kind](notice)
    said = notice.kind in _SAID and notice.event.reason not in _NO_WORD
    note = notice.event.reason if said and (notice.count == 1 or notice.kind == Notice.Kind.GIVEN) else ""
    return Line(notice.at, words, what, address, note, unread=notice.read_at is None)


def _given(notice: Notice) -> tuple[str, str, str]:
    did = "handed over to you:" if notice.event.kind == "handed_over" else "gave you"
    words = f"{wording.who(notice.event.actor)} {did}"
    if notice.count > 1:
        return words, wording.several(notice.count, "item"), f"{reverse('queue')}?view=person&who=me"
    return words, *_one(notice.event)


def _named(notice: Notice) -> tuple[str, str, str]:
    who, times = wording.who(notice.event.actor), ""
    if notice.count > 1:
        times = f" {notice.count} times, last by {who}"
        return f"You were named{times}, in comments on", *_one(notice.event)
    return f"{who} named you in a comment on", *_one(notice.event)


def _escalated(notice: Notice) -> tuple[str, str, str]:
    words = f"Passed on to {notice.event.data['to']}, as nobody had answered in time:"
    if notice.count > 1:
        return words, wording.several(notice.count, "item"), f"{reverse('queue')}?view=escalated&order=due"
    return words, *_one(notice.event)


def _overdue(notice: Notice) -> tuple[str, str, str]:
    what = wording.several(notice.count, "request")
    return "Past its due time without a second person’s answer:", what, reverse("approvals")


def _answered(notice: Notice) -> tuple[str, str, str]:
    answer = notice.event.kind.rpartition("_")[2]
    words = ANSWERED[Answer(answer)].format(who=wording.who(notice.event.actor))
    if notice.count > 1:
        return words, wording.several(notice.count, "request"), reverse("approvals")
    return words, *_one(notice.event)


def _red(notice: Notice) -> tuple[str, str, str]:
    times = f", {wording.several(notice.count, 'time')} by now" if notice.count > 1 else ""
    return f"{RED[notice.event.kind]}{times}:", notice.event.data["plan"], reverse("runs")


RED = {
    "run_not_started": "A reconciliation that was due has not started",
    "run_incomplete": "A reconciliation that was due did not come to its end",
    "run_late": "A reconciliation has not reported in time",
}
ANSWERED = {
    Answer.APPROVED: "{who} approved what you had asked:",
    Answer.REFUSED: "{who} refused what you had asked:",
    Answer.VOIDED: "What you had asked is void:",
    Answer.LAPSED: "Nobody answered in time what you had asked:",
}
_WORDS: Any = {
    Notice.Kind.GIVEN: _given,
    Notice.Kind.NAMED: _named,
    Notice.Kind.ESCALATED: _escalated,
    Notice.Kind.OVERDUE: _overdue,
    Notice.Kind.ANSWERED: _answered,
    Notice.Kind.RED: _red,
}


def _one(event: Any) -> tuple[str, str]:
    """Name one thing, and where it stands; what is about no operation without another query."""
    if event.operation is not None:
        return wording.title(event.operation), reverse("operation", args=[event.operation.uid])
    words, address = trail_page.besides(event)
    if address:
        return words[:1].lower() + words[1:], address
    return "an item without an operation", reverse("case", args=[event.data["case"]])
