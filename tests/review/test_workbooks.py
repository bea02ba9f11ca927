"""Every table that leaves as CSV leaves as XLSX, too; another library opens it again.

| in the books                             | in the workbook                                                 |
|------------------------------------------|-----------------------------------------------------------------|
| a reference of 20 digits, zeros in front | text, every digit of it                                         |
| −5.00                                    | the number −5, with as many decimals as the currency has        |
| an amount of more than 15 digits         | text: a spreadsheet's number would round it                     |
| text that begins like a formula          | text as it is, also after somebody has typed into its cell      |
| text that looks like the format's own    | text as it is                                                   |
| a moment                                 | a true one, and its format says UTC                             |
| text of more than 32,767 units           | cut, and says so                                                |
| more rows than a sheet holds             | on the next sheet, under the same heads                         |
"""

import csv
import json
import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from ledger.rules.states import Outcome
from reconcile import reports, workbooks
from reconcile.tables import About, Form, Table, spoken
from tests import stories
from tests.databases import Database
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, key_of, record

TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
LONG = "00123456789012345678"
JOHANNESBURG = timezone(timedelta(hours=2))


def opened(content: bytes) -> Any:
    return openpyxl.load_workbook(BytesIO(content))


def written(columns: list[str], *rows: tuple[object, ...]) -> Any:
    about = About("A table", "all", datetime(2026, 12, 1, tzinfo=UTC), "vic", len(rows))
    pieces = Table(about, columns, rows).written(Form.XLSX)
    return opened(b"".join(piece for piece in pieces if isinstance(piece, bytes)))


def cells(*values: object) -> list[Any]:
    """One row of values, as they are opened again."""
    book = written([f"c{number}" for number in range(len(values))], values)
    return list(list(book[workbooks.ROWS].iter_rows())[1])


def test_64_references_stay_text_with_every_digit() -> None:
    for cell, text in zip(cells(LONG, "007", "1e5", " 12 "), (LONG, "007", "1e5", " 12 "), strict=True):
        assert (cell.value, cell.data_type, cell.number_format) == (text, "s", "@")


def test_65_an_amount_is_a_number_with_its_decimals_and_negative_ones_are_too() -> None:
    two, none, three, many, count = cells(
        Decimal("-5.00"), Decimal(1860), Decimal("0.001"), Decimal("12345678901234567.89"), 3
    )
    assert (two.value, two.data_type, two.number_format) == (-5, "n", "#,##0.00")
    assert (none.value, none.number_format) == (1860, "#,##0")
    assert (three.value, three.number_format) == (0.001, "#,##0.000")
    assert (many.value, many.data_type) == ("12345678901234567.89", "s"), "a number would lose its cents"
    assert (count.value, count.number_format) == (3, "0")


@pytest.mark.parametrize(
    "text",
    [
        "=HYPERLINK(1)",
        "+27 82",
        "-5.00",
        "@SUM(A1)",
        "{=1+1}",
        "https://example.com/",
        "<r>a & b</r>",
        "<r></r>",
    ],
)
def test_65_text_is_no_formula_no_link_and_no_markup(text: str) -> None:
    (cell,) = cells(text)
    assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None)
    assert cell.quotePrefix, "typed into, it stays text"


def test_moments_and_days_are_true_ones_and_say_their_zone() -> None:
    moment, day, early, yes = cells(
        datetime(2026, 12, 1, 7, 2, 3, 456, JOHANNESBURG), date(2026, 1, 2), date(1899, 1, 1), True
    )
    assert (moment.value, moment.number_format) == (
        datetime(2026, 12, 1, 5, 2, 3),  # noqa: DTZ001 - a spreadsheet knows no zones
        'yyyy-mm-dd hh:mm:ss "UTC"',
    )
    assert (day.is_date, day.number_format) == (True, "yyyy-mm-dd")
    assert (early.value, yes.value) == ("1899-01-01", "yes"), "before a spreadsheet's first day"


def test_what_the_format_cannot_hold_is_cut_with_a_mark_or_replaced() -> None:
    fits, cut, wide, odd = cells("x" * 32_767, "x" * 32_768, "😀" * 20_000, "a\ufffeb")
    assert fits.value == "x" * 32_767
    assert len(cut.value) == 32_767 and cut.value.endswith("x … [cut: a cell holds no more]")
    assert len(wide.value.encode("utf-16-le")) <= 2 * 32_767 and wide.value.endswith(workbooks.CUT)
    assert odd.value == "a\ufffdb"


def test_more_rows_than_a_sheet_holds_go_on_on_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    assert workbooks.SHEET_ROWS == 1_048_576
    monkeypatch.setattr(workbooks, "SHEET_ROWS", 4)
    for count, sheets in ((0, 1), (3, 1), (4, 2), (7, 3)):
        book = written(["number"], *((number,) for number in range(count)))
        assert len(book.sheetnames) == 1 + sheets
        rows = [[row[0] for row in sheet.iter_rows(values_only=True)] for sheet in book.worksheets[1:]]
        assert {one[0] for one in rows} == {"Number"}
        assert [number for one in rows for number in one[1:]] == list(range(count))
    assert book.sheetnames == ["Where this comes from", "Rows", "Rows 2", "Rows 3"]


def test_nothing_of_it_stays_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where whoever asked hangs up half-way, and where a row cannot be read."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[int] = []

    def rows() -> Any:
        for number in range(5000):
            seen.append(len(list(tmp_path.iterdir())))
            yield (f"{number:032}",)

    pieces = workbooks.written([("what", "x")], ["c"], rows())
    assert next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert max(seen) > 0 and not list(tmp_path.iterdir())
    broken = workbooks.written([("what", "x")], ["c"], ((1 // number,) for number in (1, 0)))
    with pytest.raises(ZeroDivisionError):
        next(broken)
    assert not list(tmp_path.iterdir())


def test_a_runs_workbook_holds_what_its_csv_holds(database: Database, tmp_path: Path) -> None:
    listed = Books.configured(tmp_path, performed_by="caller")
    listed.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    HELD.pages = [
        [
            record(1, key="=HYPERLINK(1)", total="-5.00") | {"id": LONG},
            record(2, key=key_of("402"), total="1860.00"),
            record(3, key="<r>so</r>", total="7", currency="JPY"),
        ]
    ]
    run, _ = listed.run()
    answer = browser_of("vic").get(f"/runs/{run.uid}.xlsx")
    assert answer["Content-Type"] == TYPE
    assert answer["Content-Disposition"] == f'attachment; filename="run-{run.pk}-invoices.xlsx"'
    assert "no-store" in answer["Cache-Control"]
    book = opened(answer.getvalue())
    about, _, rows = (
        browser_of("vic").get(f"/runs/{run.uid}.csv").getvalue().decode("utf-8-sig").partition("\r\n\r\n")
    )
    title, *lines = [row for row in book["Where this comes from"].iter_rows(values_only=True) if row[0]]
    told = dict(lines) | {"What": title[0]}
    for name, value in csv.reader(StringIO(about, newline="")):
        if name not in ("author", "as_of", "made_at") and not name.startswith("tie-out ") and value:
            name = spoken(name)
            assert str(told[name]).lstrip("'") == value or Decimal(str(told[name])) == Decimal(value), name
    heads, *found = book["Rows"].iter_rows(values_only=True)
    expected = list(csv.DictReader(StringIO(rows, newline="")))
    sides = reports.sides_named(run)
    assert list(heads) == [sides.get(name) or spoken(name) for name in expected[0]]
    assert sides["ledger"] == "Tieout" and len(found) == len(expected)
    keyed = (dict(zip(expected[0], one, strict=True)) for one in found)
    for row, other in zip(keyed, expected, strict=True):
        assert (row["reference"] or "") == re.sub("^'", "", other["reference"])
        assert (row["amount"] is None) == (other["amount"] == "")
        if row["amount"] is not None:
            assert Decimal(str(row["amount"])) == Decimal(other["amount"])
    amounts = {row[1].value: row[5] for row in list(book["Rows"].iter_rows())[1:]}
    assert amounts["=HYPERLINK(1)"].number_format == "#,##0.00"
    assert amounts["<r>so</r>"].number_format == "#,##0"


def test_every_table_is_offered_in_every_form(durban: stories.Durban) -> None:
    """Each page that offers CSV offers XLSX and JSON beside it, and each of these opens."""
    durban.blind(483, "100.00")
    for page, kept in (
        ("/queue/", "/queue"),
        ("/trail/", "/trail"),
        ("/access/duties/", "/access/duties"),
        ("/runs/reversed/", "/runs/reversed"),
    ):
        shown = browser_of("vic").get(page).content.decode()
        offered = dict(re.findall(rf'href="({kept}\.(?:csv|xlsx|json)[^"]*)"[^>]*>(CSV|XLSX|JSON)<', shown))
        assert sorted(offered.values()) == ["CSV", "JSON", "XLSX"], page
        answers = {
            form: browser_of("vic").get(address.replace("&amp;", "&")) for address, form in offered.items()
        }
        heads = next(opened(answers["XLSX"].getvalue())["Rows"].iter_rows(values_only=True))
        table = answers["CSV"].getvalue().decode("utf-8-sig").partition("\r\n\r\n")[2]
        assert list(heads) == [spoken(name) for name in next(csv.reader(StringIO(table)))]
        said = json.loads(b"".join(answers["JSON"]))
        rows = said.get("rows", said.get("events"))
        assert len(rows) == said["about"]["count"]
