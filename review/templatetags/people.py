"""People's roles for templates."""

from django import template
from django.contrib.auth.models import User

from review import access, approvals

register = template.Library()


@register.simple_tag
def waiting_approvals() -> str:
    """Return how many requests wait for a second person; nothing where none does."""
    return approvals.figure()


@register.simple_tag
def role(user: User) -> str:
    """Name a person's roles."""
    return ", ".join(sorted(access.roles(user))) or "no role"
