"""Rules proposed on a page: what a text would change, what is wrong in it, and the proposal."""

import uuid
from dataclasses import dataclass, field

from django.contrib.auth.models import User

from ledger.models import database_now
from ledger.rules import actors
from ledger.rules.errors import Malformed, NotNow
from reconcile import configuration
from reconcile.configuration import Refused, present, source
from reconcile.configuration.rows import Change
from reconcile.configuration.wrongs import Wrong
from reconcile.models import Proposal
from reconcile.proposals import actions
from review.access import require
from review.instants import zone
from review.proposing import Line

NOTHING = "Nothing would change: that is in force already."
MOVED = "It would change something else by now than was shown. Read it again, and propose it then."


@dataclass(frozen=True)
class Read:
    """What a text would change, or every wrong line of it; `digest` is of the changes that were shown."""

    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    wrongs: list[Wrong] = field(default_factory=list)
    digest: str = ""


def in_force() -> str:
    """Return the rules in force, as far as whoever reads sees them, without what may be secret."""
    return "".join(present.in_force(database_now().astimezone(zone())))


def text_of(written: str, uploaded: bytes | None) -> tuple[str, list[Wrong]]:
    """Return the text that was written or uploaded, and why it cannot be read."""
    try:
        return source.decoded(uploaded if uploaded is not None else written.encode()), []
    except Refused as refused:
        return "", list(refused.wrongs)


def read(name: str, text: str, *, person: User) -> Read:
    """Say what a text would change; nothing is kept."""
    require(person, "propose")
    seen: list[Change] = []

    def look(_: source.Source, changes: list[Change]) -> None:
        seen.extend(changes)

    try:
        done = configuration.take(source.parsed(name, text), check=True, instead=look)
    except Refused as refused:
        return Read(wrongs=list(refused.wrongs))
    lines = [Line.of(said) for one in seen for said in str(one).split("\n")]
    return Read(lines, done.notes, [], actions.fingerprint(seen) if seen else "")


def propose(
    name: str, text: str, digest: str, *, person: User, reason: str, command_id: uuid.UUID
) -> Proposal:
    """Propose what was shown; NotNow where it would be something else by now, or nothing."""
    require(person, "propose")
    actor = actors.person(person.get_username())
    made: list[Proposal] = []

    def instead(read: source.Source, changes: list[Change]) -> uuid.UUID:
        if not changes:
            raise NotNow(NOTHING)
        if actions.fingerprint(changes) != digest:
            raise NotNow(MOVED)
        made.append(actions.propose_rules(read, changes, actor=actor, reason=reason, command_id=command_id))
        return made[0].uid

    try:
        configuration.take(source.parsed(name, text), instead=instead)
    except Refused:
        raise Malformed("It is not right yet: every wrong line is named below.") from None
    return made[0]
