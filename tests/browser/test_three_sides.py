"""The page of a run on three sides, and of a difference of the source, in a real browser."""

from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import expect

from ledger.rules.states import Outcome
from reconcile.models import Run
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at, unfold
from tests.databases import Clock
from tests.reconcile.books import HELD, SOURCE, Books, key_of, record, row


def three_sides(folder: Path, clock: Clock) -> Run:
    """A month of orders, of which the shop says otherwise here and there, in two currencies."""
    clock.set(datetime(2026, 11, 11, 8, 0, tzinfo=UTC))
    books = Books.configured(folder, performed_by="caller", grace="15m", source=SOURCE)
    there, rows = [], []
    for order in range(400, 420):
        currency = "EUR" if order > 415 else "ZAR"
        amount = f"{order * 12}.50"
        books.claimed(
            str(order), Outcome.SUCCEEDED, reference=f"INV-{order}", amount=amount, currency=currency
        )
        there.append(record(order, key=key_of(str(order)), total=amount, currency=currency))
        rows.append(row(str(order), amount=amount, currency=currency, date="2026-11-11T08:00:00Z"))
    rows[3] |= {"amount": "4836.00"}
    rows[5] |= {"status": "cancelled"}
    rows[7] |= {"amount": "many"}
    rows.append(rows[8])
    rows[9:10] = [row("459", amount="1725.00", date="2026-11-11T09:30:00Z")]
    there.append(record(900, key=key_of("900"), total="310.00"))
    clock.set(datetime(2026, 11, 30, 5, 2, tzinfo=UTC))
    HELD.pages, HELD.rows = [there], [rows]
    run, _ = books.run()
    return run


def test_three_sides_and_the_way_between_them_pass_axe_and_fit(
    windows: Windows, clock: Clock, tmp_path: Path
) -> None:
    run = three_sides(tmp_path, clock)
    page = windows.of("ann")
    wrong: list[str] = []
    addresses = {"three-sides": f"/runs/{run.uid}/"}
    for name, item_class in (("never-submitted", "never_submitted"), ("cancelled-there", "status_differs")):
        finding = run.findings.get(item_class=item_class)
        addresses[name] = f"/runs/{run.uid}/differences/{finding.pk}/"
    for name, address in addresses.items():
        page.goto(address)
        unfold(page)
        wrong += [f"{name}, {line}" for line in looked_at(page, name)]
    assert wrong == []
    page.goto("/queue/?text=shop/459")
    expect(page.locator("tbody tr")).to_contain_text("Not handed over")
