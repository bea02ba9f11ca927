"""What holds of every operation whatever happened to it: its trail is whole, and tells every move."""

from ledger.models import Event, Operation
from ledger.rules.states import State, may_move


def sound(operation: Operation) -> Operation:
    """Check an operation's trail and rows against each other; returns it as it stands."""
    operation = Operation.objects.get(pk=operation.pk)
    events = list(operation.events.order_by("id"))
    assert all(event.actor and event.reason for event in events)
    # Going to a next level changes who is told, and nothing that is known of the operation.
    told = {event.revision or 0 for event in events if event.kind != "escalated"}
    assert sorted(told) == list(range(1, operation.revision + 1))
    _moves(events, operation)
    attempts = list(operation.attempts.order_by("number"))
    assert [attempt.number for attempt in attempts] == list(range(1, operation.attempt_count + 1))
    in_flight = [attempt for attempt in attempts if attempt.closed_at is None]
    assert len(in_flight) == (operation.state == State.RUNNING)
    assert all(attempt.payload_digest == operation.payload_digest for attempt in attempts)
    assert (operation.held_at is not None) == operation.cases.open().exists()
    assert operation.permits.open().count() <= (operation.state in (State.UNCERTAIN, State.FAILED))
    if operation.state == State.UNCERTAIN:
        goes_on = operation.look_at is not None or operation.permits.open().exists()
        assert goes_on or operation.held_at is not None, "nothing and nobody will take it up again"
    return operation


def _moves(events: list[Event], operation: Operation) -> None:
    """Each move begins where the one before has ended, and MOVES allow it."""
    told = [event for event in events if event.state_to]
    assert told[-1].state_to == operation.state
    at = ""
    for event in told:
        if event.state_from:
            assert event.state_from == at
            assert may_move(State(event.state_from), State(event.state_to))
        at = event.state_to


def kinds(operation: Operation) -> list[str]:
    """The events in their order, by kind."""
    return list(operation.events.order_by("id").values_list("kind", flat=True))
