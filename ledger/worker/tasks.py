"""What the queue calls, a line each and plain ids only: it nudges, and the claim decides."""

import logging
from collections.abc import Callable

from ledger import actions
from ledger.destinations import lookups, sending
from ledger.destinations.pacing import WAIT_S, NoRoom, Pace, admitted
from ledger.rules.errors import TieoutError
from ledger.worker import heart, nudging
from ledger.worker.words import in_words

log = logging.getLogger(__name__)


def send(operation_id: int) -> None:
    """Send an operation, if it is still due."""
    _take_up(operation_id, lambda for_s: _send(operation_id))


def look(operation_id: int) -> None:
    """Look an operation up, if that is still due."""
    _take_up(operation_id, lambda for_s: _paced(operation_id, lambda pace: _look(operation_id, for_s, pace)))


def heed(operation_id: int) -> None:
    """Look an operation up that its destination spoke of, if that is still due."""
    _take_up(operation_id, lambda for_s: _paced(operation_id, lambda pace: _heed(operation_id, for_s, pace)))


def beat() -> None:
    """Show that work goes through the queue."""
    heart.beat()


def _send(operation_id: int) -> None:
    try:
        sending.send(operation_id)
    except NoRoom:
        nudging.put_back(operation_id)


def _paced(operation_id: int, act: Callable[[Pace], None]) -> None:
    """Act with a place at the destination; where none is free, leave it for the next sweep."""
    try:
        with admitted(nudging.destination_of(operation_id), wait_s=WAIT_S) as pace:
            act(pace)
    except NoRoom:
        nudging.put_back(operation_id)


def _look(operation_id: int, for_s: float, pace: Pace) -> None:
    operation = nudging.begin_look(operation_id, for_s=for_s)
    if operation is not None:
        lookups.look(operation, actor="worker", reason="Its check was due.", pace=pace)
        nudging.end_look(operation)


def _heed(operation_id: int, for_s: float, pace: Pace) -> None:
    operation = nudging.begin_look(operation_id, for_s=for_s, told_of=True)
    if operation is None:
        return
    if operation.operation_type.has_lookup:
        there = operation.operation_type.destination
        reason = f"{there} told of it." if operation.told_at else "What was reversed is looked at."
        lookups.look(operation, actor="worker", reason=reason, pace=pace)
    else:
        actions.unheard(operation_id)
    nudging.end_look(operation)


def _take_up(operation_id: int, act: Callable[[float], None]) -> None:
    """Act within the task's deadline; what goes wrong is said and not repeated, for the sweep comes again."""
    try:
        for_s = nudging.deadline_s(nudging.lease_of(operation_id))
        with heart.busy(for_s):
            act(for_s)
    except TieoutError as error:
        log.warning("Operation %s: %s", operation_id, in_words(error))
    except Exception as error:  # noqa: BLE001 - the queue would keep it whole, with values
        log.error("Operation %s: %s", operation_id, in_words(error))  # noqa: TRY400
