"""What the database itself refuses, asked in SQL by the application's own role.

| who             | tries                                                  | answer        |
|-----------------|--------------------------------------------------------|---------------|
| the application | UPDATE, DELETE, TRUNCATE of events, disabling triggers | refused       |
| the owner       | UPDATE, DELETE, TRUNCATE of events                     | refused       |
| the application | any of the 25 moves                                    | exactly MOVES |
| the application | a change without its event                             | at commit     |
"""

import os
import re
import subprocess
import uuid
from contextlib import closing
from itertools import product
from typing import Any

import psycopg

from config import environment
from config.cluster import binary_folders
from ledger import actions
from ledger.models import Lookup, Operation, database_now
from ledger.rules.states import MOVES, State, may_move, moves_sql
from ledger.sql import statement
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.asking import TOLD, Asked, operation_ready_to_go_again, refused

STATES = [*State]


def operation_in(state: State, of: Any, key: str) -> Operation:
    """An operation that has come to a state by the ledger's actions."""
    if state is State.RUNNING:
        return make.claimed(of, key)[0]
    reports = {
        State.PENDING: make.UNREACHED,
        State.COMPLETED: make.done(),
        State.FAILED: make.REFUSED,
        State.UNCERTAIN: make.SILENCE,
    }
    operation = make.tried(of, reports[state], key=key)
    assert operation.state == state
    return operation


def moved(sql: Asked, operation: Operation, to: State, **fields: str) -> None:
    """Make a move as well as SQL can: with its revision and its event, and all that the state needs."""
    needs = {
        "state": f"'{to}'",
        "revision": "revision + 1",
        "lease_until": "coalesce(lease_until, tieout_now())" if to is State.RUNNING else "NULL",
        "evidence": "'answer'" if to is State.COMPLETED else "''",
    } | fields
    changes = ", ".join(f"{name} = {value}" for name, value in needs.items())
    with sql.transaction():
        sql.execute(f"UPDATE ledger_operation SET {changes} WHERE id = %s".encode(), [operation.pk])
        sql.execute(TOLD.encode(), [operation.pk])


# --- events


def psql(url: str, command: str) -> subprocess.CompletedProcess[str]:
    """The tool that an intruder would take."""
    binary = binary_folders(environment.read().pg_bin)[0] / "psql"
    return subprocess.run(
        [str(binary), url, "-X", "-v", "ON_ERROR_STOP=1", "-c", command],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_event_is_changed_removed_or_truncated_by_anyone(database: Database, sql: Asked) -> None:
    make.tried(make.kind(), make.SILENCE)
    before = sql.execute("SELECT * FROM ledger_event ORDER BY id").fetchall()
    assert before
    for command in (
        "UPDATE ledger_event SET actor = 'nobody'",
        "DELETE FROM ledger_event",
        "TRUNCATE ledger_event CASCADE",
        "TRUNCATE ledger_operation CASCADE",
        "TRUNCATE ledger_attempt CASCADE",
    ):
        with refused("the ledger only grows|permission denied"):
            sql.execute(command.encode())
        assert "ERROR" in psql(database.app_url, command).stderr
        with refused("the ledger only grows"):
            database.as_owner(command)
    assert sql.execute("SELECT * FROM ledger_event ORDER BY id").fetchall() == before


def test_the_application_cannot_take_the_guards_off(sql: Asked) -> None:
    for command in (
        "ALTER TABLE ledger_event DISABLE TRIGGER ALL",
        "ALTER TABLE ledger_operation DISABLE TRIGGER operation_moves",
        "ALTER TABLE ledger_operation DROP CONSTRAINT operation_once",
        "DROP TRIGGER event_append_only ON ledger_event",
        "DROP TABLE ledger_event CASCADE",
        "DROP INDEX attempt_one_open",
        "CREATE OR REPLACE FUNCTION ledger_refuse() RETURNS trigger LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION tieout_now() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
        "SET session_replication_role = replica",
        "CREATE TABLE mine (id int)",
        "CREATE RULE quiet AS ON UPDATE TO ledger_event DO INSTEAD NOTHING",
    ):
        with refused("must be owner|permission denied"):
            sql.execute(command.encode())


def test_47_an_event_without_actor_or_reason_is_refused(sql: Asked) -> None:
    for column, actor, reason in (("actor", "", "Because."), ("reason", "ann", "")):
        with refused(f"event_has_{column}"):
            sql.execute(
                "INSERT INTO ledger_event (uid, kind, actor, reason, state_from, state_to, data) "
                "VALUES (gen_random_uuid(), 'noted', %s, %s, '', '', '{}')",
                [actor, reason],
            )


def test_no_fact_is_deleted(sql: Asked) -> None:
    make.permitted(operation_ready_to_go_again())
    for table in ("operation", "attempt", "permit", "lookup", "command", "event", "case"):
        with refused("the ledger only grows"):
            sql.execute(f"DELETE FROM ledger_{table}".encode())


def test_what_others_point_to_keeps_its_id(sql: Asked, database: Database) -> None:
    make.permitted(operation_ready_to_go_again())
    for table in ("operation", "attempt"):
        for command in (
            f"UPDATE ledger_{table} SET id = id + 9000000",
            f"UPDATE ledger_{table} SET id = -id",
        ):
            with refused("the ledger only grows"):
                sql.execute(command.encode())
            with refused("the ledger only grows"):
                database.as_owner(command)


def test_evidence_and_commands_are_kept_as_they_came(sql: Asked) -> None:
    operation = make.uncertain_operation(make.reminder_type())
    make.looked(operation, actor="ann", command_id=uuid.uuid4())
    for table in ("lookup", "command"):
        with refused("the ledger only grows"):
            sql.execute(f"UPDATE ledger_{table} SET actor = 'bob'".encode())


# --- moves


def test_every_pair_of_states_passes_or_not_as_moves_say(sql: Asked) -> None:
    kind = make.kind()
    for source, target in product(STATES, STATES):
        operation = operation_in(source, kind, f"{source}-{target}")
        if (source, target) == (State.UNCERTAIN, State.FAILED):
            now, absent = database_now(), {"verdict": "absent", "complete": True, "proof": True}
            Lookup.objects.create(operation=operation, actor="worker", asked_at=now, **absent)
        if source is target:
            moved(sql, operation, target)  # no move at all
        elif may_move(source, target):
            moved(sql, operation, target)
            assert make.again(operation).state == target
        else:
            with refused(f"no move leads from {source} to {target}"):
                moved(sql, operation, target)
            assert make.again(operation).state == source


def test_the_guard_in_sql_is_moves_in_python() -> None:
    guard = statement("0003_guards").split("(OLD.state, NEW.state) NOT IN (")[1].split(") THEN")[0]
    pairs = re.findall(r"\('(\w+)', '(\w+)'\)", guard)
    assert pairs == [(str(a), str(b)) for a in sorted(MOVES) for b in sorted(MOVES[a])]
    assert re.findall(r"\('(\w+)', '(\w+)'\)", moves_sql()) == pairs


def test_an_operation_begins_pending_or_running(sql: Asked) -> None:
    operation = make.handed(make.invoice_type())
    for state in (State.COMPLETED, State.FAILED, State.UNCERTAIN):
        with refused("begins pending or running"):
            copied(sql, operation, state=f"'{state}'", evidence="'answer'")


def test_an_unknown_state_is_refused(sql: Asked) -> None:
    operation = make.handed(make.invoice_type())
    with refused("no move leads from pending to done"):
        sql.execute("UPDATE ledger_operation SET state = 'done', revision = 2 WHERE id = %s", [operation.pk])
    with refused("begins pending or running"):
        copied(sql, operation, state="'done'")


def copied(sql: Asked, operation: Operation, *, told: bool = True, **fields: str) -> None:
    """Insert the operation once more, with other fields; the event comes with it."""
    names = [
        row[0]
        for row in sql.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'ledger_operation' "
            "AND column_name NOT IN ('id', 'uid')"
        )
    ]
    values = ", ".join(fields.get(name, f'"{name}"') for name in names)
    with sql.transaction():
        sql.execute(
            f"INSERT INTO ledger_operation (uid, {', '.join(names)}) SELECT gen_random_uuid(), {values} "
            "FROM ledger_operation WHERE id = %s".encode(),
            [operation.pk],
        )
        if told:
            newest = sql.execute("SELECT max(id) FROM ledger_operation").fetchone()
            sql.execute(TOLD.encode(), newest)


def test_25_a_second_operation_under_the_key_of_its_type_is_refused(sql: Asked) -> None:
    operation = make.handed(make.invoice_type())
    with refused("operation_once"):
        copied(sql, operation)
    other = make.kind("credit.create", by="tieout")
    copied(sql, operation, operation_type_id=str(other.pk))
    copied(sql, operation, key="'order/484'")
    assert Operation.objects.count() == 3


def test_20_a_blank_key_is_refused(sql: Asked) -> None:
    operation = make.handed(make.invoice_type())
    for key in ("", " ", "\t \n"):
        with refused("operation_key_not_blank"):
            copied(sql, operation, key=f"'{key}'")


# --- leases and attempts


def test_a_lease_outside_running_is_refused(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    with refused("operation_lease_while_running"):
        moved(sql, operation, State.UNCERTAIN, lease_until="tieout_now()")


def test_5_running_without_a_lease_is_refused(sql: Asked) -> None:
    operation, _, _ = make.claimed(make.kind())
    with refused("operation_lease_while_running"):
        sql.execute(
            "UPDATE ledger_operation SET lease_until = NULL, revision = 2 WHERE id = %s", [operation.pk]
        )


def test_7_a_lease_that_has_ended_is_not_revived_nor_a_living_one_cut(clock: Clock, sql: Asked) -> None:
    living, _, _ = make.claimed(make.kind())
    moved(sql, living, State.RUNNING, lease_until="lease_until + interval '1 minute'")
    ended, _, _ = make.claimed(make.kind("credit.create"), lease_s=1)
    clock.advance(1)
    for operation, changed in (
        (living, "lease_until - interval '1 s'"),
        (ended, "tieout_now() + interval '1 h'"),
    ):
        with refused("only made longer, and only while it lives"):
            moved(sql, operation, State.RUNNING, lease_until=changed)


def test_a_guard_is_not_off_because_another_transaction_began_later(
    clock: Clock, sql: Asked, database: Database
) -> None:
    """Each has its number first; then somebody else touches the row, or tells an event, and commits."""
    ended, _, _ = make.claimed(make.kind("credit.create"), lease_s=1)
    doubtful = make.uncertain_operation(make.kind())
    clock.advance(1)
    with closing(psycopg.connect(database.app_url)) as early:
        early.execute("SELECT pg_current_xact_id()")
        sql.execute("UPDATE ledger_operation SET nudged_at = tieout_now() WHERE id = %s", [ended.pk])
        with refused("only made longer, and only while it lives"):
            moved(early, ended, State.RUNNING, lease_until="tieout_now() + interval '1 h'")
        early.execute("SELECT pg_current_xact_id()")
        make.looked(doubtful, make.BLIND)
        early.execute(
            "UPDATE ledger_attempt SET cleared_at = tieout_now() WHERE operation_id = %s", [doubtful.pk]
        )
        with refused("changed without an event"):
            early.commit()
    assert make.again(doubtful).attempts.in_doubt().exists()


def another_attempt(sql: Asked, operation: Operation, **fields: str) -> None:
    values = {
        "number": "number + 1",
        "closed_at": "NULL",
        "outcome": "NULL",
        "payload_digest": "payload_digest",
        "idempotency_key": "idempotency_key",
    } | fields
    sql.execute(
        "INSERT INTO ledger_attempt (uid, operation_id, number, token_hash, actor, run, idempotency_key, "
        "payload_digest, lease_until, closed_at, outcome, error_code, message, destination_reference, "
        f"outcome_digest) SELECT gen_random_uuid(), operation_id, {values['number']}, token_hash, actor, "
        f"run, {values['idempotency_key']}, {values['payload_digest']}, lease_until, {values['closed_at']}, "
        f"{values['outcome']}, '', '', '', '' FROM ledger_attempt WHERE operation_id = %s".encode(),
        [operation.pk],
    )


def test_a_second_open_attempt_is_refused(sql: Asked) -> None:
    operation, _, _ = make.claimed(make.kind())
    with refused("attempt_one_open"):
        another_attempt(sql, operation)


def test_an_attempt_number_is_used_once(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    with refused("attempt_number_once"):
        another_attempt(sql, operation, number="number", closed_at="tieout_now()", outcome="'uncertain'")


def test_an_attempt_is_closed_with_its_outcome(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    for closed_at, outcome in (("tieout_now()", "NULL"), ("NULL", "'uncertain'")):
        with refused("attempt_closed_with_outcome"):
            another_attempt(sql, operation, closed_at=closed_at, outcome=outcome)


def test_an_unknown_outcome_is_refused(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    with refused("attempt_outcome_known"):
        another_attempt(sql, operation, closed_at="tieout_now()", outcome="'maybe'")


def test_an_attempt_with_another_payload_is_refused(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    with refused("sends what its operation says"):
        another_attempt(sql, operation, payload_digest="'k1:other'")


def test_an_attempt_under_another_key_is_refused_while_any_is_in_doubt(sql: Asked, clock: Clock) -> None:
    operation = make.uncertain_operation(make.kind(retry={"attempts": 1}))
    with refused("key stays while any attempt is in doubt"):
        another_attempt(sql, operation, idempotency_key="'another'")
    clock.advance(60)
    make.looked(operation)
    another_attempt(sql, operation, idempotency_key="'another'")


def test_what_a_closed_attempt_proved_never_changes(sql: Asked) -> None:
    make.uncertain_operation(make.kind())
    for change in (
        "outcome = 'retryable'",
        "closed_at = closed_at - interval '1 day'",
        "outcome = NULL, closed_at = NULL",
        "started_at = NULL",
        "sender_ended_at = closed_at - interval '1 day'",
        "destination_reference = 'INV-9'",
        "token_hash = 'mine'",
        "message = 'All went well.'",
    ):
        with refused("outcome of a closed attempt never changes"):
            sql.execute(f"UPDATE ledger_attempt SET {change}".encode())


def test_what_an_open_attempt_sends_never_changes(sql: Asked) -> None:
    make.claimed(make.kind())
    for change in (
        "idempotency_key = 'k'",
        "payload_digest = 'd'",
        "number = 7",
        "actor = 'nobody'",
        "started_at = NULL",
    ):
        with refused("what an attempt sends never changes"):
            sql.execute(f"UPDATE ledger_attempt SET {change}".encode())


# --- what an operation is, and what is known of it


def test_what_an_operation_is_never_changes(sql: Asked) -> None:
    operation = make.handed(make.invoice_type())
    for change in (
        "key = 'order/484'",
        "payload_digest = 'k1:other'",
        "amount = 1.00",
        "currency = 'EUR'",
        "amount = NULL, currency = ''",
        "operation_type_id = operation_type_id + 1",
        "accepted_at = accepted_at - interval '1 day'",
        "source_reference = '484'",
        "description = 'Another', subject = 'eve'",
        "leaf_digests = '{}'",
    ):
        with refused("a correction is a new operation"), sql.transaction():
            sql.execute(f"UPDATE ledger_operation SET {change}, revision = revision + 1".encode())
            sql.execute(TOLD.encode(), [operation.pk])


def test_33_a_corrected_operation_never_runs_again_and_stays_corrected(sql: Asked) -> None:
    kind = make.kind()
    failed = corrected(make.tried(kind, make.REFUSED))
    with refused("a corrected operation never runs again"):
        moved(sql, failed, State.RUNNING)
    with refused("a corrected operation never runs again"):
        moved(sql, failed, State.FAILED, corrected_at="NULL")
    with refused("nothing of a corrected one"):
        another_attempt(sql, failed)
    moved(sql, failed, State.UNCERTAIN)  # it may still be found there
    with refused("a corrected operation never runs again"):
        moved(sql, failed, State.PENDING)
    for state in (State.PENDING, State.RUNNING, State.UNCERTAIN):
        with refused("until it is known what happened"):
            moved(sql, operation_in(state, kind, state), state, corrected_at="tieout_now()")


def test_one_correction_stands_for_an_operation_that_is_none(sql: Asked) -> None:
    kind = make.kind()
    failed = corrected(make.tried(kind, make.REFUSED))
    first = failed.corrections.get()
    another: dict[str, Any] = {
        "key": "'another'",
        "state": "'pending'",
        "correction_number": "2",
        "corrected_at": "NULL",
    }
    with refused("operation_one_correction"):
        copied(sql, first, **another)
    with refused("operation_correction_numbered"):
        copied(sql, first, **another | {"correction_number": "NULL"})
    alone = make.tried(kind, make.REFUSED, key="alone")
    for original in (first, alone):
        with refused("stands for one operation"):
            copied(sql, first, **another, corrects_id=str(original.pk))
    with refused("a correction is a new operation"):
        moved(sql, first, State.PENDING, corrects_id=str(alone.pk))


def corrected(operation: Operation) -> Operation:
    meant = actions.Correction({"total": "1140.00"}, "1140.00", "ZAR")
    actions.correct(operation.pk, meant, actor="ann", reason="The price was wrong.")
    return make.again(operation)


def test_completed_without_evidence_is_refused(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    for evidence in ("''", "'hearsay'"):
        with refused("operation_completed_has_evidence"):
            moved(sql, operation, State.COMPLETED, evidence=evidence)


def test_48_a_move_without_its_event_is_refused_at_commit(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    with refused("changed without an event"), sql.transaction():
        changed = sql.execute("UPDATE ledger_operation SET state = 'failed', revision = revision + 1")
        assert changed.rowcount == 1
    assert make.again(operation).state == State.UNCERTAIN


def test_an_operation_without_its_event_is_refused_at_commit(sql: Asked) -> None:
    operation = make.handed(make.invoice_type())
    with refused("changed without an event"):
        copied(sql, operation, key="'order/484'", told=False)
    assert Operation.objects.count() == 1


def test_a_silent_change_of_what_is_known_is_refused(sql: Asked) -> None:
    operation = make.uncertain_operation(make.reminder_type())
    assert operation.held_at is not None
    for change in (
        "state = 'failed'",
        "evidence = 'attested', evidence_by = 'ann'",
        "destination_reference = 'INV-9'",
        "held_at = NULL",
        "settles_at = NULL",
        "taken_at = tieout_now()",
        "first_sent_at = tieout_now()",
        "generation = 2",
        "idempotency_key = 'other'",
        "first_cause = 'The weather.'",
        "payload_sealed = 'x'",
        "attempt_count = 0",
    ):
        with refused("counts the revision up"):
            sql.execute(f"UPDATE ledger_operation SET {change}".encode())


def test_a_key_and_its_first_send_stay_until_the_next_generation(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    for change in (
        {"first_sent_at": "tieout_now()"},
        {"first_sent_at": "NULL"},
        {"idempotency_key": "'another'"},
        {"generation": "generation + 2", "idempotency_key": "'another'"},
        {"generation": "generation - 1", "idempotency_key": "'another'"},
    ):
        with refused("a key and its first send stay"):
            moved(sql, operation, State.UNCERTAIN, **change)
    moved(sql, operation, State.UNCERTAIN, generation="2", idempotency_key="'another'", first_sent_at="NULL")


def test_the_revision_counts_one_by_one(sql: Asked) -> None:
    """Going back to a revision whose event exists would need no new one."""
    make.uncertain_operation(make.kind())
    for step in (-1, 2):
        with refused("counts one by one"):
            sql.execute(
                f"UPDATE ledger_operation SET state = 'failed', revision = revision + {step}".encode()
            )
