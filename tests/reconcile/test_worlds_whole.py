"""Generated worlds by every door: claims and outcomes, a shop's database, the command, page, JSON and CSV.

What cannot come about by a caller alone (cancelled, corrected, waiting, reversed) is left to `test_worlds`.
"""

import csv
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from ledger import actions
from ledger.actions import Report, Submission
from ledger.models import OperationType
from ledger.rules.states import CaseKind, Outcome
from reconcile.configuration import configure
from reconcile.models import Run
from tests.databases import Clock, Database
from tests.people import browser_of
from tests.reconcile import oracle, playing
from tests.reconcile.oracle import Difference, Judged, Line
from tests.reconcile.test_reconcile_command import came_to, here
from tests.reconcile.test_sql_destination import FILE
from tests.reconcile.worlds import NOW, TEN_DAYS, Meant, Order, made

OUTCOMES = {
    "completed": Outcome.SUCCEEDED,
    "uncertain": Outcome.UNCERTAIN,
    "failed": Outcome.REJECTED,
    "running": None,
}
COLUMNS = "number, ref, total, currency, status, made_at"
RECORD = """status = "status"
pending_statuses = ["processing"]
done_statuses = ["open", "paid"]
failed_statuses = ["declined"]
void_statuses = ["void"]
"""
TABLE = (
    "create schema shop",
    "create table shop.invoices (place integer, number text, ref text, total text, currency text,"
    " status text, made_at text, late boolean)",
    "grant usage on schema shop to public",
    "grant select on shop.invoices to public",
)


@pytest.fixture
def shop(database: Database, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Database:
    """A shop's own database that is read by queries, and a plan of these rules."""
    clock.set(TEN_DAYS.window_from)
    database.as_owner(*TABLE)
    monkeypatch.setenv("SHOP_DATABASE_URL", database.app_url)
    text = FILE.replace("number, ref, total, currency, made_at", COLUMNS)
    text = text.replace("where made_at >= {since}", "where not late and {since} is not null order by place")
    text = text.replace('occurred_at = "made_at"\n', f'occurred_at = "made_at"\n{RECORD}')
    text = text.replace(
        'grace = "0s"', 'grace = "15m"\nwindow = "10d"\ntolerance = { ZAR = "0.50", JPY = "3" }'
    )
    file = tmp_path / "shop.toml"
    file.write_text(text)
    configure(file)
    OperationType.objects.update(lookup_proved_at=TEN_DAYS.window_from)
    return database


def whole(order: Order) -> Order:
    """Return an order that can come about by claims, outcomes and a list without pages."""
    meant = order.meant
    if meant is not None:
        state = meant.state if meant.state in OUTCOMES else "uncertain"
        meant = Meant(
            meant.accepted,
            None if meant.amount is None else abs(meant.amount),
            meant.currency,
            state,
            held=meant.held and state == "uncertain",
            tried=meant.accepted,
        )
    known = meant is not None and meant.state == "completed"
    there = (replace(one, before=None, reversal=None, own=one.own and known) for one in order.there)
    return replace(order, meant=meant, there=tuple(there))


def brought_about(order: Order, clock: Clock) -> None:
    """Claim an order and report what came of it, at its time."""
    meant = order.meant
    if meant is None:
        return
    clock.set(meant.accepted)
    amount = None if meant.amount is None else str(playing.major(meant.amount, meant.currency))
    submission = Submission(
        "invoice.create",
        {"order": order.name},
        key=order.name,
        amount=amount,
        currency=meant.currency or None,
    )
    reply = actions.claim(submission, actor="api:shop")
    assert reply.attempt is not None and reply.token is not None
    own = next((oracle.id_of(record) for record in order.there if record.own), "")
    if (outcome := OUTCOMES[meant.state]) is not None:
        known = own if outcome is Outcome.SUCCEEDED else ""
        report = Report(outcome, destination_reference=known)
        actions.record(reply.attempt.uid, token=reply.token, report=report, actor="api:shop")
    if meant.held:
        actions.hold(reply.operation.pk, kind=CaseKind.ACCEPTED, actor="ann", reason="Not final in time.")


def written(database: Database, orders: list[Order]) -> None:
    """Let the shop's database hold the records."""
    rows = [
        (record.number, playing.item(order, record, amount=record.amount), record.late)
        for order in orders
        for record in order.there
    ]
    for place, row, late in rows:
        ref = row["metadata"]["operation"]
        total = row["total"] if isinstance(row["total"], str | None) else "10,5"
        database.owned(
            "insert into shop.invoices values (%s, %s, %s, %s, %s, %s, %s, %s)",
            (place, row["id"], ref, total, row["currency"], row["status"], row["created_at"], late),
        )


def differences(found: list[dict[str, Any]]) -> Counter[tuple[str, str, int | None, str]]:
    """Return what machines read of the differences; it does not say how many items one stands for."""
    return Counter(
        (one["class"], one["reference"] or "", _minor(one["amount"], one["currency"]), one["currency"] or "")
        for one in found
    )


def _minor(amount: str | None, currency: str | None) -> int | None:
    return playing.minor(Decimal(amount), currency or "") if amount else None


def figures(tie: dict[str, Any]) -> dict[tuple[str, str], Line]:
    """Return the lines of a tie-out as the oracle has them."""
    return {
        (line["class"], line["currency"]): Line(
            line["items"],
            *((line[side]["count"], _minor(line[side]["amount"], line["currency"]) or 0) for side in SIDES),
        )
        for line in tie["lines"]
    }


SIDES = ("ledger", "destination")


def exported(run: Run) -> Counter[Difference]:
    """Read the differences back from the CSV."""
    text = browser_of("ann").get(f"/runs/{run.uid}.csv").getvalue().decode("utf-8-sig")
    rows = csv.DictReader(StringIO(text.partition("\r\n\r\n")[2], newline=""))
    return Counter(
        Difference(
            row["class"],
            row["reference"],
            int(row["items"]),
            _minor(row["amount"], row["currency"]),
            row["currency"],
        )
        for row in rows
    )


@pytest.mark.parametrize("number", range(4))
def test_command_page_json_and_csv_say_what_the_oracle_says(
    shop: Database, clock: Clock, number: int
) -> None:
    orders = [whole(order) for one in range(6) for order in made(5000 + number * 6 + one, TEN_DAYS).orders]
    for order in sorted(orders, key=lambda one: one.meant.accepted if one.meant else NOW):
        brought_about(order, clock)
    written(shop, orders)
    clock.set(NOW)
    judged = oracle.judge(TEN_DAYS, sorted(orders, key=lambda one: one.meant.accepted if one.meant else NOW))
    tried = came_to(here("invoices", "--dry-run", "--json").stdout)
    said = came_to(here("invoices", "--json").stdout)
    assert said == tried
    run = Run.objects.get()
    assert_said(said, judged)
    ann = browser_of("ann")
    assert came_to(ann.get(f"/runs/{run.uid}.json").getvalue().decode()) == said
    assert exported(run) == judged.differences
    page = ann.get(f"/runs/{run.uid}/").content.decode()
    assert page.count('data-label="Why"') == judged.differences.total()


def assert_said(said: dict[str, Any], judged: Judged) -> None:
    """Compare the command's words with the oracle's, to the last minor unit."""
    assert differences(said["findings"]) == Counter(
        (one.item_class, one.reference, one.amount, one.currency) for one in judged.differences.elements()
    )
    counted: Counter[str] = Counter()
    for (item_class, _), line in judged.lines.items():
        counted[item_class] += line.items
    assert {name: held["count"] for name, held in said["classes"].items() if held["count"]} == +counted
    assert figures(said["tie_out"]) == judged.lines
    assert not any(Decimal(left) for left in said["residual"].values())
    for side, totals in (("ledger", judged.ledger), ("destination", judged.destination)):
        amounts = {cur: _minor(amount, cur) for cur, amount in said["totals"][side]["amounts"].items()}
        assert amounts == {cur: amount for cur, (_, amount) in totals.items() if cur}
        assert said["totals"][side]["count"] == sum(count for count, _ in totals.values())
