"""What exports do to amounts and references: read right, or refused with line and reason."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.databases import Database
from tests.reconcile.bank_statements import camt, entry, ids
from tests.reconcile.exports import HEAD, Files, counts


@pytest.fixture
def compare(database: Database, tmp_path: Path) -> Files:
    """Two files in a folder of their own."""
    return Files(tmp_path)


def test_63_signs_of_every_kind_are_one_amount(compare: Files) -> None:
    """Two columns, a column of its own, letters behind the number; what contradicts itself is unreadable."""
    books = HEAD + "A,-12.50,ZAR\nB,7,ZAR\n"
    of_two = (
        "reference,paid out,paid in,currency\nA,12.50,,ZAR\nB,0.00,7,ZAR\nC,1,1,ZAR\nD,,,ZAR\nE,-1,,ZAR\n"
    )
    apart = (
        "reference,amount,dr/cr,currency\nA,12.50,DR,ZAR\nB,7,credit,ZAR\nC,-1,CR,ZAR\nD,1,x,ZAR\nE,1,,ZAR\n"
    )
    behind = HEAD + "A,12.50 DR,ZAR\nB,7CR,ZAR\nC,-1 DR,ZAR\nD,(1) CR,ZAR\nE,1 DRX,ZAR\n"
    reasons = {
        of_two: ("it has a debit and a credit", "it has no amount", "has a minus"),
        apart: ("has a minus, and it is a credit", "neither debit nor credit", "neither debit nor credit"),
        behind: ("more than one sign", "is no number", "not in ZAR"),
    }
    for source, said in reasons.items():
        done = compare(source, books)
        assert counts(done) == {"matched": 2, "unreadable": 3}, source
        for why, one in zip(said, done["findings"], strict=True):
            assert why in one["why"], source
    both = "reference,amount,debit,credit,currency\nA,-12.50,12.50,,ZAR\nB,7,,7,ZAR\n"
    assert counts(compare(both, books)) == {"matched": 2}, "the amount is there: two columns say no more"


def test_55_amounts_in_the_smallest_units_are_stated_never_guessed(compare: Files) -> None:
    source = "reference,amount,currency\nA,1250,ZAR\nB,1250,JPY\nC,1250,KWD\nD,12.50,ZAR\n"
    books = HEAD + "A,12.50,ZAR\nB,1250,JPY\nC,1.250,KWD\n"
    assert counts(compare(source, books))["amount_under"] == 2
    done = compare(source, books, "--source-unit=minor")
    assert counts(done) == {"matched": 3, "unreadable": 1}
    assert "not whole" in done["findings"][0]["why"] and done["files"]["source"]["unit"] == "minor"


def test_what_a_form_settles_itself_is_not_to_be_stated(compare: Files) -> None:
    """Cents above all: a bank's 7.50 would be a hundredth. What is text in such a form is read as stated."""
    bank = camt(entry("750", "CRDT", ids("A")), closing="850.00")
    numbers = '{"reference": "A", "amount": 750, "currency": "ZAR", "date": "2026-11-02"}\n'
    for content, option, why in (
        (
            bank,
            "--source-unit=minor",
            "it says itself that amounts are in whole units. Leave --source-unit out.",
        ),
        (bank, "--source-decimal=comma", "no amount in it needs a decimal mark. Leave --source-decimal out."),
        (bank, "--source-days=dmy", "no day in it needs an order. Leave --source-days out."),
        (bank, "--source-encoding=cp1252", "it says itself how its text is written. Leave --source-encoding"),
        (numbers, "--source-decimal=comma", "no amount in it needs a decimal mark"),
        (numbers, "--source-days=mdy", "no day in it needs an order"),
    ):
        assert why in compare(content, "", option)["refused"], option
    texts = numbers.replace("750", '"7,500"').replace("2026-11-02", "2/11/2026")
    done = compare(texts, HEAD + "A,7.50,ZAR\n", "--source-decimal=comma", "--source-days=dmy")
    assert counts(done) == {"matched": 1}, "by itself it could be seven thousand, or the month first"
    assert counts(compare(numbers, HEAD + "A,7.50,ZAR\n", "--source-unit=minor")) == {"matched": 1}
    assert counts(compare(HEAD + "A,7,ZAR\n", HEAD + "A,7,ZAR\n", "--source-decimal=comma")) == {"matched": 1}


def test_64_damaged_references_are_flagged_and_what_has_lost_its_noughts_is_named(compare: Files) -> None:
    cut = HEAD + "12345678901234500,1,ZAR\n98765432109876000,1,ZAR\n'00471,1,ZAR\n't Hof,1,ZAR\n472,1,ZAR\n"
    books = (
        HEAD + "12345678901234567,1,ZAR\n12345678901234500,1,ZAR\n00471,1,ZAR\n't Hof,1,ZAR\n00472,1,ZAR\n"
    )
    done = compare(cut, books)
    assert counts(done) == {
        "unreadable": 3,
        "matched": 1,
        "missing_at_destination": 1,
        "unexpected_at_destination": 4,  # of the other file one long number has other digits: none is cut
    }
    whys = {one["reference"]: one["why"] for one in done["findings"]}
    said = " ".join(one["why"] for one in done["findings"])
    assert "12345678901234500 was cut by a spreadsheet" in said
    assert "'00471 has an apostrophe before it" in said
    assert whys["472"].endswith("not in books.csv. The other file has 00472: noughts before it were lost.")
    assert whys["00472"].endswith("not in shop.csv. The other file has 472: noughts before it were lost.")


def test_64_references_that_look_alike_or_were_cut_say_so_on_both_sides(compare: Files) -> None:
    """Never matched: a letter, dash or blank of another kind, an end that a column had no room for."""
    source = (
        HEAD
        + "INV 1A,1,ZAR\nАВС-2,1,ZAR\nORDER-2026-000471,1,ZAR\nB-77,1,ZAR\n C1\u00a0,1,ZAR\nD\u00a01,1,ZAR\n"
    )
    books = HEAD + "INV  1A,1,ZAR\nABC–2,1,ZAR\nORDER-2026-0,1,ZAR\nB-7,1,ZAR\nC1,1,ZAR\nD 1,1,ZAR\n"
    done = compare(source, books)
    assert counts(done) == {
        "unreadable": 1,
        "matched": 1,
        "missing_at_destination": 4,
        "unexpected_at_destination": 5,
    }
    whys = {one["reference"]: one["why"].partition(".csv.")[2].strip() for one in done["findings"]}
    alike = "which looks the same: it has another letter, dash or blank."
    assert whys["INV  1A"] == f"The other file has INV 1A, {alike}"
    assert whys["ABC–2"] == f"The other file has АВС-2, {alike}"
    assert whys["АВС-2"] == f"The other file has ABC–2, {alike}"
    assert whys["ORDER-2026-0"] == "The other file has ORDER-2026-000471: this one may have been cut."
    assert whys["ORDER-2026-000471"] == "The other file has ORDER-2026-0, which may have been cut."
    assert whys["B-7"] == whys["B-77"] == "", "what is short begins alike by chance"
    (odd,) = (one["why"] for one in done["findings"] if one["class"] == "unreadable")
    assert "a blank of another kind in it, such as a no-break space" in odd


def test_66_a_total_is_held_to_its_lines(compare: Files) -> None:
    source = (
        "reference,amount,currency\nA,10,ZAR\nB,-2.50,ZAR\nSubtotal,1,\nTotal,7.50,\nClosing balance,99,\n"
    )
    right = compare(source)["not_tested"]
    assert "Line 5 of shop.csv (Total) says 7.50 ZAR, and its lines come to that." in right
    wrong = compare(source.replace("7.50", "8.50"))["refused"]
    assert "Line 5 of shop.csv (Total) says 8.50 ZAR, and its lines come to 7.50." in wrong
    two = compare(source.replace("B,-2.50,ZAR", "B,-2.50,USD"))["not_tested"]
    assert not [said for said in two if "(Total)" in said and "says" in said], (
        "nothing is added across currencies"
    )


def test_what_is_too_large_is_refused_before_it_is_read(compare: Files) -> None:
    """A gigabyte of nothing, an entry of OFX in more than twenty megabytes, a workbook of more than sixty."""
    for name, begins, size, said in (
        ("shop.csv", HEAD.encode(), 2**30, "larger than 200 MB"),
        ("shop.ofx", b"OFXHEADER:100\n", 21 * 2**20, "OFX of more than 20 MB"),
        ("shop.xlsx", b"PK\x03\x04", 61 * 2**20, "a workbook of more than 60 MB"),
    ):
        path = compare.folder / name
        path.write_bytes(begins)
        with path.open("r+b") as file:
            file.truncate(size)  # takes no room on the disk
        err = StringIO()
        with pytest.raises(SystemExit) as ended:
            call_command("compare", str(path), str(path), stderr=err)
        assert ended.value.code == 2 and said in err.getvalue(), name


def test_63_json_has_its_mark_as_csv_has(compare: Files) -> None:
    line = '{"reference": "Ü1", "amount": "1.234,50", "currency": "EUR"}\n'
    books = "reference,amount,currency\nÜ1,1234.50,EUR\n"
    for content in (line.encode("utf-16"), line.encode("utf-8-sig")):
        done = compare(content, books, name="shop.jsonl")
        assert (counts(done), done["files"]["source"]["decimal_mark"]) == ({"matched": 1}, ",")
    stated = compare(line.encode("cp1252"), books, "--source-encoding=cp1252", name="shop.jsonl")
    assert counts(stated) == {"matched": 1}


def test_63_debits_have_a_minus_all_through_a_file_or_not_at_all(compare: Files) -> None:
    """Where both kinds stand under D, one with a minus may be a debit that is taken back: nobody guesses."""
    head = "reference,amount,d/c,currency\n"
    books = HEAD + "A,-5,ZAR\nB,-6,ZAR\nC,7,ZAR\n"
    for lines in ("A,-5,D,ZAR\nB,(6),D,ZAR\nN,0,D,ZAR\n", "A,5,D,ZAR\nB,6,D,ZAR\n"):
        done = compare(head + lines + "C,7,C,ZAR\n", books + ("N,0,ZAR\n" if "N," in lines else ""))
        assert counts(done) == {"matched": 4 if "N," in lines else 3}, lines
    for minus in ("-6", "(6)", "6-", "−6"):
        done = compare(head + f"A,5,D,ZAR\nB,{minus},D,ZAR\nC,7,C,ZAR\n", books)
        assert counts(done) == {"matched": 2, "unreadable": 1}, minus
        assert "its amount has a minus, and other debits of the file have none" in str(done["findings"])


def test_a_title_that_begins_as_json_or_xml_does_is_a_title(compare: Files) -> None:
    rows = HEAD + "1,1.00,ZAR\n"
    for title in ("[Export]", "[2026-11] Orders", "{Export}", "<Orders>", "<Orders of 2026>"):
        done = compare(f"{title}\n{rows}")
        assert counts(done) == {"matched": 1}, title
        assert (done["files"]["source"]["form"], done["files"]["source"]["header_line"]) == ("CSV", 2)
    for content, said in (
        ("<html><p>reference</p></html>", "is XML or HTML"),
        ("[1, 2", "is no JSON"),
        ("[]", "None of the first 40 lines"),
    ):
        assert said in compare(content)["refused"], content
