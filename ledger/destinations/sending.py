"""Sending one operation: claim, look where that comes first, start, send, record."""

import logging
import time
import uuid
from dataclasses import dataclass, replace
from itertools import chain, repeat

from django.db import InterfaceError, OperationalError, connection

from ledger import actions
from ledger.destinations.connectors import bodies
from ledger.destinations.connectors.base import (
    ConfigurationError,
    Connector,
    SendRequest,
    refuse_open_transaction,
)
from ledger.destinations.connectors.guarded import connector_for
from ledger.destinations.lookups import ask, expected, sent_values
from ledger.destinations.pacing import WAIT_S, Pace, admitted
from ledger.models import Operation, database_now
from ledger.rules import placeholders
from ledger.rules.decisions import looks_first
from ledger.rules.errors import TieoutError
from ledger.rules.outcomes import Report, classify
from ledger.rules.redaction import redact_text
from ledger.rules.states import Outcome, State

PAUSES_S = (0.1, 0.5, 1.0, 2.0)
"""Between the tries to record an outcome while the database does not answer; the last one repeats."""

TURN_WAIT_S = 8.0
"""How long a claim waits for its send's turn where its look took more turns; its lease has room for it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Ready:
    """A claim, and all that its send needs: nothing is left that could fail between start and send."""

    claimed: actions.Claimed
    connector: Connector
    request: SendRequest


def send(operation_id: int, *, actor: str = "worker") -> None:
    """Send one operation if it is due and ours to send; do nothing otherwise.

    A failure before the start is proved not to have sent anything; one after it is uncertain. A process that
    is killed leaves its lease to run out. Raises NoRoom, with nothing claimed, where the destination may not
    be called now, and RuntimeError inside a transaction.
    """
    refuse_open_transaction()
    waiting = _waiting(operation_id)
    if waiting is not None:
        destination = waiting.operation_type.destination
        with admitted(destination, wait_s=WAIT_S, calls=_calls(waiting)) as pace:
            _send(operation_id, pace, actor=actor)


def _waiting(operation_id: int) -> Operation | None:
    """Return the operation unless it is done or under way; whether it is due, its claim decides."""
    there = Operation.objects.by_tieout().exclude(state__in=[State.RUNNING, State.COMPLETED])
    return there.select_related("operation_type__destination").filter(pk=operation_id).first()


def _calls(operation: Operation) -> int:
    """Return how many calls its send takes: one more where it is looked up first."""
    kind = operation.operation_type
    first = operation.attempt_count > 0 or operation.reverses_id is not None
    looks = kind.has_lookup and (first or not kind.promises.takes_key)
    return 2 if looks else 1


def _send(operation_id: int, pace: Pace, *, actor: str) -> None:
    asked = time.monotonic()
    claimed = actions.claim_to_send(operation_id, actor=actor)
    if claimed is None:
        return
    until = asked + (claimed.attempt.lease_until - claimed.attempt.claimed_at).total_seconds()
    try:
        ready = _ready(claimed, pace)
        if not _look_first(claimed, pace, actor=actor):
            return
        pace.wait(within_s=TURN_WAIT_S)
        # The time that the start itself takes comes off the deadline: nothing goes out after the lease.
        began = time.monotonic()
        _start(ready, actor=actor)
        late_s = time.monotonic() - began
    except Exception as error:  # noqa: BLE001 - whatever it was, not a byte was sent
        _record(claimed, _unsent(error), actor=actor, until=until)
        return
    report = _sent(ready, timeout_s=ready.request.timeout_s - late_s)
    _record(claimed, report, actor=actor, until=until)


def _ready(claimed: actions.Claimed, pace: Pace) -> _Ready:
    """Read secrets and make the request; raises ConfigurationError with what is missing."""
    operation = claimed.operation
    kind = operation.operation_type
    if kind.how.send is None:
        raise ConfigurationError(f"The rules for {kind.name} name no send.")
    bodies.read_secrets(kind.how.send.wrap)
    bodies.read_secrets(kind.how.send.headers)
    values = sent_values(operation)
    late = placeholders.late(kind.how.send.set)
    # What a reversal sends is in its rules alone; its own payload says which record it is of.
    payload = actions.open_payload(operation) if operation.reverses_id is None else {}
    request = SendRequest(
        call=kind.how.send,
        contract=claimed.facts.contract,
        payload=placeholders.apply_set(payload, late, values),
        idempotency_key=claimed.attempt.idempotency_key,
        values=values,
        timeout_s=kind.destination.reach.timeout_s,
    )
    return _Ready(claimed, connector_for(kind.destination, pace), request)


def _look_first(claimed: actions.Claimed, pace: Pace, *, actor: str) -> bool:
    """Look before the send where the decision asks for it; False where it was settled otherwise."""
    if not looks_first(claimed.facts):
        return True
    asked_at = database_now()
    found = ask(claimed.operation, contract=claimed.facts.contract, pace=pace)
    return actions.before_send(claimed, found=found, asked_at=asked_at, actor=actor)


def _start(ready: _Ready, *, actor: str) -> None:
    actions.start(
        ready.claimed.attempt.uid,
        token=ready.claimed.token,
        start_id=uuid.uuid4(),
        actor=actor,
        need_s=ready.request.timeout_s,
    )


def _sent(ready: _Ready, *, timeout_s: float) -> Report:
    """Send and say what came of it; an exception says nothing about the other side."""
    operation = ready.claimed.operation
    if timeout_s <= 0:
        return Report(Outcome.RETRYABLE, error_code="not_sent", message="The start took all of the time.")
    refuse_open_transaction()
    try:
        answer = ready.connector.send(replace(ready.request, timeout_s=timeout_s))
        return classify(
            answer,
            contract=ready.claimed.facts.contract,
            map=operation.operation_type.how.record,
            **expected(operation),
            call=ready.request.call,
        )
    except Exception as error:  # noqa: BLE001 - after the start, nothing may claim that nothing happened
        words = f"The connector failed after the start ({type(error).__name__})."
        return Report(Outcome.UNCERTAIN, error_code="connector_failed", message=words)


def _unsent(error: Exception) -> Report:
    if isinstance(error, TieoutError):
        return Report(Outcome.RETRYABLE, error_code=error.type, message=error.detail)
    words = f"It failed before the start ({type(error).__name__})."
    return Report(Outcome.RETRYABLE, error_code="not_started", message=words)


def _record(claimed: actions.Claimed, report: Report, *, actor: str, until: float) -> None:
    """Put the outcome on record, with patience until the lease's end: nobody else knows what was answered."""
    told = f"{report.outcome}, reference {redact_text(report.destination_reference) or 'none'}"
    pauses = chain(PAUSES_S, repeat(PAUSES_S[-1]))
    while (trouble := _recorded(claimed, report, actor=actor)) is not None:
        pause_s = next(pauses)
        patient = time.monotonic() + pause_s <= until
        words = "is not recorded yet" if patient else "was not recorded"
        level = logging.WARNING if patient else logging.ERROR
        logger.log(level, "%s %s (%s): %s", _name(claimed), words, type(trouble).__name__, told)
        if not patient:
            return
        time.sleep(pause_s)


def _recorded(claimed: actions.Claimed, report: Report, *, actor: str) -> Exception | None:
    """Record once; return the trouble where the database did not answer, for recording twice does no harm.

    Where the claim was lost meanwhile, the ledger keeps the outcome as evidence.
    """
    try:
        actions.record(claimed.attempt.uid, token=claimed.token, report=report, actor=actor)
    except TieoutError as refused:
        logger.warning("%s: %s", _name(claimed), refused.detail)
    except (OperationalError, InterfaceError) as error:
        connection.close()
        return error
    return None


def _name(claimed: actions.Claimed) -> str:
    return f"operation {claimed.operation.uid}, try {claimed.attempt.number}"
