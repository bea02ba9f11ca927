"""Who could be the second person."""

from django.contrib.auth.models import User

from review.access import RIGHTS

APPROVING = sorted(role for role, rights in RIGHTS.items() if "approve" in rights)


def second_person(asking: User) -> str:
    """Name who else could agree: "bob or another approver"; says so where nobody could."""
    others = User.objects.filter(is_active=True, groups__name__in=APPROVING).exclude(pk=asking.pk)
    names = list(others.order_by("username").values_list("username", flat=True).distinct()[:2])
    if not names:
        return "another approver, and nobody else has that role yet"
    return f"{names[0]} or another approver" if len(names) > 1 else names[0]
