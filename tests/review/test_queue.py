"""The queue: honest counts, filters that live in the address, and the largest risk first."""

import json
import re
import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Operation, OperationType, database_now
from ledger.rules.states import CaseKind
from review import counting, queue_export, told
from review import queue as rows_of_queue
from review.filters import REASONS
from review.models import Item
from tests import stories
from tests.databases import Database
from tests.people import browser_of
from tests.review.test_polling import HTMX


def listed(client: Client, query: str = "") -> list[str]:
    page = client.get(f"/queue/{query}").content.decode()
    return re.findall(r'class="q-key"><a href="[^"]+">([^<·]+?)(?: ·[^<]*)?</a>', page)


def test_an_empty_system_invites(database: Database) -> None:
    page = browser_of("ann").get("/").content.decode()
    assert "Nothing here yet" in page
    assert "POST /api/v1/operations" in page
    assert "TIEOUT_URL=http://testserver" in page


@pytest.mark.parametrize("name", ["tieout_client.py", "tieout_client.mjs"])
def test_whoever_is_signed_in_finds_the_client(database: Database, name: str) -> None:
    page = browser_of("vic").get("/queue/").content.decode()
    (address,) = set(re.findall(rf'href="(/client/{re.escape(name)})" download', page))
    assert Client().get(address).status_code == 200


def test_types_that_are_called_alike_are_told_apart_in_the_filter(durban: stories.Durban) -> None:
    page = browser_of("vic").get("/queue/").content.decode()
    assert ">Create invoice</option>" in page and ">Send reminder</option>" in page
    OperationType.objects.update(label="Create invoice")
    page = browser_of("vic").get("/queue/").content.decode()
    for name in ("invoice.create", "reminder.send"):
        assert f">Create invoice ({name})</option>" in page


def test_what_is_not_known_in_an_address_filters_nothing(durban: stories.Durban) -> None:
    durban.silent(483)
    for query in ("?view=x&state=y&found=z&order=w", "?place=9&page=;DROP", "?type=none"):
        assert browser_of("ann").get(f"/queue/{query}").status_code == 200
    assert listed(browser_of("ann"), "?view=x&state=y&found=z&order=w") == ["Order 483"]


def test_a_control_character_in_an_address_filters_nothing(durban: stories.Durban) -> None:
    operation, ann = durban.silent(483), browser_of("ann")
    for name in ("type", "owner", "currency"):
        assert listed(ann, f"?{name}=%00") == ["Order 483"], name
    address = f"/operations/{operation.uid}/check/?owner=a%00b"
    checked = ann.post(address, {"command_id": str(uuid.uuid4())}, follow=True)
    assert checked.status_code == 200
    assert "May have happened" in checked.content.decode()


def test_filters_narrow_and_stay_in_the_address(durban: stories.Durban) -> None:
    durban.every_state()
    ann = browser_of("ann")
    assert sorted(listed(ann, "?state=failed")) == ["Order 455", "Order 483", "Order 484"]
    assert listed(ann, "?found=several") == ["Order 471"]
    assert sorted(listed(ann, "?found=absent")) == ["Order 483", "Order 484"]
    assert listed(ann, "?type=reminder.send") == ["Reminder for order 398"]
    assert listed(ann, "?currency=EUR") == ["Order 377"]
    assert listed(ann, "?owner=operations") == ["Reminder for order 398"]
    assert sorted(listed(ann, "?view=wrong")) == ["Order 466", "Order 471"]
    page = ann.get("/queue/?view=person&state=failed").content.decode()
    assert '<option value="failed" selected>' in page
    assert '<input type="hidden" name="view" value="person">' in page
    assert re.search(r"\?view=person&amp;state=failed&amp;at=\d+&amp;key=i~[^&]+&amp;place=1\"", page)


def test_every_other_filter_narrows_too_and_goes_with_its_chip(durban: stories.Durban) -> None:
    """Known failure 37: after an action the filter was lost; it is all in the address."""
    made, ann = durban.every_state(), browser_of("ann")
    everything = listed(ann)
    expected = {
        "destination=mailroom": ["Reminder for order 398"],
        "entity=Nobody": [],
        "age=1": [
            key
            for key in listed(ann, "?order=age")
            if key not in ("Order 377", "Order 412", "Order 476", "Order 485")
        ],
        "least=12%20650.00": ["Order 318", "Order 476"],
        "least=865&most=960.00": ["Order 377", "Order 471"],
        "reason=several": ["Order 471"],
        "text=umgeni": ["Order 471"],
        "text=%25": [],
    }
    assert {query: sorted(listed(ann, f"?{query}")) for query in expected} == {
        query: sorted(keys) for query, keys in expected.items()
    }
    for nonsense in ("age=2", "least=x", "most=1e9", "reason=x", "least=%D9%A3", "text=%00"):
        assert listed(ann, f"?{nonsense}") == everything, nonsense
    page = ann.get("/queue/?view=person&reason=several&text=umgeni&order=age").content.decode()
    assert "Reason: There are several" in page and "Text: umgeni" in page
    assert 'href="/queue/?view=person&amp;text=umgeni&amp;order=age"><span class="vh">Remove' in page
    address = f"/operations/{made['several'].uid}/"
    assert f"{address}?view=person&amp;reason=several&amp;text=umgeni&amp;order=age&amp;at=" in page
    checked = ann.post(f"{address}check/?text=umgeni&place=1", {"command_id": str(uuid.uuid4())})
    assert checked["Location"].startswith(f"{address}?text=umgeni&place=1")


def test_every_reason_of_an_operation_can_be_filtered_by() -> None:
    loose = {CaseKind.PAUSED, CaseKind.NEVER_SUBMITTED, CaseKind.REPEATED}
    assert set(REASONS) == set(CaseKind) - loose


def test_money_at_risk_times_age_comes_first_and_what_runs_by_itself_last(durban: stories.Durban) -> None:
    """5 h of 7 315 is more than a moment of 12 650, and three of 865 too many more than 620 too much.

    What waits or runs has nothing at risk.
    """
    durban.every_state()
    order = listed(browser_of("ann"))
    assert order[:3] == ["Order 318", "Order 455", "Order 471"]
    assert sorted(order[-2:]) == ["Order 412", "Order 485"]
    assert order.index("Order 455") < order.index("Order 476")


def test_other_orders(durban: stories.Durban) -> None:
    durban.every_state()
    ann = browser_of("ann")
    first = {order: listed(ann, f"?order={order}")[0] for order in ("due", "age", "amount")}
    assert first == {"due": "Order 471", "age": "Order 471", "amount": "Order 318"}


def test_the_counts_in_the_tabs_are_what_the_tabs_list(durban: stories.Durban) -> None:
    durban.every_state()
    ann = browser_of("ann")
    page = ann.get("/queue/").content.decode()
    tabs = re.findall(r'<li><a href="/queue/(\??[^"]*)"[^>]*>[^<]+ <span class="n">(\d+)</span>', page)
    assert len(tabs) == 6
    for query, count in tabs:
        assert len(listed(ann, query)) == int(count), query


def test_done_ones_stand_in_the_latest(durban: stories.Durban) -> None:
    durban.tried(durban.invoiced(402), stories.done("INV-1187"))
    ann = browser_of("ann")
    assert listed(ann) == []
    assert "Nothing is open" in ann.get("/queue/").content.decode()
    assert listed(ann, "?view=latest") == ["Order 402"]


def pages(client: Client, query: str) -> list[list[str]]:
    """Follow the way on from page to page, and back again."""
    there, address = [], f"/queue/{query}"
    while address:
        page = client.get(address).content.decode()
        there.append(listed(client, address.removeprefix("/queue/")))
        back, address = address, way(page, "next")
    for rows in reversed(there[:-1]):
        back = way(client.get(back).content.decode(), "prev")
        assert listed(client, back.removeprefix("/queue/")) == rows
    return there


def way(page: str, name: str) -> str:
    found = re.search(rf'<a class="btn" rel="{name}" href="([^"]+)"', page)
    return found[1].replace("&amp;", "&") if found else ""


EVERY_WAY = ("?", "?order=due", "?order=age", "?order=amount", "?view=latest", "?currency=ZAR", "?text=order")


def test_every_row_stands_on_one_page_and_the_way_leads_back(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40: pages go by keys, under every filter; what waits for its turn comes after all that does not."""
    durban.every_state()
    for order in range(5):
        durban.invoiced(order)
    ann = browser_of("ann")
    whole = {query: listed(ann, query) for query in EVERY_WAY}
    monkeypatch.setattr(rows_of_queue, "SHOWN", 3)
    monkeypatch.setattr(rows_of_queue, "LOOKED_THROUGH", 4)
    for query in EVERY_WAY:
        found = pages(ann, query)
        assert [key for rows in found for key in rows] == whole[query], query
        assert len(found) > 3 and max(map(len, found)) == 3, query


def test_pages_keep_the_instant_of_the_first_one(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small old one is overtaken by a large new one meanwhile; nobody meets a row twice, or never."""
    monkeypatch.setattr(rows_of_queue, "SHOWN", 1)
    durban.silent(1, "10.00")
    durban.clock.advance(3600)
    durban.silent(2, "1000.00")
    ann = browser_of("ann")
    first = ann.get("/queue/").content.decode()
    before = listed(ann)
    durban.clock.advance(7200)
    further = listed(ann, way(first, "next").removeprefix("/queue/"))
    assert sorted([*before, *further]) == ["Order 1", "Order 2"]
    assert listed(ann) == further


def test_a_poll_says_how_many_are_new_and_moves_no_row(durban: stories.Durban) -> None:
    """What came under the filter since; what merely waits, or is under another filter, is no news."""
    durban.silent(1)
    ann = browser_of("ann")

    def poll_of(page: str) -> str:
        (found,) = re.findall(r'id="news" hx-get="([^"]+)" hx-trigger="every 20s"', page)
        return str(found).replace("&amp;", "&")

    asked = poll_of(ann.get("/queue/?currency=ZAR").content.decode())
    assert ann.get(asked, headers=HTMX).status_code == 204
    durban.invoiced(2)
    durban.silent(3, currency="EUR")
    assert ann.get(asked, headers=HTMX).status_code == 204
    durban.silent(4)
    durban.silent(5)
    with CaptureQueriesContext(connection) as queries:
        news = ann.get(asked, headers=HTMX).content.decode()
    assert len(queries) <= 6, queries.captured_queries
    assert re.search(r'<a href="/queue/\?currency=ZAR">Show 2 new since \d\d:\d\d</a>', news), news
    assert ann.get(poll_of(news), headers=HTMX).status_code == 204
    gone = Client().get(asked, headers=HTMX | {"HX-Current-URL": "http://testserver/queue/?currency=ZAR"})
    assert gone["HX-Redirect"] == "/accounts/login/?next=/queue/%3Fcurrency%3DZAR"


def test_a_count_beyond_the_cap_is_not_told_as_exact(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "COUNTED", 2)
    for order in range(4):
        durban.invoiced(order)
    assert '<span class="n">2+</span>' in browser_of("ann").get("/queue/").content.decode()


def test_what_waits_for_its_turn_is_looked_through_a_piece_at_a_time(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million may wait: a filter that few of them meet goes on where it stopped, and says so."""
    monkeypatch.setattr(rows_of_queue, "LOOKED_THROUGH", 10)
    durban.invoiced(2)
    durban.has_thousands_alike()
    held = durban.absent(1, currency="EUR")
    last = durban.invoiced(3, currency="EUR")
    ann = browser_of("ann")
    page = ann.get("/queue/?currency=EUR").content.decode()
    assert listed(ann, "?currency=EUR") == ["Order 1"]
    assert "operations that wait for their turn were looked through" in page and "Look on" in page
    assert listed(ann, way(page, "next").removeprefix("/queue/")) == []
    near = f"?currency=EUR&after=o~0.0~{last.pk - 5}"
    assert listed(ann, near) == ["Order 3"]
    page = ann.get(f"/operations/{held.uid}/?currency=EUR&place=1").content.decode()
    assert "number 1<" in page
    searched = ann.get("/find/?q=Order%201", follow=True).content.decode()
    assert "Order 1" in searched and "number " not in searched.partition("</nav>")[2].partition("</nav>")[0]


def test_40_a_million_that_wait_are_not_read_for_the_list(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    durban.invoiced(0)
    durban.has_thousands_alike()
    walked = Operation.objects.waiting().order_by("pk").values("pk")[:10]
    plan = walked.explain(analyze=True, timing=False)
    read = [int(rows) for rows in re.findall(r"ledger_operation.*actual rows=(\d+)", plan)]
    assert read and max(read) <= 10, plan


def test_a_row_and_its_page_go_by_the_same_check(durban: stories.Durban) -> None:
    """While a try is under way, what was found before it says nothing; the order is when it was asked."""
    made = durban.every_state()
    again = durban.absent(900)
    earlier = database_now() - timedelta(seconds=1)
    actions.keep_lookup(again.pk, found=stories.BLIND, asked_at=earlier, actor="eve", reason="It was slow.")
    retried = durban.absent(901)
    durban.allowed(retried)
    durban.clock.advance(11)
    durban.started(durban.again(retried))
    for operation in (*made.values(), again, retried):
        row = told.told(Operation.objects.filter(pk=operation.pk)).get()
        latest = actions.latest_lookup(operation, tuple(operation.attempts.order_by("number")))
        verdict = latest.verdict if latest else None
        assert (row.seen or {}).get("verdict") == verdict, operation.key
        item = Item.objects.filter(operation=operation.pk).first()
        assert item is None or item.verdict == (verdict or ""), operation.key


def test_19_what_was_refused_stays_the_cause_when_a_run_finds_nothing_there(durban: stories.Durban) -> None:
    refused = durban.tried(durban.invoiced(455), stories.REFUSED)
    for _ in range(2):
        row = browser_of("ann").get("/queue/").content.decode()
        assert "Refused: The customer is blocked" in row and ">Correct it<" in row
        durban.looked(refused, stories.ABSENT, actor="reconciliation 1")
    assert ">Correct it<" in browser_of("ann").get(f"/operations/{refused.uid}/").content.decode()


def test_a_strange_name_breaks_nothing(durban: stories.Durban) -> None:
    durban.invoiced(1, subject='<script>alert("x")</script> & Söhne')
    page = browser_of("ann").get("/queue/").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_the_number_of_queries_does_not_grow_with_the_rows(durban: stories.Durban) -> None:
    ann = browser_of("ann")
    durban.silent(1)
    durban.absent(2)
    with CaptureQueriesContext(connection) as few:
        ann.get("/queue/")
    durban.every_state()
    with CaptureQueriesContext(connection) as many:
        ann.get("/queue/")
    assert len(many) == len(few) <= 14, [query["sql"] for query in many]


def test_the_number_of_queries_of_an_operation_is_fixed(durban: stories.Durban) -> None:
    ann = browser_of("ann")
    made = durban.every_state()
    counts = {}
    for name, operation in made.items():
        with CaptureQueriesContext(connection) as queries:
            ann.get(f"/operations/{operation.uid}/")
        counts[name] = len(queries)
    assert max(counts.values()) <= 32, counts


def test_an_export_says_where_it_comes_from_and_adds_up_by_currency(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    durban.silent(483)
    durban.silent(484, "99.50")
    durban.silent(485, "10.00", currency="EUR")
    vic = browser_of("vic")
    told = json.loads(vic.get("/queue.json?state=uncertain&currency=ZAR").getvalue())
    assert told["about"]["totals"] == {"ZAR": "1339.50"} and told["about"]["count"] == len(told["rows"]) == 2
    assert "State: May have happened" in told["about"]["asked"] and told["about"]["complete"] == "yes"
    monkeypatch.setattr(queue_export, "WALKED", 1)
    monkeypatch.setattr(rows_of_queue, "LOOKED_THROUGH", 1)
    rare = json.loads(vic.get("/queue.json?view=latest&text=483").getvalue())
    assert rare["rows"] == [] and rare["about"]["complete"].startswith("no: too many were looked through")
    text = vic.get("/queue.csv").getvalue().decode("utf-8-sig")
    assert '"total EUR","10.00"' in text and '"author","vic"' in text
    rows = text.partition("\r\n\r\n")[2]
    assert len(rows.splitlines()) == 4 and ',99.50,"ZAR"' in rows
