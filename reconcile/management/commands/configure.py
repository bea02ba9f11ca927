"""`configure FILE.toml [--check]`: destinations, operation types, automations and plans, as a file says."""

import sys
import uuid
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError

from ledger.rules.errors import TieoutError
from reconcile.configuration import Configured, Refused, configure
from reconcile.configuration.rows import Change
from reconcile.configuration.source import Source
from reconcile.proposals import actions


class Command(BaseCommand):
    """Take a configuration file in, all of it or nothing."""

    help = (
        "Make destinations, operation types, automations and plans as a TOML file says. "
        "docs/configuration.md explains it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the file, and whether to look only."""
        parser.add_argument("file", type=Path, help="the configuration file, such as durban.toml")
        parser.add_argument(
            "--check",
            action="store_true",
            help="say what would change, with the register of it, and change nothing",
        )

        parser.add_argument("--by", default="", help="who proposes it, where rules change by two")
        parser.add_argument("--reason", default="", help="why, for the approver and the trail")

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what changes; ends with 1 and every wrong line if the file is refused."""
        file: Path = options["file"]
        try:
            done = configure(file, check=options["check"], instead=partial(self._propose, options))
        except TieoutError as refusal:
            self.stderr.write(f"{file.name} was not taken in, and nothing was changed: {refusal.detail}")
            sys.exit(1)
        except Refused as refused:
            self.stderr.write(_refusal(file, refused))
            sys.exit(1)
        except DatabaseError as error:
            first = str(error).strip().partition("\n")[0]
            self.stderr.write(
                f"The database refused or could not be reached, and nothing was changed: {first}"
            )
            sys.exit(1)
        self._say(file, done, check=options["check"])

    def _propose(self, options: dict[str, Any], read: Source, changes: list[Change]) -> uuid.UUID | None:
        """Propose what takes two people; with --check, only note what does."""
        self.two = [f"{one.kind.word} {one.name}" for one in actions.need_two(changes)]
        if options["check"] or not self.two:
            return None
        reason = options["reason"] or f"Configuration file {read.name}"[:1000]
        return actions.propose_rules(read, changes, actor=options["by"], reason=reason).uid

    def _say(self, file: Path, done: Configured, *, check: bool) -> None:
        for line in done.brought if check else ():
            self.stdout.write(f"< {line}")
        for line in done.changes:
            self.stdout.write(line)
        for note in done.notes:
            self.stdout.write(f"! {note}")
        if done.variables:
            names = ", ".join(done.variables)
            self.stdout.write(f"! pages and worker that run already know nothing of {names}: start them anew")
        if done.register:
            self.stdout.write("\n".join(["", *done.register, ""]))
        if not done.changes:
            self.stdout.write("= nothing changes")
        elif check:
            self.stdout.write(f"{file.name} is right. Nothing was changed; without --check, this would be.")
            if self.two:
                what = ", ".join(self.two)
                self.stdout.write(f"2 it takes a second person for {what}: --by NAME proposes it")
        elif done.proposed:
            address = f"{settings.PUBLIC_URL}/approvals/rules/{done.proposed}/"
            self.stdout.write(
                f"{file.name} is proposed, and nothing was changed: an approver decides at {address}"
            )
        else:
            self.stdout.write(f"{file.name} is in force.")


def _refusal(file: Path, refused: Refused) -> str:
    many = len(refused.wrongs)
    count = "One thing is wrong" if many == 1 else f"{many} things are wrong"
    return f"{file.name} is refused, and nothing was changed. {count}:\n{refused}"
