"""Statements of every form through `manage.py compare`: read exactly, or refused with line and reason."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.databases import Database
from tests.reconcile.bank_statements import camt, entry, ids, mt940, ofx
from tests.reconcile.exports import HEAD, Files, counts
from tests.reconcile.workbooks import HEADER, with_parts, workbook


@pytest.fixture
def compare(database: Database, tmp_path: Path) -> Files:
    """Two files in a folder of their own."""
    return Files(tmp_path)


def unreadable(done: dict[str, Any]) -> list[str]:
    return [one["why"] for one in done["findings"] if one["class"] == "unreadable"]


def test_json_lines_keep_digits_and_a_bad_line_is_told_with_its_reason(compare: Files) -> None:
    source = (
        '{"order": {"id": "00471"}, "total": 10.10, "currency": "ZAR", "created": "2026-11-01T22:00:00Z"}\n'
        '{"order": {"id": 472}, "total": "1 240.00", "currency": "ZAR"}\n\n'
        '{"order": {"id": 12345678901234567890}, "total": 1, "currency": "ZAR"}\n'
        '{"order": {"id": "473"}, "total": 0.1000000000000000055, "currency": "ZAR"}\n'
        '{"order": {"id": "474"}, "total": 1, "total": 2, "currency": "ZAR"}\n'
        '{"order": {"id": "475"}, "total": true, "currency": "ZAR"}\n'
        '["476", 1, "ZAR"]\n{"order": \n'
    )
    books = HEAD + "00471,10.1,ZAR\n472,1240,ZAR\n"
    named = "--source-columns=reference=order.id,amount=total,currency=currency"
    done = compare(source, books, named, name="shop.jsonl")
    assert counts(done) == {"unreadable": 6, "matched": 2}
    for line, why in (
        (4, "12345678901234567890 is a number of more digits than are kept: export it as text"),
        (5, "more decimals"),
        (6, "an object names a member twice"),
        (7, 'the amount "true" is no number'),
        (8, "it is no object with members"),
        (9, "it is no JSON"),
    ):
        assert any(f"Line {line} of shop.jsonl" in said and why in said for said in unreadable(done)), (
            line,
            why,
        )
    assert (done["files"]["source"]["form"], done["files"]["source"]["notes"]) == ("JSON lines", [])


def test_a_list_in_json_is_read_item_by_item_and_a_name_that_says_otherwise_is_told(compare: Files) -> None:
    source = '[{"reference": "A", "amount": 1.5, "currency": "ZAR"},\n {"reference": "B", "amount": "2,5"}]'
    refused = compare(source.replace('"B"', '"B'), name="shop.csv")
    assert "shop.csv is no JSON that can be read" in refused["refused"]
    done = compare(source.replace("2,5", "2.5"), HEAD + "A,1.50,ZAR\n", name="shop.csv")
    assert counts(done) == {"matched": 1, "unreadable": 1}
    assert unreadable(done)[0].startswith("Line 2 of shop.csv: it has no currency")
    assert done["files"]["source"]["notes"] == [
        "shop.csv is named like CSV, and is JSON: it was read as that.",
        "A line of shop.csv is an item of its list, counted from 1.",
    ]
    assert set(done["files"]["source"]["notes"]) < set(done["not_tested"])


def test_64_a_workbook_keeps_references_and_what_it_has_rounded_is_never_matched(compare: Files) -> None:
    """Each row, what is in its cells, and what comes of it."""

    def also(sheet: Any) -> None:
        sheet["A4"].number_format = "00000"
        sheet["B3"].number_format = "#,##0.00"
        sheet.row_dimensions[3].hidden = True
        sheet.merge_cells("A1:D1")
        sheet.parent.create_sheet("Old").append(HEADER)

    rows = [
        ("Orders of November", None, None, None),
        HEADER,
        ("00471", 1240.5, "ZAR", datetime.fromisoformat("2026-11-01T23:59")),
        (472, "1,000.25", "ZAR", date(2026, 11, 2)),
        (473, 0.1 + 0.2, "ZAR", "2026-11-03"),
        (12345678901234567890, 1, "ZAR"),
        (1.5, 1, "ZAR"),
        (date(2026, 2, 1), 1, "ZAR"),
        ("474", 1.005, "ZAR"),
        ("475", "=1+1", "ZAR"),
        ("476", "#N/A", "ZAR"),
        (None, None, None, None),
        ("Total", 99, None, None),
    ]
    source = workbook(rows, also)
    books = HEAD + "00471,1240.50,ZAR\n00472,1000.25,ZAR\n473,0.30,ZAR\n12345678901234500000,1,ZAR\n"
    done = compare(source, books, name="shop.xlsx")
    assert counts(done) == {"unreadable": 7, "matched": 3}
    for line, why in (
        (6, "its reference 1.23456789012346E+19 is a number of more digits than are kept"),
        (7, "its reference 1.5 is a number with decimals"),
        (8, "its reference is a day, 2026-02-01"),
        (9, "more decimals"),
        (10, "its amount is a formula that was not worked out"),
        (11, "its amount is an error in the sheet, #N/A"),
    ):
        assert any(f"Line {line} of shop.xlsx" in said and why in said for said in unreadable(done)), (
            line,
            why,
        )
    told = done["files"]["source"]
    assert (told["form"], told["header_line"], told["encoding"]) == ("XLSX, sheet Orders", 2, None)
    assert told["left_out"] == [{"line": 13, "begins": "Total"}]
    assert told["notes"] == [
        "Only sheet Orders of shop.xlsx is read, not: Old.",
        "Hidden rows of sheet Orders are read like the others: 3.",
        "Merged cells of sheet Orders hold a value in the first one: A1:D1.",
        "Formulas in sheet Orders: 1, read as they were last worked out.",
        "Line 13 of shop.xlsx (Total) says 99.00 ZAR, and its lines come to 2241.05.",
    ]
    empty = compare(source, books, "--source-sheet=Old", name="shop.xlsx")
    assert "has a header on line 1, and nothing under it" in empty["refused"]
    assert (
        "has no sheet “New”. It has: Orders, Old." in compare(source, books, "--source-sheet=New")["refused"]
    )


def test_a_formula_counts_as_it_was_last_worked_out(compare: Files) -> None:
    plain = workbook([HEADER, ("A", "=2+3", "ZAR")])
    worked_out = with_parts(
        plain,
        xl_worksheets_sheet1=lambda xml: xml.replace(b"<v></v>", b"<v>5</v>").replace(b"<v />", b"<v>5</v>"),
    )
    done = compare(worked_out, HEAD + "A,5.00,ZAR\n", name="shop.xlsx")
    assert counts(done) == {"matched": 1}
    assert "Formulas in sheet Orders: 1, read as they were last worked out." in done["not_tested"]


def test_a_workbook_that_could_do_harm_is_not_opened(compare: Files) -> None:
    """Macros, a bomb, an entity from outside, a password's container, a broken archive, another zip."""
    plain = workbook([HEADER, ("A", 1, "ZAR")])
    entity = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'

    def with_entity(xml: bytes) -> bytes:
        begin, _, rest = xml.partition(b"<worksheet")
        return begin + entity + b"<worksheet" + rest.replace(b">ZAR<", b">&a;<")

    refused = {
        "has macros": with_parts(plain, xl_vbaProject=b"x"),
        "would expand to far more": with_parts(plain, xl_media=b"\0" * (2 * 2**20)),
        "declares entities": with_parts(plain, xl_worksheets_sheet1=with_entity),
        "an old workbook, or one with a password": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600,
        "cannot be read as a workbook": plain[:-300],
        "a zip and no XLSX workbook": with_parts(plain).replace(b"xl/workbook.xml", b"xl/workbool.xml"),
    }
    for words, content in refused.items():
        assert words in compare(content, name="shop.xlsx")["refused"], words


def test_66_camt_signs_and_batches_are_proved_by_its_balances(compare: Files) -> None:
    """A credit, a batch of two, a batch without amounts, a reversal of a credit, a debit that waits."""
    source = camt(
        entry("50.00", "CRDT", ids("A")),
        entry("30.00", "CRDT", ids("B", "20.00"), ids("C", "10.00")),
        entry("8.00", "CRDT", ids("D"), ids("E"), bank="BATCH"),
        entry("50.00", "DBIT", ids("F"), reversal=True),
        entry("1.00", "DBIT", ids("NOTPROVIDED"), bank="FEE"),
        entry("9.00", "DBIT", ids("G"), status="<Sts><Cd>PDNG</Cd></Sts>"),
        entry("7.00", "CRDT", ids("H", "5.00"), ids("I", "1.00")),
        closing="144.00",
    )
    books = "reference,amount,currency\nA,50,EUR\nB,20,EUR\nC,10,EUR\nBATCH,8,EUR\nF,-50,EUR\nFEE,-1,EUR\n"
    done = compare(source, books, name="bank.xml")
    assert counts(done) == {"matched": 6, "unreadable": 2}, done["findings"]
    assert "the details of its batch come to 6.00, and the entry to 7.00" in unreadable(done)[0]
    told = done["files"]["source"]
    assert (told["form"], told["lines"]) == ("camt.053.001.08", 8)
    assert told["notes"] == [
        "The balances of bank.xml prove its entries: opening and entries give the closing one.",
        "A line of bank.xml is an entry, or a detail of a batch, counted from 1.",
        "Entries of bank.xml that are not booked are left out: 1.",
    ]
    by_bank = compare(source, books, "--source-columns=reference=Bank's reference", name="bank.xml")
    assert {"BATCH", "FEE"} & {one["reference"] for one in by_bank["findings"]} == set()
    assert counts(by_bank)["matched"] == 2
    # The sign of what is reversed, and balances that hold only the other way round.
    wrong = camt(entry("50.00", "CRDT", ids("F"), reversal=True), opening="60.00", closing="10.00")
    done = compare(wrong, "reference,amount,currency\nF,-50,EUR\n", name="bank.xml")
    assert counts(done) == {"matched": 1}
    said = "Reversals in bank.xml carry the sign of what they reverse, as its balances prove."
    assert said in done["not_tested"]


def test_camt_that_is_not_whole_or_could_do_harm_is_refused(compare: Files) -> None:
    whole = entry("50.00", "CRDT", ids("A"))
    entries = "<TxsSummry><TtlNtries><NbOfNtries>2</NbOfNtries></TtlNtries></TxsSummry>"
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    for words, content in {
        "entries come to 50.00, and it closes with 140.00: 10.00": camt(whole, closing="140.00"),
        "says 2 for its entries, and holds 1": camt(whole, summary=entries),
        "it declares entities": camt(whole).replace("<Document", f"{laughs}<Document"),
        "is no XML that can be read (line 2": camt(whole)[:-30],
        "holds no entry": camt(),
        "and no bank statement (camt, OFX)": "<html><body>Sign in</body></html>",
    }.items():
        assert words in compare(content, name="bank.xml")["refused"], words
    done = compare(camt(whole, summary=entries.replace("2", "1")), name="bank.xml")
    assert "The totals that bank.xml states are those of its entries." in done["not_tested"]


def test_66_mt940_reversals_years_and_several_statements_are_proved_by_their_balances(compare: Files) -> None:
    """RC takes away, RD gives back; 1230 beside a value date in January is last year; details go on."""
    first = mt940(
        "61:2601011230C50,00NTRFA//BANK-A",
        "86:/EREF/E-1/REMI/first\r\nand second line",
        "61:251231RC20,00NTRFB//BANK-B",
        "61:2512311231RD5,NTRFNONREF//BANK-C",
        closing="C260101EUR135,00",
        envelope=True,
    )
    second = mt940("61:260102D0,50NTRFD", opening="C260101EUR135,00", closing="C260102EUR134,50")
    books = (
        "reference,amount,currency,date\nE-1,50,EUR,2025-12-30\nB,-20,EUR,2025-12-31\n"
        "BANK-C,5,EUR,2025-12-31\nD,-0.5,EUR,2026-01-03\n"
    )
    done = compare(books, first + second, name="books.sta")
    assert counts(done) == {"matched": 4}, done["findings"]
    told = done["files"]["destination"]
    assert (told["form"], told["notes"][1:]) == (
        "MT940",
        ["The balances of books.csv prove its entries: opening and entries give the closing one."],
    )
    (one,) = compare(HEAD + "x,1,EUR\n", second)["findings"][1:]
    assert one["destination"] == [
        {"line": 5, "id": None, "amount": "-0.50", "currency": "EUR", "date": "2026-01-02"}
    ]


def test_an_mt940_is_matched_by_what_the_owner_gave_and_then_by_what_the_bank_gave(compare: Files) -> None:
    text = mt940(
        "61:260101C50,00NTRFA-001//BANK-1",
        "61:260101C20,00NTRFNONREF//BANK-2",
        closing="C260102EUR170,00",
    )
    assert counts(compare(HEAD + "A-001,50,EUR\nBANK-2,20,EUR\n", text)) == {"matched": 2}
    named = ("--destination-columns", "reference=Bank's reference")
    assert counts(compare(HEAD + "BANK-1,50,EUR\nBANK-2,20,EUR\n", text, *named)) == {"matched": 2}
    named = ("--destination-columns", "reference=Owner's reference")
    assert counts(compare(HEAD + "A-001,50,EUR\n", text, *named)) == {"matched": 1, "unreadable": 1}


def test_mt942_is_proved_by_its_sums_and_what_is_not_whole_is_refused(compare: Files) -> None:
    entry = "61:260101C50,00NTRFA"
    interim = (
        ":20:I\r\n:25:A\r\n:28C:1\r\n:34F:EURC0,\r\n:13D:2601011200+0100\r\n"
        ":61:260101C50,00NTRFA\r\n:90C:1EUR50,00\r\n-"
    )
    done = compare(interim, "reference,amount,currency\nA,50,EUR\n")
    assert (counts(done), done["files"]["source"]["form"]) == ({"matched": 1}, "MT942")
    assert "The totals that shop.csv states are those of its entries." in done["not_tested"]
    refused: dict[str, str | bytes] = {
        "says 51.00 for its credits, and holds 50.00": interim.replace("EUR50", "EUR51"),
        "opens with 100.00, its entries come to 50.00": mt940(entry, closing="C260101EUR160,00"),
        "Line 5 of shop.csv is no entry that can be read: :61:260101C50.00NTRFA": mt940(
            entry.replace(",", ".")
        ),
        "cannot be read": mt940("60M:C2601EUR", entry),
        "Line 2 of shop.csv stands outside of a statement: :61:": f"-\r\n:{entry}\r\n{mt940(entry)}",
        "is not UTF-8 throughout": mt940(entry, "86:Müller").encode("cp1252"),
    }
    for words, content in refused.items():
        assert words in compare(content)["refused"], words


@pytest.mark.parametrize("version", [1, 2])
def test_ofx_of_either_version_is_read_with_its_own_signs(compare: Files, version: int) -> None:
    """A number of its own before the bank's, a comma, a day with a zone, another currency, a correction."""
    source = ofx(
        version,
        {"TRNAMT": "-12,50", "FITID": "F1", "REFNUM": "R&amp;1", "DTPOSTED": "20261101233000[-5:EST]"},
        {"TRNAMT": "+5", "FITID": "00471", "DTPOSTED": "20261102"},
        {"TRNAMT": "7.00", "FITID": "F3", "CURRENCY": {"CURRATE": "1.1", "CURSYM": "USD"}},
        {"TRNAMT": "8.00", "FITID": "F4", "ORIGCURRENCY": {"CURRATE": "1.1", "CURSYM": "USD"}},
        {"TRNAMT": "9.00", "FITID": "F5", "CORRECTFITID": "F4"},
        {"TRNAMT": "1.000.00", "FITID": "F6"},
    )
    done = compare(source, "reference,amount,currency\nR&1,-12.5,EUR\n00471,5,EUR\nF3,7,USD\nF4,8,EUR\n")
    assert counts(done) == {"matched": 4, "unreadable": 2}
    assert "it corrects the entry F4" in unreadable(done)[0]
    assert 'the amount "1.000.00" cannot be read' in unreadable(done)[1]
    assert done["files"]["source"]["form"] == "OFX"
    assert "Nothing proves that shop.csv holds every entry: OFX has no opening balance." in done["not_tested"]
    cut = source[: source.index("F6")]
    assert "ends within STMTTRN: it is not whole" in compare(cut)["refused"]
    twice = source.replace("</STMTTRN>", "</STMTTRN></STMTTRN>", 1)
    assert "STMTTRN ends where it did not begin" in compare(twice)["refused"]
