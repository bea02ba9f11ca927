"""Auditors' terms: given by an administrator from one day to another, ended by themselves or once before.

Where rules change by two, one is proposed, and an approver answers.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from ledger.actions.accounts import tell_of_account
from ledger.actions.changing import given, once
from ledger.models import TieoutNow, database_now
from ledger.rules import actors
from ledger.rules.errors import Conflict, Malformed, NotFound, TieoutError
from reconcile.models import Proposal
from reconcile.proposals import limits
from reconcile.proposals.actions import HOW, How, by_two, propose
from reconcile.proposals.models import AUDITOR
from review import access, sessions
from review.instants import zone
from review.models import AuditorTerm
from review.models.audit import LONGEST

OWN = "Another administrator lets you audit: nobody does so for themselves."


@dataclass(frozen=True)
class Term:
    """Whose term, from when until when, and to which entities it is limited; to none is all."""

    whose: User
    begins: datetime
    ends: datetime
    entities: list[str]

    def check(self) -> None:
        """Raise Malformed for days or entities that are none, Conflict where it cannot be given."""
        if not self.begins < self.ends <= self.begins + LONGEST or self.ends <= database_now():
            raise Malformed("A term ends after it begins, in the future, and lasts a year at most.")
        unknown = sorted({*self.entities} - {*limits.entities()})
        if unknown:
            raise Malformed(f"There is no entity “{unknown[0]}”: entities are those of the destinations.")
        name = self.whose.get_username()
        roles = {*self.whose.groups.values_list("name", flat=True)} & (access.RIGHTS.keys() - {"viewer"})
        if roles:
            raise Conflict(
                f"{name} is {' and '.join(sorted(roles))}: who audits decides and administers nothing."
            )
        left = AuditorTerm.objects.filter(person=self.whose, ended_at=None)
        if left.filter(ends_at__gt=self.begins, begins_at__lt=self.ends).exists():
            raise Conflict(f"{name} has a term in these days.")

    @property
    def told(self) -> dict[str, Any]:
        """Return what its event and its proposal keep."""
        days = {"from": self.begins.isoformat(), "until": self.ends.isoformat()}
        return {**days, "entities": self.entities}


def give(
    whose: User,
    *,
    person: User,
    first: date,
    last: date,
    entities: Sequence[str],
    reason: str,
    command_id: uuid.UUID,
) -> AuditorTerm | Proposal:
    """Let a person audit from one day to the end of another, in the giver's zone; once for each click.

    Where rules change by two it is proposed. Raises Conflict where they decide or administer, or have a term
    then; Malformed for days or entities that are none.
    """
    _administers(person)
    if whose.pk == person.pk:
        raise access.NotAllowed(OWN)
    begins, ends = (datetime.combine(day, time.min, zone()) for day in (first, last + timedelta(days=1)))
    term = Term(whose, begins, ends, sorted({*entities}))
    with transaction.atomic():
        User.objects.select_for_update().get(pk=whose.pk)
        known = AuditorTerm.objects.filter(uid=command_id, given_by=_actor(person)).first()
        if known is not None:
            return known
        term.check()
        if by_two():
            return _proposed(term, actor=_actor(person), reason=reason, command_id=command_id)
        return _given(term, command_id, by=_actor(person), reason=given(reason))


def _proposed(term: Term, *, actor: str, reason: str, command_id: uuid.UUID) -> Proposal:
    name = term.whose.get_username()
    last = term.ends - timedelta(days=1)
    days = f"{term.begins.day} {term.begins:%b %Y} to {last.day} {last:%b %Y}"
    return once(
        Proposal.objects.filter(command_id=command_id),
        lambda: propose(
            AUDITOR,
            actor=actor,
            reason=given(reason),
            title=name,
            about_account=term.whose.pk,
            lines=[f"~ person {name}: auditor not given -> {days}, {limits.words(term.entities)}"],
            data={"person": name, **term.told},
            command_id=command_id,
        ),
    )


def _given(
    term: Term, uid: uuid.UUID, *, by: str, reason: str, data: Mapping[str, Any] | None = None
) -> AuditorTerm:
    name = term.whose.get_username()
    told = {**term.told, **(data or {})}
    tell_of_account(name, kind="auditor_let_in", actor=by, reason=reason, data=told)
    return AuditorTerm.objects.create(
        uid=uid,
        person=term.whose,
        name=name,
        begins_at=term.begins,
        ends_at=term.ends,
        entities=term.entities,
        reason=reason,
        given_by=by,
    )


def _void(proposal: Proposal) -> str:
    """Say why the term that is proposed cannot be given any more."""
    whose = User.objects.select_for_update().filter(pk=proposal.about_account or 0).first()
    if whose is None:
        return "The account is gone."
    try:
        _term(proposal, whose).check()
    except TieoutError as error:
        return str(error.detail)
    return ""


def _term(proposal: Proposal, whose: User) -> Term:
    begins, ends = (datetime.fromisoformat(proposal.data[name]) for name in ("from", "until"))
    return Term(whose, begins, ends, proposal.data["entities"])


def _apply(proposal: Proposal, approver: str) -> None:
    """Give the term that was proposed."""
    term = _term(proposal, User.objects.get(pk=proposal.about_account or 0))
    agreed = {"proposal": str(proposal.uid), "approved_by": approver}
    _given(term, proposal.command_id, by=proposal.maker, reason=proposal.reason, data=agreed)


def connect() -> None:
    """Say how a term that is proposed is given, to whoever answers proposals or ends them."""
    HOW[AUDITOR] = How(_void, _apply)


def end(pk: int, *, person: User, reason: str) -> None:
    """End a term before its day, and the person's sessions; raises NotFound where none is left to end."""
    _administers(person)
    with transaction.atomic():
        term = (
            AuditorTerm.objects.select_for_update()
            .filter(pk=pk, ended_at=None, ends_at__gt=TieoutNow())
            .first()
        )
        if term is None:
            raise NotFound("This term is over already.")
        tell_of_account(term.name, kind="auditor_ended", actor=_actor(person), reason=reason)
        AuditorTerm.objects.filter(pk=pk).update(ended_at=TieoutNow(), ended_by=_actor(person))
        sessions.end_all(term.person_id)


def why_not(person: User) -> str:
    """Say why a person may not let somebody audit; empty where they may."""
    why = access.why_not(person, "people")
    return access.NO_TERM if why == access.NO_PEOPLE else why


def _administers(person: User) -> None:
    if why := why_not(person):
        raise access.NotAllowed(why)


def _actor(person: User) -> str:
    return actors.person(person.get_username())
