"""What somebody writes into a file to hide lines, to hold the worker, or to make it fail without words."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.databases import Database
from tests.reconcile.bank_statements import camt, entry, ids, ofx
from tests.reconcile.exports import Files, counts
from tests.reconcile.workbooks import HEADER, with_parts, workbook


@pytest.fixture
def compare(database: Database, tmp_path: Path) -> Files:
    """Two files in a folder of their own."""
    return Files(tmp_path)


HIDING = (
    "<script>",
    "<style>",
    "<!-- ",
    "<![CDATA[",
    "<!x",
    "<?x",
    "<title>",
    "a < b &lt;/",
    "</a ",
    "<plaintext>",
)
"""What a payer may write, and HTML would take for more than text."""


@pytest.mark.parametrize("version", [1, 2])
def test_no_text_of_a_payer_hides_an_entry_of_ofx(compare: Files, version: int) -> None:
    """Every entry is there, or the file is refused with its line; what ends it may come later, or never."""
    books = "reference,amount,currency\nF1,1,EUR\nF2,2,EUR\nF3,3,EUR\n"
    for said in HIDING:
        for end in ("", "</script></style></title>-->]]>"):
            source = ofx(
                version,
                {"TRNAMT": "1", "FITID": "F1", "NAME": said},
                {"TRNAMT": "2", "FITID": "F2"},
                {"TRNAMT": "3", "FITID": "F3", "NAME": end},
            )
            done = compare(source, books)
            if version == 2 and said in ("<!-- ", "<![CDATA["):
                assert f"within {said.strip()} stands a tag" in done["refused"], (said, end)
                assert done["refused"].startswith("Line 3 of shop.csv is no OFX")
            else:
                assert counts(done) == {"matched": 3}, (said, end)


def test_ofx_that_is_xml_has_its_comments_and_sections(compare: Files) -> None:
    source = ofx(2, {"FITID": "<![CDATA[A&B]]>", "TRNAMT": "<!-- the sum -->5"})
    assert counts(compare(source, "reference,amount,currency\nA&B,5,EUR\n")) == {"matched": 1}
    within = source.replace("<FITID>", "<STMTTRN><FITID>")
    assert "STMTTRN begins within another" in compare(within)["refused"]


def test_ofx_takes_as_long_as_it_is_large(compare: Files) -> None:
    """Each of these took four times as long for twice as much: as much of the first, half a minute."""
    for part in ("<!--", "</a ", "<![CDATA[", "<", "&#x", "<a x='"):
        source = ofx(
            1,
            {"TRNAMT": "1", "FITID": "1", "CURRENCY": {"CURSYM": "ZAR"}, "NAME": part * (2**18 // len(part))},
        )
        assert counts(compare(source)) == {"matched": 1}, part


def test_camt_in_an_encoding_that_cannot_be_read_is_refused(compare: Files) -> None:
    for encoding in ("UTF-99", "shift_jis", "utf-7", "idna"):
        content = camt(entry("5.00", "CRDT")).replace("UTF-8", encoding)
        said = compare(content, name="bank.xml")["refused"]
        assert "bank.xml is no XML that can be read (" in said, encoding


def test_a_number_beyond_any_export_is_a_line_that_cannot_be_read(compare: Files) -> None:
    """As reference, amount, or in what is not looked at; in lines, and in a list."""
    for number in ("1e999999999", "-1e99999999999999999999", "1e-999999999", "1e401"):
        for members in (
            f'{{"reference": {number}, "amount": 1, "currency": "ZAR"}}',
            f'{{"reference": "2", "amount": {number}, "currency": "ZAR"}}',
            f'{{"reference": "2", "amount": 1, "currency": "ZAR", "of": [{number}]}}',
        ):
            good = '{"reference": "1", "amount": 1, "currency": "ZAR", "of": [1e308]}'
            done = compare(f"{good}\n{members}\n", name="shop.jsonl")
            assert counts(done) == {"matched": 1, "unreadable": 1}, members
            assert "beyond any number" in done["findings"][0]["why"]
            refused = compare(f"[{good}, {members}]", name="shop.json")["refused"]
            assert "beyond any number" in refused, members


def test_a_workbook_has_the_rows_and_formats_that_a_spreadsheet_has(compare: Files) -> None:
    plain = workbook([HEADER, ("1", 1, "ZAR")])
    sheet = ZipFile(BytesIO(plain)).read("xl/worksheets/sheet1.xml")
    for number in ("2147483648", "1048577", "0", "-3"):
        content = with_parts(
            plain, xl_worksheets_sheet1=sheet.replace(b'<row r="2"', f'<row r="{number}"'.encode())
        )
        said = compare(content, name="shop.xlsx")["refused"]
        assert f"it has a row {number}, and a sheet has 1048576" in said, said
    rows = workbook([HEADER, (7, 1, "ZAR")], lambda sheet: setattr(sheet["A2"], "number_format", "0" * 9))
    longer = with_parts(rows, xl_styles=lambda part: part.replace(b"0" * 9, b"0" * 200_000))
    for content, reference in ((rows, "000000007"), (longer, "7")):
        done = compare(content, f"reference,amount,currency\n{reference},1,ZAR\n", name="shop.xlsx")
        assert counts(done) == {"matched": 1}, reference


def test_ofx_is_in_its_encoding_and_the_code_page_is_that_of_ascii_alone(compare: Files) -> None:
    source = ofx(1, {"TRNAMT": "5", "FITID": "Zoë"})
    books = "reference,amount,currency\nZoë,5,EUR\n"
    utf8 = source.replace("ENCODING:USASCII", "ENCODING:UTF-8")
    for content in (
        source.encode("cp1252"),
        utf8.encode(),
        source.encode("utf-8-sig"),
        source.replace("\n", " ", 4).encode("cp1252"),
    ):
        assert counts(compare(content, books)) == {"matched": 1}, content
    assert "is not UTF-8 throughout" in compare(utf8.encode("cp1252"), books)["refused"]


def test_an_entry_of_camt_is_booked_only_where_its_status_says_so(compare: Files) -> None:
    """By code, or as plain text; one of the bank's own, or an empty one, is in no amount, and is shown."""
    books = "reference,amount,currency\nA,5,EUR\n"
    for status in ("<Sts><Prtry>PDNG</Prtry></Sts>", "<Sts/>", "<Sts><Prtry>BOOK</Prtry></Sts>"):
        other = entry("7.00", "CRDT", ids("B"), status=status)
        for closing in ("", "105.00"):
            done = compare(camt(entry("5.00", "CRDT", ids("A")), other, closing=closing), books)
            assert counts(done) == {"matched": 1, "unreadable": 1}, status
            assert "whether it is booked cannot be told" in done["findings"][0]["why"]
        off = camt(entry("5.00", "CRDT", ids("A")), other, closing="112.00")
        assert "7.00" in compare(off, books)["refused"], "the balances say that it is booked"
    for status in ("<Sts>PDNG</Sts>", "<Sts><Cd>INFO</Cd></Sts>"):
        done = compare(camt(entry("5.00", "CRDT", ids("A")), entry("7.00", "CRDT", status=status)), books)
        assert counts(done) == {"matched": 1}, status


def test_the_details_of_a_reversed_batch_turn_with_it(compare: Files) -> None:
    books = "reference,amount,currency\nA,-30,EUR\nB,-20,EUR\n"
    for sign in ("CRDT", ""):
        batch = entry("50.00", "CRDT", ids("A", "30.00", sign), ids("B", "20.00", sign), reversal=True)
        done = compare(camt(batch, opening="60.00", closing="10.00"), books)
        assert counts(done) == {"matched": 2}, done["findings"]
