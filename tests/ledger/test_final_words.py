"""Destinations that accept first and decide later: looked at until it is final, and never sent twice.

| what the destination says | then                          | the operation is   | case     | effects |
|---------------------------|-------------------------------|--------------------|----------|---------|
| accepted                  | a look finds it done          | completed          |          | 1       |
| accepted                  | a look finds it declined      | failed             | refused  | 0       |
| accepted                  | not final within the time     | uncertain, held    | accepted | 1       |
| accepted                  | final, after it was held      | completed          |          | 1       |
| accepted                  | nobody can look               | uncertain, held    | accepted | 1       |
"""

import uuid
from collections.abc import Iterator

import pytest

from ledger import actions
from ledger.destinations import lookups
from ledger.models import Operation, OperationType
from ledger.rules.errors import NotNow, OutcomeDiffers
from ledger.rules.states import State
from tests.databases import Clock, Database, Template
from tests.factories import REFUSED, TAKEN, again, case_of, claimed, done, submission
from tests.sandboxes import Sandbox, running_sandbox
from tests.stories import CALLS, Durban, report
from tests.workers import one_round

HOUR_S = 3600
LOOKS_ONCE_A_MINUTE = {"attempts": 5, "base": "60s", "cap": "60s"}

BOOKED = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": "order/webshop/5/v1"}}


@pytest.fixture(scope="module")
def database(template: Template) -> Iterator[Database]:
    """One database for the file: each test has orders of its own."""
    with template.clone() as clone:
        yield clone


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One destination for the file."""
    with running_sandbox(tmp_path_factory.mktemp("books")) as running:
        yield running


@pytest.fixture(scope="module")
def durban(database: Database, sandbox: Sandbox) -> Durban:
    made = Durban(Clock.put_into(database), sandbox.url)
    OperationType.objects.update(retry=LOOKS_ONCE_A_MINUTE)
    return made


def taken(durban: Durban, sandbox: Sandbox, order: int) -> Operation:
    """An invoice that the worker sent, and the destination only accepted."""
    sandbox.faults("accept_only", "POST /invoices")
    operation = durban.invoiced(order)
    one_round()
    operation = durban.again(operation)
    assert (operation.state, case_of(operation)) == (State.UNCERTAIN, "")
    assert operation.taken_at is not None
    return operation


def later(durban: Durban, operation: Operation, *, minutes: int = 2) -> Operation:
    """Let so much time pass while the worker goes its rounds, one a minute."""
    for _ in range(minutes):
        durban.clock.advance(60)
        one_round()
    return durban.again(operation)


def seen_by(operation: Operation, person: str) -> Operation:
    """Let a person check what is there now."""
    lookups.look(again(operation), actor=person, reason="A look.")
    return again(operation)


def test_it_is_not_sent_again_whoever_asks_while_it_is_not_final(durban: Durban, sandbox: Sandbox) -> None:
    operation = later(durban, taken(durban, sandbox, 1), minutes=5)
    assert operation.state == State.UNCERTAIN
    assert operation.lookups.count() >= 4
    seen_by(operation, "ann")
    with pytest.raises(NotNow, match="never sent twice"):
        actions.permit(operation.pk, actor="ann", reason="Hurry.", command_id=uuid.uuid4())
    assert durban.invoiced(1).pk == operation.pk
    assert (sandbox.deliveries(operation.key), operation.permits.count()) == (1, 0)
    sandbox.settle(operation.key)
    later(durban, operation)


def test_accepted_is_looked_up_until_it_is_done(durban: Durban, sandbox: Sandbox) -> None:
    operation = later(durban, taken(durban, sandbox, 2))
    assert sandbox.settle(operation.key, "open") == 1
    operation = later(durban, operation)
    assert (operation.state, operation.evidence, case_of(operation)) == (State.COMPLETED, "lookup", "")
    assert operation.destination_reference == sandbox.records(operation.key)[0]["id"]
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 1)


def test_accepted_and_then_declined_did_not_happen_and_is_a_case(durban: Durban, sandbox: Sandbox) -> None:
    operation = later(durban, taken(durban, sandbox, 3))
    sandbox.settle(operation.key, "declined")
    operation = later(durban, operation, minutes=10)
    assert (operation.state, case_of(operation)) == (State.FAILED, "refused")
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (0, 1)


def test_what_is_not_final_in_time_is_held_and_still_completes_by_a_persons_check(
    durban: Durban, sandbox: Sandbox
) -> None:
    operation = taken(durban, sandbox, 4)
    durban.clock.advance(HOUR_S - 120)
    assert case_of(later(durban, operation, minutes=1)) == ""
    operation = later(durban, operation, minutes=2)
    assert (operation.state, case_of(operation)) == (State.UNCERTAIN, "accepted")
    looks = operation.lookups.count()
    assert later(durban, operation, minutes=3).lookups.count() == looks, "software has stopped"
    assert sandbox.deliveries(operation.key) == 1

    sandbox.settle(operation.key, "open")
    operation = seen_by(operation, "ann")
    assert (operation.state, case_of(operation)) == (State.COMPLETED, "")


def test_a_caller_may_report_accepted_and_software_looks_for_the_final_word(
    durban: Durban, sandbox: Sandbox
) -> None:
    kind = OperationType.objects.create(
        name="invoice.book",
        destination=durban.invoice.destination,
        label="Book invoice",
        noun="invoice",
        performed_by="caller",
        lease_s=60,
        owner="finance",
        contract=durban.invoice.contract,
        calls=CALLS,
        retry=LOOKS_ONCE_A_MINUTE,
        review={"due": "4h"},
    )
    operation, attempt, token = claimed(kind, "order/webshop/5/v1", payload=BOOKED)
    sandbox.faults("accept_only", "POST /invoices")
    assert sandbox.call("POST", "/invoices", body=BOOKED).status == 202
    reply = actions.record(attempt.uid, token=token, report=TAKEN, actor="api:shop")
    assert (reply.decision, reply.retry_at is not None) == ("wait", True)
    operation = later(durban, operation)
    assert actions.claim(submission(kind, operation.key, payload=BOOKED), actor="api:shop").decision == "wait"
    sandbox.settle(operation.key)
    assert later(durban, operation).state == State.COMPLETED
    assert sandbox.effects(operation.key) == 1


def test_where_nobody_can_look_the_callers_own_final_word_is_awaited(durban: Durban) -> None:
    OperationType.objects.filter(pk=durban.reminder.pk).update(contract={"final_within": "1h"})
    told, attempt, token = durban.reminded(6)
    report(attempt, token, TAKEN)
    told = later(durban, told, minutes=5)
    assert (told.state, case_of(told), told.attempts.count()) == (State.UNCERTAIN, "", 1)
    with pytest.raises(OutcomeDiffers):
        report(attempt, token, REFUSED)
    report(attempt, token, done("MAIL-6"))
    assert (durban.again(told).state, durban.again(told).destination_reference) == (
        State.COMPLETED,
        "MAIL-6",
    )

    silent, attempt, token = durban.reminded(7)
    report(attempt, token, TAKEN)
    durban.clock.advance(HOUR_S)
    silent = later(durban, silent)
    assert (silent.state, case_of(silent)) == (State.UNCERTAIN, "accepted")
    report(attempt, token, done("MAIL-7"))
    assert (durban.again(silent).state, case_of(silent)) == (State.COMPLETED, "")
