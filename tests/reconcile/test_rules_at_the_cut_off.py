"""What a rule has matched with records dated after a period's cut-off was missing at it, as by reference.

| the run has | as of the cut-off |
|---|---|
| a group whose records are all later | each operation is missing |
| a group of which some are later | the group is short of them |
| an operation that fits several records, all later | it is missing, and nothing is ambiguous |
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.rules.states import Outcome
from reconcile.models import ExpectedRun, Plan
from reconcile.periods import leaves
from tests.databases import Clock
from tests.people import person
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.closing import at
from tests.reconcile.test_periods import january
from tests.reconcile.test_rules_groups import BATCH, PAYER

IN_TIME, LATER = "2027-01-21T09:00:00+02:00", "2027-02-02T09:00:00+02:00"
NEAR = '\n[[plans.invoices.rules]]\nname = "near"\ndays = 20\n'
Told = Callable[..., dict[str, Any]]


@pytest.fixture
def told(clock: Clock, tmp_path: Path) -> Told:
    """What January's report tells, by a rule and records of an amount and a date, of orders of 100 and 40."""

    def report(rule: str, *records: tuple[str, str]) -> dict[str, Any]:
        clock.set(at("2027-01-20T10:00"))
        person("ann")
        books = Books.configured(tmp_path, performed_by="caller", source=rule)
        Plan.objects.update(schedule="")
        ExpectedRun.objects.all().delete()
        books.plan.refresh_from_db()
        books.claimed("401", Outcome.SUCCEEDED, amount="100.00")
        books.claimed("402", Outcome.SUCCEEDED, amount="40.00")
        HELD.pages = [
            [
                record(number, key=None, total=total, created_at=made, payer=PAYER)
                for number, (total, made) in enumerate(records, 1)
            ]
        ]
        clock.set(at("2027-02-03T08:00"))
        found = leaves.latest(january(books))
        assert found is not None and found.ties
        document: dict[str, Any] = found.document
        return document

    return report


def classes(document: dict[str, Any]) -> dict[str, int]:
    return {name: one["count"] for name, one in document["classes"].items() if one["count"]}


def test_what_a_later_payout_pays_was_missing_at_the_cut_off(told: Told) -> None:
    document = told(BATCH, ("140.00", LATER))
    assert classes(document) == {"missing_at_destination": 2}
    assert {one["reference"] for one in document["open"]} == {key_of("401"), key_of("402")}
    assert all(
        "Not there at the cut-off: INV-1 is dated 2027-02-02 09:00, after it." in one["why"]
        for one in document["open"]
    )


def test_a_group_is_short_of_what_came_after_the_cut_off(told: Told) -> None:
    document = told(BATCH, ("60.00", IN_TIME), ("50.00", LATER), ("30.00", LATER))
    assert classes(document) == {"amount_under": 3}
    (one,) = document["open"]
    assert one["amount"] == "80.00" and one["why"].endswith(
        "ZAR\xa080.00 apart. Not there at the cut-off: INV-2 is dated 2027-02-02 09:00, after it."
    )


def test_what_fits_several_later_ones_was_missing_and_not_ambiguous(told: Told) -> None:
    document = told(NEAR, ("100.00", LATER), ("100.00", LATER), ("40.00", IN_TIME))
    assert classes(document) == {"matched": 1, "missing_at_destination": 1}
    (one,) = document["open"]
    assert "Not there at the cut-off: what rule near fits is dated after it." in one["why"]
