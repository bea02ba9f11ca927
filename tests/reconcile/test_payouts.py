"""Payouts: a net that declares its parts, beside what it pays; what nothing explains is the headline.

| the record tells | beside its operations | then |
|---|---|---|
| net and what was taken off | net and parts come to them | matched, one with many |
| net alone, or parts that leave something | apart | the rest is unexplained: the headline, and nobody signs |
| gross and parts that come to the net | gross is another sum than theirs | a difference, and explained |
| gross and parts that do not come to the net | whatever they are | unexplained |
"""

from pathlib import Path

import pytest

from ledger.rules.errors import NotNow
from reconcile import reports
from reconcile.configuration import configure
from reconcile.configuration.wrongs import Refused
from reconcile.models import Record
from reconcile.signing import leaves
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, adds_up, counts
from tests.reconcile.signatures import signed
from tests.reconcile.test_rules import Ruled, done, paid, ran
from tests.reconcile.test_rules import ruled as ruled

PAYOUT = """
payout = { gross = "gross", fee = "fee", tax = "tax", refund = "refund", reserve = "reserve", fx = "fx" }
[[plans.invoices.rules]]
name = "payout"
on = { subject = "payer" }
days = 7
split = true
"""


def payout(net: str, **parts: str) -> dict[str, object]:
    return paid(1, net, 20, payer="customer 77", **parts)


@pytest.fixture
def books(ruled: Ruled) -> Books:
    """Two invoices that one payout pays: 77.55."""
    made = ruled(PAYOUT)
    done(made, "1", "50.00")
    done(made, "2", "27.55")
    return made


def test_a_net_with_its_parts_is_matched_with_what_it_pays(books: Books) -> None:
    HELD.pages = [[payout("60.28", fee="2.27", tax="0.50", refund="4.50", reserve="10.00", fx="0.00")]]
    run, found = ran(books)
    assert counts(run) == {"matched": 3} and not found
    adds_up(run)
    assert Record.objects.get(side="destination").parts == {
        "fee": "-2.27",
        "tax": "-0.50",
        "refund": "-4.50",
        "reserve": "-10.00",
        "fx": "0.00",
    }


def test_62_what_nothing_explains_of_a_payout_is_the_headline_and_blocks_the_sign_off(books: Books) -> None:
    HELD.pages = [[payout("60.28")]]
    run, (found,) = ran(books)
    assert counts(run) == {"amount_under": 3} and f"{found.amount:.2f}" == "17.27"
    assert run.residual == {"ZAR": "17.27"} and not run.explained
    assert reports.headline(run, reports.Open.stored(run)) == "Unexplained: ZAR\xa017.27"
    assert leaves.why_unsignable(run).startswith("Unexplained: ZAR\xa017.27. Unexplained is not zero")
    with pytest.raises(NotNow, match="Unexplained is not zero"):
        signed(run)
    page = browser_of("ann").get(f"/runs/{run.uid}/").content.decode()
    for text in ("Payouts that their parts do not explain", "none told", "INV-1", "17.27", "60.28"):
        assert text in page, text
    HELD.pages = [[payout("60.28", fee="2.27")]]
    run, _ = ran(books)
    assert run.residual == {"ZAR": "15.00"}


def test_a_gross_that_is_told_and_adds_up_leaves_a_difference_and_nothing_unexplained(books: Books) -> None:
    HELD.pages = [[payout("70.00", gross="80.00", fee="10.00")]]
    run, (found,) = ran(books)
    assert counts(run) == {"amount_over": 3} and f"{found.amount:.2f}" == "2.45"
    assert found.why.endswith("ZAR\xa080.00 there, ZAR\xa077.55 meant, ZAR\xa02.45 apart.")
    adds_up(run)


def test_parts_that_do_not_come_to_the_net_are_unexplained_whatever_matches(books: Books) -> None:
    HELD.pages = [[payout("70.00", gross="77.55", fee="7.00")]]
    run, _ = ran(books)
    assert counts(run) == {"matched": 3}
    assert run.residual == {"ZAR": "0.55"} and not run.explained
    assert run.tie["payouts"] == [
        {
            "id": "INV-1",
            "currency": "ZAR",
            "net": "70.00",
            "parts": {"gross": "77.55", "fee": "-7.00"},
            "unexplained": "-0.55",
        }
    ]


def test_parts_may_have_signs_of_their_own(ruled: Ruled) -> None:
    books = ruled(PAYOUT.replace('fx = "fx"', 'fx = "fx", signed = true'))
    done(books, "1", "77.55")
    HELD.pages = [[payout("70.00", fee="-8.00", fx="0.45")]]
    run, _ = ran(books)
    assert counts(run) == {"matched": 2}
    adds_up(run)


def test_a_part_that_cannot_be_read_makes_its_payout_unreadable(books: Books) -> None:
    HELD.pages = [[payout("70.00", fee="seven")]]
    run, found = ran(books)
    assert counts(run) == {"uncertain": 2, "unreadable": 1}
    assert any("of its parts" in one.why for one in found)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("payout = { }", "names no part"),
        ('payout = { fee = "fee" }', "by a key"),
        ('payout = { fees = "fee" }', "fees is not known here"),
    ],
)
def test_a_payout_that_cannot_be_is_refused_in_words(
    listed: Books, tmp_path: Path, line: str, what: str
) -> None:
    file = tmp_path / "books.toml"
    file.write_text(f"{file.read_text()}\n{line}\n")
    with pytest.raises(Refused) as refused:
        configure(file)
    assert what in str(refused.value)
