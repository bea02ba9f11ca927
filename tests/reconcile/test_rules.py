"""Declared rules: what carries no reference of ours is matched by what else it says, and only where one fits.

| left alone on both sides | then |
|---|---|
| one operation, one record that fits it | matched, by the rule's name |
| one record, two operations; or two records, one operation | ambiguous, all of them: a person decides |
| what an earlier rule leaves unclear | no later rule decides it |
| what carries a reference | no rule is asked |
| it is in doubt here | uncertain still, with the record beside it: a rule completes nothing |
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from ledger.models import Lookup, Operation
from ledger.rules.states import Outcome, State
from reconcile import provenance
from reconcile.configuration import configure
from reconcile.configuration.wrongs import Refused
from reconcile.models import Finding, Plan, Record, Run
from tests.databases import Clock, Database
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
BANK_DAY = """
[[plans.invoices.rules]]
name = "bank-day"
days = 2
"""
Ruled = Callable[..., Books]


@pytest.fixture
def ruled(database: Database, clock: Clock, tmp_path: Path) -> Ruled:
    """Books whose plan has rules; the clock stands still."""
    clock.set(NOW)
    return lambda rules=BANK_DAY, **values: Books.configured(
        tmp_path, performed_by="caller", source=rules, **values
    )


def paid(number: int, total: str, day: int, key: str | None = None, **more: Any) -> dict[str, object]:
    return record(number, key=key, total=total, created_at=f"2026-11-{day:02}T09:00:00Z", **more)


def ran(books: Books) -> tuple[Run, list[Finding]]:
    return books.run(date(2026, 11, 1), date(2026, 11, 20))


def done(books: Books, order: str, amount: str = "100.00", outcome: Outcome = Outcome.SUCCEEDED) -> None:
    books.claimed(order, outcome, amount=amount)


def test_one_record_that_fits_one_operation_is_matched_by_the_rule(ruled: Ruled) -> None:
    books = ruled()
    done(books, "1", "11.00")
    done(books, "2", "12.00")
    done(books, "3", "13.00")
    HELD.pages = [[paid(1, "11.00", 20), paid(2, "12.00", 18), paid(3, "13.00", 17)]]
    run, _ = ran(books)
    assert counts(run) == {"matched": 2, "uncertain": 1, "unreadable": 1}, "17 November is three days away"
    adds_up(run)
    tied = Record.objects.exclude(rule="").order_by("number").values_list("external_id", "reference", "rule")
    assert list(tied) == [("INV-1", key_of("1"), "bank-day"), ("INV-2", key_of("2"), "bank-day")]
    assert run.made_with["matched_by"] == ["bank-day: the same amount; at most 2 days apart"]
    told = provenance.of(run, author="ann", now=NOW)
    assert dict(provenance.lines(told))["matched_by 1"] == run.made_with["matched_by"][0]
    assert run.rules_version == Plan.objects.get().rules_version


@pytest.mark.parametrize(
    ("orders", "records"), [(["1", "2"], [1]), (["1"], [1, 2]), (["1", "2"], [1, 2]), (["1", "2", "3"], [1])]
)
def test_where_two_fit_nobody_but_people_decide(ruled: Ruled, orders: list[str], records: list[int]) -> None:
    books = ruled()
    for order in orders:
        done(books, order)
    HELD.pages = [[paid(number, "100.00", 20) for number in records]]
    run, found = ran(books)
    assert counts(run) == {"ambiguous": len(orders) + len(records)}
    adds_up(run)
    named = ", ".join(map(key_of, orders))
    ids = ", ".join(f"INV-{number}" for number in records)
    assert {one.why for one in found} == {
        f"Rule bank-day fits {len(orders)} operation{'s' * (len(orders) > 1)}: {named}.",
        f"Rule bank-day fits {len(records)} record{'s' * (len(records) > 1)}: {ids}.",
    }
    assert all(refreshed_state(order) == State.COMPLETED for order in orders)
    assert not Lookup.objects.exists() and all(one.is_open for one in Finding.objects.all())


def refreshed_state(order: str) -> str:
    return Operation.objects.get(key=key_of(order)).state


def test_what_an_earlier_rule_leaves_unclear_no_later_one_decides(ruled: Ruled) -> None:
    books = ruled(
        """
[[plans.invoices.rules]]
name = "same-day"
days = 0
[[plans.invoices.rules]]
name = "by-memo"
on = { "source.reference" = "memo" }
"""
    )
    for order in ("1", "2", "3"):
        done(books, order, {"3": "7.00"}.get(order, "100.00"))
    HELD.pages = [[paid(1, "100.00", 20, memo="1"), paid(3, "7.00", 11, memo=" 3 ")]]
    run, _ = ran(books)
    assert counts(run) == {"ambiguous": 3, "matched": 1}
    assert Record.objects.get(external_id="INV-3").rule == "by-memo"
    adds_up(run)


def test_the_tighter_rule_goes_first_and_leaves_the_rest_to_the_next(ruled: Ruled) -> None:
    books = ruled(BANK_DAY.replace("bank-day", "same-day").replace("2", "0") + BANK_DAY)
    done(books, "1")
    HELD.pages = [[paid(1, "100.00", 20), paid(2, "100.00", 19)]]
    run, _ = ran(books)
    assert counts(run) == {"matched": 1, "unreadable": 1}
    assert Record.objects.get(external_id="INV-1").rule == "same-day"


def test_what_has_a_reference_is_not_asked_of_a_rule(ruled: Ruled) -> None:
    books = ruled()
    done(books, "1")
    done(books, "2")
    HELD.pages = [[paid(1, "100.00", 20, key=key_of("1")), paid(2, "100.00", 20)]]
    run, _ = ran(books)
    assert counts(run) == {"matched": 2}
    assert list(Record.objects.exclude(rule="").values_list("external_id", flat=True)) == ["INV-2"]


def test_a_reference_of_others_is_kept_and_given_back_before_each_comparison(ruled: Ruled) -> None:
    books = ruled(BANK_DAY.replace("days = 2", 'on = { subject = "payer" }'))
    done(books, "1")
    done(books, "9", "9.00")
    HELD.pages = [[paid(1, "100.00", 20, key="ACME LTD", payer="customer 77")]]
    run, _ = ran(books)  # what is absent is looked up meanwhile, and all is compared a second time
    assert HELD.looks == 1
    assert counts(run) == {"matched": 1, "uncertain": 1}
    tied = Record.objects.get(external_id="INV-1")
    assert (tied.reference, tied.carried, tied.marks) == (key_of("1"), "ACME LTD", {"payer": "customer 77"})


def test_a_rule_completes_nothing_that_is_in_doubt(ruled: Ruled) -> None:
    books = ruled()
    done(books, "1", outcome=Outcome.UNCERTAIN)
    HELD.pages = [[paid(1, "100.00", 20)]]
    run, (found,) = ran(books)
    assert counts(run) == {"uncertain": 1}
    assert found.why == (
        "Rule bank-day finds INV-1 for it: 100.00\xa0ZAR there."
        " A rule completes nothing that is in doubt: confirm it with that number, or check."
    )
    assert refreshed_state("1") == State.UNCERTAIN and not Lookup.objects.exists()
    assert not run.settled
    adds_up(run)


def test_a_rule_moves_no_operation_whatever_its_record_says(ruled: Ruled) -> None:
    books = ruled()
    done(books, "1")
    HELD.pages = [[paid(1, "100.00", 20, status="processing")]]
    run, (found,) = ran(books)
    assert counts(run) == {"status_differs": 1}
    assert "Rule bank-day finds INV-1 for it" in found.why and "it is not final" in found.why
    assert refreshed_state("1") == State.COMPLETED and not Lookup.objects.exists() and not run.settled


@pytest.mark.parametrize(
    ("line", "total", "matched"),
    [
        ('tolerance = { ZAR = "0.05" }', "100.05", True),
        ('tolerance = { ZAR = "0.05" }', "100.06", False),
        ('tolerance = { USD = "0.05" }', "100.05", False),
        ('percent = "1.5"', "98.51", True),
        ('percent = "1.5"', "98.49", False),
    ],
)
def test_amounts_may_differ_as_far_as_the_rule_says(
    ruled: Ruled, line: str, total: str, matched: bool
) -> None:
    books = ruled(BANK_DAY + line)
    done(books, "1")
    HELD.pages = [[paid(1, total, 20)]]
    run, _ = ran(books)
    assert counts(run) == ({"matched": 1} if matched else {"uncertain": 1, "unreadable": 1})
    adds_up(run)


def test_a_percentage_is_rounded_down_to_the_minor_unit(ruled: Ruled) -> None:
    books = ruled(BANK_DAY + 'percent = "0.5"')
    done(books, "1", "3.99")  # half a percent is 0.01995: one cent
    HELD.pages = [[paid(1, "4.00", 20)]]
    assert counts(ran(books)[0]) == {"matched": 1}
    HELD.pages = [[paid(1, "4.01", 20)]]
    assert counts(ran(books)[0]) == {"uncertain": 1, "unreadable": 1}


def test_what_is_known_there_by_a_number_is_found_by_that_number_or_by_nothing(ruled: Ruled) -> None:
    books = ruled()
    books.claimed("1", Outcome.SUCCEEDED, reference="INV-7")
    HELD.pages = [[paid(1, "100.00", 20)]]
    assert counts(ran(books)[0]) == {"uncertain": 1, "unreadable": 1}
    books = ruled(BANK_DAY + "renumbered = true")
    HELD.pages = [[paid(1, "100.00", 20)]]
    assert counts(ran(books)[0]) == {"matched": 1}
    books = ruled(BANK_DAY.replace("days = 2", 'on = { destination_reference = "id" }'))
    HELD.pages = [[paid(1, "100.00", 20), paid(7, "100.00", 1)]]
    run, _ = ran(books)
    assert counts(run) == {"matched": 1, "unreadable": 1}
    assert Record.objects.get(run=run, rule="bank-day").external_id == "INV-7"


def test_a_record_of_what_was_accepted_before_the_window_is_not_taken_for_another(
    ruled: Ruled, clock: Clock
) -> None:
    """The first day of a window: its record may be yesterday's operation's."""
    books = ruled()
    done(books, "1")
    clock.set(NOW + timedelta(days=1))
    HELD.pages = [[paid(1, "100.00", 21)]]
    today = (NOW + timedelta(days=1)).date()
    run, _ = books.run(today, today)
    assert counts(run) == {"out_of_scope": 1}
    done(books, "2")
    run, _ = books.run(today, today)
    assert counts(run) == {"ambiguous": 2}
    assert provenance.of(run, author="", now=NOW)["asked"]["since"] == "2026-11-15T22:00:00+00:00"


def test_the_database_keeps_that_a_rule_ties_or_fits_several(ruled: Ruled) -> None:
    books = ruled()
    done(books, "1")
    HELD.pages = [[paid(1, "100.00", 20)]]
    ran(books)
    for change in ("several = 'two'", "rule = ''"):
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE reconcile_record SET {change} WHERE rule <> '' AND carried = ''")


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        ('name = "x"', "an amount alone tells nothing apart"),
        ('name = "x"\ndays = 1\ndays_apart = 2', "days_apart is not known here"),
        ('name = "Bank Day"\ndays = 1', '"Bank Day" cannot be used'),
        ('name = "x"\ndays = 40', "40 is too large"),
        ('name = "x"\ndays = 1\ntolerance = { ZAR = "0.1" }\npercent = "1"', "tolerance and percent"),
        ('name = "x"\ndays = 1\ntolerance = { ZAR = "0.001" }', "decimals"),
        ('name = "x"\ndays = 1\npercent = "100"', '"100" cannot be used'),
        ('name = "x"\non = { colour = "payer" }', "colour"),
        ('name = "x"\non = { subject = "a[" }', "not a JMESPath expression"),
        ('name = "x"\ndays = 1\n[[plans.invoices.rules]]\nname = "x"\ndays = 2', 'two rules "x"'),
    ],
)
def test_wrong_rules_are_refused_in_words_on_their_line(
    listed: Books, tmp_path: Path, rules: str, what: str
) -> None:
    file = tmp_path / "books.toml"
    file.write_text(f"{file.read_text()}\n[[plans.invoices.rules]]\n{rules}\n")
    with pytest.raises(Refused) as refused:
        configure(file)
    assert what.lower() in str(refused.value).lower(), str(refused.value)
    first = file.read_text()[: file.read_text().index("[[plans")].count("\n") + 1
    assert all(wrong.line is not None and wrong.line >= first for wrong in refused.value.wrongs)


def test_a_change_of_rules_is_a_new_version_and_stands_there_as_it_was_written(ruled: Ruled) -> None:
    ruled()
    before = Plan.objects.get()
    assert before.rules == [{"name": "bank-day", "days": 2}]
    ruled(BANK_DAY.replace("2", "3"))
    assert Plan.objects.get().rules_version == before.rules_version + 1
    ruled("")
    assert Plan.objects.get().rules == []
