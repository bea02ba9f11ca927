"""Many rows in one statement: one that would be refused alone is refused there, and none of them is kept.

| one of three                                              | refused, for                       |
|-----------------------------------------------------------|------------------------------------|
| an event of a revision that is still to come              | it tells what has happened         |
| an event of an operation that is not there                | it tells what has happened         |
| an event that names another operation's attempt, or none  | it names one of its operation      |
| an attempt with another payload, or of no operation       | it sends what its operation says   |
| an attempt under another key, while one is in doubt       | the key stays                      |
"""

import pytest

from ledger.models import Attempt, Event
from tests import factories as make
from tests.ledger.asking import Asked, refused

EVENTS = (
    "INSERT INTO ledger_event (uid, operation_id, attempt_id, kind, actor, reason, state_from, state_to, "
    "revision, data) SELECT gen_random_uuid(), CASE WHEN o.id = {one} THEN {of} ELSE o.id END, "
    "CASE WHEN o.id = {one} THEN {tried} ELSE a.id END, 'noted', 'a test', 'It says so.', '', '', "
    "revision + CASE WHEN o.id = {one} THEN {later} ELSE 0 END, '{{}}' "
    "FROM ledger_operation AS o JOIN ledger_attempt AS a ON a.operation_id = o.id WHERE o.id IN ({all})"
)
ATTEMPTS = (
    "INSERT INTO ledger_attempt (uid, operation_id, number, token_hash, actor, run, idempotency_key, "
    "payload_digest, lease_until, error_code, message, destination_reference, outcome_digest) "
    "SELECT gen_random_uuid(), CASE WHEN operation_id = {one} THEN {of} ELSE operation_id END, 2, "
    "token_hash, actor, run, "
    "CASE WHEN operation_id = {one} THEN {key} ELSE idempotency_key END, "
    "CASE WHEN operation_id = {one} THEN {digest} ELSE payload_digest END, lease_until, '', '', '', '' "
    "FROM ledger_attempt WHERE operation_id IN ({all})"
)


@pytest.mark.parametrize(
    ("statement", "wrong", "words"),
    [
        (EVENTS, {"later": "1"}, "tells what has happened"),
        (EVENTS, {"of": "-1"}, "tells what has happened"),
        (EVENTS, {"tried": "a.id - 1"}, "names an attempt of its operation"),
        (EVENTS, {"tried": "-1"}, "names an attempt of its operation"),
        (ATTEMPTS, {"of": "-1"}, "sends what its operation says"),
        (ATTEMPTS, {"digest": "'k1:other'"}, "sends what its operation says"),
        (ATTEMPTS, {"key": "'another'"}, "key stays while any attempt is in doubt"),
    ],
)
def test_48_one_of_many_rows_is_refused_as_it_would_be_alone(
    sql: Asked, statement: str, wrong: dict[str, str], words: str
) -> None:
    kind = make.kind("many.rows", retry={"attempts": 1})
    name = f"{sorted(wrong.items())}"
    # Before them stands another one, with an attempt of its own.
    pks = [make.uncertain_operation(kind, f"{name}/{number}").pk for number in range(4)][1:]
    every = ", ".join(map(str, pks))
    before = counted(pks)
    as_it_is = {"key": "idempotency_key", "digest": "payload_digest", "tried": "a.id", "later": "0"}
    of = "o.id" if statement is EVENTS else "operation_id"
    values = {"all": every, **as_it_is, "of": of} | wrong
    for one in pks:
        with refused(words):
            sql.execute(statement.format(one=one, **values).encode())
    assert counted(pks) == before
    sql.execute(statement.format(one=-1, **values).encode())
    assert sum(counted(pks)) == sum(before) + 3


def counted(pks: list[int]) -> list[int]:
    return [model._default_manager.filter(operation__in=pks).count() for model in (Attempt, Event)]
