"""How much of a statement is held at once: a small file that takes much memory is refused in words."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from reconcile.statements.forms import markup, packages, sheets, swift
from tests.databases import Database
from tests.reconcile.bank_statements import camt, entry, ids, mt940
from tests.reconcile.exports import Files, counts
from tests.reconcile.workbooks import HEADER, with_parts, workbook

PLAIN = workbook([HEADER, ("1", 1, "ZAR"), ("2", 2, "ZAR")])


@pytest.fixture
def compare(database: Database, tmp_path: Path) -> Files:
    """Two files in a folder of their own."""
    return Files(tmp_path)


def with_sheet(old: bytes, new: bytes) -> bytes:
    """Put something into the sheet, once."""
    return with_parts(PLAIN, xl_worksheets_sheet1=lambda part: part.replace(old, new, 1))


def with_texts(text: bytes) -> bytes:
    """Have the first reference among the texts that cells share, in a part that is named as nothing is."""
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    override = b'<Override PartName="/xl/held.bin" ContentType="' + kind + b'"/></Types>'
    return with_parts(
        with_sheet(b'<c r="A2" t="inlineStr"><is><t>1</t></is></c>', b'<c r="A2" t="s"><v>0</v></c>'),
        _Content_Types_=lambda part: part.replace(b"</Types>", override),
        xl_held=b"<sst><si><t>" + text + b"</t></si></sst>",
    )


def test_a_workbook_whose_parts_hold_more_than_any_is_refused(
    compare: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each limit as it stands, or lower; what is held at once is looked at after each piece."""
    limits = (
        (
            "its row 3 has more than",
            with_sheet(b"</row></sheetData>", b"<c/>" * 16400 + b"</row></sheetData>"),
        ),
        ("a text of more than", with_sheet(b"<v>1</v>", b"<v>" + b"1" * 70_000 + b"</v>")),
        ("a text of more than", with_texts(b"&amp;1" * 40_000)),
        ("a text of more than", with_texts(b"1" * 65_600)),
        (
            "xl/styles.xml holds more",
            with_parts(
                PLAIN, xl_styles=lambda part: part.replace(b"</cellXfs>", b"<xf/>" * 300_000 + b"</cellXfs>")
            ),
        ),
    )
    monkeypatch.setattr(packages, "RATIO_MAX", 10**6)
    for said, content in limits:
        assert said in compare(content, name="shop.xlsx")["refused"], said
    begun = ZipFile(BytesIO(PLAIN)).read("xl/worksheets/sheet1.xml").partition(b"</row></sheetData>")[0]
    for said, unended in (
        ("its row 3 has more than", b"<c/>" * 40_000),
        ("a text of more than", b"<c><v>" + b"1" * 200_000),
    ):
        content = with_parts(PLAIN, xl_worksheets_sheet1=begun + unended)
        assert said in compare(content, name="shop.xlsx")["refused"], "it is refused before it ends"
    wide = with_sheet(b"</row></sheetData>", b"<c/>" * 16370 + b"</row></sheetData>")
    assert counts(compare(wide, name="shop.xlsx")) == {"matched": 1, "missing_at_destination": 1}
    monkeypatch.setattr(packages, "PART_MAX", 500)
    assert "holds more than a workbook's own parts" in compare(PLAIN, name="shop.xlsx")["refused"]


def test_texts_are_weighed_by_what_they_are_and_not_by_their_name(
    compare: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "TEXTS_MAX", 100)
    assert (
        "its texts have more than 100 bytes" in compare(with_texts(b"1" * 200), name="shop.xlsx")["refused"]
    )
    monkeypatch.undo()
    done = compare(with_texts(b"1"), "reference,amount,currency\n1,1,ZAR\n2,2,ZAR\n", name="shop.xlsx")
    assert counts(done) == {"matched": 2}


def test_what_stands_far_to_the_right_is_not_read_and_merged_cells_are_counted(
    compare: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged = b"<mergeCells>" + b'<mergeCell ref="A9:B9"/>' * 1000 + b"</mergeCells>"
    done = compare(with_sheet(b"</sheetData>", b"</sheetData>" + merged), name="shop.xlsx")
    assert [note for note in done["files"]["source"]["notes"] if "A9:B9 and 995 more" in note]
    monkeypatch.setattr(sheets, "WIDTH_MAX", 2)
    done = compare(
        PLAIN,
        "reference,amount,currency\n1,1,ZAR\n2,2,ZAR\n",
        "--source-columns=currency=ZAR",
        name="shop.xlsx",
    )
    assert counts(done) == {"matched": 2}
    assert done["files"]["source"]["columns"].keys() == {"reference", "amount"}


def test_a_tag_without_an_end_is_not_waited_for(compare: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "PIECE", 2**10)
    monkeypatch.setattr(markup, "TAG_MAX", 2**14)
    long = camt(entry("5.00", "CRDT", ids("A")) + f'<Ntry x="{"a" * 2**16}"></Ntry>')
    assert "a tag has more than 16384 bytes" in compare(long, name="bank.xml")["refused"]
    text = camt(entry("5.00", "CRDT", ids("A") + f"<RmtInf><Ustrd>{'a' * 2**16}</Ustrd></RmtInf>"))
    books = "reference,amount,currency\nA,5,EUR\n"
    assert counts(compare(text, books, name="bank.xml")) == {"matched": 1}


def test_one_entry_or_statement_of_a_bank_is_held_at_once_and_has_an_end(
    compare: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markup, "ELEMENTS_MAX", 50)
    attributes = " ".join(f'a{number}="1"' for number in range(50))
    for more in ("<a/>" * 50, f"<a {attributes}/>"):
        content = camt(entry("5.00", "CRDT", ids("A") + more))
        assert "one part of it has more than 50 elements" in compare(content, name="bank.xml")["refused"], (
            more
        )
    several = camt(*[entry("5.00", "CRDT", ids(f"A{number}")) for number in range(10)])
    assert counts(compare(several, name="bank.xml"))["missing_at_destination"] == 10
    monkeypatch.setattr(swift, "BLOCK_MAX", 200)
    field = "61:2511010103C5,00NTRF"
    content = mt940(*[f"{field}R{number}" for number in range(9)], closing="C251230EUR145,00")
    assert "The statement on line 1 of shop.csv has more than 8 MB" in compare(content)["refused"]
