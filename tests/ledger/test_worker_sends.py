"""From the acceptance to the effect by the real worker; effects are counted at the other side.

| what goes wrong              | what follows                                                  | effects |
|------------------------------|---------------------------------------------------------------|---------|
| nothing                      | completed by its answer                                       | 1       |
| drop_before                  | absent, long enough: sent again under the same key            | 1       |
| drop_after                   | completed by a look-up: one match                             | 1       |
| error_after                  | completed by a look-up: one match                             | 1       |
| throttle                     | proved not done: sent again                                   | 1       |
| key_in_use                   | a pause, then a look: absent, long enough: sent again         | 1       |
| killed after the effect      | the lease runs out; completed by a look-up                    | 1       |
| killed before the first byte | the lease runs out; absent, long enough: sent again           | 1       |
| killed at every send         | each lease runs out; absence is proved; a person is asked     | 0       |
"""

from pathlib import Path

import pytest

from ledger.models import Operation, OperationType
from ledger.rules.states import CaseKind, Evidence, Outcome, State
from tests.databases import Clock
from tests.sandboxes import Sandbox
from tests.stories import Durban
from tests.workers import Worker, until

SETTLE_S = 1
GOES_WRONG = ("drop_before", "drop_after", "error_after", "throttle", "key_in_use")


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> Durban:
    """Durban with a second of patience, three tries and short pauses."""
    durban = Durban(clock, base_url=sandbox.url)
    contract = {**durban.invoice.contract, "settle": f"{SETTLE_S}s"}
    retry = {"attempts": 3, "base": "500ms", "cap": "500ms"}
    OperationType.objects.filter(pk=durban.invoice.pk).update(contract=contract, retry=retry)
    return durban


def dies(durban: Durban, how: str) -> None:
    """Plug in the connector that dies like this."""
    durban.invoice.destination.connector = f"tests.connectors:{how}"
    durban.invoice.destination.save(update_fields=["connector"])


def known(durban: Durban) -> Operation:
    """An invoice that went well, so that a look-up has something to prove itself on."""
    operation = durban.invoiced(483)
    finished(durban, operation)
    return operation


def finished(
    durban: Durban, *operations: Operation, state: State = State.COMPLETED, seconds: float = 60
) -> None:
    """Wait until all of these have this state."""
    until(
        lambda: {durban.again(operation).state for operation in operations} == {state},
        seconds=seconds,
        what=f"{state} for all",
    )


def outcomes(operation: Operation) -> list[str | None]:
    """What its attempts came to."""
    return [attempt.outcome for attempt in operation.attempts.order_by("number")]


def test_every_loss_on_the_way_ends_in_one_effect(durban: Durban, worker: Worker, sandbox: Sandbox) -> None:
    well = known(durban)
    assert durban.again(well).evidence == Evidence.ANSWER
    lost = {}
    for number, mode in enumerate(GOES_WRONG):
        sandbox.faults(mode, match=f"order/webshop/{number}/v1")
        lost[mode] = durban.invoiced(number)
    finished(durban, *lost.values())
    assert {mode: sandbox.effects(operation.key) for mode, operation in lost.items()} == dict.fromkeys(
        lost, 1
    )
    assert {mode: outcomes(operation) for mode, operation in lost.items()} == {
        "drop_before": [Outcome.UNCERTAIN, Outcome.SUCCEEDED],
        "drop_after": [Outcome.UNCERTAIN],
        "error_after": [Outcome.UNCERTAIN],
        "throttle": [Outcome.RETRYABLE, Outcome.SUCCEEDED],
        "key_in_use": [Outcome.UNCERTAIN, Outcome.SUCCEEDED],
    }
    for mode in ("drop_after", "error_after"):
        operation = durban.again(lost[mode])
        assert operation.evidence == Evidence.LOOKUP
        assert operation.destination_reference == sandbox.records(operation.key)[0]["id"]
    # The same key went out both times.
    assert len({one.idempotency_key for one in lost["drop_before"].attempts.all()}) == 1


def test_a_kill_between_the_effect_and_its_record_makes_no_second_effect(
    durban: Durban, died: Path, worker: Worker, sandbox: Sandbox
) -> None:
    dies(durban, "DiesAfter")
    operation = durban.invoiced(1)
    until(died.exists, what="The death")
    assert sandbox.effects(operation.key) == 1
    assert durban.again(operation).state == State.RUNNING
    durban.clock.advance(31)
    finished(durban, operation)
    assert sandbox.effects(operation.key) == sandbox.deliveries(operation.key) == 1
    assert durban.again(operation).evidence == Evidence.LOOKUP
    assert outcomes(operation) == [Outcome.UNCERTAIN]


def test_a_kill_before_the_first_byte_is_sent_again_once_absence_is_proved(
    durban: Durban, died: Path, worker: Worker, sandbox: Sandbox
) -> None:
    known(durban)
    dies(durban, "DiesBefore")
    operation = durban.invoiced(1)
    until(died.exists, what="The death")
    durban.clock.advance(31)
    finished(durban, operation, state=State.UNCERTAIN)
    # The sender could have paused just before its send: until its time-out and the settle time are over,
    # absence proves nothing.
    until(lambda: operation.lookups.exists(), what="A look")
    assert not operation.lookups.filter(proof=True).exists()
    durban.clock.advance(3 + SETTLE_S)
    finished(durban, operation)
    assert sandbox.effects(operation.key) == sandbox.deliveries(operation.key) == 1
    assert outcomes(operation) == [Outcome.UNCERTAIN, Outcome.SUCCEEDED]


def test_an_operation_that_kills_every_worker_comes_to_a_person(
    durban: Durban, worker: Worker, sandbox: Sandbox
) -> None:
    known(durban)
    OperationType.objects.filter(pk=durban.invoice.pk).update(retry={"attempts": 1})
    dies(durban, "DiesAlways")
    operation, other = durban.invoiced(1), durban.invoiced(2)
    finished(durban, operation, other, state=State.RUNNING)
    until(lambda: started(operation) and started(other), what="Both sends")
    durban.clock.advance(31)
    finished(durban, operation, other, state=State.UNCERTAIN)
    durban.clock.advance(3 + SETTLE_S)
    finished(durban, operation, other, state=State.FAILED)
    assert operation.cases.get().kind == CaseKind.ABSENT
    assert sandbox.deliveries(operation.key) == 0
    worker.beats_again(seconds=120)


def started(operation: Operation) -> bool:
    """Whether its first byte may have gone."""
    return operation.attempts.filter(started_at__isnull=False).exists()


def test_a_late_outcome_of_a_stale_attempt_is_kept_and_moves_nothing(
    durban: Durban, worker: Worker, sandbox: Sandbox
) -> None:
    """Known failure 8: a stale worker finished over the new one."""
    known(durban)
    # The first send hangs beyond its lease; it is found, and the operation is done, long before it answers.
    books = durban.invoice.destination
    books.connection = {**books.connection, "timeout": 15}
    books.save(update_fields=["connection"])
    sandbox.faults("delay_after", match="order/webshop/1/v1", arg=10)
    operation = durban.invoiced(1)
    until(lambda: sandbox.effects(operation.key), what="The effect")
    durban.clock.advance(31)
    finished(durban, operation)
    assert durban.again(operation).evidence == Evidence.LOOKUP
    until(lambda: operation.events.filter(kind="late").exists(), what="The late word")
    assert durban.again(operation).evidence == Evidence.LOOKUP
    assert outcomes(operation) == [Outcome.UNCERTAIN]
    assert sandbox.effects(operation.key) == 1
