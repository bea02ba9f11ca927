"""The floor: the same rows and the same two commits by six plain statements, and nothing else.

`beside` writes into tables of the same columns, defaults, indexes and checks that have neither foreign keys
nor triggers; `within` writes into the ledger's own tables, so that it shows what their guards cost.
"""

import json
import uuid
from typing import Any

import psycopg
from psycopg import sql

from tests.bench import offer

TABLES = ("operation", "attempt", "event")

INSERT_OPERATION = """
INSERT INTO {operation} (
    uid, operation_type_id, key, state, description, subject, amount, currency,
    source_system, source_reference, source_version, payload_digest, leaf_digests, idempotency_key,
    generation, first_sent_at, contract_first, account_first, revision, attempt_count, lease_until,
    look_count, destination_reference, evidence, evidence_by, first_cause
) VALUES (
    %(operation_uid)s, %(type_id)s, %(key)s, 'running', %(description)s, %(subject)s, %(amount)s,
    %(currency)s, 'webshop', '483', '1', %(payload_digest)s, %(leaf_digests)s, %(idempotency_key)s,
    1, clock_timestamp(), %(contract)s, 'main', 1, 1, clock_timestamp() + interval '300 s',
    0, '', '', '', ''
)
ON CONFLICT (operation_type_id, key) DO NOTHING
RETURNING id
"""
SELECT_OPERATION = """
SELECT id, state, payload_digest, destination_reference FROM {operation}
WHERE operation_type_id = %(type_id)s AND key = %(key)s
"""
INSERT_ATTEMPT = """
INSERT INTO {attempt} (
    uid, operation_id, number, token_hash, actor, run, idempotency_key, payload_digest, lease_until,
    started_at, error_code, message, destination_reference, outcome_digest
) VALUES (
    %(attempt_uid)s, %(operation_id)s, 1, %(digest)s, %(actor)s, 'exec-9931', %(idempotency_key)s,
    %(payload_digest)s, clock_timestamp() + interval '300 s', clock_timestamp(), '', '', '', ''
)
RETURNING id
"""
INSERT_CLAIMED = """
INSERT INTO {event} (
    uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data
)
VALUES
    (gen_random_uuid(), %(operation_id)s, NULL, 'accepted', %(actor)s, 'Handed over.', '', 'running', 1,
        %(accepted)s),
    (gen_random_uuid(), %(operation_id)s, %(attempt_id)s, 'claimed', %(actor)s, 'First try.', '',
        'running', 1, '{{}}')
"""
UPDATE_ATTEMPT = """
UPDATE {attempt}
SET outcome = 'succeeded', closed_at = clock_timestamp(), sender_ended_at = clock_timestamp(),
    destination_reference = 'INV-1', http_status = 201, outcome_digest = %(digest)s
WHERE id = %(attempt_id)s
"""
UPDATE_OPERATION = """
UPDATE {operation}
SET state = 'completed', lease_until = NULL, finished_at = clock_timestamp(), changed_at = clock_timestamp(),
    evidence = 'answer', evidence_by = %(actor)s, destination_reference = 'INV-1', revision = 2
WHERE id = %(operation_id)s
"""
INSERT_RECORDED = """
INSERT INTO {event} (
    uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, revision, data
)
VALUES (gen_random_uuid(), %(operation_id)s, %(attempt_id)s, 'recorded', %(actor)s,
    'The destination confirmed it.', 'running', 'completed', 2, %(recorded)s)
"""
STATEMENTS = {
    "insert operation": INSERT_OPERATION,
    "select operation": SELECT_OPERATION,
    "insert attempt": INSERT_ATTEMPT,
    "insert claimed": INSERT_CLAIMED,
    "update attempt": UPDATE_ATTEMPT,
    "update operation": UPDATE_OPERATION,
    "insert recorded": INSERT_RECORDED,
}


class Plain:
    """A connection with its statements prepared and autocommit off."""

    def __init__(self, connection: psycopg.Connection, *, prefix: str, type_id: int) -> None:
        self._connection = connection
        tables = {name: sql.Identifier(f"{prefix}_{name}") for name in TABLES}
        self._statements = {
            name: sql.SQL(text).format(**tables).as_string(self._connection).encode()
            for name, text in STATEMENTS.items()
        }
        self._row: dict[str, Any] = {**row(), "type_id": type_id}

    def __call__(self, key: str) -> None:
        """Do one operation: six statements and two commits, or two and one where the key is known."""
        values = {**self._row, "key": key, "operation_uid": uuid.uuid4(), "attempt_uid": uuid.uuid4()}
        cursor = self._connection.cursor()
        inserted = self._run(cursor, "insert operation", values).fetchone()
        if inserted is None:
            found = self._run(cursor, "select operation", values).fetchone()
            assert found is not None and found[1] == "completed", found
            self._connection.commit()
            return
        values["operation_id"] = inserted[0]
        values["attempt_id"] = self._run(cursor, "insert attempt", values).fetchone()[0]  # type: ignore[index]
        self._run(cursor, "insert claimed", values)
        self._connection.commit()
        for name in ("update attempt", "update operation", "insert recorded"):
            self._run(cursor, name, values)
        self._connection.commit()

    def _run(self, cursor: psycopg.Cursor, name: str, values: dict[str, Any]) -> psycopg.Cursor:
        return cursor.execute(self._statements[name], values)


def connected(url: str) -> psycopg.Connection:
    """Return a connection that prepares each statement at its first use."""
    return psycopg.connect(url, prepare_threshold=0)


def row() -> dict[str, Any]:
    """The columns of the rows, as long as the product writes them."""
    return {
        "description": offer.DESCRIPTION,
        "subject": offer.SUBJECT,
        "amount": offer.AMOUNT,
        "currency": offer.CURRENCY,
        "payload_digest": f"k1:{'5e' * 32}",
        "leaf_digests": json.dumps(
            dict.fromkeys(["order", "total", "$amount", "$currency"], "A" * 22) | {"$key": "k1"}
        ),
        "idempotency_key": f"t1-g1-{'a' * 26}",
        "contract": json.dumps(offer.CONTRACT),
        "digest": "5e" * 32,
        "actor": offer.ACTOR,
        "accepted": json.dumps({"source": offer.SOURCE}),
        "recorded": json.dumps({"outcome": "succeeded", "reference": "INV-1"}),
    }


def make_tables(owner_url: str) -> None:
    """Make the tables that the floor writes into."""
    with psycopg.connect(owner_url) as connection:
        for name in TABLES:
            connection.execute(f"CREATE TABLE bench_{name} (LIKE ledger_{name} INCLUDING ALL)".encode())
