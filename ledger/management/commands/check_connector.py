"""`check_connector DESTINATION [TYPE] [--double PATH]`: play a destination to its connector."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger.destinations import conformance
from ledger.destinations.conformance import BROKEN, UNPLAYED, Double, HttpDouble, Subject
from ledger.destinations.connectors.base import ConfigurationError, Target, factory, kept_text, loaded
from ledger.models import Destination, OperationType
from ledger.rules import placeholders

HELD, DOES_NOT_HOLD, NOT_CHECKED = 0, 1, 2


class Command(BaseCommand):
    """Check a destination's connector against a destination that is played on this machine."""

    help = (
        "Play a destination that refuses, resets, falls silent and talks nonsense to a connector, and "
        "print what holds. A connector that goes elsewhere than it is told may ask the real one; sends are "
        "tried only where the destination says drills = true. Exit status: 0 all holds, 1 something does "
        "not, 2 not all was checked."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the destination, a type of it, and the double that plays it."""
        parser.add_argument("destination", help="its name in the configuration file: books")
        parser.add_argument(
            "type", nargs="?", help="one operation type; without it, each of the destination's"
        )
        parser.add_argument(
            "--double",
            help='a class that plays the destination, "package.module:Class"; without it, JSON over HTTP',
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check each type; the exit status tells what came of it."""
        destination = Destination.objects.filter(name=options["destination"]).first()
        if destination is None:
            raise CommandError(f'"{options["destination"]}" is not a destination; run configure first.')
        kinds = destination.types.configured().order_by("name")
        if options["type"]:
            kinds = kinds.filter(name=options["type"])
        verdicts = [
            verdict for kind in kinds for verdict in self._check(destination, kind, options["double"])
        ]
        if BROKEN in verdicts:
            sys.exit(DOES_NOT_HOLD)
        if not verdicts or UNPLAYED in verdicts:
            self.stderr.write("Not all was checked: each line above says why.")
            sys.exit(NOT_CHECKED)

    def _check(self, destination: Destination, kind: OperationType, double: str | None) -> Iterator[str]:
        try:
            made: Double = HttpDouble(kind.how) if double is None else loaded(double)(kind.how)
            subject = _subject(destination, kind)
        except ConfigurationError as error:
            raise CommandError(error.detail) from None
        except (ImportError, AttributeError, ValueError):
            raise CommandError(
                f'The double "{double}" cannot be loaded: write "package.module:Class" of a module here.'
            ) from None
        self.stdout.write(f"{kind.name} at {destination.title}")
        for result in conformance.check(subject, made):
            self.stdout.write(f"  {result.verdict}: {result.name}{result.why and f' ({result.why})'}")
            yield result.verdict


def _subject(destination: Destination, kind: OperationType) -> Subject:
    target = Target(destination.name, destination.title, destination.account, destination.reach)
    return Subject(
        make=factory(destination.connector, target),
        target=target,
        calls=kind.how,
        contract=kind.promises,
        payload=dict(kind.sample.payload) if kind.sample is not None else {},
        secrets=tuple(_secrets(destination, kind)),
        may_send=destination.drills,
    )


def _secrets(destination: Destination, kind: OperationType) -> Iterator[str]:
    """Yield the secrets of its connection and of the type's calls, to know them where they should not be."""
    how = kind.how
    asked = [call for call in (how.lookup, how.list, how.void) if call is not None]
    named: list[object] = [destination.connection, *([call.headers, call.body] for call in asked)]
    if how.send is not None:
        named.append([how.send.headers, how.send.wrap])
    for _, text in placeholders.texts(named):
        if text.startswith(("env:", "file:")):
            yield kept_text(text)
