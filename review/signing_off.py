"""Who has prepared and signed a run, as its page, its paper and the request for a signature say it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse

from ledger.rules import actors
from ledger.rules.approvals import Answer
from ledger.rules.errors import Malformed
from reconcile import provenance, reports
from reconcile.differences import waivers
from reconcile.models import Run, SignOff
from reconcile.periods import leaves as closing
from reconcile.signing import actions, freezing, leaves
from reconcile.signing.models import Way
from review import access, approvers, asked, wording
from review.access import require
from review.amounts import whole
from review.runs import stamp

PAST = 50
"""Preparations and requests of one run that are read for its page."""
SHOWN = 200
"""Open differences that stand on the page of a signature; all of them on the run's, and in its JSON."""


@dataclass(frozen=True)
class Step:
    """One of three: who ran it, who prepared it, who signed it; done, or still to come."""

    state: str
    icon: str
    who: str
    note: str


@dataclass(frozen=True)
class Signature:
    """What a run's page says of its signature, to one person."""

    run: Run | None
    """None of a period that no run has reported yet."""
    person: User
    now: datetime

    @cached_property
    def _rows(self) -> list[SignOff]:
        """What was prepared, signed or asked of this run: what stands, then the latest."""
        return list(SignOff.objects.filter(run=self.run).standing_first()[:PAST])

    @cached_property
    def standing(self) -> SignOff | None:
        """What is prepared or signed, if anything is."""
        return next((one for one in self._rows if one.stands), None)

    @cached_property
    def closed(self) -> str:
        """Say why this person does not prepare it; empty where they may."""
        assert self.run is not None  # a run's own page
        return access.why_not(self.person, "prepare") or leaves.why_not_prepared(self.run, self.standing)

    @property
    def steps(self) -> Iterator[Step]:
        """Say who ran, prepared and signed it."""
        one = self.standing
        if self.run is not None:
            who, at = wording.who(self.run.actor), stamp(self.run.started_at)
            yield Step("completed", "completed", f"Run by {who}", at)
        if one is None:
            yield Step("pending", "pending", "Prepared by: nobody yet", "")
            yield Step(
                "pending", "pending", "Signed by: nobody yet", "by another person than who prepares it"
            )
            return
        yield Step("completed", "completed", f"Prepared by {one.maker}", f"{stamp(one.made_at)}{_note(one)}")
        if one.decided_at is None:
            due = f"due by {stamp(one.due_at)}"
            yield Step(
                "pending", "pending", "Signed by: nobody yet", f"another person than {one.maker}, {due}"
            )
        else:
            yield Step("completed", "completed", f"Signed by {one.decided_by}", stamp(one.decided_at))

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Say for paper who prepared and who reviewed it, and when; empty where nobody has, for a pen."""
        one = self.standing
        prepared = f"{one.maker}, {stamp(one.made_at)}{_note(one)}" if one else ""
        signed = f"{one.decided_by}, {stamp(one.decided_at)}" if one and one.decided_at else ""
        return [("Prepared by", prepared), ("Reviewed by", signed)]

    @cached_property
    def past(self) -> list[str]:
        """Say what else became of preparations and signatures of this run, the latest first."""
        over = (one for one in self._rows if one.answer and not one.stands)
        return [words for one in over if (words := _became(one, self.now))]


def _note(one: SignOff) -> str:
    return f" “{one.reason}”" if one.reason != actions.LOOKED else ""


def _became(one: SignOff, now: datetime) -> str:
    who, at = wording.who(one.decided_by), stamp(one.decided_at) if one.decided_at else ""
    if one.way == Way.SIGN and one.ended_at is not None:
        return f"Signed by {one.decided_by} {at}, opened again {stamp(one.ended_at)}."
    if one.answer == Answer.APPROVED:
        return f"{one.maker} asked to open it again, and {who} agreed {at}: “{one.reason}”" * (
            one.way == Way.REOPEN
        )
    what = "prepared it" if one.way == Way.SIGN else "asked to open it again"
    did = {Answer.REFUSED: "refused it", Answer.WITHDRAWN: "took it back"}.get(Answer(one.answer), "ended it")
    return f"{one.maker} {what}; {who} {did} {at}: {one.why}"


def past(one: SignOff) -> tuple[str, str, str]:
    """Return icon, who, and what became of one that is answered, before its name."""
    what, who = "signature" if one.way == Way.SIGN else "opening again", wording.who(one.decided_by)
    match Answer(one.answer):
        case Answer.APPROVED if one.way == Way.SIGN:
            return "completed", one.decided_by, f"signed what {one.maker} prepared:"
        case Answer.APPROVED:
            return "completed", one.decided_by, f"opened again, asked by {one.maker}:"
        case Answer.REFUSED:
            return "failed", one.decided_by, f"refused the {what} that {one.maker} asked for, “{one.why}”:"
        case Answer.WITHDRAWN:
            return "back", one.decided_by, f"took back the {what}, “{one.why}”:"
        case _:
            return "clock", who, f"ended the {what} that {one.maker} asked for, {one.why}:"


def named(one: SignOff) -> str:
    """Name what is to be signed."""
    what = f"Run {one.run_id}" if one.period is None else one.period.title
    return f"{what} · {one.plan.name}"


def page(one: SignOff) -> str:
    """Return the address of what is signed: its run, or its period."""
    if one.period is not None:
        return reverse("period", args=[one.period.uid])
    return reverse("run", args=[one.run.uid])


def headline(one: SignOff) -> str:
    """Say what it came to: a period as of its cut-off."""
    if one.period is not None:
        return str(one.run.period_report.document["headline"])
    return reports.headline(one.run, reports.Open.stored(one.run))


def asks(one: SignOff) -> str:
    """Say what is asked, after "asks"."""
    return "for a signature" if one.way == Way.SIGN else "to open what is signed again"


def waiting(rows: Iterable[SignOff], person: User, now: datetime) -> list[dict[str, Any]]:
    """Return what waits for a signature as the list shows it."""
    return [request(one, person, now, full=False) for one in rows]


def request(one: SignOff, person: User, now: datetime, *, full: bool = True) -> dict[str, Any]:
    """Return one as the list and its page show it; `closed` says why this person cannot answer."""
    return {
        "row": one,
        "title": named(one),
        "asks": asks(one),
        "until": asked.due(one.made_at, one.due_at, one.expires_at, now),
        "mine": approvers.is_own(one, person),
        "closed": _closed(one, person) if full else "",
    }


def _closed(one: SignOff, person: User) -> str:
    why = approvers.why_not(actions.asked_by(one), person)
    return why or closing.why_not_answered(one)


def ended(one: SignOff, now: datetime) -> str:
    """Say what became of it; empty while it waits."""
    if one.answer == Answer.APPROVED and one.way == Way.SIGN and one.ended_at is None:
        assert one.decided_at is not None  # a constraint
        return f"Signed by {one.decided_by} {stamp(one.decided_at)}."
    return _became(one, now) if one.answer else ""


@dataclass(frozen=True)
class Open:
    """One open difference, as it stood when it was signed."""

    title: str
    amount: str
    owner: str
    due: str
    waived: str
    why: str


@dataclass(frozen=True)
class Listed:
    """The open differences that somebody signs, or has signed."""

    rows: list[Open]
    all: int
    seen: str
    """The digest that their form carries: one signs what one has seen."""


def listed(one: SignOff, now: datetime) -> Listed | None:
    """Return what is open: as it was when it was signed, as it is now where that is asked, else nothing."""
    if one.signed is not None:
        still = one.signed["open"]
    elif one.way == Way.SIGN and one.waits:
        still = freezing.still_open(one.run, waivers.waived(one.run, now))
    else:
        return None
    return Listed([_open(each) for each in still[:SHOWN]], len(still), freezing.seen(still))


def _open(one: dict[str, Any]) -> Open:
    waived, due = one["waived"], one["due"]
    return Open(
        title=one["reference"] or "Without a number",
        amount=whole(one["amount"], one["currency"]) if one["currency"] else "no amount",
        owner=one["assignee"] or one["owner"],
        due=stamp(datetime.fromisoformat(due)) if due else "no due time",
        waived=f"Waived by {waived['by']}: “{waived['reason']}”" if waived else "",
        why=one["why"],
    )


def not_tested(run: Run) -> list[str]:
    """Say what the figures of a run that is done do not show, as its page does."""
    said: list[str] = provenance.of(run, author="", now=run.started_at)["not_tested"]
    return said


def prepare(run: Run, *, person: User, note: str, **command: Any) -> SignOff:
    """State that one has looked at what a run came to."""
    require(person, "prepare")
    return actions.prepare(run, actor=actors.person(person.get_username()), note=note, **command)


def reopen(signed: SignOff, *, person: User, reason: str, **command: Any) -> SignOff:
    """Ask a second person to open a signed run again."""
    require(person, "prepare")
    actor = actors.person(person.get_username())
    return actions.ask_reopening(signed, actor=actor, reason=reason, **command)


def answer(one: SignOff, *, person: User, answer: str, reason: str, seen: str) -> None:
    """Sign what somebody else prepared, as one has seen it; refuse it, or take one's own back."""
    actor = actors.person(person.get_username())
    if answer == "take-back":
        require(person, "prepare")
        actions.take_back(one.uid, actor=actor, reason=reason)
        return
    require(person, "approve")
    if answer == "refuse":
        actions.refuse(one.uid, actor=actor, reason=reason)
    elif answer == "approve":
        actions.approve(one.uid, actor=actor, reason=reason, seen=seen)
    else:
        raise Malformed("Choose how it is answered.")
