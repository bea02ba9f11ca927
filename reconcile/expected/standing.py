"""How an expected run went, by the runs that answer it; pure."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

BEGINS_WITHIN = timedelta(minutes=5)
"""How long after its time a run may begin before it counts as not started."""


class Standing(StrEnum):
    """What is said of one expected run."""

    TO_COME = "to_come"
    WAITS = "waits"
    """Its time has come; it begins within minutes, or once another run is done."""
    RUNNING = "running"
    REPORTED = "reported"
    NOT_STARTED = "not_started"
    INCOMPLETE = "incomplete"
    """Its latest run did not come to its end."""
    LATE = "late"
    """It is at work past the time to report by."""


RED = frozenset({Standing.NOT_STARTED, Standing.INCOMPLETE, Standing.LATE})


class Answering(Protocol):
    """A run that answers an expected one."""

    state: str


def standing(
    last: Answering | None,
    *,
    reported: bool,
    due_at: datetime,
    report_by: datetime,
    over: bool,
    now: datetime,
    busy: bool = False,
) -> Standing:
    """Say how it stands: `last` is its latest run; `reported`, that one of them is done.

    `over`: the plan's next time has come, so that no run begins for this one any more; `busy`: another run is
    at work, and one runs at a time.
    """
    if reported:
        return Standing.REPORTED
    if now < due_at:
        return Standing.TO_COME
    if last is not None and last.state == "failed":
        return Standing.INCOMPLETE
    if last is not None:
        return Standing.LATE if now > report_by else Standing.RUNNING
    waits = not over and now <= report_by and (busy or now - due_at < BEGINS_WITHIN)
    return Standing.WAITS if waits else Standing.NOT_STARTED
