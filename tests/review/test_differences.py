"""A difference on its page: what can be done about it, by whom, and what stands there afterwards."""

import re
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.models import Operation, database_now
from ledger.rules.states import Outcome, State
from reconcile import actions, running
from reconcile.actions import start
from reconcile.models import Finding
from review import checking
from review.instants import zone
from tests.databases import Database
from tests.ledger.sessions import in_thread, until_somebody_waits
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, key_of, record
from tests.review.test_runs import plain


@pytest.fixture
def books(database: Database, tmp_path: Path) -> Books:
    made = Books.configured(tmp_path, performed_by="caller")
    kind = made.plan.operation_type
    kind.review = {"due": "4h", "four_eyes_above": {"ZAR": "1000.00"}}
    kind.save(update_fields=["review"])
    return made


def found(books: Books, *totals: str) -> list[Finding]:
    at = database_now().isoformat()
    HELD.pages = [
        [record(n, key=key_of(str(90 + n)), total=total, created_at=at) for n, total in enumerate(totals)]
    ]
    run, _ = books.run()
    return list(run.findings.order_by("pk"))


def page(finding: Finding, name: str = "ann", way: str = "") -> str:
    response = browser_of(name).get(address(finding) + (f"?way={way}" if way else ""))
    assert response.status_code == 200
    return plain(response.content.decode())


def address(finding: Finding) -> str:
    return f"/runs/{finding.run.uid}/differences/{finding.pk}/"


def post(finding: Finding, way: str, name: str = "ann", **more: str) -> str:
    form = {"way": way, "reason": "The branch made it.", "command_id": str(uuid.uuid4()), **more}
    response = browser_of(name).post(address(finding), form, follow=True)
    assert response.status_code == 200
    return plain(response.content.decode())


def test_an_extra_one_is_taken_in_waived_or_closed_from_the_run_in_one_click_each(books: Books) -> None:
    first, second, third = found(books, "100.00", "101.00", "102.00")
    listed = browser_of("ann").get(f"/runs/{first.run.uid}/").content.decode()
    assert f'href="{address(first)}"' in listed
    offered = page(first)
    assert [name in offered for name in ("Take it in", "Waive it", "Close it")] == [True] * 3
    assert "Nothing here reverses it" in offered and "Reverse it in Durban Books" in offered
    assert "its amount the amount" in page(first, way="take_in")
    assert "Done. It is on record." in post(first, "take_in")
    made = Operation.objects.get(key=first.reference)
    assert made.state == State.COMPLETED
    assert f"/operations/{made.uid}/" in page(first)
    assert "Choose the last day." in post(second, "waive")
    until = f"{database_now().year + 3}-01-01"
    assert "at most 366 days" in post(second, "waive", until=until)
    today = f"{database_now().astimezone(zone()):%Y-%m-%d}"
    assert "Choose a day from tomorrow on." in post(second, "waive", until=today)
    day = re.search(r'name="until" type="date" required value="([^"]+)"', page(second, way="waive"))
    assert day is not None
    assert "ann waived it until" in post(second, "waive", until=day[1])
    assert "closed a difference." in post(third, "close")
    listed = plain(browser_of("vic").get(f"/runs/{first.run.uid}/").content.decode())
    assert "1 of them is waived, 101.00 ZAR: counted here all the same." in listed
    assert "Waived by ann until" in listed
    assert "Explained; 3 open differences, ZAR 303.00" in listed
    assert "it is open again" in post(second, "end")
    assert "is waived" not in browser_of("vic").get(f"/runs/{first.run.uid}/").content.decode()


def test_one_click_is_one_decision_and_who_may_not_is_told_why(books: Books) -> None:
    (one,) = found(books, "100.00")
    said = {"command_id": str(uuid.uuid4())}
    assert "Your role looks only." in page(one, "vic")
    assert "Administrators decide no items." in post(one, "close", "ada")
    assert "closed a difference." in post(one, "close", **said)
    assert "Not now" not in post(one, "close", **said)
    assert one.decisions.count() == 1
    shown = page(one, "bob")
    assert shown.count("ann has decided already: it is closed.") == 1 and 'aria-disabled="true"' not in shown
    assert "ann has decided already: it is closed." in post(one, "waive", "bob", until="2026-12-24")
    assert "Choose what is to be done about it." in post(one, "burn")


def test_above_the_limit_a_second_person_answers_under_approvals(books: Books) -> None:
    (one,) = found(books, "5000.00")
    assert "a second person has to agree" in page(one, way="take_in")
    assert "It waits for a second person, under Approvals" in post(one, "take_in")
    decision = one.decisions.get()
    asked = f"/approvals/differences/{decision.uid}/"
    listed = plain(browser_of("bob").get("/approvals/").content.decode())
    assert asked in listed and "to take a record in" in listed
    assert "You asked for it yourself" in plain(browser_of("ann").get(asked).content.decode())
    answer = {"answer": "approve", "reason": ""}
    assert browser_of("vic").post(asked, answer).status_code == 200
    assert not Operation.objects.exists()
    HELD.pages = [[record(0, key=key_of("90"), total="5001.00")]]
    refused = plain(browser_of("bob").post(asked, answer).content.decode())
    assert "has changed since run" in refused and "The request is void" in refused
    (again,) = found(books, "5001.00")
    post(again, "take_in")
    asked = f"/approvals/differences/{again.decisions.get().uid}/"
    assert browser_of("bob").post(asked, answer).status_code == 303
    assert Operation.objects.get().amount == again.amount
    assert "ann took it in, and bob agreed." in page(again)


def test_two_who_answer_at_once_are_told_what_to_do_on_a_page_that_does_not_look_again(
    books: Books, database: Database
) -> None:
    (one,) = found(books, "5000.00")
    post(one, "close")
    asked, answer = f"/approvals/differences/{one.decisions.get().uid}/", {"answer": "approve", "reason": ""}
    with psycopg.connect(database.app_url) as other:
        key = (checking.DIFFERENCE, one.pk)
        assert other.execute("SELECT pg_try_advisory_lock(%s, %s)", key).fetchone() == (True,)
        told = plain(browser_of("bob").post(asked, answer).content.decode())
        assert "It is already being checked. Try again in a moment." in told
    assert browser_of("bob").post(asked, answer).status_code == 303, "nothing was said by that"


def test_the_same_click_twice_at_once_is_answered_alike(books: Books, database: Database) -> None:
    (one,) = found(books, "100.00")
    form = {"way": "take_in", "reason": "Theirs.", "command_id": str(uuid.uuid4())}
    clients = [browser_of("ann"), browser_of("ann")]
    with ThreadPoolExecutor(2) as pool, psycopg.connect(database.app_url) as other:
        key = (checking.CLICK, uuid.UUID(form["command_id"]).int % 2**31)
        other.execute("SELECT pg_advisory_lock(%s, %s)", key)
        running = [in_thread(partial(each.post, address(one), form), pool) for each in clients]
        until_somebody_waits(database, running[1], count=2)
        other.close()
        assert [each.result(60).status_code for each in running] == [303, 303]
    assert one.decisions.count() == Operation.objects.count() == 1


def test_what_an_operation_carries_leads_to_its_page(books: Books) -> None:
    books.claimed("90", Outcome.SUCCEEDED, reference="INV-0", amount="90.00")
    (one,) = found(books, "100.00")
    shown = page(one)
    assert one.operation is not None
    assert f'<a class="btn primary" href="/operations/{one.operation.uid}/">' in shown
    assert "Take it in" not in shown and "Close it" not in shown
    assert "is answered on that page" in post(one, "close")


def test_the_page_costs_the_same_few_queries_whatever_stands_on_it(books: Books) -> None:
    first, *_ = found(books, *["1.00"] * 3)
    ann = browser_of("ann")
    with CaptureQueriesContext(connection) as few:
        answered = ann.get(address(first))
    assert answered.status_code == 200
    post(first, "close")
    many = found(books, *["2.00"] * 9)
    with CaptureQueriesContext(connection) as more:
        ann.get(address(many[0]))
    assert len(few) <= len(more) <= len(few) + 2 <= 14, "two for what was decided before"


def test_what_is_missing_is_matched_by_hand_with_the_difference_in_front(books: Books) -> None:
    books.claimed("470", Outcome.UNCERTAIN, amount="101.50")
    found(books, "100.00")
    run_of = Finding.objects.filter(lives=True)
    missing, extra = run_of.get(operation__isnull=False), run_of.get(operation=None)
    assert "INV-0" in page(missing, way="match")
    shown = page(missing, way=f"match&other={extra.pk}")
    assert "−1.50" in shown and "101.50 ZAR" in shown
    assert "ann matched it by hand." in post(missing, "match", other=str(extra.pk))
    operation = Operation.objects.get(key=key_of("470"))
    assert (operation.state, operation.destination_reference) == (State.COMPLETED, "INV-0")
    assert post(missing, "match").count("Not now") <= 1


def test_a_record_of_nobodys_is_matched_from_its_own_page_as_from_that_of_what_is_missing(
    books: Books,
) -> None:
    books.claimed("470", Outcome.UNCERTAIN, amount="101.50")
    books.claimed("471", Outcome.UNCERTAIN, amount="7.00")
    found(books, "100.00")
    living = Finding.objects.filter(lives=True)
    missing, extra = living.get(reference=key_of("470")), living.get(operation=None)
    offered = page(extra, way="match")
    assert offered.index("101.50 ZAR") < offered.index("7.00 ZAR"), "the nearest first"
    pages = [page(one, way=f"match&other={other.pk}") for one, other in ((missing, extra), (extra, missing))]
    (told,) = {text for shown in pages for text in re.findall(r'<dl class="facts small">.*?</dl>', shown)}
    assert "INV-0, 100.00 ZAR" in told and "101.50 ZAR" in told and "−1.50" in told
    assert "ann matched it by hand." in post(extra, "match", other=str(missing.pk))
    (decision,) = missing.decisions.all()
    assert (decision.way, decision.other, decision.amount) == ("match", extra, missing.amount)
    assert "ann matched it by hand." in page(missing)
    said = "ann has decided already: it is matched by hand."
    assert said in post(extra, "take_in", "bob")
    assert said in post(missing, "match", "bob", other=str(extra.pk))
    assert not Operation.objects.filter(key=extra.reference).exists()


def test_a_record_of_a_run_that_is_not_done_is_neither_offered_nor_matched(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a failed run has stored lives until the next one."""
    books.claimed("470", Outcome.UNCERTAIN, amount="101.50")
    books.run()
    missing = Finding.objects.get()
    begin = database_now()
    HELD.pages = [[record(1, key=key_of("90"), total="100.00", created_at=begin.isoformat())]]
    later: dict[str, Any] = {"window_from": begin, "window_to": begin + timedelta(hours=1), "actor": "ann"}
    run = start(books.plan, **later)
    with monkeypatch.context() as fails:
        fails.setattr(actions, "settle", Mock(side_effect=RuntimeError))
        with pytest.raises(RuntimeError):
            running.execute(run)
    extra = Finding.objects.get(operation=None)
    assert extra.run.state == "failed"
    assert "INV-1" not in page(missing, way="match")
    told = post(missing, "match", other=str(extra.pk))
    assert "has not come to an end that counts" in told
    assert not missing.decisions.exists()


def test_above_the_limit_a_match_from_the_records_page_asks_a_second_person_as_well(books: Books) -> None:
    books.claimed("470", Outcome.UNCERTAIN, amount="5000.00")
    found(books, "100.00")
    living = Finding.objects.filter(lives=True)
    missing, extra = living.get(operation__isnull=False), living.get(operation=None)
    assert "a second person has to agree" in page(extra, way=f"match&other={missing.pk}")
    assert "It waits for a second person" in post(extra, "match", other=str(missing.pk))
    assert Operation.objects.get().state == State.UNCERTAIN
    assert "It is answered on its operation’s page" in page(extra)


def test_what_a_run_found_to_differ_stands_beside_what_was_meant(books: Books) -> None:
    books.claimed("483", Outcome.SUCCEEDED, reference="INV-7", amount="100.00")
    at = database_now().isoformat()
    HELD.pages = [[record(7, key=key_of("483"), total="120.00", created_at=at)]]
    (over,) = books.run()[0].findings.all()
    shown = browser_of("vic").get(address(over)).content.decode()
    assert re.search(r"Number</th><td>INV-7</td><td>INV-7</td>", shown)
    assert re.search(r"Amount</th><td>100.00</td><td><b>120.00</b>.*?differs</span>", shown)
    assert re.search(r"Currency</th><td>ZAR</td><td>ZAR</td>", shown)
    extra = next(one for one in found(books, "55.00") if one.operation is None)
    assert "Meant</th>" not in browser_of("vic").get(address(extra)).content.decode(), (
        "nothing was meant by it"
    )


def test_approvals_counts_each_kind_that_waits(books: Books) -> None:
    assert "Nothing waits for a second person" in browser_of("bob").get("/approvals/").content.decode()
    (large,) = found(books, "20000.00")
    assert "It waits for a second person" in post(large, "close")
    assert (
        "<h1>1 approval waits for a second person</h1>"
        in browser_of("bob").get("/approvals/").content.decode()
    )


def test_its_records_are_opened_at_the_destination_from_each_page_that_names_them(books: Books) -> None:
    there = books.plan.operation_type.destination
    there.connection |= {"open_url": "https://books.test/invoices/{destination_reference}"}
    there.save(update_fields=["connection"])
    (one,) = found(books, "100.00")
    number = one.destination[0]["id"]
    link = f'<a href="https://books.test/invoices/{number}" rel="noreferrer">{number}'
    shown = {path: browser_of("ann").get(path) for path in (address(one), f"/runs/{one.run.uid}/")}
    assert {path: link in answer.content.decode() for path, answer in shown.items()} == dict.fromkeys(
        shown, True
    )
    for unknown in ({"open_url": "javascript:alert(1)"}, {"open_url": None}, {"no such setting": "1"}):
        there.connection |= unknown
        there.save(update_fields=["connection"])
        for path in shown:
            answer = browser_of("ann").get(path)
            assert answer.status_code == 200 and "noreferrer" not in answer.content.decode(), (path, unknown)
