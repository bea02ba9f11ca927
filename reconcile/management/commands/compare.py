"""`compare SOURCE_FILE DESTINATION_FILE`: two exports, no set-up; what is missing, extra or doubled."""

import logging
import sys
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError
from psycopg.errors import UndefinedTable

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile.histories.files import ENCODINGS
from reconcile.statements import amounts, comparing, days, rejecting, telling
from reconcile.statements.columns import PARTS
from reconcile.statements.keeping import STATED
from reconcile.statements.profiles import choosing
from reconcile.statements.reading import Statement
from reconcile.statements.stating import How
from reconcile.statements.telling import Compared

NOTHING_FOUND, FOUND, NOT_WHOLE = 0, 1, 2
SIDES = ("source", "destination")

NO_TABLES = (
    "The database has no tables yet. Where a demo or a server is preparing it, try again in a minute; else"
    " `make demo` or `make serve` prepares it, and so does `manage.py migrate --database owner`."
)

log = logging.getLogger(__name__)


class Command(BaseCommand):
    """Compare two exports and print their tie-out; nothing of them is kept."""

    help = (
        "Compare two exports: what should exist, and what does. Nothing is set up, sent or kept."
        " Exit status: 0 nothing found, 1 differences or a residual, 2 not carried out. docs/compare.md"
        " explains it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take both files, and how each is read where the file itself does not tell."""
        parser.add_argument("source", type=Path, metavar="SOURCE_FILE", help="what should exist")
        parser.add_argument("destination", type=Path, metavar="DESTINATION_FILE", help="what exists")
        for side in SIDES:
            parser.add_argument(
                f"--{side}-columns",
                type=_columns,
                default={},
                metavar="reference=A,amount=B,currency=C,date=D",
            )
            parser.add_argument(
                f"--{side}-encoding", choices=ENCODINGS, default="", help="where it has no mark of its own"
            )
            parser.add_argument(f"--{side}-decimal", choices=list(amounts.MARKS), default="")
            parser.add_argument(f"--{side}-days", choices=days.ORDERS, default="")
            parser.add_argument(f"--{side}-sheet", default="", metavar="NAME", help="of a workbook")
            parser.add_argument(f"--{side}-unit", choices=["minor"], default="", help="amounts in cents")
            parser.add_argument(
                f"--{side}-totals", choices=["told"], default="", help="a total that is off is only told"
            )
            parser.add_argument(f"--{side}-profile", default="", metavar="NAME", help="how its source writes")
        parser.add_argument(
            "--profile", default="", metavar="NAME", help="of both files, where they are alike"
        )
        parser.add_argument(
            "--rejects",
            type=Path,
            metavar="FILE",
            help="write the unreadable lines there: .csv, .xlsx or .json",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compare them; the exit status tells what came of it."""
        try:
            clean = self._compare(options)
        except TieoutError as error:
            self._refuse(error.detail)
        except UndefinedTable:
            self._refuse(NO_TABLES)
        except DatabaseError as error:
            if isinstance(error.__cause__, UndefinedTable):
                self._refuse(NO_TABLES)
            first = str(error).strip().partition("\n")[0]
            self._refuse(f"The database refused or could not be reached: {first}")
        except KeyboardInterrupt:
            self._refuse("It was interrupted before it was whole; nothing of it counts.")
        except Exception as error:
            log.exception("a comparison failed")
            self._refuse(f"Something went wrong in Tieout: {type(error).__name__}.")
        else:
            sys.exit(NOTHING_FOUND if clean else FOUND)

    def _compare(self, options: dict[str, Any]) -> bool:
        rejects: Path | None = options["rejects"]
        form = rejecting.target(rejects) if rejects else None
        source, destination = (Statement.opened(options[side], _how(side, options)) for side in SIDES)
        with comparing.compared(source, destination) as (tie, sums, differences):
            done = Compared(source, destination, tie, sums)
            if rejects and form:
                rejecting.write(rejects, form, done, author="compare", as_of=database_now())
            if options["json"]:
                pieces, ending = telling.document(telling.head(done), telling.told(done, differences)), ""
            else:
                pieces, ending = telling.text(done, differences), "\n"
            for piece in pieces:
                self.stdout.write(piece, ending=ending)
        return done.clean

    def _refuse(self, why: str) -> None:
        self.stderr.write(why)
        sys.exit(NOT_WHOLE)


def _how(side: str, options: dict[str, Any]) -> How:
    stated = {what: options[f"{side}_{what}"] for what in STATED if what != "profile"}
    profile = options[f"{side}_profile"] or options["profile"]
    said = choosing.known(profile) if profile else None
    return choosing.how(side, options[f"{side}_columns"], profile=profile, said=said, **stated)


def _columns(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    named = {part.strip(): name.strip() for part, _, name in pairs}
    if not named.keys() <= set(PARTS) or len(named) < len(pairs) or not all(named.values()):
        raise ArgumentTypeError(f'"{text}" names no columns; write {",".join(f"{part}=…" for part in PARTS)}')
    return named
