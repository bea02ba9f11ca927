"""What is waived stands in the tie-out: the same on the page, in JSON, CSV and by the command, to the cent.

| on each side                                                                           |
|----------------------------------------------------------------------------------------|
| carried in + new = every class without what is waived + what is waived = the total     |
"""

import csv
import json
import re
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from ledger.models import database_now
from ledger.rules.states import Outcome
from reconcile import findings, reports
from reconcile.differences import actions
from reconcile.differences.models import Way
from reconcile.models import Finding, Run
from reconcile.sums import SIDES
from review.runs import Reading
from tests.databases import Clock, Database
from tests.people import browser_of, person
from tests.reconcile.books import HELD, Books, adds_up, command_id, key_of, record
from tests.reconcile.test_reconcile_command import here
from tests.review.test_runs import plain

DUPLICATE = "duplicate_at_destination"
WAIVED = (("amount_over", "2"), (DUPLICATE, "1"), (DUPLICATE, "3"), ("unreadable", "9"))
Figures = dict[tuple[str, str, str], Decimal]
"""An amount, or a number of items, by currency, row and side."""


@pytest.fixture
def books(database: Database, tmp_path: Path) -> Books:
    made = Books.configured(tmp_path, performed_by="caller", tolerance="0.50")
    person("ann")
    return made


def mixed(books: Books) -> Run:
    """Something of most classes, in two currencies and without an amount."""
    books.claimed("1", Outcome.SUCCEEDED, reference="INV-1", amount="1240.10")
    books.claimed("2", Outcome.SUCCEEDED, reference="INV-2", amount="250.50")
    books.claimed("3", Outcome.SUCCEEDED, reference="INV-3", currency="EUR")
    books.claimed("4", Outcome.UNCERTAIN, amount="40.01")
    books.claimed("5", None, amount=None)
    books.claimed("6", Outcome.SUCCEEDED, reference="INV-6", amount="77.00")
    at = books.plan.changed_at.isoformat()
    HELD.pages = [
        [
            record(1, key=key_of("1"), total="1240.10"),
            record(2, key=key_of("2"), total="350.49"),
            record(3, key=key_of("3"), total="101.00", currency="EUR"),
            record(6, key=key_of("6"), total="77.00", currency="EUR"),
        ],
        [
            record(11, key=key_of("1"), total="1240.10", created_at=at),
            record(12, key=key_of("3"), total="0.07", currency="EUR", created_at=at),
            record(8, key=key_of("8"), total="8.88", created_at=at),
            record(9, key=key_of("9"), total="ten", created_at=at),
        ],
    ]
    run, _ = books.run()
    adds_up(run)
    return run


def waive(finding: Finding, days: int = 10) -> None:
    until = database_now() + timedelta(days=days)
    said: dict[str, Any] = {"reason": "The branch knows.", "command_id": command_id(), "until": until}
    finding = Finding.objects.select_related(*actions.READ).get(pk=finding.pk)
    actions.decide(finding, Way.WAIVE, actor="ann", **said)


def of_json(document: dict[str, Any]) -> Figures:
    tie = document["tie_out"]
    told: Figures = {}
    for line in (*tie["lines"], *tie["waived"]):
        for side in SIDES:
            said = line[side]["amount"] if line["currency"] else line[side]["count"]
            told[line["currency"], line["class"], side] = Decimal(said)
    for name, totals in (("opening", tie["opening"]), ("new", tie["new"]), ("total", tie)):
        for side in SIDES:
            for currency, held in totals[side].items():
                told[currency, name, side] = Decimal(held["amount"] if currency else held["count"])
    return told


def of_csv(run: Run) -> Figures:
    text = browser_of("vic").get(f"/runs/{run.uid}.csv").getvalue().decode("utf-8-sig")
    about, told = csv.reader(StringIO(text.partition("\r\n\r\n")[0], newline="")), {}
    for name, value in about:
        if matched := re.fullmatch(r"tie-out (\w{3}|without amount) (\w+), (ledger|destination)", name):
            currency = "" if matched[1] == "without amount" else matched[1]
            told[currency, matched[2], matched[3]] = Decimal(value)
    return told


def amount(text: str) -> Decimal:
    return Decimal(text.replace(" ", "").replace("−", "-").replace("–", "0"))


def of_table(text: str, run: Run) -> Figures:
    """What a terminal shows, by the titles of its rows."""
    told: Figures = {}
    titles = names(run)
    currency = None
    for line in plain(text).splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if cells[1:3] == ["items", "Tieout"]:
            currency = "" if cells[0] == "No amount" else cells[0]
        elif cells[0] in titles and currency is not None:
            for side, cell in zip(SIDES, cells[-2:], strict=True):
                told[currency, titles[cells[0]], side] = amount(cell)
        elif line.startswith("==="):
            currency = None
    return told


def names(run: Run) -> dict[str, str]:
    from reconcile.classes import ItemClass

    there = run.plan.operation_type.destination.title
    own = {"Waived": "waived", "Counted another way": "total"}
    return {one.title(there): str(one) for one in ItemClass} | own | {v: k for k, v in reports.BEFORE.items()}


def of_page(run: Run) -> Figures:
    html = plain(browser_of("vic").get(f"/runs/{run.uid}/").content.decode())
    table = re.search(r'<table class="ledger cards classes".*?</table>', html, re.S)
    assert table is not None
    told: Figures = {}
    titles, currency = names(run), ""
    for row in re.findall(r"<tr.*?</tr>", table[0], re.S):
        head = re.sub(r"<[^>]+>", "", re.search(r"<th.*?</th>", row, re.S)[0]).strip()  # type: ignore[index]
        if "rowgroup" in row:
            currency = head if len(head) == 3 else ""
        elif head in titles:
            for side, label in zip(SIDES, ("Tieout’s record", "Durban Books holds"), strict=True):
                cell = re.search(rf'data-label="{label}">([^<]*)<', row)
                assert cell is not None
                told[currency, titles[head], side] = amount(cell[1])
    return told


def without_nothing(told: Figures) -> Figures:
    return {name: held for name, held in told.items() if held}


def all_say(run: Run) -> Figures:
    """The figures of one run from every door, which must be the same."""
    page = json.loads(browser_of("vic").get(f"/runs/{run.uid}.json").getvalue())
    told = without_nothing(of_json(page))
    found = list(findings.stored(run))
    assert without_nothing(of_csv(run)) == told
    carried = {currency for currency, row, _ in told if row == "opening"}
    shown = {name: held for name, held in told.items() if name[1] != "new" or name[0] in carried}
    assert without_nothing(of_table(reports.table(run, found, now=database_now()), run)) == shown
    assert without_nothing(of_page(run)) == shown
    for currency in {name[0] for name in told}:
        for side in SIDES:
            rows = {row: held for (cur, row, of), held in told.items() if (cur, of) == (currency, side)}
            total, opening, new = (rows.pop(name, Decimal(0)) for name in ("total", "opening", "new"))
            assert sum(rows.values()) == total == opening + new, (currency, side)
    return told


def test_what_is_waived_is_a_row_of_its_own_at_every_door_and_stays_in_every_total(books: Books) -> None:
    run = mixed(books)
    before = all_say(run)
    digest, totals = run.digest, run.totals
    for item_class, order in WAIVED:
        waive(run.findings.get(item_class=item_class, reference=key_of(order)))
    told = all_say(run)
    assert told["ZAR", "waived", "ledger"] == Decimal("250.50")
    assert told["ZAR", "waived", "destination"] == Decimal("350.49") + Decimal("1240.10")
    assert told["EUR", "waived", "destination"] == Decimal("0.07")
    assert told["", "waived", "destination"] == 1
    assert ("ZAR", "amount_over", "ledger") not in told, "it stands in one row"
    assert told["EUR", "amount_over", "destination"] == before["EUR", "amount_over", "destination"] == 101
    assert {key: held for key, held in told.items() if key[1] == "total"} == {
        key: held for key, held in before.items() if key[1] == "total"
    }
    document = json.loads(browser_of("vic").get(f"/runs/{run.uid}.json").getvalue())
    assert (document["digest"], document["totals"]) == (digest, totals)
    assert document["classes"]["amount_over"]["count"] == 2, "the classes count it as before"


def test_differences_of_before_the_upgrade_are_carried_in_and_stay_in_their_class(
    books: Books, clock: Clock, database: Database
) -> None:
    first = mixed(books)
    with database.rewriting("reconcile_finding"):
        first.findings.update(held=None)
    for item_class, order in WAIVED:
        waive(first.findings.get(item_class=item_class, reference=key_of(order)))
    reading = Reading(first, database_now())
    for group in reading.tie_out.groups:
        assert sum(row.open for row in group.rows) == group.all.open
    assert sum(group.all.open for group in reading.tie_out.groups) == sum(
        first.findings.values_list("items", flat=True)
    ), "what stays in its class is open there"
    clock.advance(60)
    second, _ = books.run()
    carried, known = second.tie["opening"]["ledger"], first.tie["ledger"]
    assert carried["EUR"] == known["EUR"]
    assert carried["ZAR"] == {"count": 3, "amount": "367.51"}, "all but the order that has a duplicate"


def test_what_was_open_is_carried_in_and_the_run_before_keeps_what_was_waived_at_its_end(
    books: Books, clock: Clock
) -> None:
    first = mixed(books)
    before = all_say(first)
    assert not {row for _, row, _ in before if row == "opening"}, "nothing was before it"
    waive(first.findings.get(item_class=DUPLICATE, reference=key_of("1")))
    clock.advance(60)
    HELD.pages[0][1]["total"] = "250.50"  # type: ignore[index]  # one is in order by now
    books.claimed("10", Outcome.SUCCEEDED, reference="INV-10", amount="3.00")
    command = json.loads(here("invoices", "--dry-run", "--json").stdout)
    second, _ = books.run()
    adds_up(second)
    told = all_say(second)
    assert without_nothing(of_json(command)) == told, "a dry run tells the same"
    assert told["ZAR", "waived", "destination"] == Decimal("1240.10")
    assert told["ZAR", "opening", "ledger"] == Decimal("250.50") + Decimal("40.01") + Decimal("77.00")
    assert told["ZAR", "opening", "destination"] == sum(map(Decimal, ("250.50", "1240.10", "8.88")))
    assert told["ZAR", "new", "ledger"] == Decimal("1240.10") + 3
    assert told["EUR", "opening", "destination"] == sum(map(Decimal, ("101.00", "77.00", "0.07")))
    assert all_say(first) == before, "as it was at its end: a later run has looked again"
    clock.advance(11 * 86400)
    actions.sweep()
    assert ("ZAR", "waived", "destination") not in all_say(second), "its time is over"
    assert all_say(second)["ZAR", DUPLICATE, "destination"] == Decimal("1240.10")
