"""A period on its pages: the list, one month as of its cut-off, its files, and what each role may do."""

import json
import re
import uuid
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from openpyxl import load_workbook

from reconcile.models import Period, PeriodReport, Plan, Run, SignOff
from reconcile.periods import drifting
from tests.databases import Clock
from tests.people import browser_of, limited, person
from tests.reconcile.books import key_of
from tests.reconcile.closing import january as january_of
from tests.reconcile.closing import prepared, signed
from tests.review.signing import text
from tests.review.test_entities import CAPE

SPACE = "\N{NO-BREAK SPACE}"


@pytest.fixture
def january(clock: Clock, tmp_path: Path) -> Period:
    """Two orders of January; the invoice of one is dated after its cut-off. It is 3 February, 08:00."""
    for name in ("ann", "bob", "eve", "vic", "ada"):
        person(name)
    limited("kim", CAPE)
    return january_of(clock, tmp_path)


def page(period: Period, name: str = "ann") -> str:
    return text(browser_of(name).get(f"/periods/{period.uid}/")).replace("&nbsp;", SPACE)


def test_a_period_tells_what_it_came_to_as_of_its_cut_off(january: Period) -> None:
    said = page(january)
    for words in (
        f"January 2027: Explained; 1 open difference, ZAR{SPACE}40.00",
        "Not there at the cut-off: INV-2 is dated 2027-02-02 09:00, after it.",
        "Left out, dated after the cut-off: 1 line of Durban Books, ",
        "What tells no date counts as there at the cut-off.",
        PeriodReport.objects.get().digest,
        "Durban Trading",
        "the end of the month",
    ):
        assert words in said, words
    listed = text(browser_of("vic").get("/periods/"))
    for words in ("January 2027 · invoices", "Open", "prepare it", "1 open difference"):
        assert words in listed, words
    run = PeriodReport.objects.get().run
    of_run = text(browser_of("ann").get(f"/runs/{run.uid}/"))
    assert f"/periods/{january.uid}/" in of_run and "It is the run of January 2027" in of_run
    assert "/periods/" in text(browser_of("ann").get("/runs/"))


def test_ann_prepares_bob_signs_and_the_pages_say_who(january: Period) -> None:
    ann, bob = browser_of("ann"), browser_of("bob")
    form = text(ann.get(f"/periods/{january.uid}/prepare/"))
    command = re.search(r'name="command_id" value="([^"]+)"', form)
    assert command is not None and "as of the cut-off" in form
    sent = {"command_id": command[1], "reason": "402 came late."}
    for _ in range(2):
        assert ann.post(f"/periods/{january.uid}/prepare/", sent).status_code == 303
    one = SignOff.objects.get()
    assert one.period == january and one.reason == "402 came late."
    assert "Prepared by ann" in page(january) and "January 2027 · invoices" in text(bob.get("/approvals/"))
    assert "January 2027 · invoices" in text(bob.get("/"))
    shown = text(bob.get(f"/approvals/signatures/{one.uid}/"))
    assert f"/periods/{january.uid}/" in shown and "1 open difference" in shown
    assert "Open at the cut-off:" in shown and "INV-2 is dated 2027-02-02 09:00, after it." in shown
    assert "What tells no date counts as there at the cut-off." in shown, "as its report, which is signed"
    seen = re.search(r'name="seen" value="(\w+)"', shown)
    assert seen is not None
    answer = {"answer": "approve", "reason": "", "seen": seen[1]}
    own = text(ann.post(f"/approvals/signatures/{one.uid}/", answer))
    assert "second" in own and not SignOff.objects.get().is_signed
    assert bob.post(f"/approvals/signatures/{one.uid}/", answer).status_code == 303
    said = page(january, "vic")
    assert "Signed by bob" in said and SignOff.objects.get().signed_digest in said
    assert "It is signed: it is opened again before its days are run" in page(january, "bob")
    listed = text(bob.get("/periods/"))
    assert "Signed" in listed and "prepared by ann, signed by bob" in listed
    assert "January 2027 of invoices" in text(bob.get("/trail/"))


def test_it_is_opened_again_by_two_from_its_page(january: Period) -> None:
    one = signed(january)
    bob, eve = browser_of("bob"), browser_of("eve")
    address = f"/approvals/signatures/{one.uid}/reopen/"
    assert address in page(january, "bob")
    form = text(bob.get(address))
    assert "Ask to open January 2027 of invoices again?" in form and "the period can then be" in form
    done = bob.post(address, {"command_id": str(uuid.uuid4()), "reason": "The wrong rate."})
    assert done.status_code == 303 and done["Location"] == f"/periods/{january.uid}/#h-sign"
    asked = SignOff.objects.get(way="reopen")
    assert asked.period == january
    assert "January 2027" in text(eve.get(f"/approvals/signatures/{asked.uid}/"))


def test_who_only_looks_sees_why_and_nobody_of_another_entity_sees_it(january: Period) -> None:
    person("ira")
    for name in ("vic", "ada", "ira"):
        said = page(january, name)
        assert 'aria-disabled="true" aria-describedby="why-prepare"' in said, name
    assert browser_of("kim").get(f"/periods/{january.uid}/").status_code == 404
    assert "January" not in text(browser_of("kim").get("/periods/"))
    assert "No period yet" in text(browser_of("kim").get("/periods/"))
    before = Run.objects.count()
    answer = browser_of("vic").post(f"/periods/{january.uid}/run/", {"after": "0"})
    assert answer.status_code == 303 and Run.objects.count() == before


def test_its_days_are_run_from_its_page_once_for_two_clicks(january: Period, clock: Clock) -> None:
    ann = browser_of("ann")
    after = re.search(r'name="after" value="(\d+)"', page(january))
    assert after is not None
    made = {ann.post(f"/periods/{january.uid}/run/", {"after": after[1]})["Location"] for _ in range(2)}
    run = Run.objects.latest("pk")
    assert made == {f"/runs/{run.uid}/"} and run.state == "running"
    assert (run.first_day, run.last_day) == (january.first_day, january.last_day)
    with_grace = Plan.objects.get()
    with_grace.period = {"grace_business_days": 10}
    february = date(2027, 2, 1)
    to_come = Period.objects.create(
        plan=with_grace, first_day=february, **drifting.bounds(with_grace, february)
    )
    said = page(to_come)
    assert "Its cut-off comes first, at 2027-03-13 00:00 SAST" in said and "No report yet" in said
    ann.post(f"/periods/{to_come.uid}/run/", {"after": "0"})
    assert Run.objects.latest("pk") == run
    assert ann.get(f"/periods/{to_come.uid}.csv").status_code == 409


def test_page_csv_xlsx_and_json_tell_the_same(january: Period) -> None:
    ann, report = browser_of("ann"), PeriodReport.objects.get()
    told = json.loads(ann.get(f"/periods/{january.uid}.json").content)
    assert told["report"] == report.document and told["sha256"] == report.digest
    assert told["provenance"]["digest"] == report.run.digest
    csv = b"".join(ann.get(f"/periods/{january.uid}.csv")).decode("utf-8-sig")
    for line in (
        '"report_sha256","' + report.digest,
        '"tie-out ZAR missing_at_destination, ledger",40.00',
        '"tie-out ZAR total, destination",100.00',
        '"after the cut-off, destination ZAR, amount",40.00',
    ):
        assert line in csv, line
    rows = csv.split("\r\n\r\n")[1].strip().split("\r\n")
    assert len(rows) == 2 and rows[1].startswith(f'"missing_at_destination","{key_of("402")}"')
    book: Any = load_workbook(BytesIO(b"".join(ann.get(f"/periods/{january.uid}.xlsx"))))
    cells = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row]
    assert report.digest in cells and key_of("402") in cells


def test_the_list_asks_the_same_however_many_periods_there_are(january: Period) -> None:
    def asked() -> int:
        ann = browser_of("ann")
        ann.get("/periods/")
        with CaptureQueriesContext(connection) as queries:
            assert ann.get("/periods/").status_code == 200
        return len(queries)

    few = asked()
    prepared(january)
    for month in range(1, 13):
        first = date(2025, month, 1)
        Period.objects.create(plan=january.plan, first_day=first, **drifting.bounds(january.plan, first))
    assert asked() <= few + 1, "what is prepared is read in one more query, however many there are"
    many = text(browser_of("ann").get("/periods/"))
    assert "January 2025" in many and many.index("December 2025") < many.index("November 2025")
    for odd in ("?before=x", f"?before={uuid.uuid4()}", "?plan=other", "?before=%00"):
        assert browser_of("ann").get(f"/periods/{odd}").status_code == 200
