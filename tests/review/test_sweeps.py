"""What the sweep asks every time is found by an index that holds only what it looks for."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from ledger.models import database_now
from reconcile.differences import actions as differences
from reconcile.expected import actions as expected
from reconcile.signing import actions as signing
from review.notices import outbox
from tests.databases import Clock


def plans(asked: CaptureQueriesContext) -> str:
    """How the database would find each of them, were the tables too large to be read whole."""
    found = []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        for query in asked.captured_queries:
            if query["sql"].startswith(("SELECT", "DELETE")):
                cursor.execute(f"EXPLAIN {query['sql']}")
                found += [line for (line,) in cursor.fetchall()]
    return "\n".join(found)


def red() -> None:
    """What is expected and has not reported."""
    expected.tell(database_now(), busy=False)


@pytest.mark.parametrize(
    ("sweep", "indexes"),
    [
        (differences.sweep, ("decision_open", "decision_over")),
        (signing.sweep, ("signoff_open",)),
        (red, ("expected_open",)),
        (outbox.forget_old, ("notice_read", "message_over")),
    ],
)
def test_each_question_of_a_sweep_has_its_index(
    clock: Clock, sweep: object, indexes: tuple[str, ...]
) -> None:
    assert callable(sweep)
    with CaptureQueriesContext(connection) as asked:
        sweep()
    told = plans(asked)
    assert [name for name in indexes if f"using {name} on" not in told and f"on {name} " not in told] == [], (
        told
    )
