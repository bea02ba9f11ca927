"""Who could be the second person, and who cannot answer."""

from typing import Protocol

from django.contrib.auth.models import User
from django.db.models import QuerySet

from ledger.rules.actors import is_software
from ledger.rules.second_person import Asker
from reconcile.proposals import roles
from review import access
from review.built import built


class Asked(Protocol):
    """A row of whatever waits for a second person."""

    @property
    def maker(self) -> str:
        """Who asked, by the name of then."""

    @property
    def maker_account(self) -> int | None:
        """Their account."""


def is_own(asked: Asked, person: User) -> bool:
    """Say whether this person has asked, under whatever name; no query."""
    if is_software(asked.maker):
        return False
    account = asked.maker_account
    return asked.maker == person.get_username() if account is None else account == person.pk


def why_not(asked_by: Asker, person: User) -> str:
    """Say why this person neither approves nor refuses what was asked; empty where they may."""
    lacks = "" if access.may(person, "approve") else access.lacking(person)
    return asked_by.why_not(person.get_username()) or lacks


@built
def _others(asking: int) -> QuerySet[User, tuple[str, list[str] | None]]:
    others = roles.having(roles.APPROVER).exclude(pk=asking).order_by("username")
    return others.values_list("username", "limit__entities")


def second_person(asking: User, entity: str = "") -> str:
    """Name who else could agree: "bob or another approver"; says so where nobody could.

    Of those who are limited, only who sees the entity that is named.
    """
    seeing = (name for name, limit in _others(asking.pk) if not entity or limit is None or entity in limit)
    names = list(dict.fromkeys(seeing))[:2]
    if not names:
        return "another approver, and nobody else has that role yet"
    return f"{names[0]} or another approver" if len(names) > 1 else names[0]
