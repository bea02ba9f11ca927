"""`issue_key NAME [--type T …]`: a new API token, printed once, stored hashed."""

import difflib
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from ledger.models import ApiToken, Event, OperationType
from ledger.rules.tokens import new_token, token_hash

NAME_LENGTH = 100


class Command(BaseCommand):
    """Issue an API token to an automation."""

    help = "Make an API token for an automation: printed once, alone on standard output, and stored hashed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the automation's name and the operation types it may use."""
        parser.add_argument("name", help="the automation's name, as it appears in the trail: webshop")
        parser.add_argument(
            "--type",
            dest="types",
            metavar="T",
            nargs="+",
            action="extend",
            default=[],
            help="operation types that it may use; without any, every type",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Issue the token; raises CommandError for a name or a type that cannot be used."""
        name = _checked_name(options["name"])
        types = sorted(set(options["types"]))
        token = new_token()
        with transaction.atomic():
            _check_types(types)
            _check_unused(name)
            ApiToken.objects.create(name=name, token_hash=token_hash(token), types=types)
            Event.objects.create(
                kind="key_issued",
                actor="issue_key",
                reason=f"API token issued to {name}",
                data={"name": name, "types": types},
            )
        self.stdout.write(token)


def _checked_name(name: str) -> str:
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > NAME_LENGTH:
        raise CommandError(
            f"The name {name!r} cannot be used. Give 1 to {NAME_LENGTH} characters, such as webshop."
        )
    return name


def _check_unused(name: str) -> None:
    if ApiToken.objects.filter(name=name, revoked_at=None).exists():
        raise CommandError(
            f"{name} has a token already, and a name stands for one automation. Revoke that one first, or "
            "give another name. No token was issued."
        )


def _check_types(types: list[str]) -> None:
    known = sorted(OperationType.objects.values_list("name", flat=True))
    wrong = []
    for name in types:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            wrong.append(
                f'"{name}" is not an operation type.' + (f' Did you mean "{close[0]}"?' if close else "")
            )
    if wrong:
        there = f"There are: {', '.join(known)}." if known else "There is none yet; run configure first."
        raise CommandError(" ".join([*wrong, there, "No token was issued."]))
