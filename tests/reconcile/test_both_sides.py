"""Known failure 51: both sides are walked, and what one of them lacks is listed."""

from pathlib import Path

from ledger.rules.states import Outcome
from reconcile.configuration import configure
from reconcile.models import Plan
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record


def test_51_what_the_destination_never_received_is_listed_beside_what_nobody_sent(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    listed.claimed("2", Outcome.SUCCEEDED, reference="INV-2")
    HELD.pages = [[record(1, key=key_of("1")), record(3, key=key_of("3"))]]
    run, found = listed.run()
    assert counts(run) == {"matched": 1, "missing_at_destination": 1, "unexpected_at_destination": 1}
    assert [(finding.item_class, finding.reference) for finding in found] == [
        ("missing_at_destination", key_of("2")),
        ("unexpected_at_destination", key_of("3")),
    ]
    adds_up(run)


def test_a_plan_compares_the_operations_of_its_type_alone(listed: Books, tmp_path: Path) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    text, file = (tmp_path / "books.toml").read_text(), tmp_path / "credits.toml"
    text = text.replace("invoice.create", "credit.create").replace("[plans.invoices]", "[plans.credits]")
    file.write_text(text)
    configure(file)
    others = Books(Plan.objects.select_related("operation_type__destination").get(name="credits"))
    assert counts(listed.run()[0]) == {"matched": 1}
    assert counts(others.run()[0]) == {"unexpected_at_destination": 1}
