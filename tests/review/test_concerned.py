"""Whom reversed duplicates concerned can be listed: page and CSV, by the day on which they were reversed."""

import csv
import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Operation
from tests.databases import Clock
from tests.ledger.test_reversals import Several, lists, of
from tests.ledger.test_reversals import books as books
from tests.people import browser_of, limited
from tests.review.test_entities import CAPE, DURBAN
from tests.review.test_runs import plain
from tests.sandboxes import Sandbox

MAILED = "Friday, 16:20"


class Mailed(Several):
    """Each record tells what the customer was sent of it."""

    def __init__(self, clock: Clock, books: Sandbox) -> None:
        super().__init__(clock, books)
        kind = self.durban.invoice
        kind.calls = kind.calls | {"record": kind.calls["record"] | {"sent": "mailed"}}
        kind.save(update_fields=["calls"])

    def reversed(self, subject: str, *mailed: str, amount: str = "865.00") -> Operation:
        """The first one is kept, the others are void, and a check has proved it."""
        Several.order += 1
        operation = self.durban.silent(Several.order, amount, subject=subject)
        for told in mailed:
            invoice: dict[str, Any] = {"total": amount, "currency": "ZAR", "mailed": told}
            invoice["metadata"] = {"operation": operation.key}
            assert self.books.call("POST", "/invoices", body=invoice).status == 201
        self.clock.advance(60)
        self.looked(operation)
        self.choose(operation)
        self.work()
        return self.durban.again(operation)


@pytest.fixture
def several(clock: Clock, books: Sandbox) -> Iterator[Mailed]:
    yield Mailed(clock, books)
    books.clear_faults()


def page(address: str = "/runs/reversed/", name: str = "vic") -> str:
    response = browser_of(name).get(address)
    assert response.status_code == 200
    return plain(response.content.decode())


def exported(
    address: str = "/runs/reversed.csv", name: str = "vic"
) -> tuple[dict[str, str], list[dict[str, str]]]:
    text = browser_of(name).get(address).getvalue().decode("utf-8-sig")
    about, _, rows = text.partition("\r\n\r\n")
    return dict(csv.reader(StringIO(about, newline=""))), list(csv.DictReader(StringIO(rows, newline="")))


def test_each_customer_stands_there_with_what_they_were_sent_and_what_was_taken_back(several: Mailed) -> None:
    told = several.reversed("Umgeni Cycles", "no", MAILED, "")
    formula = several.reversed("=HYPERLINK(1)", "", "=2+3", amount="10.00")
    assert told.state == formula.state == "completed"
    kept, first, second = several.there(told)
    shown = page()
    assert "2 customers, 2 operations, 1 740.00 ZAR reversed." in shown
    assert "Of 2 the customer had been sent a record that was reversed." in shown
    assert f"/operations/{told.uid}/" in shown and "Umgeni Cycles" in shown
    row = re.search(r"Umgeni Cycles.*?</tr>", shown, re.S)
    assert row is not None
    assert re.findall(r"[\d ]+\.\d\d ZAR", row[0]) == ["865.00 ZAR", "1 730.00 ZAR"]
    assert f"{first} <b>sent: {MAILED}</b><br>{second}" in row[0], "what says no, or nothing, is not sent"
    about, (other, one) = exported()
    assert (about["count"], about["total reversed ZAR"], about["complete"]) == ("2", "1740.00", "yes")
    assert about["author"] == "vic" and "both days included" in about["asked"]
    assert (one["customer"], one["operation"], one["key"]) == ("Umgeni Cycles", str(told.uid), told.key)
    assert (one["kept"], one["kept_amount"], one["kept_sent"]) == (kept, "865.00", "")
    assert (one["reversed"], one["reversed_amount"], one["left"]) == (f"{first}, {second}", "1730.00", "0.00")
    assert (one["reversed_sent"], one["chosen_by"]) == (f"{first}: {MAILED}", "ann")
    assert (other["customer"], one["entity"]) == ("'=HYPERLINK(1)", DURBAN)
    assert other["reversed_sent"].endswith(": =2+3"), "what begins with a number is no formula"
    made, gone = told.choices.get().made_at, [done.finished_at for done in told.reversals.all()]
    assert (one["chosen_at"], one["reversed_at"]) == (instant(made), max(map(instant, gone)))


def instant(at: datetime | None) -> str:
    assert at is not None
    return at.astimezone(UTC).isoformat(timespec="seconds")


def test_it_is_by_the_day_of_the_reversal_what_is_left_is_told_and_what_is_undone_is_not_there(
    several: Mailed,
) -> None:
    operation = several.reversed("Umgeni Cycles", "", MAILED)
    _, gone = several.there(operation)
    today = several.clock.now().date()
    lists(several, gone, "credited", "300.00")
    several.looked(operation)
    shown = page(f"/runs/reversed/?from={today}&to={today + timedelta(days=1)}")
    assert "565.00 ZAR reversed" in shown and "300.00 ZAR is left" in shown
    assert [exported()[1][0][name] for name in ("reversed_amount", "left")] == ["565.00", "300.00"]
    before = today - timedelta(days=9)
    for days in (f"from={before}&to={before}", f"to={before}"):
        assert "Nothing was reversed" in page(f"/runs/reversed/?{days}")
        assert exported(f"/runs/reversed.csv?{days}")[1] == []
    several.clock.advance(timedelta(days=32))
    assert "Nothing was reversed" in page(), "a month by itself"
    waiting = several(2)
    several.choose(waiting)
    assert "Nothing was reversed" in page(), "chosen is not reversed"
    assert of(waiting, [*several.there(waiting)][-1]).state == "pending"
    actions.undo_choice(waiting.pk, actor="ann", reason="Not that one.", command_id=uuid.uuid4())
    assert "Nothing was reversed" in page(), "undone is not reversed"


def test_who_is_limited_sees_those_of_their_entities_alone_and_it_costs_the_same(several: Mailed) -> None:
    several.reversed("Umgeni Cycles", "", MAILED)
    limited("kim", CAPE)
    assert "Nothing was reversed" in page(name="kim") and exported(name="kim")[1] == []
    limited("kim", DURBAN)
    assert "Umgeni Cycles" in page(name="kim")
    vic = browser_of("vic")
    with CaptureQueriesContext(connection) as few:
        vic.get("/runs/reversed/")
    for _ in range(2):
        several.reversed("Marine Hotel", "", "", "")
    with CaptureQueriesContext(connection) as many:
        vic.get("/runs/reversed/")
    assert len(few) == len(many)
    assert Decimal(exported()[0]["total reversed ZAR"]) == 5 * 865
