"""Statements of every form through `manage.py compare`: read exactly, or refused with line and reason."""

from pathlib import Path
from typing import Any

import pytest

from tests.databases import Database
from tests.reconcile.exports import HEAD, Files, counts


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
        (4, "12345678901234567890 is a number of more digits than programs keep: export it as text"),
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
