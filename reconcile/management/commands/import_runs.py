"""`import_runs FILE --automation NAME --type TYPE`: which triggers have several successful runs?"""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from ledger.rules import moments
from ledger.rules.errors import TieoutError
from reconcile.histories import importing, looking, telling
from reconcile.histories.columns import PARTS
from reconcile.histories.files import ENCODINGS
from reconcile.histories.importing import Imported
from reconcile.histories.reading import Rules

NOTHING_FOUND, FOUND, REFUSED = 0, 1, 2
ACTOR = "command line"


class Command(BaseCommand):
    """Take in what an automation platform has exported of its runs."""

    help = (
        "Take in an export of runs (CSV or JSON), and find the triggers that have several successful ones."
        " Exit status: 0 nothing found, 1 triggers to look up or bad rows, 2 nothing taken in."
        " docs/histories.md explains it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the file, whose runs it holds, and how it is read."""
        parser.add_argument("file", type=Path, help="the export: CSV, JSON or JSON lines")
        parser.add_argument("--automation", required=True, metavar="NAME", help="whose runs they are")
        parser.add_argument("--type", required=True, dest="kind", help="the operation type that it performs")
        parser.add_argument("--columns", type=_columns, default={}, metavar="trigger=A,run=B,…")
        parser.add_argument("--successful", type=_statuses, metavar="success,…", help="all that count")
        parser.add_argument("--timezone", type=_zone, default="", help="of times that name no zone")
        parser.add_argument("--time-format", type=_form, default="", metavar="%%d.%%m.%%Y %%H:%%M:%%S")
        parser.add_argument(
            "--encoding", choices=ENCODINGS, default="", help="where it has no mark of its own"
        )
        parser.add_argument(
            "--system", default="", help="the triggers' source system; else the automation's name"
        )
        parser.add_argument("--source-version", default="", help="the version of each source record")
        parser.add_argument(
            "--check", action="store_true", help="say what it would come to, and keep nothing"
        )
        parser.add_argument("--look", action="store_true", help="look up what is found, 200 of it at most")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Take it in; the exit status tells what came of it."""
        try:
            done = self._take_in(options)
        except TieoutError as error:
            self._refuse(error.detail)
        except DatabaseError as error:
            first = str(error).strip().partition("\n")[0]
            self._refuse(f"The database refused or could not be reached, and nothing was taken in: {first}")
        else:
            self._say(done, check=options["check"], as_json=options["json"])
            found = any(repeat.is_open for repeat in done.repeats) or done.history.bad
            sys.exit(FOUND if found else NOTHING_FOUND)

    def _take_in(self, options: dict[str, Any]) -> Imported:
        of = importing.source(options["automation"], options["kind"], system=options["system"])
        rules = Rules(
            named=options["columns"],
            successful=options["successful"],
            timezone=options["timezone"],
            time_format=options["time_format"],
            encoding=options["encoding"],
            version=options["source_version"],
        )
        done = importing.take_in(options["file"], of, rules, actor=ACTOR, check=options["check"])
        if options["look"] and not options["check"]:
            looking.look_each(done.repeats, actor=ACTOR)
            done.reread()
        return done

    def _say(self, done: Imported, *, check: bool, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(telling.document(done, check=check), indent=2, ensure_ascii=False))
        else:
            self.stdout.write(telling.text(done, check=check))

    def _refuse(self, why: str) -> None:
        self.stderr.write(why)
        sys.exit(REFUSED)


def _columns(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    named = {part.strip(): name.strip() for part, _, name in pairs}
    if not named.keys() <= set(PARTS) or len(named) < len(pairs) or not all(named.values()):
        raise ArgumentTypeError(f'"{text}" names no columns; write {",".join(f"{part}=…" for part in PARTS)}')
    return named


def _statuses(text: str) -> frozenset[str]:
    statuses = frozenset(status.strip().casefold() for status in text.split(","))
    if "" in statuses:
        raise ArgumentTypeError(f'"{text}" has a blank status')
    return statuses


def _zone(text: str) -> str:
    try:
        return moments.check_zone(text) if text else ""
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def _form(text: str) -> str:
    try:
        return moments.check_format(text) if text else ""
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None
