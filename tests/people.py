"""People: ann asks; bob, eve, kim approve; vic, dan look; ada administers, ira audits, nora has no role."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.test import Client
from django.utils.crypto import get_random_string

from ledger.actions.accounts import tell_of_account
from ledger.models import database_now
from reconcile.models import EntityLimit
from review.models import AuditorTerm
from review.sessions import SessionStore, began

PASSWORD = "a long word for tests"
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
ROLES = {
    "ann": "reviewer",
    "bob": "approver",
    "eve": "approver",
    "kim": "approver",
    "vic": "viewer",
    "dan": "viewer",
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


def agrees(*names: str) -> None:
    """Let these approve, whoever they are: the database takes nobody's word who has no account that does."""
    for name in names:
        made, _ = User.objects.get_or_create(username=name)
        made.groups.add(Group.objects.get(name="approver"))


def limited(name: str, *entities: str) -> User:
    """Limit somebody to these legal entities, whether there are any so called or not."""
    user, named = person(name), list(entities)
    with transaction.atomic():
        EntityLimit.objects.update_or_create(person=user, defaults={"entities": named})
        told = {"account": user.pk, "entities": named}
        tell_of_account(name, kind="entities_limited", actor="ada", reason="Theirs.", data=told)
    return user


def audits(
    user: User, *, days: int = 30, entities: tuple[str, ...] = (), reason: str = "The yearly audit."
) -> AuditorTerm:
    """Let somebody audit from yesterday on for so many days."""
    begins = database_now() - timedelta(days=1)
    return AuditorTerm.objects.create(
        person=user,
        name=user.username,
        begins_at=begins,
        ends_at=begins + timedelta(days=days),
        reason=reason,
        entities=list(entities),
        given_by="ada",
    )


def browser_of(name: str, *, csrf: bool = False) -> Client:
    """Return a client that is signed in as one of them, as the sign-in page would have left it.

    Written in one statement, where Django's `force_login` takes twelve: some two thousand are made in a run.
    """
    client, user = Client(enforce_csrf_checks=csrf), person(name)
    session = SessionStore()
    session.update({SESSION_KEY: str(user.pk), BACKEND_SESSION_KEY: BACKEND})
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    began(session)
    row = Session.objects.create(
        session_key=get_random_string(32),
        session_data=session.encode(dict(session.items())),
        expire_date=session.get_expiry_date(),
    )
    client.cookies[settings.SESSION_COOKIE_NAME] = row.session_key
    return client
