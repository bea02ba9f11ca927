"""A spreadsheet of differences goes out for owners and comments, and comes back: what is shown is done.

| a row that comes back                                | then                                      |
|------------------------------------------------------|-------------------------------------------|
| another owner, another comment                       | both change, each an event with the person |
| anything else of it changed                          | not read                                  |
| as it was sent out, or as it stands here by now      | nothing                                   |
| another number or version; twice; a formula          | refused                                   |
| gone, closed or otherwise meanwhile; not seen        | refused                                   |
| somebody else has given it on or written meanwhile   | refused                                   |
| an owner who is none, or does not see it; no comment | refused                                   |
"""

import re
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl
import psycopg
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from ledger import actions
from ledger.models import Case, Event
from reconcile.differences import remarking
from reconcile.differences.models import Way
from reconcile.models import Finding, Remark
from review import settling
from tests.databases import Clock, Database
from tests.people import browser_of, limited, person
from tests.reconcile.books import HELD, Books, command_id, key_of, record
from tests.reconcile.workbooks import with_parts
from tests.review.test_entities import CAPE
from tests.review.test_runs import plain

RETURN = "/runs/differences/return/"
Cells = dict[str, Any]


@pytest.fixture
def books(clock: Clock, tmp_path: Path) -> Books:
    made = Books.configured(tmp_path, performed_by="caller")
    for name in ("ann", "bob", "eve"):
        person(name)
    found(made, "100.00", "101.00", "102.00")
    return made


def found(books: Books, *totals: str) -> None:
    HELD.pages = [[record(n, key=key_of(f"x{n}"), total=total) for n, total in enumerate(totals)]]
    books.run()


def still() -> list[Finding]:
    rows = Finding.objects.filter(lives=True).select_related("case", "run__plan__operation_type__destination")
    return list(rows.order_by("reference"))


def sent_out(name: str = "ann", query: str = "") -> bytes:
    return b"".join(browser_of(name).get(f"/runs/differences.xlsx?{query}"))


def filled(content: bytes, fill: Callable[[dict[str, Cells]], None]) -> bytes:
    """The workbook with its rows, by reference, filled in as somebody does by hand."""
    book = openpyxl.load_workbook(BytesIO(content))
    sheet = book["Rows"]
    heads, *rows = sheet.iter_rows()
    names = [cell.value for cell in heads]
    place = names.index("Reference")
    fill({str(row[place].value): dict(zip(map(str, names), row, strict=True)) for row in rows})
    held = BytesIO()
    book.save(held)
    return held.getvalue()


def sent_back(content: bytes, name: str = "ann", file: str = "open-differences.xlsx") -> str:
    upload = SimpleUploadedFile(file, content)
    answer = browser_of(name).post(RETURN, {"file": upload})
    assert answer.status_code == 200
    return plain(answer.content.decode())


def taken(shown: str, name: str = "ann") -> str:
    kept = re.search(r'name="kept" value="([^"]+)"', shown)
    assert kept is not None, shown
    answer = browser_of(name).post(RETURN, {"kept": kept[1]})
    assert answer.status_code == 200
    return plain(answer.content.decode())


def given(cells: Cells, owner: str = "", comment: str = "") -> None:
    if owner:
        cells["Owner"].value = owner
    if comment:
        cells["Comment"].value = comment


def known() -> tuple[list[tuple[str, str]], list[str], int]:
    cases = list(Case.objects.order_by("pk").values_list("owner", "assignee"))
    return cases, list(Remark.objects.order_by("pk").values_list("text", flat=True)), Event.objects.count()


def test_what_is_shown_row_by_row_is_done_once_and_the_same_file_again_changes_nothing(books: Books) -> None:
    def fill(rows: dict[str, Cells]) -> None:
        given(rows[key_of("x0")], "bob", "Bob knows the branch.")
        given(rows[key_of("x1")], comment="=1+1 is what they wrote")
        rows[key_of("x1")]["Comment"].data_type = "s"
        rows[key_of("x2")]["Amount"].value, rows[key_of("x2")]["Class"].value = 1, "Matched"

    content, before = filled(sent_out(), fill), known()
    shown = sent_back(content)
    assert known() == before, "a preview changes nothing"
    assert "2 to change · 0 refused · 0 as they stand here already · 1 untouched" in shown
    assert "<del>finance</del> <ins>bob</ins>" in shown and "<ins>Bob knows the branch.</ins>" in shown
    done = taken(shown)
    assert re.findall("<ins>([^<]+)</ins>", done) == re.findall("<ins>([^<]+)</ins>", shown)
    first, second, third = still()
    assert first.case is not None and (first.case.owner, first.case.assignee) == ("finance", "bob")
    told = Event.objects.filter(actor="ann").order_by("pk").values_list("kind", "reason")
    assert list(told) == [
        ("assigned", "Bob knows the branch."),
        ("difference_commented", "Bob knows the branch."),
        ("difference_commented", "=1+1 is what they wrote"),
    ]
    assert [remarking.latest([one]).get(one.pk) is None for one in (first, second, third)] == [
        *(False, False, True)
    ]
    after = known()
    for again in (taken(shown), sent_back(content)):
        assert "0 refused · 2 as they stand here already" in again and "<ins>" not in again
    assert known() == after
    page = plain(browser_of("vic").get(f"/runs/{first.run.uid}/differences/{first.pk}/").content.decode())
    assert "<b>ann</b> “Bob knows the branch.”" in page
    trail = plain(browser_of("vic").get("/trail/?by=people").content.decode())
    assert "wrote about a difference:" in trail and f"/differences/{first.pk}/" in trail


def test_a_remark_follows_its_difference_and_stands_in_the_next_spreadsheet(
    books: Books, clock: Clock
) -> None:
    content = filled(sent_out(), lambda rows: given(rows[key_of("x0")], comment="Known."))
    taken(sent_back(content))
    clock.advance(timedelta(days=1))
    books.run()
    seen: list[Any] = []
    again = filled(sent_out(), lambda rows: seen.append(rows[key_of("x0")]["Comment"].value))
    assert seen == ["Known."]
    assert "0 to change · 0 refused" in sent_back(again)
    later = filled(content, lambda rows: given(rows[key_of("x1")], comment="Sent out before that run."))
    assert "1 to change · 0 refused · 1 as they stand here" in sent_back(later), "by number it is found again"


def refused(fill: Callable[[dict[str, Cells]], None], content: bytes = b"", name: str = "ann") -> list[str]:
    before = known()
    shown = sent_back(filled(content or sent_out(), fill), name)
    if 'name="kept"' in shown and " 0 to change" not in shown:
        kept = re.search(r'name="kept" value="([^"]+)"', shown)
        assert kept is None or "0 to change" in shown, shown
    assert known() == before
    return re.findall(r'data-label="Why">([^<]+)<', shown)


def test_rows_that_were_changed_otherwise_are_refused_with_the_reason(books: Books) -> None:
    one, two, _ = (key_of(f"x{n}") for n in range(3))

    def swapped(rows: dict[str, Cells]) -> None:
        rows[one]["Number"].value, rows[two]["Number"].value = (
            rows[two]["Number"].value,
            rows[one]["Number"].value,
        )

    def twice(rows: dict[str, Cells]) -> None:
        for name in ("Number", "Version"):
            rows[two][name].value = rows[one][name].value
        given(rows[two], comment="Twice.")

    tampered = "Its number or its version is not what was sent out."
    assert refused(swapped) == [tampered] * 2
    assert refused(lambda rows: setattr(rows[one]["Version"], "value", "a-b-c-d")) == [tampered]
    assert refused(lambda rows: setattr(rows[one]["Number"], "value", "none")) == [tampered]
    assert refused(twice) == ["Its number stands in the file twice."]
    assert refused(lambda rows: given(rows[one], comment="=SUM(A1)")) == [
        "Comment holds a formula: write it as plain text."
    ]
    assert refused(lambda rows: given(rows[one], "nora")) == [
        "nora is neither an active reviewer or approver nor a team."
    ]
    assert refused(lambda rows: setattr(rows[one]["Owner"], "value", None)) == [
        "Write whose it is: a person who decides, or a team."
    ]
    (long,) = refused(lambda rows: given(rows[one], comment="x" * 1001))
    assert long.startswith("A comment has 1 to 1000 characters")
    limited("kim", CAPE)
    assert refused(lambda rows: given(rows[one], "kim")) == [
        "kim does not see all of it, being limited to other entities."
    ]
    assert refused(lambda rows: given(rows[one], comment="Mine."), sent_out(), "kim") == [
        "There is no such difference that you see."
    ]


def test_rows_that_have_moved_on_meanwhile_are_refused(books: Books, clock: Clock) -> None:
    content = sent_out()
    first, second, third = still()
    for one in (first, second):
        assert one.case is not None
    actions.assign(first.case.uid, actor="eve", to="eve")  # type: ignore[union-attr]
    remarking.write(second, actor="eve", text="Theirs.", command_id=command_id())
    said: Any = {"reason": "Known.", "command_id": command_id()}
    settling.settle(third, Way.CLOSE, person=person("ann"), **said)

    def fill(rows: dict[str, Cells]) -> None:
        given(rows[key_of("x0")], "bob", "Mine.")
        given(rows[key_of("x1")], comment="Mine.")
        given(rows[key_of("x2")], comment="Mine.")

    assert refused(fill, content) == [
        "It went to eve since it was sent out.",
        "Somebody has written about it since it was sent out.",
        "It is closed meanwhile.",
    ]
    found(books, "100.00", "999.00")
    gone, otherwise = refused(fill, content)[-1], refused(fill, content)[1]
    assert gone in ("A later run found it gone.", "It is closed meanwhile.")
    assert otherwise == "What was found has changed since it was sent out: take a new spreadsheet."


def test_from_somebody_else_it_goes_with_a_comment_and_by_an_approver_alone(books: Books) -> None:
    first = still()[0]
    assert first.case is not None
    actions.assign(first.case.uid, actor="eve", to="eve")
    assert "approver" in refused(lambda rows: given(rows[key_of("x0")], "bob", "Mine."))[0]
    assert refused(lambda rows: given(rows[key_of("x0")], "bob"), sent_out("bob"), "bob") == [
        "Write a comment: eve has it now, who is to read why."
    ]
    content = filled(sent_out("bob"), lambda rows: given(rows[key_of("x0")], "finance", "Back."))
    taken(sent_back(content, "bob"), "bob")
    first.case.refresh_from_db()
    assert (first.case.owner, first.case.assignee) == ("finance", "")


def test_what_changes_between_the_page_and_the_click_is_refused_then(books: Books) -> None:
    content = filled(sent_out(), lambda rows: given(rows[key_of("x0")], "bob", "Mine."))
    shown = sent_back(content)
    case = still()[0].case
    assert case is not None
    actions.assign(case.uid, actor="eve", to="eve")
    before = known()
    assert "It went to eve since it was sent out." in taken(shown)
    assert known() == before
    kept = re.search(r'name="kept" value="([^"]+)"', shown)
    assert kept is not None
    for odd in (kept[1][:-3], "", kept[1] + "x"):
        answer = plain(browser_of("ann").post(RETURN, {"kept": odd}).content.decode())
        assert "send the file back again" in answer
    assert "Somebody else has read that file" in plain(
        browser_of("bob").post(RETURN, {"kept": kept[1]}).content.decode()
    )
    assert known() == before


def test_hostile_files_and_those_that_were_not_sent_out_are_refused_in_words(books: Books) -> None:
    ours = sent_out()
    bomb = with_parts(ours, xl_media_bomb=b"0" * (200 * 2**20))
    book = openpyxl.Workbook()
    bare = BytesIO()
    book.save(bare)
    files = {
        b"Number,Version\n1,2\n": "is no XLSX workbook",
        b"": "Choose the file that comes back.",
        b"PK\x03\x04 nothing": "cannot be read as a workbook",
        with_parts(ours, xl_vbaProject=b"macro"): "has macros, and is not opened",
        bomb: "would expand to far more",
        bare.getvalue(): "has no sheet “Rows”",
        filled(ours, lambda rows: None).replace(b"PK\x03\x04", b"\xd0\xcf\x11\xe0", 1): "is no XLSX workbook",
    }
    before = known()
    for content, words in files.items():
        assert words in sent_back(content), words
    assert known() == before

    def headless(rows: dict[str, Cells]) -> None:
        sheet = next(iter(rows.values()))["Number"].parent
        sheet.cell(1, 1).value = "Nr"

    assert "lacks one of the columns Number, Owner, Comment, Version" in sent_back(filled(ours, headless))


def carried_out(database: Database, statement: str) -> None:
    with closing(psycopg.connect(database.app_url)) as other:
        other.execute(statement)
        other.commit()


def test_no_hand_writes_a_remark_without_its_event_or_changes_one(books: Books, database: Database) -> None:
    one = still()[0]
    remarking.write(one, actor="ann", text="Known.", command_id=command_id())
    names = "plan_id, finding_id, item_class, name, currency"
    insert = (
        f"INSERT INTO reconcile_remark ({names}, text, actor, command_id)"
        f" SELECT {names}, '{{}}', '{{}}', gen_random_uuid() FROM reconcile_remark"
    )
    others = (("Other.", "ann"), ("Known.", "ann"), ("Known.", "policy"), ("Known.", "nobody"))
    statements = [
        *(insert.format(*one) for one in others),
        "UPDATE reconcile_remark SET text = 'x'",
        "DELETE FROM reconcile_remark",
        "TRUNCATE reconcile_remark",
    ]
    for statement in statements:
        with pytest.raises(psycopg.Error):
            carried_out(database, statement)
    assert Remark.objects.get().text == "Known."


def test_secrets_in_a_comment_are_redacted_before_they_are_shown_or_kept(books: Books) -> None:
    secret = "password=hunter2hunter2"
    content = filled(sent_out(), lambda rows: given(rows[key_of("x0")], comment=f"It is {secret} there"))
    shown = sent_back(content)
    assert "hunter2" not in shown.split("<main")[1].split('name="kept"')[0]
    taken(shown)
    assert "hunter2" not in Remark.objects.get().text
