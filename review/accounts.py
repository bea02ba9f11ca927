"""People's accounts: made with roles, ended, their second factor reset; each with reason and event."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from ledger.actions.accounts import tell_of_account
from ledger.models import Approval, Case, Permit, database_now
from ledger.rules.errors import Conflict, Malformed, NotFound, NotNow
from reconcile.models import Proposal
from reconcile.proposals import actions as proposals
from reconcile.proposals import limits
from reconcile.proposals.roles import clash
from review import access, cases, sessions
from review.access import require
from review.models import AuditorTerm, Bulk
from review.second_factor import KINDS, needed

NO_APPROVER_LEFT = (
    "every change of rules and roles: they still take two, and no approver is left. Let one back (--back), "
    "or set RULES_BY_TWO=false until there is another"
)
OWN = "Another administrator resets yours, or manage.py person does."


@dataclass(frozen=True)
class Account:
    """One person as the list shows them; `factors` and `sessions` are for administrators to read."""

    user: User
    roles: str
    sees: str
    """The entities that they are limited to; empty for all."""
    factors: str
    missing: bool
    """A role wants a second factor, and there is none."""
    sessions: int
    closed: str
    """Why this reader cannot reset it; empty where they can."""
    both: bool
    """They have an administrator's role and one that decides, from before: they decide nothing."""


def make(name: str, *, roles: Sequence[str], actor: str, password: str | None) -> None:
    """Make a person with these roles; without a password for single sign-on alone.

    Conflict where the name is taken. NotNow where roles change by two: then it is made without one, and its
    role is proposed; and for roles that nobody has together.
    """
    _require_alone(roles)
    _require_apart(name, roles)
    with transaction.atomic():
        if User.objects.filter(username__iexact=name).exists():
            raise Conflict(f"There is somebody called {name} already.")
        made = User.objects.create_user(name, password=password)
        made.groups.set(_groups(roles))
        reason = f"Account of {name} made as {_listed(roles)}"
        tell_of_account(name, kind="person_made", actor=actor, reason=reason, data={"roles": sorted(roles)})


def give_roles(name: str, *, roles: Sequence[str], actor: str, reason: str) -> None:
    """Let a person have these roles and no other; NotFound where nobody is called so, NotNow as `make`.

    They stay in their teams.
    """
    _require_alone(("another",))
    _require_apart(name, roles)
    with transaction.atomic():
        user = _locked(name)
        before = user.groups.filter(name__in=access.RIGHTS)
        data = {"before": sorted(group.name for group in before), "roles": sorted(roles)}
        _replace(user, list(before), _groups(roles))
        tell_of_account(name, kind="roles_changed", actor=actor, reason=reason, data=data)


def give_teams(name: str, *, teams: Sequence[str], actor: str, reason: str) -> None:
    """Put a person into these teams and no other; they keep their roles.

    NotFound where nobody is called so, Malformed for what no operation type names as its owner.
    """
    unknown = sorted({*teams} - ({*cases.teams()} - access.NO_TEAM))
    if unknown:
        raise Malformed(f"There is no team “{unknown[0]}”: teams are the owners that operation types name.")
    with transaction.atomic():
        user = _locked(name)
        before = user.groups.exclude(name__in=access.NO_TEAM)
        data = {"before": sorted(group.name for group in before), "teams": sorted(teams)}
        now = [Group.objects.get_or_create(name=team)[0] for team in dict.fromkeys(teams)]
        _replace(user, list(before), now)
        tell_of_account(name, kind="teams_changed", actor=actor, reason=reason, data=data)


def _replace(user: User, before: Sequence[Group], now: Sequence[Group]) -> None:
    user.groups.remove(*(group for group in before if group not in now))
    user.groups.add(*now)


def _require_alone(roles: Sequence[str]) -> None:
    if roles and proposals.by_two():
        raise NotNow(
            "Roles change by two here: make the account without one, and an administrator proposes it under "
            "Approvals."
        )


def _require_apart(name: str, roles: Sequence[str]) -> None:
    if why := clash(name, roles):
        raise NotNow(why)


def give_password(name: str, *, password: str | None, actor: str, reason: str) -> None:
    """Give a person another password, or none and single sign-on alone; their sessions end.

    NotFound where nobody is called so.
    """
    with transaction.atomic():
        user = _locked(name)
        user.set_password(password)
        user.save(update_fields=["password"])
        _signed_out(user)
        kind = "password_reset" if password else "password_removed"
        tell_of_account(name, kind=kind, actor=actor, reason=reason)


def end(name: str, *, actor: str, reason: str) -> list[str]:
    """Switch an account off and end its sessions; return what is still open in its name, in words."""
    with transaction.atomic():
        user = _locked(name)
        user.is_active = False
        user.save(update_fields=["is_active"])
        ended, open_ = _signed_out(user), _open(user)
        data = {"sessions": ended, "open": open_}
        tell_of_account(name, kind="person_ended", actor=actor, reason=reason, data=data)
    return open_


def let_back(name: str, *, actor: str, reason: str) -> None:
    """Switch an account on again; it keeps its roles."""
    with transaction.atomic():
        user = _locked(name)
        user.is_active = True
        user.save(update_fields=["is_active"])
        tell_of_account(name, kind="person_let_back", actor=actor, reason=reason)


def reset_second_factor(name: str, *, actor: str, reason: str) -> int:
    """Remove a person's second factor with its recovery codes; end their sessions, and say how many.

    NotFound where nobody is called so, Conflict where there is nothing to reset.
    """
    with transaction.atomic():
        user = _locked(name)
        known = Authenticator.objects.filter(user=user)
        kinds = sorted(known.values_list("type", flat=True))
        if not kinds:
            raise Conflict(f"{name} has no second factor.")
        known.delete()
        ended = _signed_out(user)
        data = {"kinds": kinds, "sessions": ended}
        tell_of_account(name, kind="second_factor_reset", actor=actor, reason=reason, data=data)
    return ended


def untie(name: str, *, actor: str, reason: str) -> None:
    """Let the next one who comes by single sign-on under this name open the account; its sessions end.

    NotFound where nobody is called so, Conflict where it is tied to nobody.
    """
    with transaction.atomic():
        user = _locked(name)
        if not SocialAccount.objects.filter(user=user).delete()[0]:
            raise Conflict(f"{name} is tied to nobody at single sign-on.")
        _signed_out(user)
        tell_of_account(name, kind="single_sign_on_untied", actor=actor, reason=reason)


def reset_by(person: User, name: str, *, reason: str) -> int:
    """The same by an administrator, who does not do so for themselves."""
    require(person, "people")
    if person.get_username() == name:
        raise access.NotAllowed(OWN)
    return reset_second_factor(name, actor=person.get_username(), reason=reason)


def listed(reader: User) -> list[Account]:
    """Return everybody, those who may still sign in first; a fixed number of queries."""
    audits = Exists(AuditorTerm.objects.open().filter(person=OuterRef("pk")))
    people = User.objects.annotate(audits=audits).prefetch_related("groups").select_related("limit")
    people = people.order_by("-is_active", "username")
    factors: dict[int, list[str]] = {}
    for user_id, kind in Authenticator.objects.values_list("user_id", "type"):
        factors.setdefault(user_id, []).append(kind)
    begun: dict[int, int] = {}
    living = Session.objects.filter(expire_date__gt=timezone.now()).values("session_key")
    for user_id in UserSession.objects.filter(session_key__in=living).values_list("user_id", flat=True):
        begun[user_id] = begun.get(user_id, 0) + 1
    return [_account(user, factors.get(user.pk, []), begun.get(user.pk, 0), reader) for user in people]


def _account(user: User, kinds: Sequence[str], begun: int, reader: User) -> Account:
    roles = frozenset(group.name for group in user.groups.all())
    both = bool(user.is_active and clash(user.get_username(), roles))
    # Who audits has no other rights meanwhile.
    roles = frozenset({access.AUDITOR}) if user.audits else roles  # type: ignore[attr-defined]  # annotated
    sees = limits.words(user.limit.entities) if hasattr(user, "limit") else ""
    counted = {kind: kinds.count(kind) for kind in KINDS}
    words = ["app"] * bool(counted[Authenticator.Type.TOTP])
    keys = counted[Authenticator.Type.WEBAUTHN]
    words += [f"{keys} passkey{'s' * (keys != 1)}"] * bool(keys)
    closed = access.why_not(reader, "people") or (OWN if user.pk == reader.pk else "")
    missing = needed(roles) and not words
    listed = ", ".join(sorted(roles))
    return Account(user, listed, sees, " and ".join(words), missing, begun, closed, both)


def _locked(name: str) -> User:
    user = User.objects.select_for_update().filter(username=name).first()
    if user is None:
        raise NotFound(f"There is nobody called {name}.")
    return user


def _groups(roles: Sequence[str]) -> list[Group]:
    return list(Group.objects.filter(name__in=roles))


def new_password() -> str:
    """Make a password that nobody guesses."""
    return secrets.token_urlsafe(12)


def _listed(roles: Sequence[str]) -> str:
    return " and ".join(sorted(roles)) or "nobody yet, without a role"


def _signed_out(user: User) -> int:
    """End every session of theirs, in the list of them too."""
    UserSession.objects.filter(user=user).delete()
    return sessions.end_all(user.pk)


def _open(user: User) -> list[str]:
    """Say what waits in a person's name, for somebody else to take up."""
    name, now = user.get_username(), database_now()
    asked = Approval.objects.waiting(now).filter(maker=name).count()
    asked += Proposal.objects.waiting(now).filter(maker=name).count()
    asked += Bulk.objects.waiting(now).filter(maker=name).count()
    cases = Case.objects.open().filter(assignee=name).count()
    permits = Permit.objects.open().filter(actor=name).count()
    counted = (
        ("request to a second person", asked),
        ("case that is theirs", cases),
        ("permit not used yet", permits),
    )
    left = [f"{count} × {what}" for what, count in counted if count]
    return [*left, NO_APPROVER_LEFT] if proposals.by_two() and not proposals.approvers().exists() else left
