"""`issue_key NAME [--type T …]`: a new API token, or the next one of a name; printed once, stored hashed."""

import difflib
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger.actions import tokens
from ledger.actions.tokens import Terms
from ledger.models import OperationType
from ledger.rules.contracts import seconds
from ledger.rules.errors import TieoutError

ACTOR = "issue_key"
NAME_LENGTH = 100
OVERLAP_S = 3600.0
PER_MINUTE_MAX = 1_000_000


class Command(BaseCommand):
    """Issue an API token to an automation."""

    help = "Make an API token for an automation: printed once, alone on standard output, and stored hashed."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the automation's name, and what its token is for."""
        parser.add_argument("name", help="the automation's name, as it appears in the trail: webshop")
        parser.add_argument(
            "--type",
            dest="types",
            metavar="T",
            nargs="+",
            action="extend",
            help="operation types that it may use; without any, every type",
        )
        parser.add_argument(
            "--expires",
            type=_life,
            metavar="D",
            help="how long it lives, as 90d; without it, until it is revoked",
        )
        parser.add_argument(
            "--per-minute", type=_rate, metavar="N", help="how many requests it may make in a minute"
        )
        parser.add_argument(
            "--rotate",
            action="store_true",
            help="issue the next token of this name: same types, rate and life, unless said otherwise",
        )
        parser.add_argument(
            "--overlap",
            type=_duration,
            metavar="D",
            help="how long the one before lives on; else 1h, and 0 not at all",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Issue the token; raises CommandError for what cannot be used."""
        name = _checked_name(options["name"])
        if options["types"]:
            _check_types(sorted(set(options["types"])))
        if options["overlap"] is not None and not options["rotate"]:
            raise CommandError("--overlap belongs to --rotate. No token was issued.")
        terms = Terms(options["types"], options["expires"], options["per_minute"])
        try:
            if options["rotate"]:
                overlap_s = OVERLAP_S if options["overlap"] is None else options["overlap"]
                token = tokens.rotate(name, terms, overlap_s=overlap_s, actor=ACTOR)
            else:
                token = tokens.issue(name, terms, actor=ACTOR)
        except TieoutError as error:
            raise CommandError(error.detail) from None
        self.stdout.write(token)


def _duration(text: str) -> float:
    try:
        return seconds("0s" if text == "0" else text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} cannot be read; {error}") from None


def _life(text: str) -> float:
    life_s = _duration(text)
    if not life_s:
        raise ArgumentTypeError("a token that has expired when it is issued is of no use; give 90d, say")
    return life_s


def _rate(text: str) -> int:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= PER_MINUTE_MAX:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is no whole number from 1 to {PER_MINUTE_MAX}")


def _checked_name(name: str) -> str:
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > NAME_LENGTH:
        raise CommandError(
            f"The name {name!r} cannot be used. Give 1 to {NAME_LENGTH} characters, such as webshop."
        )
    return name


def _check_types(types: list[str]) -> None:
    known = sorted(OperationType.objects.configured().values_list("name", flat=True))
    wrong = []
    for name in types:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            wrong.append(
                f'"{name}" is not an operation type.' + (f' Did you mean "{close[0]}"?' if close else "")
            )
    if wrong:
        there = f"There are: {', '.join(known)}." if known else "There is none yet; run configure first."
        raise CommandError(" ".join([*wrong, there, "No token was issued."]))
