"""`doctor [--json]`: is it set up, and what to do where it is not; exit 1 where anything is wrong."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from review import doctor
from review.doctor.lines import Standing

_MARKS = {Standing.OK: "ok", Standing.WARNING: "warning", Standing.WRONG: "WRONG"}


class Command(BaseCommand):
    """Look at everything that has to be set up."""

    help = (
        "Say of database, worker, clock, schedules, destinations and secrets whether they are set up. "
        "Exit status: 0, or 1 where anything is wrong."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the form of the answer."""
        parser.add_argument("--json", action="store_true", help="as JSON, for a monitor")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each thing, and what to do about it."""
        found = doctor.examine()
        sick = any(line.standing is Standing.WRONG for line in found)
        if options["json"]:
            told = {"ok": not sick, "checks": [asdict(line) for line in found]}
            self.stdout.write(json.dumps(told, ensure_ascii=False, indent=1))
        else:
            for line in found:
                remedy = f"\n         → {line.remedy}" if line.remedy else ""
                self.stdout.write(f"{_MARKS[line.standing]:8} {line.name}: {line.words}{remedy}")
        sys.exit(1 if sick else 0)
