"""Auditors' terms: given by an administrator from one day to another, ended by themselves or once before."""

import uuid
from datetime import date, datetime, time, timedelta

from django.contrib.auth.models import User
from django.db import transaction

from ledger.actions.accounts import tell_of_account
from ledger.actions.changing import given
from ledger.models import TieoutNow, database_now
from ledger.rules import actors
from ledger.rules.errors import Conflict, Malformed, NotFound
from review import access, sessions
from review.instants import zone
from review.models import AuditorTerm
from review.models.audit import LONGEST

OWN = "Another administrator lets you audit: nobody does so for themselves."


def give(
    whose: User, *, person: User, first: date, last: date, reason: str, command_id: uuid.UUID
) -> AuditorTerm:
    """Let a person audit from one day to the end of another, in the giver's zone; once for each click.

    Raises Conflict where they decide or administer, or have a term then; Malformed for days that are none.
    """
    _administers(person)
    if whose.pk == person.pk:
        raise access.NotAllowed(OWN)
    begins, ends = (datetime.combine(day, time.min, zone()) for day in (first, last + timedelta(days=1)))
    if not begins < ends <= begins + LONGEST or ends <= database_now():
        raise Malformed("A term ends after it begins, in the future, and lasts a year at most.")
    name = whose.get_username()
    with transaction.atomic():
        User.objects.select_for_update().get(pk=whose.pk)
        known = AuditorTerm.objects.filter(uid=command_id, given_by=_actor(person)).first()
        if known is not None:
            return known
        roles = set(whose.groups.values_list("name", flat=True)) & (access.RIGHTS.keys() - {"viewer"})
        if roles:
            raise Conflict(
                f"{name} is {' and '.join(sorted(roles))}: who audits decides and administers nothing."
            )
        if AuditorTerm.objects.filter(
            person=whose, ended_at=None, ends_at__gt=begins, begins_at__lt=ends
        ).exists():
            raise Conflict(f"{name} has a term in these days.")
        kept = given(reason)
        data = {"from": begins.isoformat(), "until": ends.isoformat()}
        tell_of_account(name, kind="auditor_let_in", actor=_actor(person), reason=kept, data=data)
        return AuditorTerm.objects.create(
            uid=command_id,
            person=whose,
            name=name,
            begins_at=begins,
            ends_at=ends,
            reason=kept,
            given_by=_actor(person),
        )


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


def _administers(person: User) -> None:
    if not access.may(person, "people"):
        raise access.NotAllowed(access.NO_TERM)


def _actor(person: User) -> str:
    return actors.person(person.get_username())
