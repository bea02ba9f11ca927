"""How old what is open is: the same on the page, on Today and in each file, and as a slow hand counts it.

| whole days since first seen | 0–1 | 2–7 | 8–30 | 31–90 | over 90 |
|-----------------------------|-----|-----|------|-------|---------|
| the last instant that is it | 1.9 | 7.9 | 30.9 | 90.9  | for ever |
"""

import csv
import json
import re
from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.actions import assign
from ledger.models import Case, Destination, Event, database_now
from ledger.rules.states import Outcome
from reconcile.differences import actions as deciding
from reconcile.differences import ageing
from reconcile.differences.models import Way
from reconcile.displaying import Display
from reconcile.models import Finding, Run
from tests.databases import Clock
from tests.people import browser_of, limited, person
from tests.reconcile.books import HELD, Books, command_id, key_of, record
from tests.review.test_entities import CAPE
from tests.review.test_runs import plain

AGES = [days for _, days in ageing.BUCKETS]
DAY = timedelta(days=1)


@pytest.fixture
def books(clock: Clock, tmp_path: Path) -> Books:
    return Books.configured(tmp_path, performed_by="caller", tolerance="0.50")


def grown(books: Books, clock: Clock) -> None:
    """Differences of several classes, two currencies and none, found over a hundred days."""
    books.claimed("1", Outcome.SUCCEEDED, reference="INV-1", amount="1240.10")
    books.claimed("2", Outcome.SUCCEEDED, reference="INV-2", amount="250.50")
    HELD.pages = [[record(1, key=key_of("1"), total="1240.10"), record(2, key=key_of("2"), total="350.49")]]
    later = [
        [record(11, key=key_of("1"), total="1240.10")],
        [record(12, key=key_of("x12"), total="0.07", currency="EUR")],
        [record(13, key=key_of("x13"), total="8.88"), record(14, key=key_of("x14"), total="ten")],
        [record(15, key=key_of("x15"), total="5000.00"), record(16, key=key_of("x16"), currency="EUR")],
    ]
    books.run()
    for page, days in zip(later, (61, 30, 7, 2), strict=True):
        clock.advance(days * DAY)
        HELD.pages.append(page)
        books.run()
    clock.advance(1.5 * DAY)


def by_hand() -> dict[tuple[str, str], dict[str, tuple[int, Decimal]]]:
    """What is open by class and currency, and then by age; read off the rows one by one."""
    now = database_now()
    found: dict[Any, Any] = defaultdict(lambda: defaultdict(lambda: (0, Decimal(0))))
    for one in Finding.objects.filter(lives=True, is_open=True):
        days = (now - one.first_seen_at).days
        age = next(words for start, words in reversed(ageing.BUCKETS) if days >= start)
        count, amount = found[one.item_class, one.currency][age]
        found[one.item_class, one.currency][age] = count + 1, amount + abs(one.amount or 0)
    return {of: dict(ages) for of, ages in found.items()}


def got(address: str, name: str = "vic") -> bytes:
    answer = browser_of(name).get(address)
    assert answer.status_code == 200, address
    return b"".join(answer) if answer.streaming else answer.content


def page(address: str = "/runs/differences/", name: str = "vic") -> str:
    return plain(got(address, name).decode())


def above(shown: str) -> str:
    """The page above its list."""
    return shown[shown.index("<main") : shown.index('id="h-list"')]


def told(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, tuple[int, Decimal]]]:
    """The same off the rows of a file."""
    found: dict[Any, dict[str, tuple[int, Decimal]]] = {}
    titles = {ageing.title_of(one): one for one in Finding.objects.values_list("item_class", flat=True)}
    for row in rows:
        if row["Entity"] != "All":
            ages = {
                days: (int(row[f"{days} days, count"]), Decimal(str(row[f"{days} days, amount"] or 0)))
                for days in AGES
            }
            key = titles[row["Class"]], row["Currency"] or ""
            found[key] = {days: held for days, held in ages.items() if held[0]}
    return found


def of_csv() -> list[dict[str, Any]]:
    text = got("/runs/differences/age.csv").decode("utf-8-sig")
    return list(csv.DictReader(StringIO(text.partition("\r\n\r\n")[2], newline="")))


def of_xlsx() -> list[dict[str, Any]]:
    sheet = openpyxl.load_workbook(BytesIO(got("/runs/differences/age.xlsx")))["Rows"]
    heads, *rows = sheet.iter_rows(values_only=True)
    names = ageing.columns(None)
    assert [str(head).lower() for head in heads] == [name.lower() for name in names]
    return [dict(zip(names, row, strict=True)) for row in rows]


def of_json() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(got("/runs/differences/age.json"))["rows"]
    return rows


def test_each_form_counts_by_age_what_a_slow_hand_counts(books: Books, clock: Clock) -> None:
    grown(books, clock)
    wanted = by_hand()
    assert len({age for ages in wanted.values() for age in ages}) == len(AGES), "each age has something"
    for rows in (of_csv(), of_xlsx(), of_json()):
        assert told(rows) == wanted
    shown = page()
    for (item_class, currency), ages in wanted.items():
        line = next(
            row
            for row in shown.split("<tr")
            if f"item_class={item_class}" in row and f'Currency">{currency or "no amount"}<' in row
        )
        cells = re.findall(r'data-label="([^"]+) d"><b>(\d+)</b>(?: <span class="nb">([\d .]+))?', line)
        assert {
            days: (int(count), Decimal((amount or "0").replace(" ", ""))) for days, count, amount in cells
        } == ages


def test_the_age_by_value_is_each_amount_times_its_days_by_all_amounts(books: Books, clock: Clock) -> None:
    grown(books, clock)
    now, weight, amount = database_now(), Decimal(0), Decimal(0)
    for one in Finding.objects.filter(lives=True, is_open=True, currency="ZAR"):
        assert one.amount is not None
        weight += abs(one.amount) * (now - one.first_seen_at).days
        amount += abs(one.amount)
    days = (weight / amount).quantize(Decimal("0.1"))
    assert f"{days} days weighed by value" in page() and f"{days} days weighed by value" in page("/")
    (row,) = (one for one in of_json() if one["Entity"] == "All" and one["Currency"] == "ZAR")
    assert (row["Age in days, by value"], row["Amount"]) == (f"{days}", f"{amount:.2f}")


@pytest.mark.parametrize(
    ("days", "age"),
    [(0, 0), (1.99, 0), (2, 1), (7.99, 1), (8, 2), (30.99, 2), (31, 3), (90.99, 3), (91, 4), (400, 4)],
)
def test_an_age_begins_with_its_first_whole_day(books: Books, clock: Clock, days: float, age: int) -> None:
    clock.set(clock.now())
    HELD.pages = [[record(1, key=key_of("x1"))]]
    books.run()
    clock.advance(days * DAY)
    counted = ageing.read(database_now()).of("ZAR")
    assert [cell.count for cell in counted.cells].index(1) == age


def test_no_filter_changes_how_old_all_is_and_each_line_leads_to_as_many(books: Books, clock: Clock) -> None:
    grown(books, clock)
    clock.set(clock.now())
    shown = page()
    ages = above(shown)
    assert "every one, whatever is chosen in the list below" in ages
    leads = re.findall(r'href="(/runs/differences/\?[^"]+)">.*?data-label="All"><b>(\d+)</b>', ages)
    assert len(leads) == len(by_hand())
    for address, count in leads:
        listed = page(address.replace("&amp;", "&"))
        assert above(listed) == ages
        assert f": {count} of {Finding.objects.filter(lives=True, is_open=True).count()}<" in listed
        assert listed.count('data-label="Why"') == int(count), address
    for place, words in enumerate(AGES):
        wanted = sum(held.get(words, (0,))[0] for held in by_hand().values())
        assert page(f"/runs/differences/?age={place}").count('data-label="Why"') == wanted, words
    for odd in ("age=9", "age=x", "item_class=none", "after=x", "after=99", "entity=a%00b"):
        assert page(f"/runs/differences/?{odd}").count('data-label="Why"') == 6 + 1, odd


def test_what_no_later_run_has_looked_at_is_open_still_and_what_is_gone_is_not(
    books: Books, clock: Clock
) -> None:
    at = clock.now().isoformat()
    first, second = (record(n, key=key_of(f"x{n}"), created_at=at) for n in (1, 2))
    HELD.pages = [[first, second]]
    books.run()
    clock.advance(10 * DAY)
    HELD.pages = [[second]]
    assert books.run()[0].gone.count() == 1
    counted = ageing.read(database_now()).of("ZAR")
    assert [cell.count for cell in counted.cells] == [0, 0, 1, 0, 0], "from first seen, not from this run"
    clock.advance(30 * DAY)
    HELD.pages = []
    run, found = books.run()
    assert not found and not run.gone.exists(), "its days are no longer in the plan's window"
    assert "Open differences: 1<" in page() and "All 1 difference<" in page("/")


def test_what_is_waived_counts_and_is_named(books: Books, clock: Clock) -> None:
    HELD.pages = [[record(1, key=key_of("x1"))]]
    _, (one,) = books.run()
    person("ann")
    clock.advance(3 * DAY)
    one = Finding.objects.select_related(*deciding.READ).get(pk=one.pk)
    said: dict[str, Any] = {"reason": "Theirs.", "command_id": command_id(), "until": clock.now() + DAY}
    deciding.decide(one, Way.WAIVE, actor="ann", **said)
    assert ageing.read(database_now()).count == 1
    assert "Waived by ann until" in page()


def test_an_expired_waiver_is_open_again_with_its_owner_and_ages_from_first_seen(
    books: Books, clock: Clock
) -> None:
    HELD.pages = [[record(1, key=key_of("x1"))]]
    _, (one,) = books.run()
    person("ann"), person("bob")
    one = Finding.objects.select_related(*deciding.READ).get(pk=one.pk)
    assert one.case is not None
    assign(one.case.uid, actor="bob", to="bob")
    said: dict[str, Any] = {"reason": "Theirs.", "command_id": command_id(), "until": clock.now() + DAY}
    deciding.decide(one, Way.WAIVE, actor="ann", **said)
    clock.advance(9 * DAY)
    deciding.sweep()
    case = Case.objects.get(pk=one.case.pk)
    assert case.closed_at is None and case.assignee == "bob" and not case.is_snoozed(database_now(), None)
    ended = Event.objects.filter(kind="difference_ended").get()
    assert (ended.actor, ended.reason) == ("policy", "Its time is over: it is open again.")
    assert [cell.count for cell in ageing.read(database_now()).of("ZAR").cells] == [0, 0, 1, 0, 0]
    assert "Waived by" not in page()


def test_display_rates_are_named_with_their_day_and_source_and_what_has_none_is_said(
    books: Books, clock: Clock
) -> None:
    grown(books, clock)
    assert "display rate" not in page().lower()
    rates = {"currency": "ZAR", "as_of": date(2026, 11, 27), "source": "Reserve Bank"}
    display = Display.objects.create(rates={"EUR": "20.105"}, **rates)
    shown = page()
    assert "Display rates of 27 Nov 2026, Reserve Bank: 1 EUR = 20.105 ZAR." in shown
    euros, rands = (ageing.read(database_now()).of(one).whole.amount for one in ("EUR", "ZAR"))
    assert euros == Decimal("100.07")
    rated = (euros * Decimal("20.105")).quantize(Decimal("0.01"))
    together = f"{rated + rands:,.2f}".replace(",", " ")
    assert f"For comparison alone: all of it together {together} ZAR." in shown
    alls = {row["Currency"]: row for row in of_json() if row["Entity"] == "All"}
    assert alls["EUR"]["At display rates, ZAR"] == f"{rated}" and alls[""]["At display rates, ZAR"] is None
    display.rates = {}
    display.save()
    assert "Without a rate, and in no such sum: EUR." in page()


def test_who_sees_some_entities_is_told_of_theirs_alone(books: Books, clock: Clock) -> None:
    grown(books, clock)
    limited("kim", CAPE)
    assert "Nothing is open." in page(name="kim")
    assert "Durban" not in got("/runs/differences/age.csv", "kim").decode()
    Destination.objects.update(entity=CAPE)
    assert page(name="kim").count('data-label="Why"') == 7


def test_a_page_asks_as_often_however_much_there_is_and_goes_on_on_the_next(
    books: Books, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked() -> int:
        client = browser_of("vic")
        client.get("/runs/differences/")
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/runs/differences/").status_code == 200
        return len(queries)

    HELD.pages = [[record(n, key=key_of(f"x{n}")) for n in range(2)]]
    books.run()
    few = asked()
    HELD.pages = [[record(n, key=key_of(f"x{n}")) for n in range(9)]]
    books.run()
    assert asked() == few
    monkeypatch.setattr("review.still_open.SHOWN", 4)
    seen: list[str] = []
    address = "/runs/differences/?currency=ZAR"
    while address:
        shown = page(address)
        seen += re.findall(r"/differences/(\d+)/", shown)
        more = re.search(r'rel="next" href="([^"]+)"', shown)
        address = more[1].replace("&amp;", "&") if more else ""
    assert sorted(map(int, seen)) == sorted(
        Finding.objects.filter(lives=True, is_open=True).values_list("pk", flat=True)
    )


def test_the_run_s_own_page_counts_by_the_same_ages(books: Books, clock: Clock) -> None:
    grown(books, clock)
    run = Run.objects.latest("pk")
    shown = page(f"/runs/{run.uid}/")
    rows = re.findall(r'<th scope="row">([^<]+)</th><td class="num">(\d+)</td>', shown)
    counted: dict[str, int] = defaultdict(int)
    for days, count in rows:
        counted[days] += int(count)
    wanted = ageing.read(run.started_at, run.findings.filter(is_open=True))
    assert {days: counted[days] for days in AGES} == {
        days: sum(wanted.of(one).cells[place].count for one in ("EUR", "ZAR"))
        for place, days in enumerate(AGES)
    }
    assert f"{wanted.of('ZAR').days} days weighed by value" in shown
