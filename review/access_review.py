"""Who may do what, what has changed since somebody last went through it, and their word that they did."""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.db.models import Prefetch

from ledger import sight
from ledger.actions.changing import once
from ledger.actions.noting import note
from ledger.models import TieoutNow
from ledger.rules import actors
from ledger.rules.errors import NotNow
from reconcile.proposals import limits
from review.access import AUDITOR, require
from review.models import AccessReview, AuditorTerm
from review.second_factor import KINDS, needed

Seen = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Account:
    """One person: roles, whether they can sign in and have a second factor, and their term as an auditor."""

    user: User
    roles: list[str]
    second_factor: bool
    missing: bool
    entities: list[str]
    """Those that they are limited to; none for all."""
    sees: str
    """The same in words; empty for all."""
    term: AuditorTerm | None
    changed: str
    """What is not as it was at the last review."""

    @property
    def seen(self) -> dict[str, Any]:
        """Return what a review keeps of it."""
        told = {"roles": self.roles, "active": self.user.is_active, "second_factor": self.second_factor}
        told |= {"entities": self.entities} if self.entities else {}
        return told | ({"auditor_until": self.term.ends_at.isoformat()} if self.term else {})


@dataclass(frozen=True)
class Page:
    """The page of an access review."""

    accounts: list[Account]
    gone: list[str]
    """Names that the last review had, and that nobody has now."""
    last: AccessReview | None
    terms: list[tuple[AuditorTerm, str]]
    """Those that are not over, also those to come, each with the entities that it is limited to, in words."""
    said: str
    """The words of the last review, which is of every entity: none for who sees some alone."""

    @property
    def seen(self) -> Seen:
        """Return what a review of it keeps, by name."""
        return {one.user.get_username(): one.seen for one in self.accounts}

    @property
    def digest(self) -> str:
        """Return what tells two pages apart that a reader would see as different."""
        terms = [(term.pk, term.ends_at.isoformat()) for term, _ in self.terms]
        return sha256(json.dumps([self.seen, terms], sort_keys=True).encode()).hexdigest()

    @property
    def changed(self) -> int:
        """Count what is not as it was."""
        return len(self.gone) + sum(bool(one.changed) for one in self.accounts)


def page() -> Page:
    """Read it; a fixed number of queries."""
    last = AccessReview.objects.order_by("-pk").first()
    before: Seen = last.seen if last else {}
    left = AuditorTerm.objects.filter(ended_at=None, ends_at__gt=TieoutNow()).order_by("begins_at", "pk")
    terms = Prefetch("auditor_terms", left, to_attr="terms_left")
    people = User.objects.select_related("limit").prefetch_related("groups", terms)
    factors = set(Authenticator.objects.filter(type__in=KINDS).values_list("user_id", flat=True))
    accounts = [
        _account(user, factors, before if last else None)
        for user in people.order_by("-is_active", "username")
    ]
    gone = sorted(before.keys() - {one.user.get_username() for one in accounts})
    here = sight.present()
    theirs = None if here is None else here.entities or frozenset()
    known = [one for one in left if theirs is None or not one.entities or theirs & {*one.entities}]
    terms_left = [(one, limits.words(one.entities) if one.entities else "") for one in known]
    return Page(accounts, gone, last, terms_left, last.words if last and here is None else "")


def _account(user: User, factors: set[int], before: Seen | None) -> Account:
    roles = sorted(group.name for group in user.groups.all())
    has = user.pk in factors
    term = next(iter(user.terms_left), None)  # type: ignore[attr-defined]  # prefetched under this name
    sees = list(user.limit.entities) if hasattr(user, "limit") else []
    sees = sorted({*sees, *(term.entities if term else ())})
    audits = {AUDITOR} if term else set()
    missing = needed(frozenset(roles) | audits) and not has
    one = Account(user, roles, has, missing, sees, limits.words(sees) if sees else "", term, "")
    if before is None:
        return one
    changed = "; ".join(_changes(before.get(user.get_username()), one.seen))
    return replace(one, changed=changed)


def _changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> Iterator[str]:
    if before is None:
        yield "new"
        return
    was, is_ = set(before["roles"]), set(now["roles"])
    yield from (f"now {role}" for role in sorted(is_ - was))
    yield from (f"no longer {role}" for role in sorted(was - is_))
    if before.get("entities", []) != now.get("entities", []):
        yield f"sees {limits.words(now.get('entities', []))}"
    if before["active"] != now["active"]:
        yield "switched on" if now["active"] else "switched off"
    if before["second_factor"] != now["second_factor"]:
        yield "has a second factor" if now["second_factor"] else "has no second factor any more"
    if before.get("auditor_until") != now.get("auditor_until"):
        yield "audits" if now.get("auditor_until") else "audits no longer"


def review(*, person: User, words: str, shown: str, command_id: uuid.UUID) -> AccessReview:
    """Keep a person's word that they have gone through what they were shown, with its event, once a click.

    Raises NotNow where `shown`, the digest of their page, is not that of what there is to see now.
    """
    require(person, "certify")
    actor = actors.person(person.get_username())

    def make() -> AccessReview:
        there = page()
        if there.digest != shown:
            raise NotNow("Who may do what has changed since you opened the page. Go through it again.")
        seen = there.seen
        data = {"people": len(seen), "changed": there.changed}
        kept = note(kind="access_reviewed", actor=actor, reason=words, data=data)
        return AccessReview.objects.create(uid=command_id, reviewed_by=actor, words=kept, seen=seen)

    return once(AccessReview.objects.filter(uid=command_id, reviewed_by=actor), make)
