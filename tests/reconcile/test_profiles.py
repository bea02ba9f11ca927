"""Profiles: how one source writes its files, under a name; a file that is written otherwise is refused.

| what a file does                              | then                                             |
|-----------------------------------------------|--------------------------------------------------|
| is written as its profile says                | read so, and nothing of it is asked              |
| another form, separator, header, mark, order  | refused: which line, and why                     |
| ends without its trailer, or is not what that counts | refused: it may have broken off           |
| is stated otherwise by a person               | what a person states counts first                |
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction
from openpyxl import load_workbook

from ledger.models import Event
from reconcile.configuration import Refused, configure
from reconcile.models import Profile
from tests.databases import Database
from tests.reconcile.bank_statements import camt, entry, ids, mt940
from tests.reconcile.exports import HEAD, Files, counts
from tests.reconcile.workbooks import HEADER, workbook

BANK = """[profiles.bank]
name = "Cheque account"
form = "csv"
encoding = "cp1252"
separator = ";"
header = 3
columns = { reference = "Verwysing", amount = "Bedrag", currency = "ZAR", date = "Dag" }
decimal = "comma"
days = "dmy"
timezone = "Africa/Johannesburg"
sign = "negated"
sums = ["Eindsaldo"]
trailer = { begins = "T", count = 2, total = 3 }
"""
STATEMENT = (
    "Staat;vir;November\n\nVerwysing;Bedrag;Dag\nÜ-1;-1.250,00;1/12/2026\nÜ-2;7,50;2026-11-30T23:30:00Z\n"
    "Eindsaldo;99,00;\nT;2;-1.242,50\n"
)
BOOKS = HEAD + "Ü-1,1250.00,ZAR\nÜ-2,-7.50,ZAR\n"
Take = Callable[[str], list[str]]


@pytest.fixture
def compare(database: Database, tmp_path: Path) -> Files:
    """Two files in a folder of their own."""
    return Files(tmp_path)


@pytest.fixture
def take(database: Database, tmp_path: Path) -> Take:
    """Take a text in as configuration; what it changed."""

    def taken(text: str) -> list[str]:
        file = tmp_path / "profiles.toml"
        file.write_text(text)
        return configure(file).changes

    return taken


def test_a_file_of_a_profile_is_read_as_it_says_and_nothing_is_asked(compare: Files, take: Take) -> None:
    """Encoding, separator, header, columns, decimal mark, order of days, zone, sign, sums and trailer."""
    assert take(BANK) == ["+ profile bank"] and take(BANK) == []
    assert Event.objects.filter(kind="configured", data__section="profiles.bank").count() == 1
    done = compare(STATEMENT.encode("cp1252"), BOOKS, "--source-profile=bank")
    assert counts(done) == {"matched": 2} and done["exit"] == 0
    read = done["files"]["source"]
    assert (read["profile"], read["sign"], read["encoding"]) == ("bank", "negated", "cp1252")
    assert read["header_line"] == 3 and read["left_out_count"] == 2
    assert read["profile_sha256"] == Profile.objects.get().said.digest
    proved = "Line 7 of shop.csv (T) says 2 lines and 1242.50 ZAR, and that is what it holds."
    assert proved in done["not_tested"]
    other = compare(STATEMENT.encode("cp1252"), HEAD + "Ü-1,1,ZAR\n", "--source-profile=bank")
    days = {one["reference"]: one["source"]["date"] for one in other["findings"] if one["source"]}
    assert days == {"Ü-1": "2026-12-01", "Ü-2": "2026-12-01"}, "half past eleven in London is tomorrow there"
    assert done["files"]["destination"]["profile"] is None


def test_what_stands_last_is_held_to_the_lines_however_many_totals_come_before(
    compare: Files, take: Take
) -> None:
    take(BANK)
    many = STATEMENT.replace("T;2;", "Total;1,00;\n" * 60 + "Total;-1.242,50;\nT;2;")
    done = compare(many.encode("cp1252"), BOOKS, "--source-profile=bank")
    assert counts(done) == {"matched": 2}, done
    assert "Line 68 of shop.csv (T) says 2 lines" in " ".join(done["not_tested"])


def test_both_files_may_be_of_one_profile_and_what_a_person_states_counts_first(
    compare: Files, take: Take
) -> None:
    take(BANK)
    same = compare(STATEMENT.encode("cp1252"), STATEMENT.encode("cp1252"), "--profile=bank")
    assert counts(same) == {"matched": 2}
    utf8 = compare(STATEMENT, BOOKS, "--source-profile=bank", "--source-encoding=utf-8")
    assert counts(utf8) == {"matched": 2} and utf8["files"]["source"]["encoding"] == "utf-8"
    pounds = compare(
        STATEMENT.encode("cp1252"),
        BOOKS.replace("ZAR", "GBP"),
        "--source-profile=bank",
        "--source-columns=currency=GBP",
    )
    assert counts(pounds) == {"matched": 2}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("Verwysing;Bedrag", "Ref;Bedrag"), "Line 3 has: Ref, Bedrag, Dag; there is no “Verwysing”"),
        (("\n\nVerw", "\nVerw"), "Line 3 has: Ü-1, -1.250,00, 1/12/2026"),
        ((";", "|"), "Line 3 has: Verwysing|Bedrag|Dag"),
        (("50,00", "50.00"), "mixed"),
        (("1/12/2026", "12/31/2026"), "Line 4 has the month first, and the profile says dmy"),
        (("T;2;-1.242,50\n", ""), "has to end with a row that begins with “T”. It has none"),
        (("T;2;", "T;3;"), "Line 7 of shop.csv (T) counts 3 lines, and the file holds 2"),
        (("-1.242,50", "-1.242,51"), "says 1242.51 ZAR, and its lines come to 1242.50"),
        (("-1.242,50\n", "-1.242,50\nÜ-3;1,00;\n"), "has to be its last one, and more follow"),
        (("T;2;", "T;two;"), "has no count where its profile says: “two”"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_line_and_reason(
    compare: Files, take: Take, change: tuple[str, str], said: str
) -> None:
    take(BANK)
    file = STATEMENT.replace(*change)
    if said == "mixed":  # all points: no comma is left in an amount
        file = (
            file.replace(".", "")
            .replace("7,50", "7.50")
            .replace("99,00", "99.00")
            .replace("1250,00", "1250.00")
        )
        file, said = file.replace("125000", "1250.00"), "has a decimal point, and the profile says comma"
    done = compare(file.encode("cp1252"), BOOKS, "--source-profile=bank")
    assert done["exit"] == 2 and said in done["refused"], done


def test_another_form_another_encoding_and_an_unknown_profile_are_refused(compare: Files, take: Take) -> None:
    assert "None is configured" in compare(STATEMENT, BOOKS, "--profile=bank")["refused"]
    take(BANK + BANK.replace("bank", "utf").replace("cp1252", "utf-8"))
    sheet = workbook([HEADER, ["A", 1, "ZAR"]])
    refused = compare(sheet, BOOKS, "--source-profile=bank")["refused"]
    assert refused == "shop.csv does not fit profile bank: It is XLSX, and the profile is of CSV."
    latin = compare(STATEMENT.encode("cp1252"), BOOKS, "--source-profile=utf")["refused"]
    assert "does not fit profile utf" in latin and "(line 4: " in latin
    unknown = compare(STATEMENT, BOOKS, "--profile=banc")["refused"]
    assert unknown == 'There is no profile "banc". Did you mean "bank"? There are: bank, utf.'


def test_banks_statements_and_workbooks_have_profiles_too(compare: Files, take: Take) -> None:
    take(
        '[profiles.camt]\nname = "Bank"\nform = "camt"\ncolumns = { reference = "Number" }\n'
        '[profiles.swift]\nname = "Bank"\nform = "mt940"\n'
        '[profiles.erp]\nname = "ERP"\nform = "xlsx"\nsheet = "Lines"\nheader = 2\nunit = "minor"\n'
        '[profiles.shop]\nname = "Shop"\nform = "json"\n'
    )
    bank = camt(entry("750", "CRDT", ids("A"), bank="B-1"), closing="850.00")
    assert counts(compare(bank, HEAD + "B-1,750,EUR\n", "--source-profile=camt")) == {"matched": 1}
    assert "It is camt" in compare(bank, BOOKS, "--source-profile=swift")["refused"]
    swift = mt940("61:2611021102C750,00NTRFA//B", closing="C261102EUR850,00")
    assert "It is MT940 or MT942" in compare(swift, BOOKS, "--source-profile=camt")["refused"]
    rows = (["Title"], HEADER, ["A", 750, "ZAR", None])
    sheet = workbook(rows, title="Lines")
    assert counts(compare(sheet, HEAD + "A,7.50,ZAR\n", "--source-profile=erp")) == {"matched": 1}
    other = compare(workbook(rows[1:], title="Lines"), BOOKS, "--source-profile=erp")["refused"]
    assert "does not fit profile erp: Line 2 has: A, 750, ZAR" in other
    assert "has no sheet “Lines”" in compare(workbook(rows), BOOKS, "--source-profile=erp")["refused"]
    line = '{"reference": "A", "amount": "7.50", "currency": "ZAR"}\n'
    assert counts(compare(line, HEAD + "A,7.50,ZAR\n", "--source-profile=shop")) == {"matched": 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('form = "csv"', 'form = "pdf"'), "line 3: profiles.bank.form"),
        (('form = "csv"', 'form = "camt"'), "A file of form camt has no use for it"),
        (('"comma"', '"dot"'), "line 8: profiles.bank.decimal"),
        (("header = 3", "header = 41"), "line 6: profiles.bank.header"),
        (("Africa/Johannesburg", "Africa/Durban"), "line 10: profiles.bank.timezone"),
        ((", count = 2, total = 3", ""), "Say in which field"),
        (('amount = "Bedrag"', 'debit = "Bedrag"'), "Of debit and credit one alone is named"),
        (('amount = "Bedrag"', 'amount = "B", debit = "C", credit = "D"'), "which of them counts?"),
        (('date = "Dag"', 'date = "Bedrag"'), "Two parts are named to stand in one column"),
        (('date = "Dag"', 'day = "Dag"'), "profiles.bank.columns.day"),
    ],
)
def test_a_wrong_line_of_a_profile_is_refused_in_words(
    take: Take, change: tuple[str, str], said: str
) -> None:
    with pytest.raises(Refused) as refused:
        take(BANK.replace(*change))
    assert said in str(refused.value) and not Profile.objects.exists()


def test_a_profile_that_changes_says_what_and_the_database_keeps_none_without_a_form(take: Take) -> None:
    take(BANK)
    changed = take(BANK.replace('"comma"', '"point"').replace('sign = "negated"\n', 'unit = "minor"\n'))
    assert changed == [
        '~ profile bank: decimal "comma" -> "point"\n'
        '~ profile bank: unit nothing -> "minor"\n'
        '~ profile bank: sign "negated" -> nothing'
    ]
    with pytest.raises(IntegrityError), transaction.atomic():
        Profile.objects.update(rules={"form": "pdf"})


def test_66_a_total_that_its_lines_do_not_come_to_refuses_the_file(compare: Files) -> None:
    """Of two columns as of one; where lines are unreadable, or somebody says so, it is only told."""
    off = HEAD + "A,10,ZAR\nB,-2.50,ZAR\nTotal,8.50,\n"
    refused = compare(off)["refused"]
    assert "Line 4 of shop.csv (Total) says 8.50 ZAR, and its lines come to 7.50." in refused
    assert "say --source-totals told" in refused
    told = compare(off, "", "--source-totals=told")
    assert any("(Total) says 8.50" in said for said in told["not_tested"])
    some = compare(off.replace("B,-2.50,ZAR", "B,x,ZAR"))
    assert any("(Total) says 8.50" in said for said in some["not_tested"])
    two = "reference,paid out,paid in,currency\nA,,10,ZAR\nB,2.50,,ZAR\nTotal,2.50,11,\n"
    assert "says 8.50 ZAR, and its lines come to 7.50" in compare(two)["refused"]
    assert (
        "exit" in compare(two.replace(",11,", ",10,")) and compare(two.replace(",11,", ",10,"))["exit"] == 1
    )
    parts = HEAD + "A,10,ZAR\nTotal,10,\nB,2,ZAR\nTotal,12,\n"
    assert compare(parts)["exit"] == 1, "one of several totals is that of all lines"


def test_unreadable_lines_are_written_where_the_command_is_told_and_over_nothing(
    compare: Files, tmp_path: Path
) -> None:
    """With their reasons, and so that no spreadsheet takes one for a formula; before anything is printed."""
    source = HEAD + "A,1,ZAR\n=B,x,ZAR\n"
    done = compare(source, HEAD + "A,1,ZAR\n", f"--rejects={tmp_path / 'rejects.csv'}")
    assert done["exit"] == 1
    text = (tmp_path / "rejects.csv").read_text()
    last = '"shop.csv",3,"the amount ""x"" is no number","\'=B | x | ZAR"'
    assert text.splitlines()[-2:] == ['"file","line","why","row"', last]
    assert done["files"]["source"]["sha256"] in text
    again = compare(source, "", f"--rejects={tmp_path / 'rejects.csv'}")
    assert again["refused"].startswith("rejects.csv is there already, and nothing is written over it.")
    assert "says no form" in compare(source, "", f"--rejects={tmp_path / 'rejects.pdf'}")["refused"]
    assert "cannot be written" in compare(source, "", f"--rejects={tmp_path / 'no' / 'r.csv'}")["refused"]
    compare(source, "", f"--rejects={tmp_path / 'rejects.xlsx'}")
    book = load_workbook(tmp_path / "rejects.xlsx")
    (sheet,) = (one for one in book.worksheets if str(one["A1"].value).casefold() == "file")
    told = [cell.value for cell in [*sheet.rows][-1]]
    assert told == ["shop.csv", 3, 'the amount "x" is no number', "=B | x | ZAR"]
    assert [*sheet.rows][-1][3].data_type == "s"
