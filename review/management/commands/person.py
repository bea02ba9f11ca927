"""`person NAME --role ROLE`: make a person, give roles or teams, reset their sign-in, or end the account."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from ledger.rules import actors
from ledger.rules.errors import TieoutError
from reconcile.proposals import limits
from review import accounts
from review.access import RIGHTS

ACTOR = "command line"


class Command(BaseCommand):
    """Make and change people's accounts."""

    help = "Make a person with roles, change roles, give a new password, reset a second factor, or end it."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Take the name, and what is to be done."""
        parser.add_argument("name", help="how they sign in: ann")
        parser.add_argument(
            "--role", action="append", choices=sorted(RIGHTS), default=[], help="may be repeated"
        )
        teams = parser.add_mutually_exclusive_group()
        teams.add_argument(
            "--team",
            action="append",
            dest="teams",
            help="an owner that operation types name; may be repeated",
        )
        teams.add_argument(
            "--no-team", action="store_const", const=[], dest="teams", help="out of every team"
        )
        entities = parser.add_mutually_exclusive_group()
        entities.add_argument(
            "--entity",
            action="append",
            dest="entities",
            help="a destination's legal entity; they see these alone; may be repeated",
        )
        entities.add_argument(
            "--all-entities", action="store_const", const=[], dest="entities", help="they see all"
        )
        parser.add_argument("--reason", default="", help="for the trail; required but for a new person")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--no-password", action="store_true", help="single sign-on alone lets them in")
        what.add_argument(
            "--new-password", action="store_true", help="print another one, and end their sessions"
        )
        what.add_argument(
            "--reset-second-factor", action="store_true", help="they set up another at the next sign-in"
        )
        what.add_argument("--untie", action="store_true", help="somebody else at single sign-on may open it")
        what.add_argument("--end", action="store_true", help="switch the account off, and end its sessions")
        what.add_argument("--back", action="store_true", help="switch the account on again")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do it; raises CommandError in words where it cannot be done."""
        try:
            actors.person(options["name"])
            self.stdout.write(self._done(options["name"], options))
        except TieoutError as error:
            raise CommandError(error.detail) from None

    def _done(self, name: str, options: dict[str, Any]) -> str:
        word = {"actor": ACTOR, "reason": options["reason"]}
        known, password = User.objects.filter(username=name).exists(), accounts.new_password()
        if options["no_password"] and known:
            accounts.give_password(name, password=None, **word)
            return f"{name} is signed out everywhere, and comes by single sign-on alone."
        if options["new_password"]:
            accounts.give_password(name, password=password, **word)
            return f"{name} signs in with {password}"
        if options["reset_second_factor"]:
            accounts.reset_second_factor(name, **word)
            return f"{name} has no second factor any more, and is signed out everywhere."
        if options["untie"]:
            accounts.untie(name, **word)
            return f"{name} is signed out, and tied to whoever comes next by that name at single sign-on."
        if options["end"]:
            left = accounts.end(name, **word)
            rest = f" Still open in their name: {', '.join(left)}." if left else ""
            return f"{name} is signed out and cannot sign in any more.{rest}"
        if options["back"]:
            accounts.let_back(name, **word)
            return f"{name} can sign in again."
        if known:
            return _changed(name, options, word)
        alone = options["no_password"]
        with transaction.atomic():
            accounts.make(name, roles=options["role"], actor=ACTOR, password=None if alone else password)
            made = {"actor": ACTOR, "reason": f"Account of {name} made"}
            if options["teams"]:
                accounts.give_teams(name, teams=options["teams"], **made)
            if options["entities"]:
                limits.limit(name, to=options["entities"], **made)
        return f"{name} comes by single sign-on alone." if alone else f"{name} signs in with {password}"


def _changed(name: str, options: dict[str, Any], word: dict[str, str]) -> str:
    """Give somebody who is there other roles, other teams, or both; what is not named stays."""
    roles, teams, entities = options["role"], options["teams"], options["entities"]
    if not roles and teams is None and entities is None:
        raise CommandError(f"{name} is there already. Say what changes: --role, --team, --entity, --end …")
    said = []
    with transaction.atomic():
        if roles:
            accounts.give_roles(name, roles=roles, **word)
            said.append(" and ".join(sorted(roles)))
        if teams is not None:
            accounts.give_teams(name, teams=teams, **word)
            said.append(f"in {' and '.join(sorted(teams)) or 'no team'}")
        if entities is not None:
            limits.limit(name, to=entities, **word)
            said.append(f"limited to {limits.words(entities)}" if entities else "limited to no entity")
    return f"{name} is now {', '.join(said)}."
