"""`drill [TYPE …] [--json]`: try what contracts promise, at the destinations themselves."""

import json
import signal
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from ledger.actions.kinds import read
from ledger.drills import report, running
from ledger.drills.running import Done
from ledger.models import OperationType
from ledger.rules.drills import exit_status
from ledger.rules.errors import TieoutError

HELD, BROKEN, NOT_CARRIED_OUT = 0, 1, 2


class Command(BaseCommand):
    """Drill operation types at their destinations."""

    help = (
        "Try at the destination itself what each contract promises; the destination must say drills = true. "
        "Exit status: 0 all held, 1 a promise did not hold, 2 it could not be carried out."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the types, and how to answer."""
        parser.add_argument(
            "types", nargs="*", metavar="TYPE", help="without any: every type that is allowed"
        )
        parser.add_argument("--json", action="store_true", help="print the results as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Drill them one after the other; the exit status tells what came of it."""
        if getattr(self, "_called_from_command_line", False):
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        done: list[Done] = []
        refused: list[str] = []
        try:
            self._drill(options["types"], done, refused=refused, as_json=options["json"])
        except KeyboardInterrupt:
            refused.append("It was interrupted: the next drill of the type looks for what this one has made.")
        except DatabaseError as error:
            first = str(error).strip().partition("\n")[0]
            refused.append(f"The database refused or could not be reached: {first}")
        if options["json"]:
            self.stdout.write(json.dumps(report.document(done, refused), indent=2, ensure_ascii=False))
        for why in refused:
            self.stderr.write(why)
        sys.exit(self._status(done, hindered=bool(refused)))

    def _drill(self, names: list[str], done: list[Done], *, refused: list[str], as_json: bool) -> None:
        for kind in self._kinds(names, refused):
            try:
                one = running.run(kind, say=self.stderr.write)
            except TieoutError as error:
                refused.append(error.detail)
                continue
            done.append(one)
            if not as_json:
                self.stdout.write("\n".join([f"{kind.name} at {kind.destination.title}", *report.lines(one)]))

    def _kinds(self, names: list[str], refused: list[str]) -> list[OperationType]:
        """Return the types that were named; without names, those that allow it."""
        if names:
            found = []
            for name in dict.fromkeys(names):
                try:
                    found.append(read(name))
                except TieoutError as error:
                    refused.append(error.detail)
            return found
        every = OperationType.objects.configured().select_related("destination").order_by("name")
        why = {kind: running.refusal(kind) for kind in every if kind.by_tieout}
        allowed = [kind for kind, refusal in why.items() if not refusal]
        if not allowed:
            refused.extend(why.values() or ["There is no operation type that Tieout performs."])
        return allowed

    def _status(self, done: list[Done], *, hindered: bool) -> int:
        status = [exit_status(one.results) for one in done]
        if BROKEN in status:
            return BROKEN
        return NOT_CARRIED_OUT if hindered or NOT_CARRIED_OUT in status else HELD
