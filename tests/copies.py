"""Thousands of invoices that stand where a real one stands, each with its own keys, digests and record."""

import json
from collections.abc import Iterable
from contextlib import closing
from typing import Any

import psycopg

from ledger.actions.submission import Prepared, Submission, key_for, prepare
from ledger.models import Attempt, Case, Event, Operation
from review.models import Item
from tests.databases import Database

OWN = (
    *("uid", "key", "source_reference", "description"),
    *("payload_digest", "leaf_digests", "payload_sealed", "idempotency_key"),
)
MADE = """
CREATE TEMPORARY TABLE made AS
SELECT nextval(pg_get_serial_sequence('ledger_operation', 'id')) AS id, made.*
FROM unnest(
    %s::uuid[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[]::jsonb[], %s::bytea[], %s::text[]
) AS made ({own})
"""
OPERATIONS = """
INSERT INTO ledger_operation ({columns})
SELECT {values} FROM ledger_operation AS its, made WHERE its.id = %s
"""
ATTEMPTS = """
INSERT INTO ledger_attempt ({columns})
SELECT {values} FROM ledger_attempt AS its, made WHERE its.operation_id = %s ORDER BY made.id, its.number
"""
CASES = """
INSERT INTO ledger_case ({columns})
SELECT {values} FROM ledger_case AS its, made WHERE its.operation_id = %s ORDER BY made.id, its.id
"""
EVENTS = """
INSERT INTO ledger_event ({columns})
SELECT {values}
FROM ledger_event AS its
CROSS JOIN made
LEFT JOIN ledger_attempt AS their ON their.id = its.attempt_id
LEFT JOIN ledger_attempt AS a ON a.operation_id = made.id AND a.number = their.number
LEFT JOIN ledger_case AS c ON c.operation_id = made.id AND its.data ? 'case'
WHERE its.operation_id = %s
ORDER BY made.id, its.id
"""
DATA = """
CASE WHEN its.data ? 'case' THEN jsonb_set(its.data, '{case}', to_jsonb(c.uid::text))
    WHEN its.data ? 'source' THEN jsonb_set(its.data, '{source,reference}', to_jsonb(made.source_reference))
    ELSE its.data END
"""
ANEW = {"uid": "gen_random_uuid()"}
ONCE = {"start_id": "gen_random_uuid()", "token_hash": "encode(sha256(uuid_send(gen_random_uuid())), 'hex')"}
"""What only who made a try knew of it."""


TOLD = ("kind", "actor", "reason", "state_from", "state_to", "revision", "attempt__number", "data")
TRIED = ("number", "actor", "outcome", "http_status", "message", "idempotency_key", "rules_version")


def alike(database: Database, example: Operation, orders: Iterable[int]) -> list[Operation]:
    """Copy an invoice that `Durban.invoiced` made to these orders: what was tried, said and held goes along.

    Each has what it would have if it had come alone: its key, digests and sealed payload, its attempts under
    that key, its events, its case and the queue's item. It was never looked up, nor allowed another try.
    """
    assert not example.permits.exists() and not example.lookups.exists()
    numbers = list(orders)
    rows = [_own(example, number) for number in numbers]
    its = [example.pk]
    with closing(psycopg.connect(database.superuser_url)) as connection:
        connection.execute("SET session_replication_role = replica")  # each of the example's rows has passed
        own = ", ".join(OWN)
        connection.execute(
            MADE.format(own=own).encode(), [list(column) for column in zip(*rows, strict=True)]
        )
        same = {name: f"made.{name}" for name in ("id", *OWN)}
        of_it = ANEW | {"operation_id": "made.id"}
        under = of_it | ONCE | {name: f"made.{name}" for name in ("payload_digest", "idempotency_key")}
        told = of_it | {"attempt_id": "a.id", "data": DATA}
        for statement, model, values in (
            (OPERATIONS, Operation, same),
            (ATTEMPTS, Attempt, under),
            (CASES, Case, of_it),
            (EVENTS, Event, told),
        ):
            connection.execute(_copying(statement, model, values).encode(), its)
        connection.execute("SELECT review_keep_operation(id) FROM made ORDER BY id")
        connection.commit()
        connection.autocommit = True
        for table in ("operation", "attempt", "case", "event"):
            connection.execute(f"ANALYZE ledger_{table}".encode())
    made = Operation.objects.select_related("operation_type__destination")
    return list(made.filter(uid__in=[row[0] for row in rows]).order_by("pk"))


def _copying(statement: str, model: Any, values: dict[str, str]) -> str:
    """Name every column of a table: its own where one is given, else the example's."""
    columns = [field.column for field in model._meta.fields if field.column != "id" or "id" in values]
    given = [values.get(name, f"its.{name}") for name in columns]
    return statement.replace("{columns}", ", ".join(columns)).replace("{values}", ", ".join(given))


def _own(example: Operation, order: int) -> tuple[Any, ...]:
    """What is another in each, as the ledger itself prepares it."""
    kind, reference = example.operation_type, example.source_reference
    key = example.key.replace(reference, str(order))
    submission = Submission(
        kind.name,
        {"order": str(order), "total": f"{example.amount:.2f}"},
        key=key,
        amount=f"{example.amount:.2f}",
        currency=example.currency,
    )
    one: Prepared = prepare(submission, kind)
    sent = key_for(kind, one.key, generation=example.generation, key_max=kind.promises.key_max)
    description = example.description.replace(reference, str(order))
    leaves = json.dumps(one.leaf_digests())
    return one.uid, one.key, str(order), description, one.payload_digest, leaves, one.sealed(), sent


def as_kept(operation: Operation) -> dict[str, Any]:
    """What is on record of an operation, without when it was and what names it alone."""
    names = {operation.source_reference, operation.key, operation.idempotency_key}
    names |= {str(case.uid) for case in operation.cases.all()}
    said = [*operation.events.order_by("pk").values_list(*TOLD)]
    words = json.dumps(
        [*operation.attempts.values_list(*TRIED), *said, *operation.cases.values_list("kind", "owner")]
    )
    for name in sorted(names, key=len, reverse=True):
        words = words.replace(name, "its")
    columns = (
        "state",
        "revision",
        "attempt_count",
        "generation",
        "first_cause",
        "contract_first",
        "account_first",
    )
    one: dict[str, Any] = {name: getattr(operation, name) for name in columns}
    item = Item.objects.filter(operation=operation)
    return one | {"words": words, "items": [*item.values_list("state", "kind", "owner", "band", "at_risk")]}
