"""Statements of every form through `manage.py compare`: read exactly, or refused with line and reason."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.databases import Database
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
    assert counts(done) == {"unreadable": 6, "matched": 3, "unexpected_at_destination": 1}
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
