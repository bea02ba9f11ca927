"""Proposals in words: what would change, line by line, who proposes it, and who may answer."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from django.contrib.auth.models import User

from ledger.models import Event
from ledger.rules.approvals import Answer
from reconcile.expected import times
from reconcile.models import Proposal
from reconcile.proposals import actions, limits
from reconcile.proposals.models import AUDITOR, LIMIT, RULES
from review import approvers, asked, trail

EMPTY = dict.fromkeys(('""', "[]", "{}"), "nothing")
"""What stands for a value that holds nothing, as a file writes it."""
ENDED = {
    Answer.APPROVED: "approved it. It is in force.",
    Answer.REFUSED: "refused it. Nothing was changed.",
    Answer.WITHDRAWN: "took it back. Nothing was changed.",
    Answer.VOIDED: "ended it. Nothing was changed.",
    Answer.LAPSED: "ended it. Nothing was changed.",
}


@dataclass(frozen=True)
class Line:
    """One line of what would change: its place, and the old and the new value where they may be told."""

    what: str
    old: str
    new: str

    @classmethod
    def of(cls, said: str) -> Self:
        """Read a line as `configure --check` writes it: "~ operation type T: retry.base 5s -> 10s"."""
        place, found, values = said[2:].rpartition(": ") if said.startswith("~") else (said[2:], "", "made")
        before, arrow, new = values.partition(" -> ")
        path, _, old = before.partition(" ")
        if path == "schedule":
            old, new = times.in_words(old), times.in_words(new)
        if not arrow:
            return cls(f"{place} · {path}" if found else place, "", values.partition(" ")[2] or values)
        return cls(f"{place} · {path}", EMPTY.get(old, old), EMPTY.get(new, new))


@dataclass(frozen=True)
class Proposed:
    """One proposal as its page and the list show it; `closed` says why this person cannot answer it."""

    proposal: Proposal
    title: str
    maker: str
    until: str
    lines: list[Line]
    mine: bool
    closed: str
    ended: str
    trail: list[trail.Line]


def of(proposal: Proposal, person: User, now: datetime, *, whole: bool = True) -> Proposed:
    """Read one proposal; where it is shown whole, with its trail and who may answer."""
    left = asked.due(proposal.made_at, proposal.due_at, proposal.expires_at, now)
    over = proposal.decided_at is None and proposal.expires_at <= now
    done = ENDED[Answer(proposal.answer)] if proposal.answer else ""
    by = "Tieout" if proposal.answer in (Answer.VOIDED, Answer.LAPSED) else proposal.decided_by
    told = Event.objects.filter(operation=None, data__proposal=str(proposal.uid)) if whole else ()
    return Proposed(
        proposal=proposal,
        title=title(proposal),
        maker=proposal.maker,
        until="nobody answered in time" if over else left,
        lines=[Line.of(said) for said in proposal.lines],
        mine=approvers.is_own(proposal, person),
        closed=approvers.why_not(actions.asked_by(proposal), person) if whole else "",
        ended=_ended(proposal, by, done),
        trail=[trail.line(event, there="it") for event in told],
    )


def _ended(proposal: Proposal, by: str, done: str) -> str:
    if not done:
        return ""
    unsaid = proposal.answer == Answer.APPROVED and proposal.why in trail.UNSAID
    return f"{by} {done}" if unsaid else f"{by} {done} “{proposal.why}”"


def title(proposal: Proposal) -> str:
    """Say what it would change."""
    if proposal.kind == RULES:
        count = len(proposal.lines)
        return f"Change of rules: {proposal.title}, {count} {'line' if count == 1 else 'lines'}"
    if proposal.kind == LIMIT:
        only = " only" if proposal.data["entities"] else ""
        return f"Let {proposal.title} see {limits.words(proposal.data['entities'])}{only}"
    if proposal.kind == AUDITOR:
        return f"Let {proposal.title} audit"
    verb = "Give" if proposal.data["give"] else "Take from"
    return f"{verb} {proposal.title} the role of {proposal.data['role']}"


def limits_of_people() -> list[tuple[User, str]]:
    """Return who may sign in, each with the entities that they see, in words; two queries."""
    people = User.objects.filter(is_active=True).select_related("limit").order_by("username")
    return [(one, limits.words(one.limit.entities if hasattr(one, "limit") else [])) for one in people]


def waiting(rows: Iterable[Proposal], person: User, now: datetime) -> list[Proposed]:
    """Return open proposals as the list shows them."""
    return [of(one, person, now, whole=False) for one in rows]
