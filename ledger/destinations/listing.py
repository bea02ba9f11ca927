"""Listing what a destination holds, for reconciliation."""

from collections.abc import Iterator
from datetime import datetime

from ledger.destinations.connectors.base import (
    IncompletePull,
    ListPage,
    ListRequest,
    Place,
    refuse_open_transaction,
)
from ledger.destinations.connectors.guarded import connector_for
from ledger.destinations.pacing import NoRoom, Pace
from ledger.models import Destination, OperationType


def pages(kind: OperationType, *, since: datetime, place: Place | None = None) -> Iterator[ListPage]:
    """Yield the destination's records of an operation type, page by page; with a place, go on from there.

    Raises IncompletePull with the reason where the list was not read to its end or its destination is paused,
    ConfigurationError where that cannot be reached as it is set up, RuntimeError where a transaction is open
    between pages.
    """
    call, record = kind.how.list, kind.how.record
    if call is None or record is None:
        raise IncompletePull(f"The rules for {kind.name} name no list.")
    request = ListRequest(
        call=call,
        contract=kind.promises,
        record=record,
        since=since,
        timeout_s=kind.destination.reach.timeout_s,
        place=place,
    )
    _refuse_to_ask(kind.destination)
    try:
        for page in connector_for(kind.destination, Pace(kind.destination)).pages(request):
            yield page
            _refuse_to_ask(kind.destination)
    except NoRoom as error:
        raise IncompletePull(error.detail) from None


def _refuse_to_ask(destination: Destination) -> None:
    """Refuse to ask for a page inside a transaction, and while nothing is asked there."""
    refuse_open_transaction()
    if destination.pauses.open().of_all().exists():
        raise IncompletePull(f"{destination.title} is paused: an administrator resumes it first.")
