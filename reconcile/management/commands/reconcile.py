"""`reconcile PLAN [--from D --to D] [--dry-run] [--try FILE] [--json]`: run now, and print the tie-out."""

import json
import logging
import signal
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile import joining, reports, running
from reconcile.configuration import Refused
from reconcile.models import Finding, Plan, Run
from reconcile.rules import trying

NOTHING_FOUND, FOUND, NOT_WHOLE = 0, 1, 2
ACTOR = "command line"

log = logging.getLogger(__name__)


class Command(BaseCommand):
    """Run a plan now and print its tie-out."""

    help = (
        "Run a reconciliation now and print its tie-out. Exit status: 0 nothing found, 1 findings or a "
        "residual, 2 anything that kept it from running whole."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the plan, the window's days in the plan's zone, and how to answer."""
        parser.add_argument("plan", help="the name of a plan, as configured")
        parser.add_argument("--from", dest="first", type=_day, metavar="D", help="first day, as 2026-11-01")
        parser.add_argument("--to", dest="last", type=_day, metavar="D", help="last day, which is included")
        parser.add_argument("--dry-run", action="store_true", help="compare, and keep and change nothing")
        parser.add_argument(
            "--try", dest="file", type=Path, metavar="FILE", help="what rules of this file would change"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it; the exit status tells what came of it."""
        if getattr(self, "_called_from_command_line", False):
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the run is ended in order
        try:
            if options["file"]:
                self._try(options)
            run, found = self._run(options)
        except TieoutError as error:
            self._refuse(error.detail)
        except Refused as refused:
            self._refuse(f"{options['file']} was refused.\n\n{refused}")
        except DatabaseError as error:
            first = str(error).strip().partition("\n")[0]
            self._refuse(f"The database refused or could not be reached: {first}")
        except KeyboardInterrupt:
            self._refuse("It was interrupted before it was whole; nothing of it counts.")
        except Exception as error:
            log.exception("a reconciliation failed")
            self._refuse(f"Something went wrong in Tieout: {type(error).__name__}.")
        else:
            self._say(run, found, as_json=options["json"])
            sys.exit(NOTHING_FOUND if run.explained and not found else FOUND)

    def _try(self, options: dict[str, Any]) -> None:
        if options["first"] or options["last"] or options["dry_run"]:
            raise running.NotWhole("--try compares what the latest run has kept: it takes no days.")
        trial = trying.from_file(self._plan(options["plan"]), options["file"])
        said = json.dumps(trial.document(), indent=2, ensure_ascii=False)
        self.stdout.write(said if options["json"] else trial.table())
        sys.exit(FOUND if trial.lines else NOTHING_FOUND)

    def _run(self, options: dict[str, Any]) -> tuple[Run, list[Finding]]:
        plan, days = self._plan(options["plan"]), (options["first"], options["last"])
        return joining.run_now(plan, days, actor=ACTOR, dry_run=options["dry_run"], say=self.stderr.write)

    def _plan(self, name: str) -> Plan:
        plans = Plan.objects.select_related("operation_type__destination")
        plan = plans.filter(name=name).first()
        if plan is None:
            known = ", ".join(plans.order_by("name").values_list("name", flat=True)) or "none"
            raise running.NotWhole(f'There is no plan "{name}". Known plans: {known}.')
        return plan

    def _say(self, run: Run, found: Sequence[Finding], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(
                json.dumps(
                    reports.document(run, found, author=ACTOR, now=database_now()),
                    indent=2,
                    ensure_ascii=False,
                )
            )
        else:
            self.stdout.write(reports.table(run, found, now=database_now()))

    def _refuse(self, why: str) -> None:
        self.stderr.write(why)
        sys.exit(NOT_WHOLE)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f'"{text}" is not a day; write it as 2026-11-01') from None
