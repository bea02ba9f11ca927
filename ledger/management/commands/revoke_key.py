"""`revoke_key NAME`: ends every living API token of a name at once."""

import difflib
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger.actions import tokens
from ledger.models import ApiToken, database_now
from ledger.rules.errors import NotFound

ACTOR = "revoke_key"


class Command(BaseCommand):
    """Revoke an automation's API tokens."""

    help = "End every living API token of an automation, also one that a rotation has left for a while."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the automation's name."""
        parser.add_argument("name", help="the automation's name, as it was issued to: webshop")

    def handle(self, *args: Any, **options: Any) -> None:
        """Revoke them; raises CommandError where there is none."""
        name = options["name"]
        try:
            ended = tokens.revoke(name, actor=ACTOR)
        except NotFound as error:
            raise CommandError(f"{error.detail} {_there(name)}") from None
        self.stdout.write(f"{ended} token{'s' * (ended != 1)} of {name} ended: its next request is refused.")


def _there(name: str) -> str:
    living = ApiToken.objects.living(database_now())
    known = sorted(set(living.values_list("name", flat=True)))
    close = difflib.get_close_matches(name, known, n=1)
    return f"Tokens live for: {', '.join(close or known)}." if known else "No token lives at all."
