"""Who acts: a person under their own name, or software under one that no person can have."""

from ledger.rules.errors import TieoutError

AUTOMATION = "api:"
DESTINATION = "destination:"
RUN = "reconciliation "
WORKERS = frozenset({"worker", "policy", "sweep", "software"})
"""What works by itself, and is all the same to a reader."""
COMMANDS = frozenset({"configure", "issue_key", "revoke_key", "reconcile", "command line", "schedule"})
RESERVED = WORKERS | COMMANDS | {"api", "reconciliation", "tieout"}


class NotAPersonsName(TieoutError, ValueError):
    """An account is called as software is, so that the trail could not tell the two apart."""

    status = 403
    type = "not-a-persons-name"
    title = "The account's name belongs to software"


def is_software(actor: str) -> bool:
    """Say whether an actor, or a name that somebody wants to have, is software's."""
    name = actor.strip().casefold()
    return not name or name in RESERVED or ":" in name or name.startswith(RUN)


def person(name: str) -> str:
    """Return the actor that a person is in the trail; raises NotAPersonsName."""
    if is_software(name):
        raise NotAPersonsName(
            f'A person cannot be called "{name}": the name is kept for software. '
            "An administrator gives the account another one."
        )
    return name
