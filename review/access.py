"""Who may do what: four roles, the rights of each, and the door that every page stands behind."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.utils.cache import add_never_cache_headers
from django_htmx.http import HttpResponseClientRedirect

from ledger import sight
from ledger.models import database_now
from ledger.rules.errors import TieoutError
from ledger.sight import Entities
from reconcile.proposals.roles import in_force
from review import second_factor
from review.built import built
from review.filters import Reader
from review.instants import whole
from review.models import AuditorTerm, Notice

Right = Literal[
    "look",
    "check",
    "permit",
    "withdraw",
    "attest",
    "end",
    "cancel",
    "correct",
    "choose",
    "settle",
    "prepare",
    "reconcile",
    "ask",
    "assign",
    "comment",
    "deputise",
    "approve",
    "hand_over",
    "share",
    "resume",
    "redeliver",
    "people",
    "propose",
    "sample",
    "certify",
    "reveal",
]

_REVIEWER: frozenset[Right] = frozenset(
    {
        *("look", "check", "permit", "withdraw", "attest", "end", "cancel", "correct", "choose", "ask"),
        *("settle", "prepare", "reconcile"),
        *("assign", "comment", "deputise"),
    }
)
RIGHTS: dict[str, frozenset[Right]] = {
    "viewer": frozenset({"look"}),
    "reviewer": _REVIEWER,
    "approver": _REVIEWER | {"approve", "hand_over", "share", "certify", "reveal"},
    "administrator": frozenset(
        {"look", "resume", "redeliver", "hand_over", "share", "people", "propose", "deputise", "reconcile"}
    ),
}
AUDITOR = "auditor"
NO_TEAM = RIGHTS.keys() | {AUDITOR}
"""Groups that are roles; every other one is a team."""
_AUDITOR: frozenset[Right] = frozenset({"look", "sample", "reveal"})
"""Of who has a term: while it is open they have no other rights, whatever their roles."""
LOOKS_ONLY = "Your role looks only."
NO_ITEMS = "Administrators decide no items."
NO_ADMINISTRATOR = "An administrator resumes it: destinations are theirs."
NO_REDELIVERY = "An administrator sends again: webhooks are theirs."
NO_PEOPLE = "An administrator resets it: accounts are theirs."
NO_PROPOSAL = "An administrator proposes it: rules and roles are theirs."
NO_SAMPLE = "An auditor draws samples; an administrator lets somebody audit, for a time."
NO_CERTIFICATE = "An approver reviews it: roles are given by administrators."
NO_REVEAL = "An approver looks at personal values, or an auditor; for everybody else they stay hidden."
NO_TERM = "An administrator lets somebody audit."
NO_PART = "You see some entities only, and this is the whole installation’s."
WHOLE: frozenset[Right] = frozenset({"people", "propose", "certify"})
"""What concerns every entity: nobody has it who is limited to some."""
NO_APPROVER = "An approver decides this; your role asks."
TWO_ROLES = (
    f"{NO_ITEMS} You have a role that decides as well: you decide nothing until one of the two goes, as "
    "People and roles says."
)
"""Of who had both before nobody could."""

_OF_OTHERS: dict[Right, str] = {
    "resume": NO_ADMINISTRATOR,
    "redeliver": NO_REDELIVERY,
    "people": NO_PEOPLE,
    "propose": NO_PROPOSAL,
    "sample": NO_SAMPLE,
    "certify": NO_CERTIFICATE,
    "reveal": NO_REVEAL,
}


_Known = tuple[str | None, str | None, list[str] | None, list[str] | None, int | None]
"""A role or team, the zone, the limit, the term as an auditor, how many notices are new."""


class NotAllowed(TieoutError):
    """The person's role does not include this."""

    status = 403
    type = "role-not-allowed"
    title = "Your role does not include this"


class View(Protocol):
    """A view of a signed-in person."""

    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a request."""


class Known(NamedTuple):
    """What is read of a person once for each request."""

    given: frozenset[str]
    """The names of their groups; of an auditor, that they are one."""
    zone: str
    entities: Entities
    unread: int

    @property
    def roles(self) -> frozenset[str]:
        """Return those that count."""
        return in_force(self.given)


def roles(user: User | AnonymousUser) -> frozenset[str]:
    """Return the names of a person's roles; read once for each request's user."""
    return _known(user).roles


def zone_name(user: User | AnonymousUser) -> str:
    """Return the name of the time zone that a person has chosen, blank where none; no query of its own."""
    return _known(user).zone


def unread(user: User | AnonymousUser) -> int:
    """Return how many notices a person has not read; a query of its own only where they are limited."""
    if entities(user) is not None:
        return sum(_new(user.pk)) if user.pk is not None else 0
    return _known(user).unread


def entities(user: User | AnonymousUser) -> Entities:
    """Return to which legal entities a person is limited; None where they see all. No query of its own."""
    return _known(user).entities


def _known(user: User | AnonymousUser) -> Known:
    """Return a person's roles, zone, entities and unread notices; all in one query for each request."""
    known: Known | None = getattr(user, "_known", None)
    if known is None:
        with sight.whole():  # what is seen is only known by this
            rows = _rows(user.pk) if user.pk is not None else []
        given = frozenset(row[0] for row in rows if row[0] and row[0] != AUDITOR)
        zone, limit, term, new = rows[0][1:] if rows else (None, None, None, None)
        mine = given if term is None else frozenset({AUDITOR})
        known = Known(mine, zone or "", _both(limit, term), new or 0)
        user._known = known  # type: ignore[union-attr]  # kept on the request's own user
    return known


@built
def _rows(person: int) -> QuerySet[User, _Known]:
    term = AuditorTerm.objects.open().filter(person=OuterRef("pk")).order_by("pk").values("entities")[:1]
    new = Notice.objects.unread().filter(person=OuterRef("pk")).order_by().values("person")
    mine = User.objects.filter(pk=person).annotate(term=Subquery(term))
    mine = mine.annotate(new=Subquery(new.annotate(count=Count("pk")).values("count")))
    return mine.values_list("groups__name", "reader__zone", "limit__entities", "term", "new")


@built
def _new(person: int) -> QuerySet[Notice, int]:
    theirs = Notice.objects.unread().filter(person=person).order_by().values("person")
    return theirs.annotate(count=Count("pk")).values_list("count", flat=True)


def _both(limit: list[str] | None, term: list[str] | None) -> Entities:
    """Return what a person's limit and their term as an auditor both allow."""
    given = [frozenset(names) for names in (limit, term) if names]
    return frozenset.intersection(*given) if given else None


def teams(user: User | AnonymousUser) -> frozenset[str]:
    """Return the teams of a person: the groups that are no role, called as types name their owner."""
    return roles(user) - NO_TEAM


def reader(user: User | AnonymousUser) -> Reader:
    """Return a person as one who looks at the queue."""
    return Reader(user.get_username(), teams(user))


def may(user: User | AnonymousUser, right: Right) -> bool:
    """Say whether a person's roles include a right; being a superuser adds none."""
    if right in WHOLE and entities(user) is not None:
        return False
    return user.is_active and any(right in _rights(role) for role in roles(user))


def _rights(role: str) -> frozenset[Right]:
    return _AUDITOR if role == AUDITOR else RIGHTS.get(role, frozenset())


def require(user: User, right: Right) -> None:
    """Raise NotAllowed where the person's roles do not include the right."""
    if not may(user, right):
        raise NotAllowed(why_not(user, right))


def why_not(user: User | AnonymousUser, right: Right) -> str:
    """Say why a person may not; empty where they may."""
    if may(user, right):
        return ""
    if right in WHOLE and entities(user) is not None and any(right in _rights(one) for one in roles(user)):
        return NO_PART
    return _OF_OTHERS.get(right) or lacking(user)


def lacking(user: User | AnonymousUser) -> str:
    """Say why a person's roles do not include a right of those who decide."""
    if may(user, "ask"):
        return NO_APPROVER
    if "administrator" not in roles(user):
        return LOOKS_ONLY
    return NO_ITEMS if roles(user) == _known(user).given else TWO_ROLES


def _no_role(user: User | AnonymousUser) -> str:
    """Say why an account may not even look."""
    last = AuditorTerm.objects.filter(person=user.pk).order_by("-ends_at").first()
    if last is None:
        return "Your account has no role yet."
    here = "Your time as an auditor"
    if last.begins_at > database_now():
        return f"{here} begins on {whole(last.begins_at, exact=False)}."
    over = last.ended_at or last.ends_at
    return f"{here} ended on {whole(over, exact=False)}."


def signed_in_only(view: Callable[..., HttpResponseBase]) -> View:
    """Let only signed-in people reach a page; what it shows is never kept by a cache."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _to_sign_in(request)
        response = view(request, *args, **kwargs)
        add_never_cache_headers(response)
        return response

    return guarded


def people_only(view: Callable[..., HttpResponseBase]) -> View:
    """Let only signed-in people with a role reach a page, with the second factor that the role asks for."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may(request.user, "look"):
            return render(request, "403.html", {"why": _no_role(request.user)}, status=403)
        first = second_factor.away(request, roles(request.user))
        return _leave(request, first) if first else view(request, *args, **kwargs)

    return signed_in_only(guarded)


def _to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """Send to the sign-in page; htmx would swap a redirect's page into the target, so it is told to leave."""
    here = request.get_full_path()
    if not request.headers.get("HX-Request"):
        return redirect_to_login(here)
    shown = urlsplit(request.headers.get("HX-Current-URL", ""))
    back = shown.path + (f"?{shown.query}" if shown.query else "") or "/"
    return _leave(request, redirect_to_login(back, resolve_url(settings.LOGIN_URL))["Location"])


def _leave(request: HttpRequest, address: str) -> HttpResponseBase:
    """Send elsewhere, whoever asks."""
    if not request.headers.get("HX-Request"):
        return redirect(address)
    response = HttpResponseClientRedirect(address)
    response.status_code = 204
    return response
