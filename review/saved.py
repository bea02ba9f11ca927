"""Views of the queue under a name: kept, shared, listed beside the built-in ones, forgotten."""

import uuid
from dataclasses import dataclass
from urllib.parse import parse_qsl

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from ledger import sight
from ledger.rules.errors import Malformed
from review import access
from review.access import NotAllowed
from review.built import built
from review.filters import Filter, Reader
from review.models import SavedView

MOST = 30
"""As many as one person keeps."""
NOT_YOURS = "Only whose it is deletes a view."
NOT_SHARED = "Only an approver or an administrator shares a view; it can be kept for yourself."


@dataclass(frozen=True)
class Kept:
    """One saved view as the queue shows it."""

    view: SavedView
    current: bool
    own: bool


def tidy(address: str) -> str:
    """Return the query of an address of the queue as the queue itself writes it."""
    return Filter.read(dict(parse_qsl(address)), Reader()).address


def keep(person: User, *, name: str, address: str, shared: bool) -> SavedView:
    """Keep an address under a name; raises NotAllowed, Malformed where the name is taken."""
    if shared and not access.may(person, "share"):
        raise NotAllowed(NOT_SHARED)
    try:
        with transaction.atomic():
            User.objects.select_for_update().get(pk=person.pk)  # counted and kept by one at a time
            if SavedView.objects.filter(person=person).count() >= MOST:
                raise Malformed(f"You keep {MOST} views already: delete one first.")
            saw = access.entities(person)
            return SavedView.objects.create(
                person=person,
                name=name,
                address=tidy(address),
                shared=shared,
                entities=None if saw is None else sorted(saw),
            )
    except IntegrityError:
        raise Malformed(f"You have a view called “{name}” already: choose another name.") from None


def forget(person: User, uid: uuid.UUID) -> str:
    """Delete a view of one's own; returns its name, empty where it is not theirs or gone."""
    view = SavedView.objects.filter(person=person, uid=uid).first()
    if view is None:
        return ""
    view.delete()
    return view.name


def listed(person: User, chosen: Filter) -> list[Kept]:
    """Return a person's views and those that are shared, in the order of their names; one query.

    Who is limited to legal entities is shown none that names another, and none whose maker saw another as it
    was made, whatever they see now: its name, its words and its team may tell of that.
    """
    here = sight.present()
    return [
        Kept(one, one.address == chosen.address, one.person_id == person.pk)
        for one in _shown_to(person.pk)
        if here is None
        or one.person_id == person.pk
        or (_saw_no_more(here, one) and _names_none_but(here, one.address))
    ]


@built
def _shown_to(person: int) -> QuerySet[SavedView]:
    return SavedView.objects.filter(Q(person=person) | Q(shared=True))


def _saw_no_more(here: sight.Sight, view: SavedView) -> bool:
    """Say whether all that its maker saw as they made it is seen here."""
    return view.entities is not None and frozenset(view.entities) <= (here.entities or frozenset())


def _names_none_but(here: sight.Sight, address: str) -> bool:
    """Say whether an address names no entity, destination or type but those that are seen."""
    named, known = Filter.read(dict(parse_qsl(address)), Reader()), here.entities or ()
    asked = (named.entity, known), (named.destination, here.places), (named.type, here.names)
    return all(not name or name in seen for name, seen in asked)
