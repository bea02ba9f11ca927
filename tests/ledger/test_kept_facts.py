"""What else the database keeps as it was: permits, cases, proof and doubt, and who said what when."""

import uuid

from config import postgres
from ledger import actions
from tests import factories as make
from tests.databases import Database
from tests.ledger.asking import Asked, operation_ready_to_go_again, refused


def test_a_permit_is_spent_or_withdrawn_once(sql: Asked) -> None:
    operation = operation_ready_to_go_again()
    given = make.permitted(operation)
    with refused("what a permit says never changes"):
        sql.execute("UPDATE ledger_permit SET lapses_at = lapses_at + interval '1 day'")
    with refused("permit_spent_by_attempt"):
        sql.execute("UPDATE ledger_permit SET spent_at = tieout_now()")
    actions.withdraw(operation.pk, actor="ann", reason="Not now.", command_id=uuid.uuid4())
    with refused("spent or withdrawn once"):
        sql.execute("UPDATE ledger_permit SET withdrawn_at = NULL WHERE id = %s", [given.pk])
    with refused("permit_one_open"):
        sql.execute(
            "INSERT INTO ledger_permit (uid, operation_id, source, actor, reason, effective_at, lapses_at, "
            "withdrawn_by) SELECT gen_random_uuid(), id, 'person', 'eve', 'Me.', tieout_now(), "
            "tieout_now() + interval '1 day', '' FROM ledger_operation, generate_series(1, 2)"
        )


def test_a_closed_case_stays_closed(sql: Asked) -> None:
    operation = make.uncertain_operation(make.reminder_type())
    actions.attest(operation.pk, actor="ann", reason="Seen.", command_id=uuid.uuid4(), reference="INV-1")
    with refused("a closed case never changes"):
        sql.execute("UPDATE ledger_case SET closed_at = NULL, closed_by = ''")


def test_two_open_cases_of_an_operation_are_refused(sql: Asked) -> None:
    make.uncertain_operation(make.reminder_type())
    with refused("case_one_open"):
        sql.execute(
            "INSERT INTO ledger_case (uid, operation_id, kind, owner, due_at, closed_by) "
            "SELECT gen_random_uuid(), operation_id, kind, owner, due_at, '' FROM ledger_case"
        )


def test_only_absence_read_to_its_end_is_proof(sql: Asked) -> None:
    make.uncertain_operation(make.kind())
    for verdict, complete in (("one_match", True), ("absent", False)):
        with refused("lookup_proof_is_absence"):
            sql.execute(
                "INSERT INTO ledger_lookup (uid, operation_id, actor, asked_at, verdict, complete, proof, "
                "records, content_digest, why, control_reference) SELECT gen_random_uuid(), id, 'ann', "
                "tieout_now(), %s, %s, true, '[]', '', '', '' FROM ledger_operation",
                [verdict, complete],
            )


def test_doubt_is_neither_cleared_nor_taken_up_in_silence(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    with refused("changed without an event"):
        sql.execute("UPDATE ledger_attempt SET cleared_at = tieout_now()")
    assert make.again(operation).attempts.in_doubt().exists()


def test_an_event_carries_the_time_of_the_ledger_and_no_later_revision(sql: Asked) -> None:
    operation = make.uncertain_operation(make.kind())
    forged = (
        "INSERT INTO ledger_event (uid, operation_id, kind, actor, reason, state_from, state_to, revision, "
        "data, at) SELECT gen_random_uuid(), id, 'noted', 'ann', 'Long ago.', '', '', %s, '{}', '2020-01-01' "
        "FROM ledger_operation"
    )
    with refused("tells what has happened"):
        sql.execute(forged, [operation.revision + 1])
    sql.execute(forged, [operation.revision])
    event = operation.events.order_by("-id")[0]
    assert (event.reason, event.at.year > 2020) == ("Long ago.", True)


def test_no_table_of_ones_own_stands_in_for_the_ledgers(sql: Asked, database: Database) -> None:
    with refused("permission denied"):
        sql.execute("CREATE TEMP TABLE ledger_event (operation_id bigint, revision int)")
    database.as_superuser(f"GRANT TEMP ON DATABASE {database.name} TO {postgres.APP}")
    make.uncertain_operation(make.kind())
    sql.execute("CREATE TEMP TABLE ledger_event (operation_id bigint, revision int)")
    sql.execute("INSERT INTO ledger_event SELECT id, revision + 1 FROM ledger_operation")
    with refused("changed without an event"):
        sql.execute("UPDATE ledger_operation SET state = 'failed', revision = revision + 1")


def test_a_lease_is_not_shortened_in_silence(sql: Asked) -> None:
    make.claimed(make.kind())
    with refused("counts the revision up"):
        sql.execute("UPDATE ledger_operation SET lease_until = lease_until - interval '1 day'")
