"""What a list calls deleted stands for nothing, and is known by the record that it was.

| listed as deleted                             | it is                                             |
|-----------------------------------------------|---------------------------------------------------|
| with its reference, or the id that we know    | *status differs*: done on record, and gone there  |
| after the record itself, on a later page      | once, as it came last                             |
| of nobody                                     | out of scope, and in no total                     |
| by a check of its own                         | differs by its status                             |
"""

import pytest

from ledger.models import Lookup, OperationType
from ledger.rules.states import Outcome
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record


@pytest.fixture
def books(listed: Books) -> Books:
    kind = OperationType.objects.get(name="invoice.create")
    kind.calls = kind.calls | {"record": kind.calls["record"] | {"deleted": "gone"}}
    kind.lookup_proved_at = "2026-01-01T00:00:00Z"
    kind.save(update_fields=["calls", "lookup_proved_at"])
    listed.plan.refresh_from_db()
    for order in "123":
        listed.claimed(order, Outcome.SUCCEEDED, reference=f"INV-{order}" if order != "3" else "")
    return listed


def test_what_is_listed_as_deleted_stands_for_nothing(books: Books) -> None:
    HELD.pages = [
        [{"id": "INV-1", "gone": True}, record(2, key=key_of("2")), record(3, key=key_of("3"), gone=False)],
        [{"id": "INV-2", "gone": True, "total": "words"}, {"id": "INV-3", "gone": True}],
        [{"id": "INV-9", "gone": True}, record(8, key="nobody", gone=True)],
    ]
    run, found = books.run()
    assert counts(run) == {"status_differs": 3, "out_of_scope": 2}
    assert run.repeated == 2 and run.totals["destination"] == {"count": 0, "amounts": {"ZAR": "0.00"}}
    assert [one.why for one in found] == [
        f"INV-{order} is deleted there: it does not stand." for order in "123"
    ]
    adds_up(run)


def test_what_has_no_id_is_no_more_readable_for_being_gone(books: Books) -> None:
    HELD.pages = [[{"gone": True}], [record(order, key=key_of(str(order))) for order in (1, 2, 3)]]
    run, _ = books.run()
    assert counts(run) == {"unreadable": 1, "matched": 3}


def test_a_check_of_its_own_reads_it_the_same_way(books: Books) -> None:
    HELD.pages = [
        [record(1, key=key_of("1"), total=None, status=None, gone=True, unlisted=True)],
        [record(2, key=key_of("2")), record(3, key=key_of("3"))],
    ]
    run, _ = books.run()
    assert counts(run) == {"status_differs": 1, "matched": 2}
    assert Lookup.objects.earliest("pk").why == "It is there, with another status."
