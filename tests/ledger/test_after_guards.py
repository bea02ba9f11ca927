"""What the database itself refuses of an operation that comes after another.

| tries                                                        | answer  |
|--------------------------------------------------------------|---------|
| to come after another one, or none, later                    | refused |
| to come after one at another destination, or a later one     | refused |
| a chain of more than twenty                                  | refused |
| a claim before what comes first is done, or while it is held | refused |
| a claim that names another reference                         | refused |
| another reference while a try is in doubt                    | refused |
"""

import pytest

from ledger import actions
from ledger.models import Operation
from ledger.rules.following import CHAIN_MAX, Earlier
from ledger.rules.states import CaseKind, State
from tests import factories as make
from tests.databases import Database
from tests.ledger.asking import TOLD, Asked, refused

RUNS = {"state": "'running'", "lease_until": "tieout_now() + '1 min'", "next_try_at": "NULL"}


@pytest.fixture
def first(database: Database) -> Operation:
    """A draft whose caller was not answered."""
    return make.uncertain_operation(make.kind(), "draft/1")


@pytest.fixture
def waits(first: Operation) -> Operation:
    """What waits for it."""
    sends = make.invoice_type(name="draft.post")
    return make.handed(sends, "post/1", after=Earlier("invoice.create", first.key))


def changed(sql: Asked, operation: Operation, **fields: str) -> None:
    """Change it as well as SQL can, with its revision and its event."""
    changes = ", ".join(f"{name} = {value}" for name, value in {**fields, "revision": "revision + 1"}.items())
    with sql.transaction():
        sql.execute(f"UPDATE ledger_operation SET {changes} WHERE id = %s".encode(), [operation.pk])
        sql.execute(TOLD.encode(), [operation.pk])


def copied(sql: Asked, operation: Operation, **fields: str) -> None:
    """Hand over one more like it, with other values for these columns."""
    given = {
        "id": "nextval('ledger_operation_id_seq')",
        "uid": "gen_random_uuid()",
        "key": "'post/copy'",
        **fields,
    }
    columns = [field.column for field in Operation._meta.concrete_fields]
    values = ", ".join(given.get(column, column) for column in columns)
    with sql.transaction():
        row = sql.execute(
            f"INSERT INTO ledger_operation ({', '.join(columns)}) "
            f"SELECT {values} FROM ledger_operation WHERE id = %s RETURNING id".encode(),
            [operation.pk],
        ).fetchone()
        assert row is not None
        sql.execute(TOLD.encode(), [row[0]])


def test_what_it_comes_after_never_changes(sql: Asked, first: Operation, waits: Operation) -> None:
    other = make.uncertain_operation(first.operation_type, "draft/2")
    for value in (str(other.pk), "NULL"):
        with refused("never changes"):
            changed(sql, waits, after_id=value)
    with refused("never changes"):
        changed(sql, other, after_id=str(first.pk))


def test_it_comes_after_an_earlier_one_at_its_destination(
    sql: Asked, first: Operation, waits: Operation
) -> None:
    copied(sql, waits)
    mail = make.kind("letter.send", destination=make.destination("mailroom"), looks=False)
    elsewhere = make.claimed(mail, "letter/1")[0]
    for value in (str(elsewhere.pk), "currval('ledger_operation_id_seq')", str(first.pk + 10_000)):
        with refused("an earlier one at its destination"):
            copied(sql, waits, key="'post/2'", after_id=value)


def test_no_chain_is_longer_than_twenty(sql: Asked, first: Operation, waits: Operation) -> None:
    last = waits
    for number in range(2, CHAIN_MAX):
        copied(sql, waits, key=f"'post/{number}'", after_id=str(last.pk))
        last = Operation.objects.get(key=f"post/{number}")
    with refused("at most 20"):
        copied(sql, waits, key="'post/last'", after_id=str(last.pk))


def test_it_is_not_claimed_before_what_comes_first_is_done(
    sql: Asked, first: Operation, waits: Operation
) -> None:
    named = {**RUNS, "after_reference": "'DR-1'"}
    with refused("is not done"):
        changed(sql, waits, **named)
    make.looked(first, make.there(first, "DR-1"))
    actions.hold(first.pk, kind=CaseKind.SEVERAL, actor="ann", reason="Two of them.")
    with refused("is not done"):
        changed(sql, waits, **named)
    with refused("is not done"):
        copied(sql, waits, **named)
    make.looked(first, make.there(first, "DR-1"))
    with refused("is not done"):
        changed(sql, waits, **RUNS, after_reference="'DR-2'")
    changed(sql, waits, **named)
    assert make.again(waits).state == State.RUNNING


def test_the_reference_that_a_try_in_doubt_named_stays(
    sql: Asked, first: Operation, waits: Operation
) -> None:
    make.looked(first, make.there(first, "DR-1"))
    claim = make.to_send(waits)
    actions.start(claim.attempt.uid, token=claim.token, start_id=None, actor="worker")
    with refused("while any attempt is in doubt"):
        changed(sql, waits, after_reference="'DR-2'")
    actions.record(claim.attempt.uid, token=claim.token, report=make.SILENCE, actor="worker")
    with refused("while any attempt is in doubt"):
        changed(sql, waits, after_reference="'DR-2'")
