"""What is checked of a team beyond its lines: that what it owns goes further at each level; its chat."""

from reconcile.configuration.destination_checks import check_secret
from reconcile.configuration.sections import Part, TeamHead
from reconcile.configuration.webhook_checks import check_url
from reconcile.configuration.wrongs import Path, Wrongs


def check_team(part: Part, wrongs: Wrongs) -> None:
    """Check one team."""
    if isinstance(chat := part.raw.get("chat"), str):
        place: Path = (*part.path, "chat")
        address = check_secret(place, chat, wrongs)
        if address:
            private = part.raw.get("allow_private") is True
            # Its own path: what is said of it never repeats it, for whoever knows it may write there.
            check_url(place, address, wrongs, private=private)
    _check_levels(part, wrongs)


def _check_levels(part: Part, wrongs: Wrongs) -> None:
    head = part.get("head", TeamHead)
    levels = head.escalate or () if head is not None else ()
    for index, step in enumerate(levels):
        place: Path = (*part.path, "escalate", index)
        if step.to in (part.name, *(before.to for before in levels[:index])):
            wrongs.add((*place, "to"), f"{step.to} has it already.", "Name another team, or leave it out.")
        if index and not step.after_s:
            remedy = 'Write how long the one before has it: after = "8h".'
            wrongs.add((*place, "after"), "Both levels would have it at once.", remedy)
