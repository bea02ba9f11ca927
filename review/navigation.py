"""The pages at the top of every page: one list, of which each person sees what their role may use."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.urls import reverse

from review import access, approvals
from review.access import Right


@dataclass(frozen=True)
class Tab:
    """One page of the navigation; a page says which it belongs to by `section` in its context."""

    section: str
    words: str
    route: str
    right: Right = "look"
    figure: Callable[[], str] | None = None
    """How many wait there, in one query; empty where none does."""


TABS = (
    Tab("today", "Today", "home"),
    Tab("queue", "Queue", "queue"),
    Tab("approvals", "Approvals", "approvals", figure=approvals.figure),
    Tab("bulk", "Bulk", "bulks"),
    Tab("runs", "Runs", "runs"),
    Tab("compare", "Compare", "compare"),
    Tab("register", "Register", "register"),
    Tab("trail", "Trail", "trail"),
    Tab("deliveries", "Deliveries", "deliveries"),
)
"""In the order in which they are shown: a day's work first, what is looked up now and then last."""


@dataclass(frozen=True)
class Shown:
    """A tab as the page writes it."""

    words: str
    address: str
    current: bool
    figure: str


def tabs(person: User | AnonymousUser, section: str) -> list[Shown]:
    """Return the tabs that this person may use, with the one that `section` names as the current one."""
    return [
        Shown(tab.words, reverse(tab.route), tab.section == section, tab.figure() if tab.figure else "")
        for tab in TABS
        if access.may(person, tab.right)
    ]
