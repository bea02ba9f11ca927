"""The source is read as lists are: page by page, to its end, by a session that only reads; or nothing is said.

| the source counts itself as | the run |
|---|---|
| what came in, before and after | is done; the source is proved complete |
| more, or more money, both times | fails as incomplete, and calls nothing missing |
| one before and another after | is done; complete is not proved |
| nothing: no control | is done; complete is not proved |
"""

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger.models import TieoutNow, database_now
from ledger.rules.states import Outcome
from reconcile import leasing
from reconcile.actions import start
from reconcile.models import Finding, Record, Run
from reconcile.provenance import A_QUERY
from reconcile.running import NotWhole, window
from reconcile.sources.pulling import MOVED, NO_AMOUNTS, NO_CONTROL, ONE_TOTAL
from tests.databases import Database
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record, row
from tests.reconcile.test_resuming import dies_at
from tests.workers import until

# ruff: noqa: E501  # a query is as long as it is

SHOP = """
[plans.invoices.source]
name = "Web shop"
connector = "sql"
url = "env:SHOP_DATABASE_URL"
query = "select number as reference, total as amount, currency, state as status, placed_at as date from shop.orders where placed_at >= {since}"
control = "select count(*), sum(total), currency from shop.orders where placed_at >= {since} group by 3"
record = { system = "'shop'", version = "'1'" }
"""
TABLE = (
    "create schema shop",
    "create table shop.orders (number text, total numeric, currency text, state text, placed_at timestamptz)",
    "grant usage on schema shop to public",
    "grant all on shop.orders to public",
)


def orders(database: Database, *rows: str) -> None:
    """Write rows into the shop's own table."""
    for one in rows:
        database.owned(f"insert into shop.orders values ({one})")


@pytest.fixture
def shop(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Books:
    """A plan whose source is a shop's own database."""
    database.as_owner(*TABLE)
    monkeypatch.setenv("SHOP_DATABASE_URL", database.app_url)
    return Books.configured(tmp_path, performed_by="caller", source=SHOP)


def again(books: Books, source: dict[str, object]) -> Books:
    """The same plan with other lines of its source."""
    plan = books.plan
    plan.source = {**(plan.source or {}), **source}
    plan.save(update_fields=["source"])
    return books


def test_a_shop_s_own_database_says_what_should_exist(shop: Books, database: Database) -> None:
    shop.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    shop.claimed("2", Outcome.SUCCEEDED, reference="INV-2")
    HELD.pages = [[record(1, key=key_of("1")), record(2, key=key_of("2"))]]
    orders(
        database,
        "'1', 100.00, 'ZAR', 'paid', clock_timestamp()",
        "'2', 90.00, 'ZAR', 'paid', clock_timestamp()",
        "'3', 70.00, 'ZAR', 'paid', clock_timestamp() - interval '1 day'",
        "'4', 60.00, 'ZAR', 'cancelled', clock_timestamp()",
    )
    run, _ = shop.run()
    assert counts(run) == {"matched": 1, "amount_over": 1, "never_submitted": 1, "out_of_scope": 1}
    adds_up(run)
    told = run.sides["source"]
    assert (told["rows"], told["complete"], told["why"]) == (4, "proved", "4 rows, ZAR 320.00")
    assert run.totals["source"] == {"count": 3, "amounts": {"ZAR": "260.00"}}
    assert not any("Web shop" in line for line in run.made_with["not_tested"])


def test_what_stands_in_a_query_is_in_no_form_of_the_report(shop: Books, database: Database) -> None:
    """A text inside may be a secret by mistake; the digest tells which query it was."""
    assert shop.plan.source is not None
    asked = shop.plan.source["list"]
    again(shop, {"list": {**asked, "query": asked["query"] + " and 'hunter2' <> ''"}})
    run, _ = shop.run()
    assert run.made_with["source"]["question"] == A_QUERY
    for form in ("/", ".json", ".csv"):
        answer = browser_of("vic").get(f"/runs/{run.uid}{form}")
        text = (answer.getvalue() if answer.streaming else answer.content).decode()
        assert "hunter2" not in text and "shop.orders" not in text and A_QUERY in text, form
    assert "hunter2" not in str(run.made_with) + str(run.sides)


def test_a_source_is_read_and_never_written(shop: Books, database: Database) -> None:
    database.as_owner(
        "create function shop.taken() returns text language sql as 'delete from shop.orders returning number'"
    )
    query = "select shop.taken() as reference"
    assert shop.plan.source is not None
    again(shop, {"list": {**shop.plan.source["list"], "query": query}, "control": None})
    orders(database, "'1', 100.00, 'ZAR', 'paid', clock_timestamp()")
    with pytest.raises(NotWhole, match=r"Web shop: The query tries to write\."):
        shop.run()
    assert database.owned("select count(*) from shop.orders").fetchone() == (1,)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ((2, "250.00"), (2, "250.00"), ("proved", "2 rows, ZAR\u00a0250.00")),
        ((2, "250.00", "ZAR"), (2, "250.00", "ZAR"), ("proved", "2 rows, ZAR 250.00")),
        ((2, None), (2, None), ("proved", "2 rows")),
        ((1, "150.00"), (2, "250.00"), ("not proved", MOVED)),
        ((3, "300.00"), (4, "400.00"), ("not proved", MOVED)),
        (
            (3, "300.00"),
            (3, "300.00"),
            "it counts 3 rows, a total of 300.00 without currency, and 2 rows, ZAR",
        ),
        (
            (2, "250.01"),
            (2, "250.01"),
            "it counts 2 rows, a total of 250.01 without currency, and 2 rows, ZAR",
        ),
        ((2, "250.00", "EUR"), (2, "250.00", "EUR"), "it counts 2 rows, EUR 250.00, and 2 rows, ZAR"),
        (("many", None), (2, None), "its control brings no count"),
        (("NaN", None), (2, None), "its control brings no count"),
        ((Decimal("Infinity"), None), (2, None), "its control brings no count"),
        ((Decimal("1e1000000"), None), (2, None), "its control brings no count"),
        ((True, None), (2, None), "its control brings no count"),
        ((2, "sNaN"), (2, None), "its control brings a total that is no number"),
        ((2, Decimal("1e999999")), (2, None), "its control brings a total that is no number"),
        ((2, "250.00", "Z\0R"), (2, None), "its control names a currency that is none"),
    ],
)
def test_what_the_source_counts_itself_proves_it_complete_or_fails_the_run(
    sourced: Books, before: tuple[object, ...], after: tuple[object, ...], said: tuple[str, str] | str
) -> None:
    again(sourced, {"control": {"query": "select …"}})
    HELD.rows = [[row("1", amount="150.00")], [row("2", status="cancelled")]]
    HELD.counts = [[dict(zip(("count", "sum", "currency"), one, strict=False))] for one in (before, after)]
    if isinstance(said, str):
        with pytest.raises(NotWhole, match=f"Web shop: {said}"):
            sourced.run()
        assert Run.objects.get().state == Run.State.FAILED
        assert not Finding.objects.exists() and not Record.objects.exists()
    else:
        run, _ = sourced.run()
        assert (run.sides["source"]["complete"], run.sides["source"]["why"]) == said


@pytest.mark.parametrize(
    ("record", "amounts", "told"),
    [
        ({"amount_unit": "minor"}, [], (0, 0, ("proved", "0 rows"))),
        ({"amount_unit": "minor"}, [], (0, None, ("proved", "0 rows"))),
        ({}, [], (0, None, ("proved", "0 rows"))),
        ({"amount_unit": "minor"}, ["ZAR 100"], (1, 100, ("proved", "1 row, ZAR\u00a01.00"))),
        (
            {"amount_unit": "minor"},
            ["ZAR 100"],
            (1, "100.9", "it counts 1 row, a total of 100.9 without currency, and 1 row"),
        ),
        ({"amount_sign": "negated"}, ["ZAR -5"], (1, "-5.00", ("proved", "1 row, ZAR\u00a05.00"))),
        (
            {"amount_sign": "negated"},
            ["ZAR -5"],
            (1, "5.00", "it counts 1 row, a total of 5.00 without currency, and 1 row"),
        ),
        ({}, ["ZAR 1", "JPY 2"], (2, "3", ("not proved", ONE_TOTAL))),
        ({}, ["ZAR 1", "JPY 2"], (3, "3", "it counts 3 rows, a total of 3 without currency, and 2 rows")),
        ({}, ["ZAR 1", "JPY 2"], (2, None, ("proved", "2 rows"))),
    ],
)
def test_a_total_is_compared_in_the_unit_sign_and_currency_of_the_rows(
    sourced: Books, record: dict[str, str], amounts: list[str], told: tuple[Any, ...]
) -> None:
    *count, said = told
    assert sourced.plan.source is not None
    kept = sourced.plan.source["record"]
    again(sourced, {"control": {"query": "select …"}, "record": {**kept, **record}})
    found = [one.split() for one in amounts]
    HELD.rows = [[row(f"{n}", amount=amount, currency=cur) for n, (cur, amount) in enumerate(found)]]
    HELD.counts = [[dict(zip(("count", "sum"), count, strict=True))]] * 2
    if isinstance(said, str):
        with pytest.raises(NotWhole, match=f"Web shop: {said}"):
            sourced.run()
    else:
        run, _ = sourced.run()
        assert (run.sides["source"]["complete"], run.sides["source"]["why"]) == said


def test_rows_of_one_id_that_name_different_orders_are_as_many_rows(sourced: Books) -> None:
    """What is called the id may be that of a customer; on one page, and on two."""
    HELD.rows = [[row("1", id="c"), row("2", id="c")], [row("3", id="c"), row("1", id="c", amount="90.00")]]
    run, _ = sourced.run()
    assert (run.sides["source"]["rows"], run.sides["source"]["repeated"]) == (3, 1)
    assert run.totals["source"] == {"count": 3, "amounts": {"ZAR": "290.00"}}
    adds_up(run)


def test_a_date_that_is_none_makes_its_row_unreadable_and_one_without_zone_does_not(sourced: Books) -> None:
    """Else it would be without a date, and so in every window for ever."""
    garbage = ("0000-00-00", "infinity", "2026\0", "10.11.2026", 10**30, True, ["2026-11-10"])
    fine = ("", None, "  ", database_now().isoformat()[:19])
    HELD.rows = [[row(f"{n}", date=date) for n, date in enumerate((*garbage, *fine))]]
    run, found = sourced.run()
    assert counts(run)["unreadable"] == len(garbage)
    assert sum("date: it is no date that can be read" in one.why for one in found) == len(garbage)


def test_amounts_that_cannot_be_read_leave_the_total_unproved(sourced: Books) -> None:
    again(sourced, {"control": {"query": "select …"}})
    HELD.rows = [[row("1"), row("2", amount="ten")]]
    HELD.counts = [[{"count": 2, "sum": "110.00"}]] * 2
    run, _ = sourced.run()
    assert (run.sides["source"]["complete"], run.sides["source"]["why"]) == ("not proved", NO_AMOUNTS)
    assert f"Whether all rows of Web shop came is not proved: {NO_AMOUNTS}." in run.made_with["not_tested"]


def test_without_a_control_the_page_says_that_nothing_proves_the_source_complete(sourced: Books) -> None:
    HELD.rows = [[row("1")]]
    run, _ = sourced.run()
    page = browser_of("ann").get(f"/runs/{run.uid}/").content.decode()
    assert f"Whether all rows of Web shop came is not proved: {NO_CONTROL}." in page
    assert "this plan has no source" not in page


def test_a_source_that_breaks_off_is_no_run(sourced: Books) -> None:
    sourced.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages, HELD.rows = [[record(1, key=key_of("1"))]], [[row("1")], None]
    with pytest.raises(NotWhole, match="Web shop: The list broke off"):
        sourced.run()
    assert not Finding.objects.exists() and not Record.objects.exists()


def test_a_row_that_changes_while_it_is_read_counts_once_as_it_came_last(sourced: Books) -> None:
    HELD.rows = [[row("1", id="a", amount="90.00"), row("2", id="b")], [row("1", id="a")]]
    run, _ = sourced.run()
    assert (run.sides["source"]["pages"], run.sides["source"]["rows"]) == ([2, 1], 2)
    assert run.totals["source"] == {"count": 2, "amounts": {"ZAR": "200.00"}}
    adds_up(run)


def test_a_row_may_be_older_than_its_operation_by_the_lead(shop: Books, database: Database) -> None:
    """The source is asked from so long before the window on, and a day more."""
    again(shop, {"lead": 20.0 * 86400})
    shop.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    window_s, day_s = shop.plan.window_s, 86400
    for order, age_s in (("1", window_s + 20.9 * day_s), ("2", window_s + 21.1 * day_s)):
        made = f"clock_timestamp() - make_interval(secs => {age_s})"
        orders(database, f"'{order}', 100.00, 'ZAR', 'paid', {made}")
    run, _ = shop.run()
    assert run.sides["source"]["rows"] == 1
    assert counts(run) == {"matched": 1}


def test_over_http_a_source_is_listed_and_counted(books: Books) -> None:
    """The sandbox's own list stands for that of a shop, page by page."""
    assert books.sandbox is not None
    for order in range(5):
        books.outside(str(order))
    listed = {
        "path": "/invoices?updated_since={since}&limit=2",
        "items": "data",
        "paging": {"style": "cursor", "next": "next_cursor", "parameter": "cursor"},
    }
    again(
        books,
        {
            "connector": "http",
            "connection": {"base_url": books.sandbox.url, "timeout": 3.0},
            "list": listed,
            "control": {"path": f"/_effects?key={key_of('0')}", "count": "count"},
            "record": {"key": "metadata.operation", "amount": "total", "date": "created_at"},
        },
    )
    with pytest.raises(NotWhole, match=r"it counts 1 row, and 5 rows, ZAR\s500\.00 came in"):
        books.run()
    again(books, {"control": None})
    run, _ = books.run()
    assert run.sides["source"]["pages"] == [2, 2, 1]
    assert counts(run) == {"unexpected_at_destination": 5}
    assert run.totals["source"] == run.totals["destination"] == {"count": 5, "amounts": {"ZAR": "500.00"}}
    adds_up(run)


def test_a_folder_of_exports_may_be_the_source(sourced: Books, tmp_path: Path) -> None:
    """As of the instant in the name: what was accepted later has no row yet."""
    sourced.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    (tmp_path / "out").mkdir()
    name = tmp_path / "out" / "orders-2026-01-02.csv"
    name.write_text("reference,amount,currency,date\n2,100.00,ZAR,\n")
    os.utime(name, (0, 1_767_500_000))
    form = {"name": "orders-%Y-%m-%d.csv", "timezone": "UTC"}
    reach = {"path": str(tmp_path / "out"), "format": "csv", "as_of": form}
    again(sourced, {"connector": "file", "connection": reach})
    run, _ = sourced.run()
    assert counts(run) == {"in_flight": 1, "never_submitted": 1}
    assert run.sides["source"]["as_of"] == "2026-01-02T00:00:00+00:00"


def test_61_wherever_a_run_with_a_source_is_killed_it_comes_to_the_same_end(sourced: Books) -> None:
    """One run, killed again and again, each time a commit further on; rows are not read twice."""
    sourced.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    sourced.claimed("2", Outcome.UNCERTAIN)
    HELD.pages = [[record(1, key=key_of("1"))], [record(2, key=key_of("2")), record(3, key=key_of("3"))]]
    HELD.rows = [[row("1"), row("2", amount="90.00")], [row("3"), row("4")], [row("5", amount="x")]]
    undisturbed, _ = sourced.run(keep=False)
    start_at, to = window(sourced.plan, None, None)
    run = start(sourced.plan, window_from=start_at, window_to=to, actor="ann")
    Run.objects.update(lease_until=TieoutNow())
    seen: list[list[int]] = []
    while dies_at(run, len(seen) + 1):
        run.refresh_from_db()
        seen.append(run.sides.get("source", {}).get("pages", []))
        until(leasing.abandoned, seconds=10, what="The end of its session")
    run.refresh_from_db()
    assert [] in seen and [2] in seen and [2, 2, 1] in seen, seen
    assert (run.state, run.digest) == ("done", undisturbed.digest)
    assert (run.sides["source"]["pages"], run.sides["source"]["rows"]) == ([2, 2, 1], 5)
