"""One with many, and many with one: what has one key is one group, and its sums are the same."""

import json
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction

from ledger.models import Case, Operation
from ledger.rules.states import Outcome, State
from reconcile import reports
from reconcile.models import Finding, Record
from tests.people import browser_of
from tests.reconcile.books import HELD, adds_up, counts, key_of, refreshed
from tests.reconcile.test_rules import Ruled, done, paid, ran
from tests.reconcile.test_rules import ruled as ruled

BATCH = """
[[plans.invoices.rules]]
name = "batch"
on = { subject = "payer" }
days = 7
split = true
"""
PAYER = "customer 77"
GROUP = "subject = customer 77 ZAR"


def parts(*totals: str, first: int = 1) -> list[dict[str, object]]:
    return [paid(number, total, 20, payer=PAYER) for number, total in enumerate(totals, first)]


@pytest.mark.parametrize(
    ("meant", "there"),
    [
        (["100.00"], ["60.00", "40.00"]),
        (["60.00", "40.01"], ["100.01"]),
        (["60.00", "40.00"], ["30.00", "30.00", "40.00"]),
        (["100.00"], ["120.00", "-20.00"]),
    ],
)
def test_what_has_one_key_and_the_same_sum_is_matched(
    ruled: Ruled, meant: list[str], there: list[str]
) -> None:
    books = ruled(BATCH)
    for number, amount in enumerate(meant):
        done(books, str(number), amount)
    HELD.pages = [parts(*there)]
    run, found = ran(books)
    assert counts(run) == {"matched": len(meant) + len(there)} and not found
    adds_up(run)
    assert set(Record.objects.values_list("grouped", "sum_apart", "rule")) == {(GROUP, Decimal(0), "batch")}


def test_a_group_that_does_not_sum_is_one_difference_with_both_lists_and_what_is_apart(ruled: Ruled) -> None:
    books = ruled(BATCH)
    done(books, "1", "60.00")
    done(books, "2", "40.00")
    HELD.pages = [parts("30.00", "30.00", "39.99")]
    run, (found,) = ran(books)
    assert counts(run) == {"amount_under": 5}
    assert (found.reference, f"{found.amount:.2f}", found.currency, found.items) == (GROUP, "0.01", "ZAR", 5)
    assert found.why == (
        "Rule batch takes 2 operations and 3 records together: ZAR\xa099.99 there, ZAR\xa0100.00 meant,"
        " ZAR\xa00.01 apart."
    )
    assert [(one["key"], one["amount"]) for one in found.meant or ()] == [
        (key_of("1"), "60.00"),
        (key_of("2"), "40.00"),
    ]
    assert [one["amount"] for one in found.destination] == ["30.00", "30.00", "39.99"]
    assert reports.finding_shown(found)["operations"] == found.meant
    adds_up(run)
    assert Case.objects.get().closed_at is None and run.settled == {"opened": 1}
    assert {one.state for one in Operation.objects.all()} == {State.COMPLETED}
    run, (again,) = ran(books)
    assert again.first_seen_at == found.first_seen_at and again.case == found.case
    assert run.tie["opening"]["ledger"]["ZAR"] == {"count": 2, "amount": "100.00"}
    assert run.tie["opening"]["destination"]["ZAR"] == {"count": 3, "amount": "99.99"}
    HELD.pages = [parts("30.00", "30.00", "40.00")]
    run, found_now = ran(books)
    assert not found_now and run.gone.count() == 1 and Case.objects.get().closed_at is not None


def test_its_page_shows_both_lists(ruled: Ruled) -> None:
    books = ruled(BATCH)
    done(books, "1", "60.00")
    done(books, "2", "40.00")
    HELD.pages = [parts("99.00")]
    run, (found,) = ran(books)
    page = browser_of("ann").get(f"/runs/{run.uid}/differences/{found.pk}/").content.decode()
    for text in (
        "What was meant",
        key_of("1"),
        key_of("2"),
        "60.00",
        "40.00",
        "INV-1",
        "99.00",
        "1.00 apart",
    ):
        assert text in page, text
    shown = browser_of("bob").get(f"/runs/{run.uid}.json").getvalue()
    shown = json.loads(shown)
    assert [one["key"] for one in shown["findings"][0]["operations"]] == [key_of("1"), key_of("2")]


def test_another_currency_and_what_has_a_reference_are_no_part_of_a_group(ruled: Ruled) -> None:
    books = ruled(BATCH)
    done(books, "1", "60.00")
    done(books, "2", "40.00")
    HELD.pages = [
        [
            paid(1, "60.00", 20, payer=PAYER),
            paid(2, "40.00", 20, key=key_of("2"), payer=PAYER),
            paid(3, "5.00", 20, currency="EUR", payer=PAYER),
        ]
    ]
    run, _ = ran(books)
    assert counts(run) == {"matched": 3, "unreadable": 1}
    adds_up(run)


def test_a_group_completes_nothing_that_is_in_doubt(ruled: Ruled) -> None:
    books = ruled(BATCH)
    done(books, "1", "60.00")
    doubtful = books.claimed("2", Outcome.UNCERTAIN, amount="40.00")
    HELD.pages = [parts("100.00")]
    run, _ = ran(books)
    assert counts(run) == {"matched": 2, "uncertain": 1}
    assert refreshed(doubtful).state == State.UNCERTAIN
    adds_up(run)


def test_while_a_part_may_still_come_a_group_is_in_flight(ruled: Ruled) -> None:
    books = ruled(BATCH)
    done(books, "1", "60.00")
    books.claimed("2", None, amount="40.00")
    HELD.pages = [parts("60.00")]
    run, _ = ran(books)
    assert counts(run) == {"in_flight": 3}
    adds_up(run)


def test_the_database_matches_no_group_whose_sums_are_apart(ruled: Ruled) -> None:
    books = ruled(BATCH)
    done(books, "1", "60.00")
    HELD.pages = [parts("60.00")]
    ran(books)
    for change in ("sum_apart = 0.01", "grouped = ''", "becomes = ''", "sum_apart = NULL"):
        with pytest.raises(IntegrityError, match="record_"), transaction.atomic():
            connection.cursor().execute(f"UPDATE reconcile_record SET {change}")
    assert Record.objects.count() == 2 and not Finding.objects.exists()
