"""One snapshot feeds page, CSV, XLSX, JSON and mail: count, list, export and mail agree to the cent.

| form | opens with where it comes from | counts | open amounts | totals of both sides | unexplained |
|------|--------------------------------|--------|--------------|----------------------|-------------|
| page | folded, open on paper          | x      | x            | x                    | x           |
| CSV  | its head                       | x      | x            | x                    | x           |
| XLSX | its first sheet                | x      | x            | x                    | x           |
| JSON | `provenance`                   | x      | x            | x                    | x           |
| mail | no: totals and a link          | x      | x            | x                    | x           |
"""

import csv
import json
import re
import tomllib
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.db import connection

from config.environment import ROOT
from ledger.models import OperationType
from ledger.rules.states import Outcome
from reconcile import provenance
from reconcile.classes import ItemClass
from reconcile.exports import COLUMNS
from reconcile.models import Finding, Plan, Run
from reconcile.tables import spoken
from tests.databases import Database
from tests.mails import Post
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, key_of, record
from tests.review.test_reports_mailed import said, sweep
from tests.review.test_runs import plain

Said = dict[str, Any]
"""What one form says: items by class, how many are open, open amounts, totals by side, unexplained."""


@pytest.fixture
def listed(database: Database, tmp_path: Path) -> Books:
    """Books in three currencies with two, none and three decimals, and nearly every kind of difference."""
    books = Books.configured(tmp_path, performed_by="caller", tolerance="0.05")
    for order, amount, currency in (
        ("401", "100.00", "ZAR"),
        ("402", "1860.00", "ZAR"),
        ("403", "12345", "JPY"),
        ("404", "0.125", "KWD"),
        ("405", "99.99", "ZAR"),
        ("406", "70.10", "ZAR"),
    ):
        books.claimed(order, Outcome.SUCCEEDED, reference=f"INV-{order}", amount=amount, currency=currency)
    books.claimed("407", Outcome.UNCERTAIN, amount="380.00")
    HELD.pages = [
        [record(401, key=key_of("401")), record(405, key=key_of("405"), total="100.02")],
        [record(n, key=key_of("402"), total="1860.00") for n in (402, 1, 2)],
        [record(403, key=key_of("403"), total="12400", currency="JPY")],
        [record(404, key=key_of("404"), total="0.120", currency="KWD"), record(3, key=None, total="a lot")],
        [record(406, key=key_of("406"), total="-5.00"), record(4, key="=1+1", total="-5.00")],
        [record(5, key="00012345678901234567", total="7.00")],
    ]
    return books


def names(pairs: Iterator[tuple[str, Any]] | list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in pairs if name}


def of_rows(about: dict[str, Any], rows: list[dict[str, Any]]) -> Said:
    """What a table with its head says."""
    counted: Counter[str] = Counter()
    amounts: dict[str, Decimal] = defaultdict(Decimal)
    still = [row for row in rows if row["open"] == "yes"]
    for row in rows:
        counted[row["class"]] += int(row["items"])
    for row in still:
        if row["amount"] not in (None, ""):
            amounts[row["currency"]] += abs(Decimal(str(row["amount"])))
    assert int(about["count"]) == len(rows)
    sides: dict[tuple[str, str], Decimal] = {}
    for name, value in about.items():
        if found := re.fullmatch(r"totals (ledger|destination) amounts (\w{3})", name):
            sides[found[1], found[2]] = Decimal(str(value))
    left = {
        name[-3:]: Decimal(str(value))
        for name, value in about.items()
        if re.match(r"unexplained \w{3}$", name)
    }
    return {
        "classes": dict(counted),
        "open": len(still),
        "amounts": dict(amounts),
        "sides": sides,
        "unexplained": left,
        "digest": about["digest"],
        "items": int(about["items"]),
    }


def of_csv(run: Run) -> tuple[Said, dict[str, Any]]:
    text = browser_of("vic").get(f"/runs/{run.uid}.csv").getvalue().decode("utf-8-sig")
    about, _, rows = text.partition("\r\n\r\n")
    head = dict(csv.reader(StringIO(about, newline="")))
    return of_rows(head, list(csv.DictReader(StringIO(rows, newline="")))), head


def of_xlsx(run: Run) -> tuple[Said, dict[str, Any]]:
    """What a workbook says, by the names that the CSV has for the same."""
    book = openpyxl.load_workbook(BytesIO(browser_of("vic").get(f"/runs/{run.uid}.xlsx").getvalue()))
    report = [row for row in book["Where this comes from"].iter_rows(values_only=True) if row[0]]
    assert report[0][0] == f"Differences of run {run.pk}, {run.plan.name}", "its title stands first"
    told = {str(row[0]): row[1] for row in report[1:]} | {"What": report[0][0]}
    names = [name for name in of_csv(run)[1] if not name.startswith("tie-out ")]
    head = {name: told.pop(spoken(name)) for name in names}
    assert not told, "and nothing else"
    columns, *rows = book["Rows"].iter_rows(values_only=True)
    there = run.plan.operation_type.destination.title
    assert list(columns) == [*map(spoken, COLUMNS[:-3]), "Source", "Tieout", there]
    keys = {one.title(there): one.value for one in ItemClass}
    found: list[dict[str, Any]] = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
    return of_rows(head, [row | {"class": keys[row["class"]]} for row in found]), head


def ties_out(run: Run, told: Said) -> None:
    """The tie-out as a sheet has the page's words and its figures, as numbers, and adds up."""
    book = openpyxl.load_workbook(BytesIO(browser_of("vic").get(f"/runs/{run.uid}.xlsx").getvalue()))
    assert book.sheetnames == ["Where this comes from", "Tie-out", "Rows"]
    columns, *rows = book["Tie-out"].iter_rows(values_only=True)
    assert columns == ("Currency", "Class", "Items", "Open", "Tieout", "Durban Books", "Difference")
    page = plain(browser_of("vic").get(f"/runs/{run.uid}/").content.decode())
    open_items = 0
    for currency in run.tie["currencies"]:
        named = {str(row[1]): row for row in rows if row[0] == (currency or "No amount, in items")}
        foot = [named.pop(one) for one in ("All classes", "Counted another way", "Unexplained")]
        classes = named.values()
        assert all(str(row[1]) in page for row in classes)
        assert all(isinstance(value, int | float) for row in classes for value in row[2:])
        for place in (2, 3, 4, 5, 6):
            assert Decimal(str(foot[0][place])) == sum(Decimal(str(row[place])) for row in classes)
        assert foot[0][4:6] == foot[1][4:6] and not any(foot[2][4:6])
        if currency:
            sides = [told["sides"][side, currency] for side in ("ledger", "destination")]
            assert [Decimal(str(one)) for one in foot[1][4:6]] == sides
        open_items += int(str(foot[0][3]))
    assert open_items == sum(run.findings.filter(is_open=True).values_list("items", flat=True))


def of_json(run: Run) -> tuple[Said, dict[str, Any]]:
    told = json.loads(browser_of("vic").get(f"/runs/{run.uid}.json").getvalue())
    still = {one.pk for one in run.findings.filter(is_open=True)}
    amounts: dict[str, Decimal] = defaultdict(Decimal)
    for pk, one in zip(
        run.findings.order_by("pk").values_list("pk", flat=True), told["findings"], strict=True
    ):
        if pk in still and one["amount"] is not None:
            amounts[one["currency"]] += abs(Decimal(one["amount"]))
    found = {one["class"] for one in told["findings"]}
    return {
        "classes": {name: held["count"] for name, held in told["classes"].items() if name in found},
        "open": len(still),
        "amounts": dict(amounts),
        "sides": {
            (side, cur): Decimal(amount)
            for side in ("ledger", "destination")
            for cur, amount in told["totals"][side]["amounts"].items()
        },
        "unexplained": {cur: Decimal(amount) for cur, amount in told["residual"].items()},
        "digest": told["digest"],
        "items": told["totals"]["items"],
    }, told["provenance"]


def money(text: str) -> Decimal:
    return Decimal(re.sub(r"[^\d.−-]", "", text).replace("−", "-"))


def test_60_count_equals_list_equals_export_equals_mail(listed: Books, post: Post) -> None:
    run, _ = listed.run()
    csv_said, about = of_csv(run)
    xlsx_said, sheet = of_xlsx(run)
    ties_out(run, xlsx_said)
    json_said, provenance = of_json(run)
    assert csv_said == xlsx_said == json_said
    assert len(csv_said["classes"]) == 6 and set(csv_said["amounts"]) == {"ZAR", "JPY", "KWD"}
    page = plain(browser_of("vic").get(f"/runs/{run.uid}/").content.decode())
    assert sweep() == 1
    mail = said(post.got[0])
    amounts = ", ".join(f"{cur} {_shown(amount, cur)}" for cur, amount in sorted(csv_said["amounts"].items()))
    headline = f"Explained; {csv_said['open']} open differences, {amounts}"
    assert f"<h1>{headline}</h1>" in page and headline in mail
    assert f"{csv_said['items']} items in classes" in page and f"{csv_said['items']} items in classes" in mail
    assert page.count('role="row" id="d-') in (0, csv_said["open"])
    for cur in csv_said["unexplained"]:
        line = next(line for line in mail.splitlines() if f"{cur} " in line and "unexplained" in line)
        told = re.findall(rf"{cur} (-?[\d ]+(?:\.\d+)?)", line)
        sides = (csv_said["sides"]["ledger", cur], csv_said["sides"]["destination", cur])
        assert [money(one) for one in told] == [*sides, csv_said["unexplained"][cur]], line
        for amount in sides:
            assert f"{_shown(amount, cur)} {cur}" in page.split("What each class means")[0]
    flat = dict(_flat(provenance))
    for name, value in flat.items():
        if name != "made_at":
            assert str(about[name]).lstrip("'") == str(value) == str(sheet[name] or "") or (
                Decimal(str(about[name])) == Decimal(str(value)) == Decimal(str(sheet[name]))
            ), name


def _shown(amount: Decimal, currency: str) -> str:
    places = {"ZAR": 2, "JPY": 0, "KWD": 3}[currency]
    return f"{amount:,.{places}f}".replace(",", " ")


def _flat(told: dict[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    for name, value in told.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name} ")
        elif isinstance(value, list):
            yield from ((f"{before}{name} {place}", one) for place, one in enumerate(value, 1))
        else:
            yield f"{before}{name}", value


def test_provenance_tells_of_the_run_and_not_of_what_was_configured_since(listed: Books) -> None:
    HELD.blind = True
    run, _ = listed.run()
    before = of_json(run)[1]
    kind = run.plan.operation_type
    assert before["asked"]["question"] == "GET /invoices?updated_since={since}&limit=…"
    assert re.fullmatch("[0-9a-f]{64}", before["asked"]["sha256"])
    assert datetime.fromisoformat(before["asked"]["since"]) == (run.window_from - timedelta(days=1)).replace(
        microsecond=0
    )
    assert (before["entity"], before["destination"], before["account"]) == (
        "Durban Trading (Pty) Ltd",
        "Durban Books",
        "main",
    )
    assert before["pulled"] == {"records": 11, "pages": 6, "repeated": 0}
    assert (before["rejected"], before["excluded"]) == (1, 0)
    assert (before["tolerance"], before["grace_s"]) == ({"ZAR": "0.05"}, 0)
    assert before["rules"] == {"plan": run.plan.rules_version, "type": kind.rules_version}
    assert (before["run_by"], before["author"], before["digest"]) == ("ann", "vic", run.digest)
    assert before["tieout"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    at = [datetime.fromisoformat(before["as_of"][name]) for name in ("destination_first", "destination_last")]
    ledger = datetime.fromisoformat(before["as_of"]["ledger"])
    assert run.finished_at is not None
    assert run.started_at - timedelta(seconds=1) <= at[0] <= at[1] <= ledger + timedelta(seconds=1)
    assert ledger <= run.finished_at
    not_tested = " ".join(before["not_tested"])
    for words in (
        "Whether all that should exist reached Tieout: this plan has no source",
        "no payload was compared",
        "was whole is not proved",
        "ZAR\u00a00.05: they count as matched",
        "1 operation that the list lacks could not be looked up: uncertain.",
    ):
        assert words in not_tested, words
    Plan.objects.update(tolerance={"ZAR": "9.00"})
    calls = kind.calls | {"list": kind.calls["list"] | {"path": "/other"}}
    OperationType.objects.filter(pk=kind.pk).update(calls=calls)
    after = of_json(Run.objects.get(pk=run.pk))[1]
    assert before | {"made_at": ""} == after | {"made_at": ""}
    page = plain(browser_of("vic").get(f"/runs/{run.uid}/").content.decode())
    fold = page.split("Where this comes from</summary>")[1].split("</details>")[0]
    for words in ("updated_since={since}", "11 records in 6 pages", "tolerance 0.05 ZAR", "1 unreadable"):
        assert words in fold, words
    assert "/other" not in page


def test_a_run_that_kept_nothing_of_it_says_so(listed: Books, database: Database) -> None:
    run, _ = listed.run()
    with database.rewriting("reconcile_run"):
        Run.objects.update(made_with={}, rules_version=None, type_version=None)
    told = of_json(Run.objects.get())[1]
    assert told["asked"] == told["as_of"] == "not kept: the run is older than this line"
    assert (
        "not kept: the run is older than this line"
        in browser_of("vic").get(f"/runs/{run.uid}/").content.decode()
    )


@pytest.mark.parametrize("form", ["csv", "json", "xlsx"])
def test_a_run_of_any_size_leaves_in_pieces_and_little_of_it_is_held(
    listed: Books, database: Database, form: str
) -> None:
    """Of four thousand differences, which are 25 MB in memory, some hundred are held at a time."""
    run, found = listed.run()
    address, vic = f"/runs/{run.uid}.{form}", browser_of("vic")
    small = sum(map(len, iter(vic.get(address))))  # what is imported then is not held by what follows
    many(database, found[-1], 4000)
    tracemalloc.start()
    large = sum(map(len, iter(vic.get(address))))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert large > small + 60_000
    assert peak < 8_000_000


def many(database: Database, one: Finding, more: int) -> None:
    """So many more differences like this one."""
    alike = [
        field.column for field in Finding._meta.concrete_fields if field.column not in ("id", "reference")
    ]
    columns = ", ".join(alike)
    with database.rewriting("reconcile_finding"), connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO reconcile_finding (reference, {columns}) SELECT 'r' || n, {columns}"
            " FROM reconcile_finding, generate_series(1, %s) AS n WHERE id = %s",
            [more, one.pk],
        )


def test_no_value_of_a_query_is_shown_whatever_form_is_asked_for(listed: Books) -> None:
    """Somebody may have put a secret into the path; what an older run has kept of it is not shown either."""
    calls = listed.plan.operation_type.calls
    calls["list"]["path"] = "/invoices?since={since}&key=hunter2;code=swordfish"
    OperationType.objects.filter(pk=listed.plan.operation_type_id).update(calls=calls)
    run, _ = Books(Plan.objects.select_related("operation_type__destination").get()).run()
    asked = "GET /invoices?since={since}&key=…;code=…"
    assert run.made_with["asked"]["question"] == asked
    older = run.made_with | {"asked": run.made_with["asked"] | {"question": "GET /i?key=hunter2"}}
    for kept in (run.made_with, older):
        run.made_with = kept
        told = json.dumps(provenance.of(run, author="vic", now=run.started_at), ensure_ascii=False)
        assert "hunter2" not in told and "swordfish" not in told and "key=…" in told
    for form in ("/", ".csv", ".json"):
        answer = browser_of("vic").get(f"/runs/{run.uid}{form}")
        text = (answer.getvalue() if answer.streaming else answer.content).decode()
        assert "key=…" in text and "hunter2" not in text, form


def test_each_side_of_a_difference_stands_in_its_row_under_the_sides_own_names(listed: Books) -> None:
    run, _ = listed.run()
    text = browser_of("vic").get(f"/runs/{run.uid}.csv").getvalue().decode("utf-8-sig")
    rows = list(csv.DictReader(StringIO(text.partition("\r\n\r\n")[2], newline="")))
    over = next(row for row in rows if row["class"] == "amount_over" and row["currency"] == "JPY")
    assert (over["source"], over["ledger"], over["destination"]) == ("", "12345", "12400")
    missing = next(row for row in rows if row["reference"] == key_of("407"))
    assert (missing["ledger"], missing["destination"]) == ("380.00", "")
    book = openpyxl.load_workbook(BytesIO(browser_of("vic").get(f"/runs/{run.uid}.xlsx").getvalue()))
    heads, *_ = book["Rows"].iter_rows(values_only=True)
    assert list(heads[-3:]) == ["Source", "Tieout", "Durban Books"]
    for finding, row in zip(run.findings.order_by("pk"), rows, strict=True):
        for side in ("ledger", "destination"):
            held = sum(
                Decimal(line[side]["amount"])
                for line in finding.held or []
                if line["currency"] == finding.currency and finding.currency
            )
            assert Decimal(row[side] or 0) == held, (row, side)
