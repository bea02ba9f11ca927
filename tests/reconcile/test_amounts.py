"""Known failures 54 and 55: exact decimals; what cannot be read is said once, and never becomes nought."""

from decimal import Decimal
from typing import Any

from ledger.rules.states import Outcome
from reconcile.models import Record
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record

SAME = ["100", "100.0", "100.00", 100, Decimal("100.0"), Decimal("1E+2")]
WRONG: list[dict[str, Any]] = [
    {"total": 10.5},
    {"total": "ten"},
    {"total": "1,860.00"},
    {"total": "10.555"},
    {"total": None},
    {"total": {"decimal": "10.50"}},
    {"currency": None},
    {"currency": "RAND"},
    {"status": None},
]


def test_55_a_hundred_is_a_hundred_however_it_is_written(listed: Books) -> None:
    for number, total in enumerate(SAME):
        listed.claimed(str(number), Outcome.SUCCEEDED, reference=f"INV-{number}")
        HELD.pages.append([record(number, key=key_of(str(number)), total=total)])
    run, _ = listed.run()
    assert counts(run) == {"matched": len(SAME)}
    adds_up(run)


def test_55_what_cannot_be_read_is_a_class_and_not_nought(listed: Books) -> None:
    HELD.pages = [[record(number, key=key_of(str(number)), **wrong) for number, wrong in enumerate(WRONG)]]
    HELD.pages.append([record(99, key=key_of("99"))])
    run, found = listed.run()
    assert counts(run) == {"unreadable": len(WRONG), "unexpected_at_destination": 1}
    assert run.totals["destination"] == {"count": len(WRONG) + 1, "amounts": {"ZAR": "200.00"}}
    for number, finding in enumerate(found[:-1]):
        assert finding.destination[0]["id"] == f"INV-{number}"
        assert finding.why.startswith("It cannot be read")
    adds_up(run)


def test_55_sums_of_many_amounts_are_exact(listed: Books) -> None:
    HELD.pages = [[record(number, key=key_of(str(number)), total="0.10") for number in range(1, 32)]]
    HELD.pages.append([record(99, key=key_of("99"), total="999999999999999.99")])
    run, _ = listed.run()
    assert run.totals["destination"]["amounts"] == {"ZAR": "1000000000000003.09"}
    adds_up(run)


def test_55_the_factor_of_a_hundred_between_two_sides_is_a_difference(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"), total=10000)]]
    run, (finding,) = listed.run()
    assert counts(run) == {"amount_over": 1}
    assert finding.amount == 9900


def test_54_a_record_without_a_reference_is_unreadable_once(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=None), record(3, key="")]]
    run, _ = listed.run()
    assert counts(run) == {"matched": 1, "unreadable": 2}
    adds_up(run)


def test_54_an_operation_whose_record_cannot_be_read_is_one_item_with_it(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"), total="ten")]]
    run, (finding,) = listed.run()
    assert counts(run) == {"unreadable": 1}
    assert finding.operation is not None
    assert finding.amount == 100
    adds_up(run)


def test_currencies_are_never_added(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1", amount="100", currency="JPY")
    listed.claimed("2", Outcome.SUCCEEDED, reference="INV-2")
    HELD.pages = [[record(1, key=key_of("1"), total="100", currency="JPY"), record(2, key=key_of("2"))]]
    run, _ = listed.run()
    assert run.classes["matched"] == {"count": 2, "amounts": {"JPY": "100", "ZAR": "100.00"}}
    assert run.residual == {"JPY": "0", "ZAR": "0.00"}
    adds_up(run)


def test_a_record_whose_id_cannot_be_read_is_not_taken_for_the_one_that_is_known(listed: Books) -> None:
    """Its operation knows of none yet, and none is not the same as unreadable."""
    listed.claimed("1", Outcome.UNCERTAIN)
    HELD.pages = [[record(1, key=key_of("1"), total="ten"), record(2, key=key_of("1")) | {"id": None}]]
    run, found = listed.run()
    assert counts(run) == {"unreadable": 2}
    assert [finding.amount for finding in found] == [100, 100]
    assert Record.objects.get(run=run, pair__isnull=False).pair == Record.objects.get(external_id="INV-1")
    adds_up(run)
