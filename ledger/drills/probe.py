"""One thing that a drill sends: an operation in all but the ledger, with a reference that only drills use."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ledger import actions
from ledger.destinations import lookups
from ledger.destinations.connectors.base import SendRequest, refuse_open_transaction
from ledger.destinations.connectors.guarded import connector_for
from ledger.destinations.pacing import NoRoom, admitted
from ledger.models import Drill, Operation, OperationType, database_now
from ledger.rules.calls import DrillSample, SendCall
from ledger.rules.outcomes import Answer, Report, classify
from ledger.rules.records import Found
from ledger.rules.states import Outcome

PATIENCE_S = 60.0
"""How long one call of a drill waits for room at its destination, which others may be calling, too."""


@dataclass(frozen=True)
class Probe:
    """One reference of a drill, with the payload and the key that go with it."""

    operation: Operation
    payload: Mapping[str, Any] = field(repr=False)

    @property
    def reference(self) -> str:
        """The reference that its record carries."""
        return self.operation.key


@dataclass(frozen=True)
class Heard:
    """What came back of one send.

    `silent`: the connection was closed before an answer was read; `failed`: the connector raised, so nobody
    knows what it did.
    """

    report: Report
    silent: bool = False
    failed: bool = False
    span: tuple[float, float] = (0.0, 0.0)
    """When it began and was over, by this process's own clock; what it waited for its turn is not in it."""

    @property
    def taken(self) -> bool:
        """Say whether the destination took it."""
        return self.report.outcome in (Outcome.SUCCEEDED, Outcome.ACCEPTED)

    @property
    def refused(self) -> bool:
        """Say whether its answer says by contract that nothing was made."""
        return self.report.outcome in (Outcome.REJECTED, Outcome.RETRYABLE)

    @property
    def unsent(self) -> bool:
        """Say whether not a byte of it went out."""
        return self.report.error_code == "not_sent"

    @property
    def words(self) -> str:
        """What it said, for people."""
        if self.taken:
            return f"It took it{self._named}."
        return self.report.message or f"It answered with status {self.report.http_status}."

    @property
    def _named(self) -> str:
        return f" as {self.report.destination_reference}" if self.report.destination_reference else ""


@dataclass(frozen=True)
class Range:
    """Where one drill sends, looks and voids: through the type's own connector, by its own rules."""

    kind: OperationType
    sample: DrillSample
    drill: Drill

    def probe(self, name: str, payload: Mapping[str, Any] | None = None) -> Probe:
        """Return what is sent under a name; raises Malformed where the sample cannot be sent."""
        operation, written = actions.rehearsed(
            self.kind,
            key=f"{self.drill.stem}/{name}",
            payload=self.sample.payload if payload is None else payload,
            amount=self.sample.amount,
            currency=self.sample.currency,
            at=self.drill.begun_at,
        )
        return Probe(operation, written)

    def send(self, probe: Probe, *, under: Probe | None = None, hang_up: bool = False) -> Heard:
        """Send once, under its own key or another's; what may exist from now on is on record before."""
        actions.note_sending(self.drill, [probe.reference])
        return self.unnoted(probe, under=under, hang_up=hang_up)

    def unnoted(self, probe: Probe, *, under: Probe | None = None, hang_up: bool = False) -> Heard:
        """Send once what is on record already, without a look at the database: for many at once."""
        assert self.kind.how.send is not None  # nothing is drilled without it
        key = (under or probe).operation.idempotency_key
        return self._exchange(probe, self.kind.how.send, payload=probe.payload, key=key, hang_up=hang_up)

    def void(self, probe: Probe, record: str) -> Heard:
        """Reverse one record by the type's own call, under a key of its own."""
        call, send = self.kind.how.void, self.kind.how.send
        assert call is not None and send is not None
        probe.operation.destination_reference = record
        reversal = call.as_send(send)
        named = f"{probe.reference}/void/{record}"
        key = actions.key_for(self.kind, named, generation=1, key_max=self.kind.promises.key_max)
        return self._exchange(probe, reversal, payload={}, key=key, read=False)

    def look(self, probe: Probe) -> Found:
        """Ask what the destination holds for a reference, and judge it as for an operation."""
        return lookups.ask(probe.operation, contract=self.kind.promises, patience_s=PATIENCE_S)

    def _exchange(
        self,
        probe: Probe,
        call: SendCall,
        *,
        payload: Mapping[str, Any],
        key: str,
        hang_up: bool = False,
        read: bool = True,
    ) -> Heard:
        refuse_open_transaction()
        operation, contract = probe.operation, self.kind.promises
        request = SendRequest(
            call=call,
            contract=contract,
            payload=payload,
            idempotency_key=key,
            values={**lookups.values_of(operation), "today": f"{self.kind.day(database_now())}"},
            timeout_s=self.kind.destination.reach.timeout_s,
            hang_up=hang_up,
        )
        answer, failed, span = self._answer(request)
        report = classify(
            answer,
            contract=contract,
            map=self.kind.how.record if read else None,
            reference=operation.key,
            amount=operation.amount,
            currency=operation.currency or None,
            call=call,
            match=lookups.match_of(operation),
        )
        return Heard(report, silent=answer.stage == "silent" and not failed, failed=failed, span=span)

    def _answer(self, request: SendRequest) -> tuple[Answer, bool, tuple[float, float]]:
        """Return what came back, whether the connector failed, and from when to when it was under way."""
        destination, failed = self.kind.destination, False
        began = over = time.monotonic()
        try:
            with admitted(destination, wait_s=PATIENCE_S) as pace:
                pace.wait(within_s=PATIENCE_S)
                began = time.monotonic()
                try:
                    answer = connector_for(destination, pace).send(request)
                finally:
                    over = time.monotonic()  # before its place is free for the next one
        except NoRoom as error:
            answer = Answer("not_sent", detail=error.detail)
        except Exception as error:  # noqa: BLE001 - any connector may be plugged in; what it raises proves nothing
            answer, failed = Answer("silent", detail=f"The connector failed ({type(error).__name__})."), True
        return answer, failed, (began, over)
