"""People's roles, and the pages that they may use, for templates."""

from django import template
from django.contrib.auth.models import User

from review import access, navigation

register = template.Library()


@register.simple_tag(takes_context=True, name="navigation")
def tabs(context: template.Context) -> list[navigation.Shown]:
    """Return the pages of the navigation for the person who reads."""
    return navigation.tabs(context["user"], str(context.get("section", "")))


@register.simple_tag
def role(user: User) -> str:
    """Name a person's roles."""
    return ", ".join(sorted(access.roles(user))) or "no role"
