"""How what is matched was matched, and how much tolerances may let pass of it in one run."""

from pathlib import Path

import pytest

from reconcile.configuration import configure
from reconcile.configuration.wrongs import Refused
from reconcile.models import Record
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of
from tests.reconcile.test_rules import Ruled, done, paid, ran
from tests.reconcile.test_rules import ruled as ruled

CAPPED = """
tolerance_cap = { ZAR = "0.15" }
[[plans.invoices.rules]]
name = "bank-day"
days = 2
tolerance = { ZAR = "0.10" }
"""


def passed(books: Books, *totals: str) -> None:
    """Orders of 100.00, the first by its reference, the others by the rule."""
    for number, total in enumerate(totals, 1):
        done(books, str(number), f"{number}00.00")
        key = key_of(str(number)) if number == 1 else None
        HELD.pages.append([paid(number, total, 20, key=key)])


def test_a_run_tells_how_it_matched_and_what_tolerances_let_pass(ruled: Ruled) -> None:
    books = ruled(CAPPED, tolerance="0.05")
    passed(books, "100.05", "200.10", "300.00")
    run, found = ran(books)
    assert counts(run) == {"matched": 3} and not found
    assert run.matched == [
        {
            "way": "tolerance",
            "rule": "",
            "currency": "ZAR",
            "items": 1,
            "amount": "100.00",
            "apart": "0.05",
        },
        {
            "way": "rule",
            "rule": "bank-day",
            "currency": "ZAR",
            "items": 2,
            "amount": "500.00",
            "apart": "0.10",
        },
    ]
    page = browser_of("ann").get(f"/runs/{run.uid}/").content.decode()
    for text in ("How what is matched was matched", "By reference, within the tolerance", "By rule bank-day"):
        assert text in page, text
    assert run.made_with["tolerance_cap"] == {"ZAR": "0.15"}


def test_beyond_the_cap_all_that_was_let_pass_is_a_difference(ruled: Ruled) -> None:
    books = ruled(CAPPED, tolerance="0.05")
    for number in range(1, 5):
        done(books, str(number), f"{number}00.00")
    passed_again = [paid(1, "100.05", 20, key=key_of("1")), paid(2, "199.90", 20), paid(3, "300.00", 20)]
    HELD.pages = [[*passed_again, paid(4, "400.01", 20)]]
    run, found = ran(books)
    assert counts(run) == {"matched": 1, "amount_over": 2, "amount_under": 1}
    adds_up(run)
    assert sorted(f"{one.amount:.2f}" for one in found) == ["0.01", "0.05", "0.10"]
    assert all("All that tolerances let pass comes to more than ZAR\xa00.15." in one.why for one in found)
    assert Record.objects.filter(capped=True).count() == 3
    assert [one["way"] for one in run.matched] == ["rule"] and run.matched[0]["apart"] == "0.00"


def test_the_cap_of_another_currency_is_none(ruled: Ruled) -> None:
    books = ruled(CAPPED.replace('ZAR = "0.15"', 'USD = "0.00"'), tolerance="0.05")
    passed(books, "100.05", "200.10", "300.10")
    assert counts(ran(books)[0]) == {"matched": 3}


def test_a_cap_is_an_amount_of_a_known_currency(listed: Books, tmp_path: Path) -> None:
    file = tmp_path / "books.toml"
    file.write_text(f'{file.read_text()}\ntolerance_cap = {{ RAND = "1.00", ZAR = "0.001" }}\n')
    with pytest.raises(Refused) as refused:
        configure(file)
    assert len(refused.value.wrongs) == 2
