"""Two exports dropped on the page: read as shown, compared as the command does, one's own, and gone in time.

The worker's part runs in this process, by the function that the queue calls.
"""

import html
import json
import re
import tempfile
import uuid
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.test.utils import CaptureQueriesContext, override_settings

from reconcile import tasks
from reconcile.configuration import configure
from reconcile.models import Comparison, Piece, Profile, Proposal, Run
from reconcile.proposals import actions as proposals
from reconcile.statements import comparing, keeping, working
from tests.databases import Clock, Database
from tests.people import browser_of, limited, person
from tests.reconcile.bank_statements import camt, entry, ids, mt940, ofx
from tests.reconcile.books import Books
from tests.reconcile.workbooks import HEADER, workbook

HEAD = "reference,amount,currency\n"
SHOP, BOOKS = (keeping.EXAMPLES / name for name in ("shop.csv", "books.csv"))


def page(client: Client) -> str:
    text = re.sub(r"<[^>]+>", " ", client.get("/compare/").content.decode())
    return " ".join(text.replace("\xa0", " ").split())


def drop(client: Client, source: str | bytes, destination: str | bytes, name: str = "books.csv") -> Any:
    files = {
        side: SimpleUploadedFile(called, content if isinstance(content, bytes) else content.encode())
        for side, called, content in (("source", "shop.csv", source), ("destination", name, destination))
    }
    return client.post("/compare/", files)


def work() -> None:
    """Do what a worker does once it is nudged."""
    for pk in Comparison.objects.values_list("pk", flat=True):
        assert tasks.compare(pk)


def compare(client: Client, **said: str) -> str:
    assert client.post("/compare/columns/", {"way": "compare", **said}).status_code == 303
    work()
    return page(client)


def test_encoding_is_asked_for_only_where_it_changes_anything(database: Database) -> None:
    """A workbook and a camt file say themselves how their text is written; a CSV and an MT940 do not."""
    ann = browser_of("ann")
    bank = camt(entry("7.50", "CRDT", ids("A")), closing="107.50")
    book = workbook([HEADER, ["A", 7.5, "ZAR"]])
    for content, name, asked in (
        (bank, "books.xml", False),
        (book, "books.xlsx", False),
        (SHOP, "books.csv", True),
    ):
        whole = content.read_bytes() if isinstance(content, Path) else content
        drop(ann, HEAD + "A,7.50,ZAR\n", whole, name)
        work()
        boxes = ann.get("/compare/").content.decode()
        assert 'id="source-encoding"' in boxes
        assert ('id="destination-encoding"' in boxes) == asked, name


def test_where_hardly_anything_matches_another_column_that_would_is_named(database: Database) -> None:
    """Once it is chosen they match, and nothing is said; amounts and days that are alike say nothing.

    | the files                                  | it says                                    |
    |--------------------------------------------|--------------------------------------------|
    | the shop's orders stand under *Memo* there | which column of either holds them          |
    | and *Memo* is chosen                       | nothing                                    |
    | nothing in them is alike but amounts       | nothing                                    |
    """
    shop = "reference,amount,currency,day\n" + "".join(
        f"S-{n},{n}.00,ZAR,2026-11-0{n}\n" for n in range(1, 9)
    )
    books = "reference,amount,currency,memo,day\n" + "".join(
        f"B-{n},{n}.00,ZAR,S-{n},2026-11-0{n}\n" for n in range(2, 10)
    )
    ann = browser_of("ann")
    drop(ann, shop, books)
    work()
    shown = compare(ann)
    assert (
        "Another column? Hardly anything of “reference” in shop.csv stands under “reference” in books.csv."
        in shown
    )
    assert "“reference” and “memo” have 7 in common: name these for the reference" in shown
    told = json.loads(b"".join(ann.get("/compare.json")))
    assert told["hint"].startswith("Hardly anything of")
    shown = compare(ann, **{"destination-reference": "memo"})
    assert "Another column?" not in shown and "2 differences" in shown
    drop(ann, shop, books.replace(",S-", ",T-"))
    work()
    assert "Another column?" not in compare(ann)


def test_two_exports_become_a_report_that_only_their_owner_sees(database: Database) -> None:
    """Preview, report, CSV and JSON tell what the command tells of the same files."""
    ann, vic = browser_of("ann"), browser_of("vic")
    assert drop(ann, SHOP.read_bytes(), BOOKS.read_bytes()).status_code == 303
    assert "Reading both files" in page(ann)
    work()
    shown = page(ann)
    for words in (
        "Is this how to read them?",
        "50 lines, CSV, header on line 1, UTF-8, comma between fields, decimal point.",
        "semicolon between fields, decimal comma, day first. Left out: line 58 (Total).",
        "Order 440 INV-1100 2026-11-01 5 3 644.28 ZAR",
    ):
        assert words in shown, (words, shown)
    with CaptureQueriesContext(connection) as preview:
        page(ann)
    shown = compare(ann)
    for words in (
        "Explained; 9 items in 7 differences, ZAR 11 231.19",
        "Doubled – 4 – 7 111.19 +7 111.19",
        "Totals of the files 49 53 119 633.52 125 684.71 +6 051.19",
        "Left out of books.csv: line 58 (Total).",
        "Order 471 Doubled Lines 37 (INV-1132), 38 (INV-1133), 39 (INV-1134), 40 (INV-1135) of books.csv"
        " carry it: 3 too many. 33 37, 38, 39, 40 3 720.00 ZAR",
    ):
        assert words in shown, (words, shown)
    with CaptureQueriesContext(connection) as report:
        page(ann)
    assert len(report) == len(preview) + 1, "the first piece of what differs is read beside the page itself"
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("compare", str(SHOP), str(BOOKS), "--json", stdout=out)
    by_command = json.loads(out.getvalue())
    assert json.loads(ann.get("/compare.json").getvalue()) == by_command
    rows = ann.get("/compare.csv").getvalue().decode().splitlines()
    assert sum(row.startswith('"duplicate_at_destination"') for row in rows) == 2
    assert '"count",9' in rows
    # Nobody else's, sealed, and gone at once where its person says so.
    assert "What should exist, and what does?" in page(vic)
    assert {vic.get(f"/compare.{form}").status_code for form in ("csv", "json")} == {404}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(to_jsonb(c)::text, '') || (SELECT string_agg(to_jsonb(p)::text, '')"
            " FROM reconcile_piece AS p) FROM reconcile_comparison AS c"
        )
        (kept,) = cursor.fetchone()
    for words in ("Order", "reference", "shop.csv", "Total", "11231.19", "9 differences"):
        in_the_open = [words, words.encode().hex()]
        assert not [form for form in in_the_open if form in kept], "nothing of the files is kept in the open"
    assert ann.post("/compare/forget/").status_code == 303
    assert not Comparison.objects.exists() and not Piece.objects.exists()


def test_what_cannot_be_told_is_asked_with_line_and_remedy_and_then_goes_on(database: Database) -> None:
    ann = browser_of("ann")
    drop(ann, "nr;betrag\nMüller;1,234\n".encode("cp1252"), HEAD + "Müller,1234.00,EUR\n", "shop.csv")
    work()
    shown = page(ann)
    assert "shop.csv is not UTF-8 throughout" in shown and "with “Encoding”, such as cp1252" in shown
    assert "2 shop.csv" in shown, "two files of one name are told apart"
    said = {"source-encoding": "cp1252"}
    shown = compare(ann, **said)
    assert "None of the first 40 lines of shop.csv is a header" in shown and "Choose the columns." in shown
    said |= {"source-reference": "nr", "source-amount": "betrag", "source-all": "eur"}
    shown = compare(ann, **said)
    assert "Whether line 2 of shop.csv has decimals or thousands cannot be told." in shown, shown
    assert "Say which it is under “Decimal mark”." in shown
    shown = compare(ann, **said, **{"source-decimal": "point"})
    assert "Explained; nothing differs" in shown, shown
    # Read otherwise, the same files come to something else; what is no value of a box is not said.
    shown = compare(ann, **said, **{"source-decimal": "comma", "source-days": "\0"})
    assert "Explained; 1 difference" in shown and "more decimals" in shown, shown
    assert "shop.csv , 1 line" in shown


@pytest.mark.parametrize(
    ("send", "said"),
    [
        (lambda client: drop(client, HEAD, b""), "The file of what exists is empty."),
        (lambda client: client.post("/compare/", {}), "The file of what should exist is missing."),
    ],
)
def test_what_is_no_file_is_not_taken(database: Database, send: Callable[[Client], Any], said: str) -> None:
    answer = send(browser_of("ann"))
    assert answer.status_code == 200 and said in answer.content.decode()
    assert not Comparison.objects.exists()


def test_files_that_broke_off_are_never_taken_for_whole(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read as they come; nobody's are read who is not signed in, or without the form's own mark."""
    files = {side: SimpleUploadedFile(f"{side}.csv", b"x" * 5000) for side in keeping.SIDES}
    body = encode_multipart(BOUNDARY, files)

    def send(client: Client, content: bytes, **more: Any) -> Any:
        return client.generic("POST", "/compare/", content, MULTIPART_CONTENT, **more)

    ann = browser_of("ann")
    broken = send(ann, body[:6000], CONTENT_LENGTH=str(len(body)))
    assert (broken.status_code, broken.content) == (400, b"The request broke off.")
    with override_settings(STREAMED_BODIES={"/compare/": 9 * 2**20}):
        large = send(ann, body + b" " * 9 * 2**20)
    assert large.status_code == 413 and b"larger than 9 MiB together" in large.content
    assert send(browser_of("ann", csrf=True), body).status_code == 403
    assert not Comparison.objects.exists()
    monkeypatch.setattr(
        "ledger.door.bodies.Streamed.readinto", lambda *a: pytest.fail("a stranger's was read")
    )
    assert send(Client(), body)["Location"].startswith("/accounts/login/")


def test_they_are_gone_after_an_hour_and_a_worker_that_died_is_missed(
    database: Database, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = browser_of("ann")
    drop(ann, HEAD + "A,1,ZAR\n", HEAD + "A,2,ZAR\n")
    assert keeping.sweep() == 0, "it was told to a worker half a minute ago at most"
    clock.advance(31)
    assert keeping.sweep() == 1
    # A process that dies each time is not followed by others for ever.
    monkeypatch.setattr(working, "_read", lambda *a: (_ for _ in ()).throw(MemoryError))
    (pk,) = Comparison.objects.values_list("pk", flat=True)
    for _ in range(3):
        with pytest.raises(MemoryError):
            tasks.compare(pk)
    assert tasks.compare(pk) and not tasks.compare(pk)
    assert "It was broken off 3 times" in page(ann)
    clock.advance(3600)
    assert keeping.sweep() == 0
    assert not Comparison.objects.exists() and not Piece.objects.exists()


def test_removing_the_files_stops_the_worker_that_reads_them(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = browser_of("ann")
    drop(ann, HEAD + "".join(f"{n},1,ZAR\n" for n in range(3)), HEAD + "1,1,ZAR\n")
    work()
    monkeypatch.setattr(working, "EVERY_S", 0.0)
    monkeypatch.setattr(comparing, "CHUNK", 1)
    ann.post("/compare/columns/", {"way": "compare"})
    copied, written = comparing._copied, []

    def aside(*line: Any) -> str:
        """Remove the files as another process would, beside what is never committed."""
        written.append(line)
        if len(written) == 3:
            assert Comparison.objects.using("owner").get().lines == 2
            Comparison.objects.using("owner").all().delete()
        return copied(*line)

    monkeypatch.setattr(comparing, "_copied", aside)
    (pk,) = Comparison.objects.values_list("pk", flat=True)
    assert tasks.compare(pk)
    assert len(written) == 3 and not Comparison.objects.exists()


def test_long_work_leaves_a_worker_free_for_what_is_sent(
    clock: Clock, database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """A large comparison waits for a run, and for another large one; small ones wait for nobody."""
    books = Books.configured(tmp_path)
    books.run()
    with database.rewriting("reconcile_run"):
        Run.objects.update(state="running", finished_at=None, lease_until=clock.now() + timedelta(hours=1))
    drop(browser_of("ann"), HEAD + "A,1,ZAR\n", HEAD + "A,1,ZAR\n")
    monkeypatch.setattr(keeping, "LARGE", 10)
    drop(browser_of("bob"), HEAD + "A,1,ZAR\n", HEAD + "A,1,ZAR\n")
    of_ann, of_bob = (Comparison.objects.get(owner=person(name)) for name in ("ann", "bob"))
    assert of_ann.nudged_at is not None and of_bob.nudged_at is None
    with database.rewriting("reconcile_run"):  # its end was told when it ended first
        Run.objects.update(state="done", finished_at=clock.now(), lease_until=None)
    assert keeping.sweep() == 0, "another is at work"
    Comparison.objects.filter(pk=of_ann.pk).update(state="done")
    assert keeping.sweep() == 1
    assert keeping.at_long_work()


def test_no_file_has_a_name_on_the_disk_however_long_its_own_is(
    database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who is killed at any moment takes along what was dropped: page, worker, a report under way."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    there: list[list[str]] = []

    def seen(what: Callable[..., Any]) -> Callable[..., Any]:
        def looking(*args: Any, **named: Any) -> Any:
            there.append([path.name for path in tmp_path.rglob("*")])
            return what(*args, **named)

        return looking

    monkeypatch.setattr(keeping, "_described", seen(keeping._described))
    monkeypatch.setattr(working, "_previewed", seen(working._previewed))
    monkeypatch.setattr(working, "_keep", seen(working._keep))
    monkeypatch.setattr(settings, "FILE_UPLOAD_MAX_MEMORY_SIZE", 10)
    name = f"{'é' * 99}.{'ü' * 250}"
    ann = browser_of("ann")
    assert drop(ann, HEAD + "A,1,ZAR\n", HEAD + "A,2,ZAR\n", name).status_code == 303
    work()
    assert "Explained; 1 difference" in compare(ann)
    assert len(there) == 5 and there == [[]] * 5, "two taken in, two read, one report"


def test_each_line_of_either_file_is_counted_in_one_class(database: Database) -> None:
    """An unreadable line and the one that it is compared with are one difference, and two lines.

    | 1: shop     | 2: books    | class      |
    |-------------|-------------|------------|
    | A 10        | A 10        | matched    |
    | B no amount | B 3         | unreadable |
    | no number 5 | no number 7 | unreadable |
    | C 4         |             | missing    |
    """
    vic = browser_of("vic")
    drop(vic, HEAD + "A,10,ZAR\nB,,ZAR\n,5,ZAR\nC,4,ZAR\n", HEAD + "A,10,ZAR\nB,3,ZAR\n,7,ZAR\n")
    work()
    compare(vic)
    html = vic.get("/compare/").content.decode()
    found: dict[str, list[tuple[int, int]]] = {}
    for row in re.findall(r'<tr role="row".*?</tr>', html, re.DOTALL):
        cells = re.findall(r'data-label="Lines in [12]">([\d–]+)<', row)
        if len(cells) == 2:
            title = " ".join(re.sub(r"<[^>]+>", " ", row.split("</th>")[0]).split())
            found.setdefault(title, []).append((int(cells[0].strip("–") or 0), int(cells[1].strip("–") or 0)))
    added = {
        title: (sum(one for one, _ in rows), sum(two for _, two in rows)) for title, rows in found.items()
    }
    assert added["Unreadable"] == (2, 2) and added["Matched"] == (1, 1) and added["Missing"] == (1, 0)
    assert added["All classes"] == added["Totals of the files"] == (4, 3), "as many as the files have"
    assert added["Unexplained"] == (0, 0)
    assert "4 lines" in html and "3 lines" in html


def bank_file() -> bytes:
    details = [entry(f"{n}.50", "CRDT", ids(f"A{n}")) for n in range(1, 4)]
    return camt(*details, closing="107.50").encode()


@pytest.mark.parametrize(
    ("content", "form", "named"),
    [
        (
            workbook([HEADER, ("00471", 1240.5, "ZAR", None), (1.5, 2, "ZAR", None)]),
            "XLSX, sheet Orders",
            "a.xlsx",
        ),
        (b'{"reference": "00471", "amount": 1240.50, "currency": "ZAR"}\n', "JSON lines", "a.jsonl"),
        (bank_file(), "camt.053.001.08", "a.xml"),
        (mt940("61:260101RC50,00NTRFA", closing="C260101EUR50,00").encode(), "MT940", "a.sta"),
        (ofx(1, {"TRNAMT": "-5.00", "FITID": "F", "DTPOSTED": "20261101"}).encode(), "OFX", "a.ofx"),
    ],
)
def test_a_preview_shows_of_each_form_what_is_compared(
    database: Database, content: bytes, form: str, named: str
) -> None:
    """Each previewed line comes back in the result with the same values."""
    ann = browser_of("ann")
    drop(ann, HEAD + "other,1,ZAR\n", content, named)
    work()
    shown = page(ann)
    assert f", {form}" in shown, shown
    boxes = set(re.findall(r'name="destination-(decimal|days|unit)"', ann.get("/compare/").content.decode()))
    assert boxes == ({"unit"} if form.startswith(("XLSX", "JSON")) else set())
    (made,) = Comparison.objects.all()
    first = made.read["destination"]["first"]
    assert "Explained; " in compare(ann)
    done = json.loads(ann.get("/compare.json").getvalue())
    found = {
        (one["destination"][0]["line"], one["reference"], one["destination"][0]["amount"] or "")
        for one in done["findings"]
        if one["destination"]
    }
    assert found == {(line, reference or None, amount) for line, reference, amount, *_ in first}
    assert len(first) == done["totals"]["destination"]["count"] or any(why for *_, why in first)


def test_a_box_that_does_not_stand_there_is_refused_in_words_and_can_be_set_back(database: Database) -> None:
    ann = browser_of("ann")
    drop(ann, HEAD + "A1,1.50,EUR\n", bank_file(), "a.xml")
    work()
    shown = compare(ann, **{"destination-unit": "minor"})
    assert (
        "a.xml is camt.053.001.08: it says itself that amounts are in whole units. Set “Amounts in”" in shown
    )
    (box,) = re.findall(r'name="destination-unit">.*?</select>', ann.get("/compare/").content.decode())
    assert '<option value="minor" selected>' in box
    shown = compare(ann, **{"destination-unit": ""})
    assert "Explained; 2 differences" in shown


def test_unreadable_lines_are_given_with_their_reason_to_their_owner_alone(database: Database) -> None:
    ann, vic = browser_of("ann"), browser_of("vic")
    drop(ann, HEAD + "A,1,ZAR\n=B,x,ZAR\n", HEAD + "A,1,ZAR\n,7,ZAR\n")
    work()
    assert "Unreadable lines as CSV" in compare(ann)
    rows = ann.get("/compare/unreadable.csv").getvalue().decode().splitlines()
    assert rows[-3:] == [
        '"file","line","why","row"',
        '"shop.csv",3,"the amount ""x"" is no number","\'=B | x | ZAR"',
        '"books.csv",3,"it has no reference"," | 7 | ZAR"',
    ]
    assert vic.get("/compare/unreadable.csv").status_code == 404
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(to_jsonb(p)::text, '') FROM reconcile_piece AS p WHERE of = 'rejects'"
        )
        assert b"is no number".hex() not in cursor.fetchone()[0], "sealed, as the files are"
    ann.post("/compare/forget/")
    assert not Piece.objects.exists()


def test_what_debits_are_written_like_goes_with_the_file_to_its_comparison(database: Database) -> None:
    """It is decided as the file is read, and holds where it is not looked through a second time."""
    ann = browser_of("ann")
    drop(ann, "reference,amount,d/c,currency\nA,5,D,ZAR\nB,-6,D,ZAR\n", HEAD + "A,-5,ZAR\nB,-6,ZAR\n")
    work()
    compare(ann)
    done = json.loads(ann.get("/compare.json").getvalue())
    assert (done["classes"]["matched"]["count"], done["classes"]["unreadable"]["count"]) == (1, 1)


def test_a_profile_is_chosen_on_the_page_and_what_it_shows_is_what_is_compared(
    database: Database, tmp_path: Path
) -> None:
    """It is kept as it was when the first lines were shown, whatever is configured meanwhile."""
    file = tmp_path / "profiles.toml"
    shop = '[profiles.shop]\nname = "Shop"\nform = "csv"\nunit = "minor"\ndecimal = "point"\n'
    file.write_text(shop + shop.replace("profiles.shop", "profiles.other").replace('"csv"', '"xlsx"'))
    configure(file)
    vic = browser_of("vic")
    drop(vic, HEAD + "A,1250,ZAR\n", HEAD + "A,12.50,ZAR\n")
    work()
    before = vic.get("/compare/").content.decode()
    assert 'name="source-profile"' in before and '<option value="shop">shop</option>' in before
    vic.post("/compare/columns/", {"way": "read", "source-profile": "shop"})
    work()
    first = page(vic)
    assert "by profile shop" in first and "12.50" in first
    file.write_text(shop.replace('unit = "minor"', 'unit = "major"'))
    configure(file)
    assert "Explained; nothing differs" in compare(vic, **{"source-profile": "shop"})
    anew = compare(vic, **{"source-profile": "shop", "source-days": "dmy"})
    assert "Amount under" in anew or "Amount over" in anew or "differs" in anew
    other = compare(vic, **{"source-profile": "other"})
    assert "does not fit profile other: It is CSV, and the profile is of XLSX." in other
    back = compare(vic, **{"source-profile": "none such"})
    assert "1 difference" in back, "what is not configured is not chosen"


def test_profiles_of_other_entities_are_not_offered_nor_taken(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "profiles.toml"
    shop = '[profiles.shop]\nname = "Shop"\nentity = "Durban Trading"\nform = "csv"\nunit = "minor"\n'
    file.write_text(shop + shop.replace(".shop", ".cape").replace("Durban", "Cape"))
    configure(file)
    limited("vic", "Durban Trading")
    vic = browser_of("vic")
    drop(vic, HEAD + "A,1250,ZAR\n", HEAD + "A,12.50,ZAR\n")
    work()
    offered = vic.get("/compare/").content.decode()
    assert 'value="shop"' in offered and "cape" not in offered
    vic.post("/compare/columns/", {"way": "read", "source-profile": "cape"})
    work()
    assert Comparison.objects.get().files["source"]["profile"] == ""


def test_a_total_that_is_off_refuses_the_comparison_and_may_be_only_told(database: Database) -> None:
    """Of a short file before it is compared; of a long one, of which the first lines are shown, then."""
    vic = browser_of("vic")
    for lines, instead in ((1, ""), (9, "Not carried out. ")):
        rows = "".join(f"{number},1,ZAR\n" for number in range(lines))
        drop(vic, HEAD + rows + "Total,12,\n", HEAD + rows)
        work()
        refused = compare(vic)
        off = (
            f"{instead}Line {lines + 2} of shop.csv (Total) says 12.00 ZAR, and its lines come to {lines}.00."
        )
        assert off in refused and "say so under “Totals in the file”" in refused
        assert Comparison.objects.get().state == "read", "nothing is reported of it"
        assert 'name="source-totals"' in vic.get("/compare/").content.decode()
        assert "Explained; nothing differs" in compare(vic, **{"source-totals": "told"})


def test_how_files_were_read_is_kept_as_a_profile_that_two_people_agree_to(
    database: Database, tmp_path: Path
) -> None:
    """The section stands on the page; who administers sees what would change, and proposes that."""
    files = (
        f"Title\n{HEAD.replace(',', ';')}A;1.234,50;ZAR\nB;5,5;ZAR\n",
        workbook([HEADER, ["A", 1234.5, "ZAR", "1/12/2026"], ["B", 5.5, "ZAR", "13/12/2026"]]),
    )
    for name in ("ada", "vic"):
        drop(browser_of(name), *files, name="2026 Books.xlsx")
    work()
    ada, vic = browser_of("ada"), browser_of("vic")
    texts = [html.unescape(one) for one in sections(ada)]
    assert texts == [
        '[profiles.shop]\nname = "shop"\nform = "csv"\nencoding = "utf-8"\nseparator = ";"\nheader = 2\n'
        'decimal = "comma"\n\n[profiles.shop.columns]\nreference = "reference"\namount = "amount"\n'
        'currency = "currency"\n',
        '[profiles.2026-books]\nname = "2026-books"\nform = "xlsx"\nheader = 1\nsheet = "Orders"\n'
        'days = "dmy"\n\n[profiles.2026-books.columns]\nreference = "reference"\namount = "amount"\n'
        'currency = "currency"\ndate = "date"\n',
    ]
    assert sections(vic) and "An administrator proposes it" in page(vic)
    vic.post("/compare/forget/")
    said = {"text": texts[0], "command_id": str(uuid.uuid4()), "step": "read"}
    shown = ada.post("/approvals/rules/", said).content.decode()
    digest = re.search(r'name="digest" value="(\w+)"', shown)
    assert "+ profile shop" in shown or ("profile shop" in shown and digest is not None)
    assert digest is not None
    proposed = said | {"step": "propose", "digest": digest[1], "reason": "Every month the same"}
    assert ada.post("/approvals/rules/", proposed).status_code == 302 or Proposal.objects.exists()
    assert not Profile.objects.exists()
    person("bob")
    proposals.approve(Proposal.objects.get().uid, actor="bob", reason="")
    assert compare(ada, **{"source-profile": "shop"}) and Profile.objects.get().name == "shop"
    assert "by profile shop" in page(ada)
    assert html.unescape(sections(ada)[0]) == texts[0]


def sections(client: Client) -> list[str]:
    return re.findall(
        r'<textarea id="profile-\w+"[^>]*>(.*?)</textarea>',
        client.get("/compare/").content.decode(),
        re.DOTALL,
    )
