"""What the demo is set up with: Durban's books, five people, and a token for its automations."""

import io
import secrets
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command

from config import kept
from config.environment import Environment

PLAN = Path(__file__).with_name("durban.toml")
SANDBOX = "http://127.0.0.1:8010"
# Ann asks, Bob approves, Vic only looks, Ada administers; Ira audits, for a month.
PEOPLE = {"ann": "reviewer", "bob": "approver", "vic": "viewer", "ada": "administrator", "ira": "auditor"}
ADMINISTRATORS = {"ada"}
TEAMS = {"ann": ("finance",), "bob": ("finance",)}


def prepare(known: Environment, *, sandbox: str) -> dict[str, Any]:
    """Configure, make the people and the token once; what a visitor must know of them."""
    _configure(known.data_dir / "durban.toml", PLAN.read_text().replace(SANDBOX, sandbox))
    return {"token": _token(known.data_dir), "people": _people(known.data_dir)}


def _configure(file: Path, text: str) -> None:
    """Take the demo's own file in, unless it is in force since an earlier start: what people change stays."""
    from ledger.models import OperationType

    if OperationType.objects.exists() and file.exists() and file.read_text() == text:
        return
    file.write_text(text)
    call_command("configure", str(file), stdout=io.StringIO())


def welcome(told: dict[str, Any]) -> str:
    """What is printed when all of it runs."""
    people = "\n".join(f"    {name:4} {password}" for name, password in told["people"].items())
    return (
        f"\nTieout runs at {told['url']}/\n  sign in as\n{people}\n"
        f"  the destination (can be told to misbehave): {told['sandbox']}/\n  Ctrl-C stops all of it.\n"
    )


def _people(data_dir: Path) -> dict[str, str]:
    from django.contrib.auth.models import Group, User

    passwords = {}
    for name, role in PEOPLE.items():
        known = (data_dir / "secrets" / f"person_{name}").exists()
        password = kept.kept(data_dir, f"person_{name}", make=lambda: secrets.token_urlsafe(9))
        person, made = User.objects.get_or_create(username=name)
        if made or not known:
            person.set_password(password)
            person.is_staff = person.is_superuser = name in ADMINISTRATORS
            person.save(update_fields=["password", "is_staff", "is_superuser"])
        if role == "auditor":
            _let_audit(person)
        else:
            groups = (role, *TEAMS.get(name, ()))
            person.groups.set([Group.objects.get_or_create(name=group)[0] for group in groups])
        passwords[name] = password
    return passwords


def _let_audit(person: Any) -> None:
    """Give an auditor a month, where their last one is over."""
    from ledger.models import database_now
    from review.models import AuditorTerm

    now = database_now()
    if not AuditorTerm.objects.filter(person=person, ended_at=None, ends_at__gt=now).exists():
        ends = now + timedelta(days=30)
        told = {"name": person.username, "reason": "The audit of the demo.", "given_by": "ada"}
        AuditorTerm.objects.create(person=person, begins_at=now, ends_at=ends, **told)


def _token(data_dir: Path) -> str:
    from ledger.models import ApiToken
    from ledger.rules.tokens import token_hash

    token = kept.kept(data_dir, "api_token", make=_issued)
    if not ApiToken.objects.filter(token_hash=token_hash(token)).exists():
        # The database is another one than the one for which this token was issued.
        (data_dir / "secrets" / "api_token").unlink()
        token = kept.kept(data_dir, "api_token", make=_issued)
    return token


def _issued() -> str:
    # One whose secret was lost goes first: a name stands for one living token.
    with suppress(CommandError):
        call_command("revoke_key", "webshop", stdout=io.StringIO())
    said = io.StringIO()
    call_command("issue_key", "webshop", stdout=said)
    return said.getvalue().strip()
