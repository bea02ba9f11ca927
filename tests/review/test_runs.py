"""The runs' pages: one snapshot feeds headline, tie-out, differences and classes, at a few queries each."""

import csv
import json
import re
import uuid
from collections import defaultdict
from datetime import timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

import review.runs
from ledger import actions
from ledger.models import Destination, Event, TieoutNow, database_now
from ledger.rules.states import Outcome
from reconcile import findings, reports
from reconcile.actions import start
from reconcile.models import Plan, Run
from reconcile.running import NotWhole, window
from tests import factories as make
from tests.databases import Database
from tests.people import browser_of, limited
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.test_reconcile_command import here


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


def exported(run: Run) -> list[dict[str, str]]:
    """The rows of the CSV; numbers are told from text by their missing quotes."""
    response = browser_of("vic").get(f"/runs/{run.uid}.csv")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == f'attachment; filename="run-{run.pk}-invoices.csv"'
    assert "no-store" in response["Cache-Control"]
    about, _, rows = response.getvalue().decode("utf-8-sig").partition("\r\n\r\n")
    told = dict(csv.reader(StringIO(about, newline="")))
    assert (told["author"], told["digest"]) == ("vic", run.digest)
    found = list(csv.DictReader(StringIO(rows, newline="")))
    assert int(told["count"]) == len(found)
    return found


def test_60_command_page_csv_and_json_say_the_same(listed: Books) -> None:
    listed.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    listed.claimed("403", Outcome.SUCCEEDED, reference="INV-3", amount="5.00", currency="EUR")
    listed.claimed("404", Outcome.SUCCEEDED, reference="INV-4")
    HELD.pages = [
        [record(n, key=key_of("402"), total="1860.00") for n in (1, 2, 7)],
        [record(3, key=key_of("403"), total="6.50", currency="EUR"), record(5, key=None, total="a lot")],
    ]
    command = json.loads(here("invoices", "--json").stdout)
    run = Run.objects.get()
    told = json.loads(browser_of("vic").get(f"/runs/{run.uid}.json").getvalue())
    assert (told["provenance"].pop("author"), command["provenance"].pop("author")) == ("vic", "command line")
    for one in (told, command):
        del one["provenance"]["made_at"]
    assert told == command
    rows = exported(run)
    assert [(row["class"], row["reference"], row["why"]) for row in rows] == [
        (found["class"], found["reference"] or "", found["why"]) for found in command["findings"]
    ]
    counted: dict[str, int] = defaultdict(int)
    summed: dict[str, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for row in rows:
        counted[row["class"]] += int(row["items"])
        if row["amount"]:
            summed[row["class"]][row["currency"]] += Decimal(row["amount"])
    for name in counted:
        held = command["classes"][name]
        assert counted[name] == held["count"]
        assert summed[name] == {currency: Decimal(amount) for currency, amount in held["amounts"].items()}
    assert sorted(counted) == sorted({found["class"] for found in command["findings"]})
    page, table = page_of(run), plain(reports.table(run, list(findings.stored(run)), now=database_now()))
    headline = table.splitlines()[0]
    assert headline == "Explained; 4 open differences, EUR 1.50, ZAR 3 820.00"
    assert f"<h1>{headline}</h1>" in page
    for row in rows:
        assert page.count(f'data-label="Why">{plain(row["why"])}</td>') == 1
        assert plain(row["why"]) in table


def test_65_text_that_looks_like_a_formula_is_guarded_and_a_negative_number_is_a_number(
    listed: Books,
) -> None:
    long = "00123456789012345678"
    HELD.pages = [
        [
            record(1, key="=HYPERLINK(1)", total="-5.00") | {"id": long},
            record(2, key="-5.00") | {"id": "+27 82"},
            record(3, key='say "so", twice'),
        ]
    ]
    run, _ = listed.run()
    response = browser_of("vic").get(f"/runs/{run.uid}.csv")
    text = response.getvalue().decode("utf-8-sig")
    assert '"\'=HYPERLINK(1)"' in text
    assert '"\'-5.00"' in text
    assert '"\'+27 82"' in text
    assert f'"{long}"' in text
    assert ',-5.00,"ZAR"' in text
    assert {row["reference"] for row in exported(run)} == {"'=HYPERLINK(1)", "'-5.00", 'say "so", twice'}


def test_what_is_not_whole_is_not_exported_and_people_without_a_role_get_nothing(listed: Books) -> None:
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        listed.run()
    run = Run.objects.get()
    for kind in ("csv", "json"):
        assert browser_of("vic").get(f"/runs/{run.uid}.{kind}").status_code == 409
        assert browser_of("nora").get(f"/runs/{run.uid}.{kind}").status_code == 403
        assert Client().get(f"/runs/{run.uid}.{kind}").status_code == 302


def test_differences_go_on_on_pages_of_their_own_each_once(
    listed: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review.runs, "SHOWN", 2)
    page = [record(n, key=f"z{n}", total=f"{100 + n % 2}.00") for n in range(6)]
    HELD.pages = [page, [record(9, key="e9", currency="EUR"), record(10, key="n10", total="a lot")]]
    HELD.pages.append([record(11, key="n11", total="much")])
    run, _ = listed.run()
    seen: list[str] = []
    address = f"/runs/{run.uid}/"
    while address:
        text = plain(browser_of("vic").get(address).content.decode())
        assert "Explained; 9 open differences, EUR 100.00, ZAR 603.00" in text
        seen += re.findall(
            r'<th role="rowheader" scope="row">(\w+)</th><td role="cell" data-label="Difference">', text
        )
        following = re.search(r'rel="next" href="([^"]+)"', text)
        address = following[1] if following else ""
    assert seen == ["e9", "z1", "z3", "z5", "z0", "z2", "z4", "n10", "n11"]
    assert browser_of("vic").get(f"/runs/{run.uid}/?after=all").status_code == 200


def test_what_is_gone_and_what_is_back_stands_on_the_page(listed: Books) -> None:
    there = record(1, key="nobody-s", created_at=(database_now() - timedelta(days=1)).isoformat())
    HELD.pages = [[there]]
    listed.run()
    HELD.pages = []
    run, _ = listed.run()
    page = page_of(run)
    assert "Gone since the last run: 1" in page
    assert "1 difference of earlier runs is gone." in page
    HELD.pages = [[there]]
    run, _ = listed.run()
    assert re.search(r"today</span><span[^>]*>[^<]+</span>, back again", page_of(run))


def test_what_is_unexplained_is_the_headline_and_nothing_ties(listed: Books, database: Database) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, _ = listed.run()
    run.tie["lines"][0]["ledger"] = {"count": 0, "amount": "0.00"}
    run.tie["ties"] = False
    with database.rewriting("reconcile_run"):
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
    assert "No process" not in page
    Run.objects.update(lease_until=TieoutNow())
    assert "It waits for a worker, which takes it up within seconds" in page_of(run)


def test_an_empty_list_invites(database: Database) -> None:
    page = browser_of("vic").get("/runs/").content.decode()
    assert "No reconciliation is set up" in page
    assert "Nothing has run yet" in page


def test_the_list_shows_fifty_and_goes_on_from_the_last(listed: Books, database: Database) -> None:
    run, _ = listed.run()
    alike = {
        field.name: getattr(run, field.name) for field in Run._meta.fields if field.name not in ("id", "uid")
    }
    with database.rewriting("reconcile_run"):
        Run.objects.bulk_create([Run(**alike) for _ in range(50)])
    first = browser_of("vic").get("/runs/").content.decode()
    assert first.count("· invoices</a>") == 50
    oldest = Run.objects.order_by("pk")[1]
    assert f"?before={oldest.pk}" in first
    rest = browser_of("vic").get(f"/runs/?before={oldest.pk}").content.decode()
    assert rest.count("· invoices</a>") == 1
    assert browser_of("vic").get("/runs/?before=all").status_code == 200


def test_one_click_starts_one_run_and_whoever_may_stops_it(listed: Books) -> None:
    """The same click again, and another person meanwhile, come to the same run; what it saw last decides."""
    before, _ = listed.run()
    ann, bob = browser_of("ann"), browser_of("bob")
    assert f'name="after" value="{before.pk}"' in ann.get("/runs/").content.decode()
    clicks = [who.post("/runs/plans/invoices/run/", {"after": before.pk}) for who in (ann, ann, bob)]
    run = Run.objects.latest("pk")
    assert {click["Location"] for click in clicks} == {f"/runs/{run.uid}/"}
    assert (run.pk, run.actor) == (Run.objects.get(pk__gt=before.pk).pk, "ann")
    assert "It waits for a worker" in page_of(run)
    assert "Your role looks only." in browser_of("vic").get("/runs/").content.decode()
    assert f"/runs/{run.uid}/stop/" in ann.get(f"/runs/{run.uid}/").content.decode()
    stop = {"reason": "The wrong month.", "command_id": uuid.uuid4()}
    assert bob.post(f"/runs/{run.uid}/stop/", stop)["Location"] == f"/runs/{run.uid}/"
    assert "Did not run: bob stopped it: The wrong month." in page_of(run)
    assert "It has ended already." in bob.post(f"/runs/{run.uid}/stop/", stop).content.decode()
    told = Event.objects.filter(data__run=str(run.uid)).order_by("pk")
    assert [(event.kind, event.actor) for event in told] == [("run_asked", "ann"), ("run_stopped", "bob")]
    late = ann.post("/runs/plans/invoices/run/", {"after": before.pk})
    assert late["Location"] == f"/runs/{run.uid}/", "a page restored later starts nothing anew"
    again = ann.post("/runs/plans/invoices/run/", {"after": run.pk})
    assert again["Location"] == f"/runs/{Run.objects.latest('pk').uid}/" != f"/runs/{run.uid}/"


def test_the_list_says_which_expected_run_did_not_run(listed: Books) -> None:
    Plan.objects.update(changed_at=database_now() - timedelta(days=9))
    text = plain(browser_of("vic").get("/runs/").content.decode())
    assert "Not started" in text and "no worker has begun it" in text


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
    assert max(few) <= 15


def test_what_another_type_made_is_said_with_its_type_and_a_link(listed: Books, tmp_path: Path) -> None:
    """Whose the record is stands beside that it is nobody's of this type: page, CSV, JSON and terminal."""
    operation, attempt, token = make.held(listed.elsewhere(tmp_path, "900"))
    HELD.pages = [[record(1, key=key_of("900")), record(2, key=key_of("901"))]]
    run, _ = listed.run()
    nobodys = "No operation of this type carries its reference."
    page = page_of(run)
    link = f'<a href="/operations/{operation.uid}/">{key_of("900")}</a>'
    assert f"{nobodys} One of invoice.issue does: {link}." in page
    assert page.count(nobodys) == 2 and page.count("One of ") == 1
    said = f"{nobodys} One of invoice.issue does (running)."
    assert {row["reference"]: row["why"] for row in exported(run)} == {
        key_of("900"): said,
        key_of("901"): nobodys,
    }
    told = json.loads(browser_of("vic").get(f"/runs/{run.uid}.json").getvalue())["findings"]
    other = {"id": str(operation.uid), "type": "invoice.issue", "key": key_of("900"), "state": "running"}
    assert [(each["why"], each["elsewhere"]) for each in told] == [(nobodys, [other]), (nobodys, [])]
    assert said in here("invoices").stdout
    actions.record(attempt.uid, token=token, report=make.done("S-1"), actor="api:stall")
    again, (moved, _) = listed.run()
    assert moved.elsewhere == [{**other, "state": "completed"}]
    assert again.digest == run.digest, "these books are as they were"


def test_what_another_entity_made_is_told_by_no_door_to_who_is_limited(listed: Books, tmp_path: Path) -> None:
    operation = listed.elsewhere(tmp_path, "900").operation
    Destination.objects.filter(name="stall").update(entity="Cape Trading (Pty) Ltd")
    limited("ann", "Durban Trading (Pty) Ltd")
    HELD.pages = [[record(1, key=key_of("900"))]]
    run, _ = listed.run()
    here = f"/runs/{run.uid}/"
    one = f"{here}differences/{run.findings.get().pk}/"
    form = {"reason": "It is ours.", "command_id": str(uuid.uuid4()), "way": "take_in"}
    for name, told in (("bob", True), ("ann", False)):
        client = browser_of(name)
        answers = [
            client.get(address) for address in (here, one, f"{one}?way=take_in", f"/runs/{run.uid}.csv")
        ]
        answers.append(client.post(one, form))
        said = [answer.getvalue().decode() for answer in answers if answer.status_code == 200]
        assert len(said) >= 4 and "An operation of another type carries it already." in said[-1]
        leaks = [str(operation.uid) in page or "invoice.issue" in page for page in said]
        assert any(leaks) is told and (name == "ann" or all(leaks)), (name, leaks)
