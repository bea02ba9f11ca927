"""How far outside its window a run looks for the parts of a group: as far as part follows part.

The rule has two days, and the window is 10 to 20 November: parts that lie at most so far apart are one group,
and what lies more than two days from all of it is another, which the window has nothing of.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from ledger.rules.states import Outcome
from reconcile.models import Finding
from tests.databases import Clock, Database
from tests.people import person
from tests.reconcile.books import HELD, Books, adds_up, counts, record
from tests.reconcile.test_rules_groups import BATCH, PAYER

START = datetime(2026, 11, 1, 10, tzinfo=UTC)
Dated = list[tuple[int, str]]
Played = Callable[[Dated, Dated], tuple[dict[str, int], list[Finding]]]


@pytest.fixture
def played(database: Database, clock: Clock, tmp_path: Path) -> Played:
    """A run over 10 to 20 November, by (day, amount) of what was meant and of what is there."""

    def run(meant: Dated, there: Dated) -> tuple[dict[str, int], list[Finding]]:
        clock.set(START)
        person("ann")
        rule = BATCH.replace("days = 7", "days = 2")
        books = Books.configured(tmp_path, performed_by="caller", source=rule)
        for number, (day, amount) in enumerate(meant):
            clock.set(START + timedelta(days=day - 1))
            books.claimed(str(number), Outcome.SUCCEEDED, amount=amount)
        HELD.pages = [
            [
                record(number, key=None, total=total, payer=PAYER, created_at=f"2026-11-{day:02}T10:00:00Z")
                for number, (day, total) in enumerate(there, 1)
            ]
        ]
        clock.set(datetime(2026, 11, 30, 10, tzinfo=UTC))
        made, found = books.run(date(2026, 11, 10), date(2026, 11, 20))
        adds_up(made)
        return {name: many for name, many in counts(made).items() if name != "out_of_scope"}, found

    return run


@pytest.mark.parametrize(
    ("meant", "there", "parts"),
    [
        pytest.param([(6, "30.00"), (12, "50.00")], [(8, "30.00"), (12, "50.00")], 3, id="one that goes on"),
        pytest.param(
            [(5, "30.00"), (12, "50.00")], [(7, "30.00"), (12, "50.00")], 2, id="another one, before"
        ),
        pytest.param([(12, "50.00")], [(12, "50.00"), (25, "30.00")], 2, id="another one, after"),
        pytest.param([(12, "50.00"), (22, "30.00")], [(12, "50.00"), (24, "30.00")], 3, id="paid after"),
        pytest.param(
            [(7, "30.00"), (9, "20.00"), (10, "50.00")], [(8, "50.00"), (11, "50.00")], 3, id="over the edge"
        ),
    ],
)
def test_what_lies_outside_the_window_and_is_whole_makes_no_difference_inside(
    played: Played, meant: Dated, there: Dated, parts: int
) -> None:
    found, differences = played(meant, there)
    assert not differences and found == {"matched": parts}


def test_a_payment_of_before_settles_nothing_of_the_window(played: Played) -> None:
    found, (one,) = played([(5, "50.00"), (12, "50.00")], [(7, "50.00"), (12, "10.00")])
    assert found == {"amount_under": 2} and f"{one.amount:.2f}" == "40.00"
