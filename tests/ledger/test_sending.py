"""Sending against a destination that really misbehaves: what is recorded, and what was done over there.

| at the other side               | the try says | the operation is        | effects there |
|---------------------------------|--------------|-------------------------|---------------|
| refused                         | retryable    | pending                 | 0             |
| answer lost, effect made        | uncertain    | uncertain, then looked  | 1             |
| request lost                    | uncertain    | uncertain, then looked  | 0             |
| sender dies after its effect    | (none)       | uncertain by its lease  | 1             |
"""

import subprocess
import sys
import threading
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from config.environment import ROOT
from ledger import actions
from ledger.destinations import lookups, sending
from ledger.models import Attempt, Operation
from ledger.rules.decisions import Next
from ledger.rules.states import CaseKind, Outcome, State, Verdict
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger import odd_connectors
from tests.ledger.wires import answering, serving
from tests.people import browser_of
from tests.sandboxes import Sandbox
from tests.stories import CALLS, Durban

TIMEOUT_S = 1.0
PAUSE_S = 10


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> Durban:
    made = Durban(clock, sandbox.url)
    connect(made, timeout=TIMEOUT_S)
    rule(made, retry={"attempts": 5})
    return made


def connect(durban: Durban, *, by: str = "http", **connection: object) -> None:
    """Reach the destination in another way."""
    books = durban.invoice.destination
    books.connector = by if by == "http" else f"tests.ledger.odd_connectors:{by}"
    books.connection = {**books.connection, **connection}
    books.save(update_fields=["connector", "connection"])


def rule(durban: Durban, **fields: Any) -> None:
    """Change the rules for invoices; dicts are merged into what stands."""
    for name, value in fields.items():
        old = getattr(durban.invoice, name)
        setattr(durban.invoice, name, {**old, **value} if isinstance(value, dict) else value)
    durban.invoice.save(update_fields=sorted(fields))


def without_lookup(durban: Durban) -> None:
    durban.invoice.calls = {name: call for name, call in CALLS.items() if name != "lookup"}
    durban.invoice.save(update_fields=["calls"])


def sent(durban: Durban, operation: Operation) -> Operation:
    """Send as the worker does, and read again."""
    sending.send(operation.pk)
    return durban.again(operation)


def last(operation: Operation) -> Attempt:
    attempt = operation.attempts.order_by("-number").first()
    assert attempt is not None
    return attempt


def looked(durban: Durban, operation: Operation) -> Operation:
    """Take it up as the sweep does: look where that is the next step."""
    step = actions.settle(operation.pk, actor="worker")
    if step.next is Next.LOOK:
        lookups.look(durban.again(operation), actor="worker", reason="Its time has come.")
    return durban.again(operation)


SEND_ONE = """
import sys, django
django.setup()
from ledger.destinations import sending
sending.send(int(sys.argv[1]))
"""


def in_a_process(database: Database, operation: Operation) -> int:
    """Send in a process of its own; gives its exit status, negative where a signal ended it."""
    command = [sys.executable, "-c", SEND_ONE, str(operation.pk)]
    return subprocess.run(command, cwd=ROOT, env=database.environ, timeout=60, check=False).returncode


def at_once(count: int, operation: Operation) -> None:
    """Send the same operation from several sessions at once."""
    barrier, failures = threading.Barrier(count), list[Exception]()

    def work() -> None:
        try:
            barrier.wait(10)
            sending.send(operation.pk)
        except Exception as error:  # noqa: BLE001 - shown by the test
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


# --- what came back, on real faults


def test_a_refused_connection_is_proved_not_done_and_tried_again(durban: Durban, sandbox: Sandbox) -> None:
    sandbox.kill()
    operation = sent(durban, durban.invoiced(483))
    assert (operation.state, last(operation).outcome) == (State.PENDING, Outcome.RETRYABLE)
    assert operation.next_try_at is not None
    sandbox.restart()
    durban.clock.advance(600)
    assert sent(durban, operation).state == State.COMPLETED
    assert sandbox.effects(operation.key) == 1


def test_each_type_is_sent_to_the_destination_that_it_names(durban: Durban, sandbox: Sandbox) -> None:
    with serving(answering(b'{"id": "L-1"}', "201 Created")) as wire:
        elsewhere = make.destination("letters", connection={"base_url": wire.url, "timeout": 1})
        letters = make.kind(
            "letter.send", by="tieout", destination=elsewhere, calls={"send": {"path": "/x"}}, looks=False
        )
        for operation in (make.handed(letters, "letter/1"), durban.invoiced(1)):
            sending.send(operation.pk)
        (letter,) = wire.requests
    assert letter.startswith(b"POST /x ")
    assert (sandbox.effects("letter/1"), len(sandbox.call("GET", "/invoices").json["data"])) == (0, 1)


def test_a_wrong_address_is_a_rejection(durban: Durban, sandbox: Sandbox) -> None:
    rule(durban, calls={"send": {"path": "/invoicez", "set": {"metadata.operation": "{key}"}}})
    operation = sent(durban, durban.invoiced(483))
    assert (operation.state, last(operation).error_code) == (State.FAILED, "http_404")


def test_a_refusal_is_a_case_in_the_destinations_words(durban: Durban, sandbox: Sandbox) -> None:
    blocked = actions.Submission(
        "invoice.create",
        {"total": "10.00", "currency": "ZAR", "customer": {"name": "Acme", "blocked": True}},
        key="order/webshop/484/v1",
        amount="10.00",
        currency="ZAR",
    )
    operation = sent(durban, actions.submit(blocked, actor="api:webshop").operation)
    assert operation.state == State.FAILED
    assert operation.cases.open().get().kind == CaseKind.REFUSED
    assert "The customer is blocked." in last(operation).message
    assert sandbox.effects(operation.key) == 0


def test_a_throttled_try_waits_as_long_as_it_was_told(durban: Durban, sandbox: Sandbox) -> None:
    sandbox.faults("throttle", "POST /invoices", arg=77)
    operation = sent(durban, durban.invoiced(483))
    assert operation.next_try_at is not None
    assert operation.next_try_at - durban.clock.now() > timedelta(seconds=70)


def test_already_there_by_contract_is_looked_up(durban: Durban, sandbox: Sandbox) -> None:
    rule(durban, contract={"exists": [520]})
    sandbox.faults("error_after", "POST /invoices", arg=520)
    operation = sent(durban, durban.invoiced(483))
    assert (last(operation).error_code, operation.state) == ("exists", State.UNCERTAIN)
    assert looked(durban, operation).state == State.COMPLETED


def test_an_amount_that_comes_back_changed_is_never_a_success(durban: Durban, sandbox: Sandbox) -> None:
    lying = actions.Submission(
        "invoice.create",
        {"total": "99.00", "currency": "ZAR"},
        key="order/webshop/485/v1",
        amount="9.90",
        currency="ZAR",
    )
    operation = sent(durban, actions.submit(lying, actor="api:webshop").operation)
    assert (last(operation).outcome, last(operation).error_code) == (Outcome.UNCERTAIN, "differs")
    operation = looked(durban, operation)
    assert (operation.state, operation.cases.open().get().kind) == (State.UNCERTAIN, CaseKind.DIFFERS)


# --- the interruptions, effects counted over there


def test_a_lost_response_is_found_and_not_sent_again(durban: Durban, sandbox: Sandbox) -> None:
    sandbox.faults("drop_after", "POST /invoices")
    operation = looked(durban, sent(durban, durban.invoiced(483)))
    assert (operation.state, operation.evidence) == (State.COMPLETED, "lookup")
    assert operation.destination_reference == "INV-1101"
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 1)


def test_a_lost_request_is_proved_absent_and_sent_again(durban: Durban, sandbox: Sandbox) -> None:
    assert sent(durban, durban.invoiced(1)).state == State.COMPLETED  # a record that the look-up can find
    sandbox.faults("drop_before", "POST /invoices")
    operation = looked(durban, sent(durban, durban.invoiced(483)))
    assert operation.state == State.UNCERTAIN
    durban.clock.advance(31)
    assert looked(durban, operation).state == State.PENDING
    durban.clock.advance(600)
    operation = sent(durban, operation)
    assert (operation.state, last(operation).number) == (State.COMPLETED, 2)
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 2)


def test_a_crash_between_effect_and_record_makes_no_second_effect(
    durban: Durban, sandbox: Sandbox, database: Database
) -> None:
    connect(durban, by="DiesAfterEffect")
    operation = durban.invoiced(483)
    assert in_a_process(database, operation) == -9
    operation = durban.again(operation)
    assert (operation.state, last(operation).outcome) == (State.RUNNING, None)
    assert sandbox.effects(operation.key) == 1
    sending.send(operation.pk)
    assert sandbox.deliveries(operation.key) == 1

    durban.clock.advance(31)
    connect(durban)
    actions.expire(operation.pk, actor="worker")
    assert durban.again(operation).state == State.UNCERTAIN
    operation = looked(durban, operation)
    assert (operation.state, operation.evidence) == (State.COMPLETED, "lookup")
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 1)


def test_a_copy_of_the_process_that_a_connector_leaves_running_records_nothing(
    durban: Durban, sandbox: Sandbox, database: Database
) -> None:
    connect(durban, by="Copies")
    operation = durban.invoiced(483)
    assert in_a_process(database, operation) == 0
    operation = durban.again(operation)
    assert (operation.state, operation.destination_reference) == (State.COMPLETED, "INV-1101")
    assert sandbox.effects(operation.key) == 1


def test_3_a_crash_after_the_start_is_uncertain_never_pending(
    durban: Durban, sandbox: Sandbox, database: Database
) -> None:
    sent(durban, durban.invoiced(1))
    connect(durban, by="DiesBeforeSend")
    operation = durban.invoiced(483)
    assert in_a_process(database, operation) == -9
    durban.clock.advance(31)
    connect(durban)
    actions.expire(operation.pk, actor="worker")
    operation = looked(durban, operation)
    assert (operation.state, last(operation).outcome) == (State.UNCERTAIN, Outcome.UNCERTAIN)
    durban.clock.advance(35)
    assert looked(durban, operation).state == State.PENDING
    durban.clock.advance(600)
    assert sent(durban, operation).state == State.COMPLETED
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 1)


def test_a_crash_before_the_start_is_proved_not_done(
    durban: Durban, sandbox: Sandbox, database: Database
) -> None:
    connect(durban, by="DiesOnClaim")
    operation = durban.invoiced(483)
    assert in_a_process(database, operation) == -9
    durban.clock.advance(31)
    connect(durban)
    actions.expire(operation.pk, actor="worker")
    operation = durban.again(operation)
    assert (operation.state, last(operation).outcome) == (State.PENDING, Outcome.RETRYABLE)
    durban.clock.advance(600)
    assert sent(durban, operation).state == State.COMPLETED
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 1)


def test_2_an_exception_after_the_first_byte_is_uncertain(durban: Durban, sandbox: Sandbox) -> None:
    connect(durban, by="Fails")
    operation = sent(durban, durban.invoiced(483))
    attempt = last(operation)
    assert (operation.state, attempt.error_code) == (State.UNCERTAIN, "connector_failed")
    assert "hunter2" not in attempt.message + operation.first_cause
    assert sandbox.effects(operation.key) == 1


def test_a_missing_secret_is_named_and_nothing_is_sent(
    durban: Durban, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BOOKS_TOKEN", raising=False)
    connect(durban, auth={"kind": "bearer", "token": "env:BOOKS_TOKEN"})
    operation = sent(durban, durban.invoiced(483))
    attempt = last(operation)
    assert (operation.state, attempt.started_at, attempt.error_code) == (State.PENDING, None, "configuration")
    assert "BOOKS_TOKEN" in attempt.message
    assert sandbox.deliveries(operation.key) == 0


def test_a_connector_that_cannot_be_loaded_sends_nothing(durban: Durban, sandbox: Sandbox) -> None:
    connect(durban, by="Misspelt")
    operation = sent(durban, durban.invoiced(483))
    assert (operation.state, last(operation).error_code) == (State.PENDING, "configuration")


def test_16_no_send_starts_with_less_lease_left_than_its_deadline(durban: Durban, sandbox: Sandbox) -> None:
    rule(durban, lease_s=TIMEOUT_S / 2)
    operation = sent(durban, durban.invoiced(483))
    assert (operation.state, last(operation).started_at) == (State.PENDING, None)
    assert sandbox.deliveries(operation.key) == 0


def test_a_late_success_of_the_latest_try_completes_it(durban: Durban, sandbox: Sandbox) -> None:
    connect(durban, by="Watched")
    operation = durban.invoiced(483)

    def meanwhile(_: object) -> None:
        durban.clock.advance(31)
        actions.expire(operation.pk, actor="worker")
        assert durban.again(operation).state == State.UNCERTAIN

    odd_connectors.Watched.after_send = meanwhile
    operation = sent(durban, operation)
    assert (operation.state, operation.destination_reference) == (State.COMPLETED, "INV-1101")
    assert sandbox.effects(operation.key) == 1


# --- one at a time, and nobody waits in a transaction


def test_two_workers_at_once_send_once(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.invoiced(483)
    at_once(4, operation)
    operation = durban.again(operation)
    assert (operation.state, operation.attempt_count) == (State.COMPLETED, 1)
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 1)


def test_the_start_is_committed_and_no_transaction_is_open_on_the_network(
    durban: Durban, sandbox: Sandbox, database: Database
) -> None:
    connect(durban, by="Watched")
    rule(durban, contract={"idempotency": "none"})
    seen = []

    def around(_: object) -> None:
        with psycopg.connect(database.app_url) as other:
            row = other.execute("SELECT state FROM ledger_operation FOR UPDATE NOWAIT").fetchone()
            started = other.execute("SELECT started_at IS NOT NULL FROM ledger_attempt").fetchone()
        assert row is not None
        assert started is not None
        seen.append((row[0], started[0], connection.in_atomic_block))

    odd_connectors.Watched.after_send = odd_connectors.Watched.after_look = around
    assert sent(durban, durban.invoiced(483)).state == State.COMPLETED
    assert seen == [("running", False, False), ("running", True, False)]


def test_sending_and_looking_inside_a_transaction_are_refused(durban: Durban, sandbox: Sandbox) -> None:
    operation = durban.invoiced(483)
    with transaction.atomic(), pytest.raises(RuntimeError, match="transaction"):
        sending.send(operation.pk)
    with transaction.atomic(), pytest.raises(RuntimeError, match="transaction"):
        lookups.look(operation, actor="ann", reason="To see.")
    assert durban.again(operation).attempt_count == 0


def test_25_a_second_operation_of_the_same_customer_goes_through(durban: Durban, sandbox: Sandbox) -> None:
    first, second = durban.invoiced(483, subject="Acme"), durban.invoiced(484, subject="Acme")
    assert {sent(durban, one).state for one in (first, second)} == {State.COMPLETED}
    assert [sandbox.effects(one.key) for one in (first, second)] == [1, 1]


# --- looking before the send


def test_12_without_keys_what_is_there_already_is_not_made_again(durban: Durban, sandbox: Sandbox) -> None:
    rule(durban, contract={"idempotency": "none"})
    operation = durban.invoiced(483)
    there = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": operation.key}}
    assert sandbox.call("POST", "/invoices", body=there).status == 201
    operation = sent(durban, operation)
    assert (operation.state, operation.evidence) == (State.COMPLETED, "lookup")
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 1)


def test_12_without_keys_two_workers_at_once_create_once(durban: Durban, sandbox: Sandbox) -> None:
    rule(durban, contract={"idempotency": "none"})
    operation = durban.invoiced(483)
    at_once(4, operation)
    assert durban.again(operation).state == State.COMPLETED
    assert sandbox.effects(operation.key) == 1


def test_a_look_before_the_send_that_could_not_look_sends_nothing(durban: Durban, sandbox: Sandbox) -> None:
    rule(durban, contract={"idempotency": "none"})
    sandbox.faults("garble", "GET /invoices")
    operation = sent(durban, durban.invoiced(483))
    attempt = last(operation)
    assert (operation.state, attempt.outcome, attempt.started_at) == (State.PENDING, Outcome.RETRYABLE, None)
    assert sandbox.deliveries(operation.key) == 0


def test_a_look_before_the_send_that_never_can_look_ends_with_a_person_and_goes_on_once_it_can(
    durban: Durban, sandbox: Sandbox
) -> None:
    """Such a try never starts, so no limit by count would ever be reached, and nobody would hear of it."""
    rule(durban, contract={"idempotency": "none"})
    sandbox.faults("garble", "GET /invoices", count=None)
    operation = durban.invoiced(483)
    for number in range(1, 7):
        assert operation.held_at is None or number == 6
        operation = sent(durban, operation)
        durban.clock.advance(600)
    case = operation.cases.open().get()
    assert (operation.state, operation.attempt_count, case.kind) == (State.PENDING, 5, "could_not_look")
    page = browser_of("ann").get(f"/operations/{operation.uid}/").content.decode()
    assert "Nothing was sent: Durban Books could not be checked before it, time after time." in page
    assert "Check now" in browser_of("ann").get("/queue/").content.decode()
    assert lookups.look(operation, actor="ann", reason="To see.").verdict == Verdict.COULD_NOT_LOOK
    assert durban.again(operation).held_at is not None

    sandbox.clear_faults()
    lookups.look(durban.again(operation), actor="ann", reason="To see.")
    assert durban.again(operation).held_at is None
    assert sent(durban, operation).state == State.COMPLETED
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 1)


def test_several_found_before_the_send_stop_it(durban: Durban, sandbox: Sandbox) -> None:
    rule(durban, contract={"idempotency": "none"})
    operation = durban.invoiced(483)
    for _ in range(4):
        there = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": operation.key}}
        assert sandbox.call("POST", "/invoices", body=there).status == 201
    operation = sent(durban, operation)
    assert (operation.state, operation.cases.open().get().kind) == (State.UNCERTAIN, CaseKind.SEVERAL)
    assert sandbox.effects(operation.key) == 4


# --- an outcome speaks for its own attempt only


def test_a_refusal_to_connect_after_an_earlier_doubt_stays_uncertain(
    durban: Durban, sandbox: Sandbox
) -> None:
    without_lookup(durban)
    sandbox.faults("drop_after", "POST /invoices")
    operation = sent(durban, durban.invoiced(483))
    assert actions.settle(operation.pk, actor="worker").next is Next.SEND
    durban.clock.advance(PAUSE_S)
    sandbox.kill()
    operation = sent(durban, operation)
    assert (last(operation).number, last(operation).outcome) == (2, Outcome.RETRYABLE)
    assert operation.state == State.UNCERTAIN
    sandbox.restart()
    assert sandbox.effects(operation.key) == 1


def test_the_same_key_within_its_window_makes_no_second_effect(durban: Durban, sandbox: Sandbox) -> None:
    without_lookup(durban)
    sandbox.faults("drop_after", "POST /invoices")
    operation = sent(durban, durban.invoiced(483))
    assert actions.settle(operation.pk, actor="worker").next is Next.SEND
    durban.clock.advance(PAUSE_S)
    operation = sent(durban, operation)
    assert (operation.state, operation.evidence) == (State.COMPLETED, "answer")
    assert len(set(operation.attempts.values_list("idempotency_key", flat=True))) == 1
    assert (sandbox.effects(operation.key), sandbox.deliveries(operation.key)) == (1, 2)


def test_27_a_saved_error_is_not_asked_for_again(durban: Durban, sandbox: Sandbox) -> None:
    without_lookup(durban)
    rule(durban, contract={"saves": "all"})
    sandbox.faults("replay_error", "POST /invoices", arg=500)
    operation = sent(durban, durban.invoiced(483))
    assert actions.settle(operation.pk, actor="worker").next is Next.HOLD
    assert durban.again(operation).state == State.UNCERTAIN
