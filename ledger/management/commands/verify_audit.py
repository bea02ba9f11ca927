"""`verify_audit [--export FILE] [--kept SEAL:HEAD …]`: prove that no event was changed or removed."""

import contextlib
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from ledger import audit
from ledger.rules import chain

WHOLE, NOT_WHOLE, NOT_CARRIED_OUT = 0, 1, 2


class Command(BaseCommand):
    """Verify the trail against its seals."""

    help = (
        "Seal what is settled, then prove that no event was changed or removed up to the last seal. "
        "Exit status: 0 whole, 1 not whole, 2 it could not be carried out."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take where to write an export, and the heads that were kept elsewhere."""
        parser.add_argument(
            "--export", metavar="FILE", type=Path, help="write all of it there, to be checked offline"
        )
        parser.add_argument(
            "--kept",
            metavar="SEAL:HEAD",
            nargs="+",
            default=[],
            help="heads printed earlier, to compare with",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print how far the trail is sealed, or what is not as it was sealed."""
        try:
            kept = chain.kept(options["kept"])
            found = self._verified(kept, options["export"])
        except (ValueError, OSError, DatabaseError) as error:
            raise CommandError(str(error).strip().partition("\n")[0], returncode=NOT_CARRIED_OUT) from None
        for fault in found.faults:
            self.stderr.write(fault)
        self.stdout.write("The trail is not whole." if found.faults else found.words)
        if found.left:
            self.stdout.write(f"No seal covers the last {found.left} events yet.")
        if options["export"]:
            self.stdout.write(f"Without Tieout: python3 {chain.__file__} {options['export']}")
        sys.exit(NOT_WHOLE if found.faults else WHOLE)

    def _verified(self, kept: dict[int, str], export: Path | None) -> audit.Verified:
        audit.seal_all()
        with contextlib.ExitStack() as stack:
            write: Any = lambda line: None  # noqa: E731 - nowhere to write to
            if export is not None:
                # An export of events has names in it: it is the reader's own.
                file = stack.enter_context(open(export, "x", encoding="ascii", opener=_private))
                write = lambda line: file.write(f"{line}\n")  # noqa: E731 - as above
            return audit.verify(kept=kept, write=write)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
