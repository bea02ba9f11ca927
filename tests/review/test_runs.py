"""The runs' pages: one snapshot feeds headline, tie-out, differences and classes, at a few queries each."""

import uuid
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger.rules.states import Outcome
from reconcile.actions import start
from reconcile.models import Run
from reconcile.running import NotWhole, window
from tests.databases import Database
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, key_of, record


@pytest.fixture
def listed(database: Database, tmp_path: Path) -> Books:
    return Books.configured(tmp_path, performed_by="caller")


def page_of(run: Run, name: str = "vic") -> str:
    response = browser_of(name).get(f"/runs/{run.uid}/")
    assert response.status_code == 200
    return plain(response.content.decode())


def plain(html: str) -> str:
    return html.replace("\u00a0", " ").replace("&nbsp;", " ")


def test_the_pages_are_for_people_with_a_role(listed: Books) -> None:
    run, _ = listed.run()
    assert browser_of("nora").get("/runs/").status_code == 403
    assert browser_of("nora").get(f"/runs/{run.uid}/").status_code == 403
    assert browser_of("vic").get(f"/runs/{uuid.uuid4()}/").status_code == 404


def test_a_run_that_ties_says_so_and_what_is_open(listed: Books) -> None:
    listed.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    listed.claimed("403", Outcome.SUCCEEDED, reference="INV-3", amount="5.00", currency="EUR")
    HELD.pages = [
        [record(1, key=key_of("402"), total="1860.00"), record(2, key=key_of("402"), total="1860.00")],
        [record(3, key=key_of("403"), total="5.00", currency="EUR")],
    ]
    run, (finding,) = listed.run()
    page = page_of(run)
    assert "<h1>Explained; 1 open difference, ZAR 1 860.00</h1>" in page
    assert "INV-1, INV-2 carry it: 1 too many." in page
    assert finding.operation is not None
    assert f"/operations/{finding.operation.uid}/" in page
    assert 'class="tied"' in page
    assert "Duplicate at Durban Books" in page
    assert "+1 860.00" in page
    assert "Not tested" in page
    assert run.digest in page


def test_what_is_unexplained_is_the_headline_and_nothing_ties(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, _ = listed.run()
    run.tie["lines"][0]["ledger"] = {"count": 0, "amount": "0.00"}
    run.tie["ties"] = False
    Run.objects.filter(pk=run.pk).update(tie=run.tie, residual={"ZAR": "100.00"})
    page = page_of(run)
    assert "<h1>Unexplained: ZAR 100.00</h1>" in page
    assert 'class="tied"' not in page


def test_a_run_that_failed_says_why_and_that_it_counts_for_nothing(listed: Books) -> None:
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        listed.run()
    page = page_of(Run.objects.get())
    assert "<h1>Did not run: The list broke off.</h1>" in page
    assert "Tie-out" not in page
    assert "Did not run: The list broke off." in plain(browser_of("vic").get("/runs/").content.decode())


def test_a_run_at_work_is_shown_as_such(listed: Books) -> None:
    start_at, to = window(listed.plan, None, None)
    run = start(listed.plan, window_from=start_at, window_to=to, actor="ann")
    page = page_of(run)
    assert "<h1>Running</h1>" in page
    assert "Look again" in page


def test_an_empty_list_invites(database: Database) -> None:
    page = browser_of("vic").get("/runs/").content.decode()
    assert "No reconciliation is set up" in page
    assert "Nothing has run yet" in page


def test_the_list_shows_fifty_and_goes_on_from_the_last(listed: Books) -> None:
    for _ in range(51):
        listed.run()
    first = browser_of("vic").get("/runs/").content.decode()
    assert first.count("· invoices</a>") == 50
    oldest = Run.objects.order_by("pk")[1]
    assert f"?before={oldest.pk}" in first
    rest = browser_of("vic").get(f"/runs/?before={oldest.pk}").content.decode()
    assert rest.count("· invoices</a>") == 1
    assert browser_of("vic").get("/runs/?before=all").status_code == 200


def test_each_page_costs_the_same_few_queries_whatever_it_shows(listed: Books) -> None:
    def queries(address: str) -> int:
        browser = browser_of("vic")
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(address).status_code == 200
        return len(captured)

    HELD.pages = [[record(1, key=key_of("1"))]]
    small, _ = listed.run()
    few = queries("/runs/"), queries(f"/runs/{small.uid}/")
    for order in range(30):
        listed.claimed(str(100 + order), Outcome.SUCCEEDED, reference=f"INV-{order}")
    HELD.pages = [
        [record(n, key=key_of(str(100 + n)), total=f"{n + 101}.00") for n in range(30)],
        [record(n, key=key_of(str(n))) for n in range(200, 240)],
    ]
    large, found = listed.run()
    assert len(found) == 70
    assert (queries("/runs/"), queries(f"/runs/{large.uid}/")) == few
    assert max(few) <= 9
