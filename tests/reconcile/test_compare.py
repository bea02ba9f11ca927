"""`manage.py compare` through the outside: two made-up files, read right or refused, and tied out."""

import codecs
from pathlib import Path

import pytest
from django.db import connection

from config.environment import ROOT
from tests.databases import Database
from tests.processes import Manage
from tests.reconcile.exports import HEAD, Files, counts


@pytest.fixture
def compare(database: Database, tmp_path: Path) -> Files:
    """Two files in a folder of their own."""
    return Files(tmp_path)


def test_the_examples_show_what_is_missing_extra_doubled_and_different(run_manage: Manage) -> None:
    files = [str(ROOT / "docs/examples" / name) for name in ("shop.csv", "books.csv")]
    done = run_manage("compare", *files, check=False)
    assert done.returncode == 1, done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == "Explained; 9 items in 7 differences, ZAR 11 231.19"
    assert {"Matched 46 + 46 115 178.52 115 178.52", "Unexplained ZAR 0.00"} <= set(lines)
    assert "Totals of the files 49 + 53 119 633.52 125 684.71" in lines
    (doubled,) = [line for line in lines if line.startswith("Doubled Order 471")]
    assert doubled.startswith("Doubled Order 471 ZAR 3 720.00 Lines 37 (INV-1132)")
    assert doubled.endswith("3 too many.")
    assert any("Missing Order 448 ZAR 2 890.00 On line 10 of shop.csv" in line for line in lines)
    assert "- Left out of books.csv: line 58 (Total)." in lines


def test_json_has_the_shape_of_a_run_and_nothing_of_the_files_is_kept(compare: Files) -> None:
    source = HEAD + "A,10,ZAR\nB,5.00,ZAR\nC,7.00,ZAR\nD,1.00,ZAR\nE,2,ZAR\n"
    destination = HEAD + "A,10.00,ZAR\nB,6.00,ZAR\nC,7.00,USD\nE,2.0,ZAR\nE,2.000,ZAR\nF,3.00,ZAR\n"
    done = compare(source, destination)
    assert counts(done) == {
        "duplicate_at_destination": 1,
        "currency_differs": 1,
        "amount_over": 1,
        "matched": 2,
        "missing_at_destination": 1,
        "unexpected_at_destination": 1,
    }
    assert len(done["classes"]) == 15
    assert done["classes"]["amount_over"]["amounts"] == {"ZAR": "1.00"}
    assert done["classes"]["matched"]["amounts"] == {"ZAR": "12.00"}
    assert done["residual"] == {"USD": "0.00", "ZAR": "0.00"}
    assert done["totals"]["source"] == {"count": 5, "amounts": {"ZAR": "25.00"}}
    assert done["totals"]["destination"]["amounts"] == {"USD": "7.00", "ZAR": "23.00"}
    (missing,) = [one for one in done["findings"] if one["class"] == "missing_at_destination"]
    assert missing == {
        "class": "missing_at_destination",
        "reference": "D",
        "ledger": None,
        "source": {"line": 5, "id": None, "amount": "1.00", "currency": "ZAR", "date": None},
        "destination": [],
        "amount": "1.00",
        "currency": "ZAR",
        "why": "On line 5 of shop.csv, not in books.csv.",
    }
    assert compare(source, destination)["digest"] == done["digest"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM reconcile_compared")
        assert cursor.fetchone() == (0,)
    same = compare(HEAD + "A\\n\\1,10,ZAR\n", HEAD + "A\\n\\1,10.00,ZAR\n")
    assert (same["exit"], same["findings"]) == (0, [])
    (other,) = compare(HEAD + "A,1,ZAR\nB\\t,1,ZAR\n", HEAD + "A,1,ZAR\n")["findings"]
    assert other["reference"] == "B\\t"


def test_53_identical_real_rows_survive_and_what_cannot_be_told_apart_goes_to_a_person(
    compare: Files,
) -> None:
    twice = compare(HEAD + "A,10,ZAR\nA,10,ZAR\n", HEAD + "A,10,ZAR\nA,10,ZAR\nA,10,ZAR\n")
    assert counts(twice) == {"matched": 2, "duplicate_at_destination": 1}
    # Alike ones belong together whatever their order; the one that is left on each side is compared.
    parts = compare(HEAD + "A,10,ZAR\nA,20,ZAR\n", HEAD + "A,21,ZAR\nA,10,ZAR\n")
    assert counts(parts) == {"matched": 1, "amount_over": 1}
    assert [one["amount"] for one in parts["findings"]] == ["1.00"]
    fewer = compare(HEAD + "A,10,ZAR\nA,10,ZAR\n", HEAD + "A,10,ZAR\n")
    assert counts(fewer) == {"matched": 1, "missing_at_destination": 1}
    untold = compare(HEAD + "A,10,ZAR\nA,20,ZAR\n", HEAD + "A,11,ZAR\nA,19,ZAR\n")
    assert counts(untold) == {"ambiguous": 4}
    assert "cannot be told" in untold["findings"][0]["why"]
    assert [untold["residual"], untold["totals"]["items"]] == [{"ZAR": "0.00"}, 4]


def test_pairs_that_are_alike_are_counted_as_the_others_are_and_take_nothing_along(compare: Files) -> None:
    """Beside each pair that is alike stands what differs from it in one thing.

    | source     | destination     | class            |
    |------------|-----------------|------------------|
    | A 10 ZAR   | A 10.0 ZAR      | matched          |
    | B 10 ZAR   | B 10 USD        | currency differs |
    | C 10 ZAR   | C 10, C 10 ZAR  | matched, doubled |
    | D 10, D 10 |                 | missing, twice   |
    | E no amount| E 5 ZAR         | unreadable       |
    | F 3 EUR    | F 3 EUR         | matched          |
    """
    source = HEAD + "A,10,ZAR\nB,10,ZAR\nC,10,ZAR\nD,10,ZAR\nD,10,ZAR\nE,,ZAR\nF,3,EUR\n"
    destination = HEAD + "A,10.0,ZAR\nB,10,USD\nC,10,ZAR\nC,10,ZAR\nE,5,ZAR\nF,3,EUR\n"
    done = compare(source, destination)
    assert counts(done) == {
        "unreadable": 1,
        "duplicate_at_destination": 1,
        "currency_differs": 1,
        "matched": 3,
        "missing_at_destination": 2,
    }
    assert done["classes"]["matched"]["amounts"] == {"EUR": "3.00", "ZAR": "20.00"}
    assert done["residual"] == {"EUR": "0.00", "USD": "0.00", "ZAR": "0.00"}
    assert done["totals"]["items"] == 8


def test_54_55_64_unreadable_lines_are_a_class_with_line_and_reason(compare: Files) -> None:
    source = HEAD + (
        "A,10,ZAR\n,5,ZAR\n6.17E+25,1,ZAR\nB,,ZAR\nC,1O.00,ZAR\nD,1.005,ZAR\nE,1,ZZZ\nF,1,ZAR,more\n00471,2,ZAR\n"
    )
    done = compare(source, HEAD + "A,10,ZAR\n471,2,ZAR\n,7,ZAR\n6.17E+25,1,ZAR\nB,3,ZAR\n")
    assert counts(done) == {
        "unreadable": 9,
        "matched": 1,
        "missing_at_destination": 1,  # leading zeros are part of a reference
        "unexpected_at_destination": 1,
    }
    whys = [one["why"] for one in done["findings"] if one["class"] == "unreadable"]
    for line, why in (
        (3, "it has no reference"),
        (4, "its reference 6.17E+25 was shortened by a spreadsheet"),
        (5, "it has no amount"),
        (6, 'the amount "1O.00" holds the letter O'),
        (7, "decimals"),
        (8, '"ZZZ" is no currency'),
        (9, "it has 4 fields, and the header 3"),
    ):
        assert any(told.startswith(f"Line {line} of shop.csv") and why in told for told in whys), (line, whys)
    assert sum(told.startswith("Line 4 of books.csv") for told in whys) == 1
    assert "7 unreadable lines of shop.csv: in no amount." in done["not_tested"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (HEAD + '1,"- $220.00",USD\n', "-220.00"),
        (HEAD + '1,"3,50,496.69",INR\n', "350496.69"),
        (HEAD + "1,(1 234.50),ZAR\n", "-1234.50"),
        (HEAD + "1,1'234.50-,ZAR\n", "-1234.50"),
        (HEAD + "1,1 234.5 ZAR,ZAR\n", "1234.50"),
        (HEAD + "1,R 12,ZAR\n", "12.00"),
        (HEAD + "1,1.234,KWD\n2,0.5,KWD\n", "1.234"),
        ("reference;amount;currency\n1;1.234;ZAR\n2;5,5;ZAR\n", "1234.00"),
        ("reference\tamount\tcurrency\n1\t1.234,56\tEUR\n", "1234.56"),
        ("reference;amount;currency\n1;1240;JPY\n", "1240"),
        (f"Export of November\n\n\n\n\n\n\n{HEAD}1,7.00,ZAR\nClosing balance,99.00,ZAR\n", "7.00"),
        (codecs.BOM_UTF8 + (HEAD + "1,8.00,ZAR\n").encode(), "8.00"),
        ((HEAD + "1,9.00,ZAR\n").encode("utf-16"), "9.00"),
        ('reference,amount,currency,note\r\n1,"1,240.00",ZAR,"two\r\nlines"\r\n', "1240.00"),
    ],
)
def test_63_amounts_encodings_and_headers_are_read_right(
    compare: Files, content: str | bytes, expected: str
) -> None:
    done = compare(content, HEAD + "other,1,ZAR\n")
    first = next(one for one in done["findings"] if one["reference"] == "1")
    assert (first["class"], first["amount"]) == ("missing_at_destination", expected)
    assert done["files"]["source"]["unreadable"] == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (HEAD + '1,1.5,ZAR\n2,"1,5",ZAR\n', "a decimal point on line 2 and a decimal comma on line 3"),
        (HEAD + '1,"1,234",ZAR\n', "Whether line 2 of shop.csv has decimals or thousands cannot be told"),
        ("reference,date,amount,currency\n1,1/12/2025,1,ZAR\n", "day or month comes first on line 2"),
        (
            "reference,date,amount,currency\n1,13/1/2025,1,ZAR\n2,1/13/2025,1,ZAR\n",
            "the month first on line 3",
        ),
        (HEAD + '1,1,ZAR\n2,"1,ZAR\n', "Line 3 of shop.csv is no CSV"),
        ((HEAD + "Müller,1,ZAR\n").encode("cp1252"), "such as cp1252"),
        ((HEAD + "1,1,ZAR\n").encode("utf-16-le"), "--source-encoding utf-16-le"),
        (b"PK\x03\x04rest", "shop.csv cannot be read as a workbook"),
        ("order id,reference,amount,currency\n1,1,1,ZAR\n", 'could be each of "order id", "reference"'),
        ("reference,amount\n1,1\n", "Which column holds the currency cannot be told"),
        ("what,ever\n1,1\n", "--source-columns reference=…"),
        (HEAD, "nothing under it"),
    ],
)
def test_63_what_cannot_be_told_is_refused_with_line_and_remedy(
    compare: Files, content: str | bytes, said: str
) -> None:
    refused = compare(content)
    assert refused["exit"] == 2, refused
    assert said in refused["refused"]


def test_what_is_stated_is_taken_for_the_whole_file(compare: Files) -> None:
    source = "nr;betrag;tag\nMüller 1;1.234;1.12.2025\nB;2,50;13.12.2025\nC;3.5;31.11.2025\n"
    done = compare(
        source.encode("cp1252"),
        "reference,date,amount\nMüller 1,1/12/2025,1234\n",
        "--source-columns=reference=nr,amount=betrag,currency=EUR,date=tag",
        "--source-encoding=cp1252",
        "--source-decimal=comma",
        "--destination-columns=currency=EUR",
        "--destination-days=mdy",
    )
    assert counts(done) == {"matched": 1, "missing_at_destination": 1, "unreadable": 1}
    assert done["files"]["source"]["columns"] == {"reference": "nr", "amount": "betrag", "date": "tag"}
    assert done["files"]["destination"]["days"] == "mdy"
    assert [one["source"]["date"] for one in done["findings"]] == [None, "2025-12-13"]


def test_without_tables_it_says_what_makes_them(compare: Files, database: Database) -> None:
    database.as_superuser("ALTER TABLE reconcile_compared RENAME TO reconcile_moved")
    text = "reference,amount,currency\n1,1.00,ZAR\n"
    done = compare(text, text)
    assert done["exit"] == 2 and "no tables yet" in done["refused"] and "make demo" in done["refused"]
