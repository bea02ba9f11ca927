"""The roles that people have; nobody is given an administrator's and one that decides."""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.db.models import QuerySet

VIEWER, REVIEWER, APPROVER, ADMINISTRATOR = ROLES = ("viewer", "reviewer", "approver", "administrator")
DECIDING = frozenset({REVIEWER, APPROVER})


def clash(name: str, roles: Iterable[str]) -> str:
    """Say why this person cannot have these roles together; empty where they can."""
    decides = sorted({*roles} & DECIDING)
    if not decides or ADMINISTRATOR not in roles:
        return ""
    both = " and ".join((ADMINISTRATOR, *decides))
    return f"{name} would be {both}: administrators decide no items. One of the roles goes first."


def in_force(roles: frozenset[str]) -> frozenset[str]:
    """Return the roles that count: of somebody who has both from before, the one that decides does not."""
    return roles - DECIDING if ADMINISTRATOR in roles else roles


def having(*roles: str) -> QuerySet[User]:
    """Return who may sign in and has one of these roles that decide, in force."""
    others = User.objects.filter(is_active=True, groups__name__in=roles)
    return others.exclude(groups__name=ADMINISTRATOR)


def with_both() -> QuerySet[User]:
    """Return who has both from before: they decide nothing until one of the roles goes."""
    administrators = User.objects.filter(is_active=True, groups__name=ADMINISTRATOR)
    return administrators.filter(groups__name__in=DECIDING).distinct()
