"""To whom an open case goes next when its due time has passed, and when; pure."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from ledger.rules.contracts import Seconds, Section

APPROVERS, ADMINISTRATORS = "approvers", "administrators"
"""Everybody of a role, whatever teams there are."""
LEVELS = 5


class Step(Section):
    """One level: a team, and how much working time after the one before; the first: after the due time."""

    to: Annotated[str, StringConstraints(pattern=r"\S", max_length=100)]
    after_s: Seconds = Field(0, alias="after")


def steps(owner: str, said: Sequence[Step] | None) -> Sequence[Step]:
    """Return the levels of a team's cases; those of one that says nothing go to approvers, once.

    What administrators own no approver can do anything about.
    """
    if said is not None:
        return said
    return (Step(to=ADMINISTRATORS if owner == ADMINISTRATORS else APPROVERS),)
