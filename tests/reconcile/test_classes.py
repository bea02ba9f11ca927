"""Every item is in exactly one class.

| operation | the destination lists | class |
|---|---|---|
| completed | it, alike | matched |
| completed | it, more or less, or in another currency | amount over, amount under, currency differs |
| completed | it, void or still being worked on | status differs |
| uncertain | it, still being worked on | in flight; uncertain once a person is asked |
| running | anything or nothing | in flight |
| failed, pending | it, standing | unexpected |
| cancelled | nothing | out of scope |
| none | it, standing | unexpected |
| none | it, void | out of scope |
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import actions
from ledger.models import Operation
from ledger.rules.states import CaseKind, Outcome
from reconcile.models import Record
from tests.databases import Database
from tests.reconcile.books import HELD, Books, adds_up, command_id, counts, key_of, record


def completed(books: Books, order: str) -> Operation:
    return books.claimed(order, Outcome.SUCCEEDED, reference=f"INV-{order}")


def uncertain(books: Books, order: str) -> Operation:
    return books.claimed(order, Outcome.UNCERTAIN)


def held(books: Books, order: str) -> Operation:
    operation = uncertain(books, order)
    actions.hold(operation.pk, kind=CaseKind.ACCEPTED, actor="ann", reason="Not final in time.")
    return operation


def running(books: Books, order: str) -> Operation:
    return books.claimed(order, None)


def failed(books: Books, order: str) -> Operation:
    return books.claimed(order, Outcome.REJECTED)


def nothing(books: Books, order: str) -> None:
    """Nobody submitted it."""


CASES: list[tuple[Callable[[Books, str], Operation | None], dict[str, Any] | None, str]] = [
    (completed, {}, "matched"),
    (uncertain, {}, "matched"),
    (completed, {"total": "100"}, "matched"),
    (completed, {"total": "100.01"}, "amount_over"),
    (completed, {"total": "99.99"}, "amount_under"),
    (completed, {"currency": "USD"}, "currency_differs"),
    (uncertain, {"total": "620.00"}, "amount_over"),
    (completed, {"status": "void"}, "status_differs"),
    (completed, {"status": "declined"}, "status_differs"),
    (completed, {"status": "processing"}, "status_differs"),
    (completed, {"status": "on the moon"}, "status_differs"),
    (uncertain, {"status": "processing"}, "in_flight"),
    (uncertain, {"status": "void"}, "status_differs"),
    (held, {"status": "processing"}, "uncertain"),
    (running, {}, "in_flight"),
    (running, None, "in_flight"),
    (failed, {}, "unexpected_at_destination"),
    (failed, {"total": "7.00"}, "unexpected_at_destination"),
    (failed, {"status": "void"}, "status_differs"),
    (nothing, {}, "unexpected_at_destination"),
    (nothing, {"status": "processing"}, "unexpected_at_destination"),
    (nothing, {"status": "void"}, "out_of_scope"),
    (nothing, {"status": "declined"}, "out_of_scope"),
]


def test_each_item_is_in_the_class_of_the_table(listed: Books) -> None:
    rows = []
    for number, (operation, there, _) in enumerate(CASES):
        operation(listed, str(number))
        if there is not None:
            rows.append(record(number, key=key_of(str(number)), **there))
    HELD.pages = [rows]
    run, _ = listed.run()
    items = dict(
        Record.objects.filter(run=run).exclude(item_class=None).values_list("reference", "item_class")
    )
    expected = {key_of(str(number)): item_class for number, (_, _, item_class) in enumerate(CASES)}
    assert items == expected
    adds_up(run)


@pytest.fixture
def handed_over(database: Database, tmp_path: Path) -> Books:
    return Books.configured(tmp_path)


def test_a_record_of_an_operation_that_still_waits_is_unexpected(handed_over: Books) -> None:
    operation = handed_over.submitted("1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, found = handed_over.run()
    assert counts(run) == {"unexpected_at_destination": 1}
    adds_up(run)
    assert found[0].case is not None
    assert found[0].case.operation == operation


def test_what_was_cancelled_and_is_not_there_is_out_of_scope(handed_over: Books) -> None:
    operation = handed_over.submitted("1")
    actions.cancel(operation.pk, actor="ann", reason="The order was withdrawn.", command_id=command_id())
    run, found = handed_over.run()
    assert counts(run) == {"out_of_scope": 1}
    assert found == []
    adds_up(run)


def test_differences_within_the_plan_s_tolerance_are_matched(database: Database, tmp_path: Path) -> None:
    books = Books.configured(tmp_path, performed_by="caller", tolerance="0.50")
    books.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    books.claimed("2", Outcome.SUCCEEDED, reference="INV-2")
    HELD.pages = [[record(1, key=key_of("1"), total="100.50"), record(2, key=key_of("2"), total="100.51")]]
    run, _ = books.run()
    assert counts(run) == {"matched": 1, "amount_over": 1}
    adds_up(run)


def test_an_operation_without_an_amount_is_matched_by_its_reference(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1", amount=None)
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, _ = listed.run()
    assert counts(run) == {"matched": 1}
    adds_up(run)


def test_a_finding_says_what_is_there_and_what_was_meant(listed: Books) -> None:
    operation = listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"), total="720.00")]]
    _, (finding,) = listed.run()
    assert finding.item_class == "amount_over"
    assert finding.amount == 620
    assert finding.currency == "ZAR"
    assert (finding.operation, finding.state) == (operation, "completed")
    assert finding.destination == [
        {
            "id": "INV-1",
            "amount": "720.00",
            "currency": "ZAR",
            "status": "open",
            "standing": "done",
            "occurred_at": None,
        }
    ]
    assert "720.00" in finding.why
    assert "100.00" in finding.why


def test_what_is_there_all_the_same_counts_by_what_is_there(listed: Books) -> None:
    """Nobody said how much was meant: the money stands there all the same."""
    listed.claimed("1", Outcome.REJECTED, amount=None)
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, (finding,) = listed.run()
    assert (finding.item_class, finding.currency) == ("unexpected_at_destination", "ZAR")
    assert finding.amount == 100
    assert run.classes["unexpected_at_destination"]["amounts"] == {"ZAR": "100.00"}
    adds_up(run)
