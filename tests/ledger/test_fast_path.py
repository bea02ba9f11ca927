"""The fast path: one statement for a first claim, one for its success, by rules that are never outdated."""

import re
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, models
from django.test import Client
from psycopg._queries import MAX_CACHED_STATEMENT_LENGTH

from ledger import actions
from ledger.actions import Reply, statements
from ledger.models import ApiToken, Destination, Operation, OperationType
from ledger.rules.errors import Malformed, TieoutError, WrongDoor
from ledger.rules.tokens import token_hash
from ledger.sql import statement
from tests import factories as make
from tests.databases import Database
from tests.ledger.trails import sound


class Counting:
    """Counts the statements that go to the database."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, execute: Callable[..., object], sql: str, *rest: object) -> object:
        self.count += 1
        return execute(sql, *rest)


def counted(ask: Callable[[], Reply]) -> tuple[Reply, int]:
    with connection.execute_wrapper(counting := Counting()):
        reply = ask()
    return reply, counting.count


def test_claims_and_successes_cost_as_few_statements_as_can_be(database: Database) -> None:
    """What each is told is what is stored, too.

    | asked                                 | statements |
    |---------------------------------------|------------|
    | a first claim                         | 1          |
    | a claim of what is in flight          | 1          |
    | its success                           | 1          |
    | the same success again                | 2          |
    | a claim of what is done               | 1          |
    | an operation handed over              | 1          |
    | it, handed over again while it runs   | 1          |
    """
    reminder, invoice = make.reminder_type(), make.invoice_type()
    make.claimed(reminder, "remembers the rules")
    make.handed(invoice, "remembers the rules")
    claim = partial(actions.claim, make.submission(reminder), actor="api:shop")
    first, claims = counted(claim)
    as_stored(first)
    running, waits = counted(claim)
    as_stored(running)
    _, attempt, token = make.held(first)
    succeed = partial(actions.record, attempt.uid, token=token, report=make.done(), actor="api:shop")
    done, successes = counted(succeed)
    as_stored(done)
    told, told_again = counted(succeed)
    as_stored(told)
    again, repeated = counted(claim)
    as_stored(again)
    submit = partial(actions.submit, make.submission(invoice), actor="api:shop")
    handed, submissions = counted(submit)
    as_stored(handed)
    sent = make.to_send(handed.operation)
    under_way, submitted_again = counted(submit)
    as_stored(under_way)
    actions.record(sent.attempt.uid, token=sent.token, report=make.done(), actor="worker")
    as_stored(submit())
    assert [one.decision for one in (first, done, again, handed)] == ["proceed", "skip", "skip", "proceed"]
    assert [one.decision for one in (running, told, under_way)] == ["wait", "skip", "wait"]
    assert (claims, waits, successes, repeated) == (1, 1, 1, 1)
    assert (told_again, submissions, submitted_again) == (2, 1, 1)


def test_what_was_lost_on_the_way_costs_as_few_statements_as_can_be(database: Database) -> None:
    """A claim is repeated with its attempt_id, a report in the same words.

    | asked again                                     | statements |
    |-------------------------------------------------|------------|
    | a claim, not started                            | 2          |
    | a claim of another attempt_id: it is in flight  | 1          |
    | a claim by somebody else: it is in flight       | 3          |
    | a claim, started: it is in flight               | 3          |
    | a refusal that was reported                     | 1          |
    """
    kind, name = make.kind(), uuid.uuid4()
    asked = make.submission(kind, attempt_id=name)
    claim = partial(actions.claim, asked, actor="api:shop")
    operation, first, void = make.held(claim())
    again, repeated = counted(claim)
    as_stored(again)
    _, attempt, token = make.held(again)
    assert (attempt.uid, token != void, again.replayed) == (first.uid, True, True)
    other = partial(actions.claim, make.submission(kind, attempt_id=uuid.uuid4()), actor="api:shop")
    somebody = partial(actions.claim, asked, actor="api:other")
    elsewhere, by_another = counted(other)
    foreign, by_somebody = counted(somebody)
    for reply in (elsewhere, foreign):
        as_stored(reply)
    actions.start(attempt.uid, token=token, start_id=None, actor="api:shop")
    running, started = counted(claim)
    for reply in (elsewhere, foreign, running):
        assert (reply.decision, reply.retry_at) == ("wait", make.again(operation).lease_until)
    as_stored(running)
    report = partial(actions.record, attempt.uid, token=token, report=make.REFUSED, actor="api:shop")
    report()
    refused, told_again = counted(report)
    assert refused.decision == "hold"
    as_stored(refused)
    assert (repeated, by_another, by_somebody, started, told_again) == (2, 1, 3, 3, 1)
    told = operation.events.values_list("kind", "revision")
    assert [*told[:4]] == [("accepted", 1), ("claimed", 1), ("claimed", 2), ("started", 3)]
    sound(operation)


def as_stored(reply: Reply) -> None:
    """Hold every column of a reply's rows to what the database has; the other columns come when asked for."""
    for row in filter(None, (reply.operation, reply.attempt)):
        fresh = type(row)._default_manager.get(pk=row.pk)
        given = {field.attname for field in row._meta.concrete_fields} - row.get_deferred_fields()
        assert columns(row, given) == columns(fresh, given)
        assert "uid" in given
    assert reply.operation.leaf_digests == make.again(reply.operation).leaf_digests


def columns(row: models.Model, names: set[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in sorted(names)}


def test_over_http_only_the_token_and_whose_attempt_it_is_are_asked_besides(database: Database) -> None:
    make.claimed(make.reminder_type(), "remembers the rules")
    ApiToken.objects.create(name="shop", token_hash=token_hash("secret"), types=["reminder.send"])
    asked = {"type": "reminder.send", "key": "order/1", "payload": {"order": "1"}}
    claimed, claims = posted("operations/claim", asked)
    attempt = claimed["attempt"]
    report = {"token": attempt["token"], "outcome": "succeeded", "destination_reference": "INV-1"}
    told, outcomes = posted(f"attempts/{attempt['id']}/outcome", report)
    assert [one["decision"] for one in (claimed, told)] == ["proceed", "skip"]
    assert (claims, outcomes) == (2, 3)


def posted(path: str, body: dict[str, Any]) -> tuple[dict[str, Any], int]:
    client = Client(headers={"authorization": "Bearer secret", "host": "127.0.0.1"})
    with connection.execute_wrapper(counting := Counting()):
        answer = client.post(f"/api/v1/{path}", body, content_type="application/json")
    told: dict[str, Any] = answer.json()
    return told, counting.count


def test_a_connection_that_has_died_meanwhile_is_replaced_before_a_claim(database: Database) -> None:
    kind = make.reminder_type()
    make.claimed(kind, "the one before")
    connection.close_if_unusable_or_obsolete()  # as each request begins
    database.as_superuser(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    assert make.claimed(kind)[0].state == "running"


TYPES, DESTINATIONS = OperationType.objects, Destination.objects
SEND = {"path": "/", "set": {"metadata.operation": "{key}"}}


def test_rules_that_change_hold_from_the_next_claim_on(database: Database) -> None:
    """Whoever changes them, and whether or not they say that they did.

    | changed           | the next claim                                                    |
    |-------------------|-------------------------------------------------------------------|
    | contract          | is made under the new one                                         |
    | account           | goes to the new one, under another key                            |
    | lease             | is as long                                                        |
    | what must be set  | is refused, and no longer when that is taken back                 |
    | who performs      | is refused, and no longer when that is taken back                 |
    """
    kind = make.reminder_type()
    before = claim(1)

    TYPES.update(contract=make.CONTRACT)
    assert claim(2).contract_first == make.CONTRACT != before.contract_first

    DESTINATIONS.update(account="other")
    moved = claim(3)
    assert moved.account_first == "other"
    key = moved.idempotency_key
    DESTINATIONS.update(account="main")
    assert claim(3).idempotency_key == key, "the key is stored"

    TYPES.update(lease_s=7)
    taken = claim(4)
    assert taken.lease_until is not None
    assert round((taken.lease_until - taken.accepted_at).total_seconds()) == 7

    for rules, refused in (
        ({"calls": {**kind.calls, "send": SEND}}, Malformed),
        ({"calls": kind.calls}, None),
        ({"performed_by": "tieout"}, WrongDoor),
        ({"performed_by": "caller"}, None),
    ):
        TYPES.update(**rules)
        assert refusal(5) is refused


def claim(order: int) -> Operation:
    reply = actions.claim(make.submission(TYPES.get(), f"order/{order}"), actor="api:shop")
    return Operation.objects.get(pk=reply.operation.pk)


def refusal(order: int) -> type[TieoutError] | None:
    try:
        claim(order)
    except TieoutError as refused:
        return type(refused)
    return None


@pytest.mark.parametrize("name", ["accept", "complete", "known", "reported", "token", "attempt", "draw"])
def test_no_statement_of_the_fast_path_is_too_long_to_be_kept(name: str) -> None:
    sent = statements.short(name)
    assert "--" not in sent
    assert len(sent) <= MAX_CACHED_STATEMENT_LENGTH, "its placeholders would be looked for each time"


def test_a_success_is_found_by_unique_ids_however_few_are_open(database: Database) -> None:
    """A plan is kept by its connection, and many may be open later."""
    make.claimed(make.reminder_type())
    values: dict[str, str | int | bool] = {
        **dict.fromkeys(("reference", "outcome_digest", "token_hash", "actor"), "x"),
        "attempt_uid": "00000000-0000-0000-0000-000000000001",
        "http_status": 201,
        "replayed": False,
        "whole_story": False,
        "revision_max": 2,
        "data": "{}",
    }
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {statement('complete')}", values)
        plan = "\n".join(line for (line,) in cursor.fetchall())
    used = {line.split(" using ")[1].split()[0] for line in plan.splitlines() if " using " in line}
    types = {name for name in used if name.startswith("ledger_operationtype")}
    assert used - types == {"ledger_attempt_uid_key", "ledger_attempt_pkey", "ledger_operation_pkey"}, plan
    assert not re.search("Seq Scan on ledger_(operation|attempt) ", plan), plan
