"""Who could be the second person."""

from django.contrib.auth.models import User
from django.db.models import Q

from reconcile.proposals import roles


def second_person(asking: User, entity: str = "") -> str:
    """Name who else could agree: "bob or another approver"; says so where nobody could.

    Of those who are limited, only who sees the entity that is named.
    """
    others = roles.having(roles.APPROVER).exclude(pk=asking.pk)
    if entity:
        others = others.filter(Q(limit=None) | Q(limit__entities__contains=[entity]))
    names = list(others.order_by("username").values_list("username", flat=True).distinct()[:2])
    if not names:
        return "another approver, and nobody else has that role yet"
    return f"{names[0]} or another approver" if len(names) > 1 else names[0]
