"""People: ann asks, bob and eve approve, vic looks, ada administers, ira audits; nora has no role."""

from datetime import timedelta

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import Group, User
from django.test import Client

from ledger.models import database_now
from review.models import AuditorTerm

PASSWORD = "a long word for tests"
ROLES = {
    "ann": "reviewer",
    "bob": "approver",
    "eve": "approver",
    "vic": "viewer",
    "ada": "administrator",
    "nora": "",
    "ira": "auditor",
}


def person(name: str) -> User:
    """Return one of them, made where the test's database has them not."""
    known = User.objects.filter(username=name).first()
    if known is not None:
        return known
    # One round instead of a million: a thousand tests sign somebody in.
    made = User.objects.create(username=name, password=PBKDF2PasswordHasher().encode(PASSWORD, "salt", 1))
    if ROLES[name] == "auditor":
        audits(made)
    elif ROLES[name]:
        made.groups.add(Group.objects.get(name=ROLES[name]))
    return made


def audits(user: User, *, days: int = 30) -> AuditorTerm:
    """Let somebody audit from yesterday on for so many days."""
    begins = database_now() - timedelta(days=1)
    return AuditorTerm.objects.create(
        person=user,
        name=user.username,
        begins_at=begins,
        ends_at=begins + timedelta(days=days),
        reason="The yearly audit.",
        given_by="ada",
    )


def browser_of(name: str, *, csrf: bool = False) -> Client:
    """Return a client that is signed in as one of them."""
    client = Client(enforce_csrf_checks=csrf)
    client.force_login(person(name), backend="allauth.account.auth_backends.AuthenticationBackend")
    return client
