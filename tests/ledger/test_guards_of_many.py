"""Many rows in one statement: one that would be refused alone is refused there, and none of them is kept.

| one of three                                              | refused, for                       |
|-----------------------------------------------------------|------------------------------------|
| an event of a revision that is still to come              | it tells what has happened         |
| an attempt with another payload                           | it sends what its operation says   |
| an attempt under another key, while one is in doubt       | the key stays                      |
"""

import pytest

from ledger.models import Attempt, Event
from tests import factories as make
from tests.ledger.asking import Asked, refused

EVENTS = (
    "INSERT INTO ledger_event (uid, operation_id, kind, actor, reason, state_from, state_to, revision, data) "
    "SELECT gen_random_uuid(), id, 'noted', 'a test', 'It says so.', '', '', "
    "revision + CASE WHEN id = {one} THEN 1 ELSE 0 END, '{{}}' FROM ledger_operation WHERE id IN ({all})"
)
ATTEMPTS = (
    "INSERT INTO ledger_attempt (uid, operation_id, number, token_hash, actor, run, idempotency_key, "
    "payload_digest, lease_until, error_code, message, destination_reference, outcome_digest) "
    "SELECT gen_random_uuid(), operation_id, 2, token_hash, actor, run, "
    "CASE WHEN operation_id = {one} THEN {key} ELSE idempotency_key END, "
    "CASE WHEN operation_id = {one} THEN {digest} ELSE payload_digest END, lease_until, '', '', '', '' "
    "FROM ledger_attempt WHERE operation_id IN ({all})"
)


@pytest.mark.parametrize(
    ("statement", "wrong", "words"),
    [
        (EVENTS, {}, "tells what has happened"),
        (ATTEMPTS, {"digest": "'k1:other'"}, "sends what its operation says"),
        (ATTEMPTS, {"key": "'another'"}, "key stays while any attempt is in doubt"),
    ],
)
def test_one_of_many_rows_is_refused_as_it_would_be_alone(
    sql: Asked, statement: str, wrong: dict[str, str], words: str
) -> None:
    kind = make.kind("many.rows", retry={"attempts": 1})
    pks = [make.uncertain_operation(kind, f"{words}/{number}").pk for number in range(3)]
    every = ", ".join(map(str, pks))
    before = counted(pks)
    values = {"all": every, "key": "idempotency_key", "digest": "payload_digest"} | wrong
    for one in pks:
        with refused(words):
            sql.execute(statement.format(one=one, **values).encode())
    assert counted(pks) == before
    sql.execute(statement.format(one=-1, **values).encode())
    assert sum(counted(pks)) == sum(before) + 3


def counted(pks: list[int]) -> list[int]:
    return [model._default_manager.filter(operation__in=pks).count() for model in (Attempt, Event)]
