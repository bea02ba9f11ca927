"""`resume DESTINATION --reason "…"`: let a destination be used again that was paused."""

import difflib
import uuid
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger import actions
from ledger.models import Destination
from ledger.rules.errors import TieoutError


class Command(BaseCommand):
    """Resume a paused destination."""

    help = "Let a paused destination be used again: what waits for it goes on."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the destination's name and the reason for the trail."""
        parser.add_argument("destination", help="its name in the configuration file: books")
        parser.add_argument("--reason", required=True, help="what was done about it, for the trail")

    def handle(self, *args: Any, **options: Any) -> None:
        """Resume it; raises CommandError for a name that is unknown or not paused."""
        destination = _named(options["destination"])
        pauses = list(destination.pauses.open())
        if not pauses:
            raise CommandError(f"{destination.title} is not paused.")
        try:
            for one in pauses:
                actions.resume(
                    one.uid, actor="command line", reason=options["reason"], command_id=uuid.uuid4()
                )
        except TieoutError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(f"{destination.title} is resumed: what waits for it goes on.")


def _named(name: str) -> Destination:
    destination = Destination.objects.filter(name=name).first()
    if destination is not None:
        return destination
    known = sorted(Destination.objects.values_list("name", flat=True))
    close = difflib.get_close_matches(name, known, n=1)
    there = f"Known: {', '.join(close or known)}." if known else "There is none yet; run configure first."
    raise CommandError(f'"{name}" is not a destination. {there}')
