"""The first screen: what ran, what waits, what has changed; each number leads to its list."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Case, Event, Heartbeat, TieoutNow
from ledger.rules.states import Outcome
from reconcile import leasing
from reconcile.actions import OWN_WINDOW, Days, start
from reconcile.models import Plan, Run
from reconcile.running import NotWhole, execute, window
from review import expected
from review import today as today_page
from review.models import Reader
from tests import stories
from tests.databases import Clock, Database
from tests.people import browser_of, person
from tests.reconcile.books import HELD, Books, key_of, record
from tests.review.test_every_door import said
from tests.review.test_items import fill
from tests.review.test_runs import plain

MONDAY = datetime(2026, 11, 30, 4, 15, tzinfo=UTC)
"""06:15 in Johannesburg, when the plan is due on working days."""


@pytest.fixture
def listed(clock: Clock, tmp_path: Path) -> Books:
    clock.set(MONDAY - timedelta(days=1))
    return Books.configured(tmp_path, performed_by="caller")


def today(name: str = "vic") -> str:
    return plain(said(browser_of(name).get("/")))


def stands(page: str) -> tuple[str, str]:
    """The headline, and how the first plan stands."""
    found = re.search(r'data-label="Did it run\?">(.*?)</td>', page)
    assert found is not None
    line = re.sub(r'<span class="paper" hidden>.*?</span>', "", found[1])
    return re.findall(r"<h1>(.*?)</h1>", page)[0], " ".join(re.sub(r"<[^>]+>", " ", line).split())


def test_each_plan_is_told_by_its_latest_due_time(listed: Books, clock: Clock) -> None:
    """What is told of the plan that is due at 06:15 on working days.

    | since 06:15                                   | headline                  |
    |-----------------------------------------------|---------------------------|
    | it is Sunday, the plan is new                 | none was due yet          |
    | two minutes, nothing has begun it             | 0 of 1 ran, 1 is at work  |
    | an hour, nothing has begun it                 | 0 of 1 ran, 1 did not     |
    | a run of other days, or of before             | the same                  |
    | a run that broke off                          | the same, and why         |
    | a run that goes on                            | 0 of 1 ran, 1 is at work  |
    | a run that is done, whatever breaks off later | 1 of 1 ran                |
    | Tuesday's is due, and there is none           | 0 of 1 ran, 1 did not     |
    | it has no schedule any more, whatever ran     | none was due yet, 1 ran   |
    """
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    none_due = "No reconciliation was due yet"
    at_work, did_not = "0 of 1 reconciliation ran, 1 is at work", "0 of 1 reconciliation ran, 1 did not"
    clock.set(MONDAY - timedelta(hours=12))
    assert stands(today())[0] == none_due
    run, _ = listed.run()
    clock.set(MONDAY + timedelta(minutes=2))
    assert stands(today()) == (at_work, "Due 06:15, waits")
    clock.set(MONDAY + timedelta(hours=1))
    assert stands(today()) == (did_not, "Not started Due 06:15; no worker has begun it.")
    of_days = datetime(2026, 11, 1, tzinfo=UTC), MONDAY
    execute(start(listed.plan, window_from=of_days[0], window_to=of_days[1], days=of_days, actor="bob"))
    assert stands(today())[0] == did_not
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        listed.run()
    assert stands(today()) == (did_not, "Did not run The list broke off.")
    assert "not known" in today()
    start_at, to = window(listed.plan, None, None)
    going = start(listed.plan, window_from=start_at, window_to=to, actor="bob")
    assert stands(today()) == (at_work, "Running since 07:15")
    HELD.pages = []
    execute(going)
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        listed.run()
    assert stands(today()) == ("1 of 1 reconciliation ran", "Ran 07:15")
    assert f'<a href="/runs/{going.uid}/">invoices</a>' in today() and run.uid != going.uid
    clock.set(MONDAY + timedelta(days=1, hours=1))
    assert stands(today())[0] == did_not
    Plan.objects.update(schedule="")
    broke_off = "Did not run Mon 07:15: The list broke off. Runs when asked. Ran Mon 07:15"
    assert stands(today()) == (f"{none_due}, 1 has run", broke_off)
    HELD.pages = []
    listed.run()
    assert stands(today()) == (f"{none_due}, 1 has run", "Runs when asked Ran 07:15")


def test_a_plan_that_cannot_run_says_why_and_stands_first(listed: Books, clock: Clock) -> None:
    clock.set(MONDAY + timedelta(hours=1))
    listed.run()
    kind = listed.plan.operation_type
    more = {"operation_type": kind, "window_s": 86400, "grace_s": 0}
    Plan.objects.create(name="zz-unread", schedule="15 6 * * *", timezone="Atlantis/Port", **more)
    early = MONDAY - timedelta(days=9)
    Plan.objects.create(
        name="zz-late", schedule="15 6 * * *", timezone="Europe/London", changed_at=early, **more
    )
    now = MONDAY + timedelta(hours=3)
    found = expected.read(now, paused={kind.destination_id})
    assert [(line.plan.name, line.standing) for line in found.lines] == [
        ("zz-late", "did not"),
        ("zz-unread", "did not"),
        ("invoices", "ran"),
    ]
    assert found.lines[0].note == "Due 08:15; Durban Books is paused."
    assert "Atlantis/Port" in found.lines[1].note
    assert found.headline == "1 of 3 reconciliations ran, 2 did not"
    with CaptureQueriesContext(connection) as queries:
        expected.read(now, paused=())
    assert len(queries) == 4


def test_what_is_unexplained_and_open_is_that_of_the_runs_and_nothing_is_netted(
    listed: Books, clock: Clock, database: Database
) -> None:
    listed.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    listed.claimed("403", Outcome.SUCCEEDED, reference="INV-3", amount="5.00", currency="EUR")
    listed.claimed("404", Outcome.SUCCEEDED, reference="INV-4", amount="50.00")
    HELD.pages = [
        [record(1, key=key_of("402"), total="1860.00"), record(2, key=key_of("402"), total="1860.00")],
        [record(3, key=key_of("403"), total="5.00", currency="EUR")],
        [record(4, key=key_of("404"), total="40.00")],
    ]
    clock.set(MONDAY + timedelta(hours=1))
    run, _ = listed.run()
    page = today()
    assert "unexplained EUR 0.00, ZAR 0.00 · open EUR 0.00, ZAR 1 870.00" in page
    assert f'<a href="/runs/{run.uid}/#h-open">1 870.00</a>' in page
    assert 'id="h-open"' in said(browser_of("vic").get(f"/runs/{run.uid}/"))
    left = {"residual": {"ZAR": "3.00"}, "totals": run.totals | {"unexplained_items": 2}}
    with database.rewriting("reconcile_run"):
        Run.objects.filter(pk=run.pk).update(**left)
    page = today()
    assert "unexplained EUR 0.00, ZAR 3.00 and two items" in page and "Two items unexplained." in page


def test_each_number_leads_to_a_list_of_as_many(durban: stories.Durban) -> None:
    """All that waits, each age of each currency, and each number of what has changed."""
    durban.every_state()
    durban.clock.advance(timedelta(days=9))
    for order in (911, 921):
        durban.expired(order)
        durban.tried(durban.invoiced(order + 1, "19.00"), stories.REFUSED)
        durban.tried(durban.invoiced(order + 2), stories.done(f"INV-{order}"))
        durban.allowed(durban.looked(durban.absent(order + 3), stories.ABSENT, actor="bob"), actor="bob")
    person("ann")
    taken, rests = Case.objects.open().order_by("pk")[:2]
    actions.assign(taken.uid, to="ann", actor="ann")
    until = durban.clock.now() + timedelta(minutes=5)
    actions.snooze(rests.uid, actor="ann", reason="Acme rings back.", until=until, knowingly=True)
    page, client = today("ann"), browser_of("ann")
    ages = re.findall(r'<a href="(/queue/[^"]+)">(\d+)<span class="vh"> of ([^<]+) days', page)
    assert {days for _, _, days in ages} == {"&lt;1", "7–29"}
    assert "of what waits for a decision, 1 of them snoozed," in page and ", 1 of " in page
    queues = re.findall(r'<a href="(/queue/[^"]+)">(?:All |Mine )?(\d+) (?:items?|of them snoozed)</a>', page)
    assert [count for _, count in queues][1:] == ["1", "1"]
    grouped = re.findall(r'decision: <a class="nb" href="([^"]+)">([^<]+)</a>', page)[0]
    whole = said(client.get(grouped[0].replace("&amp;", "&"))).split("Together</th>")[1]
    assert f">{queues[0][1]}<br>" in whole and "1 snoozed</span>" in whole
    sums = [one.split(" ", 1) for one in grouped[1].split(", ")]
    assert sums and all(f"{amount} {currency}" in plain(whole) for currency, amount in sums)
    for address, count in [*queues, *((address, count) for address, count, _ in ages)]:
        shown = said(client.get(address.replace("&amp;", "&")))
        assert shown.count('class="q-key"') == int(count), address
    without = re.findall(r"(\d+) more items? carr", page)
    assert sum(int(count) for _, count, _ in ages) + sum(map(int, without)) == int(queues[0][1])
    changes = re.findall(r'<a href="(/since/[^"]+)">(\d+)(?: times)?</a>', page)
    assert len(changes) == 5, "held, in doubt, did not happen, done; and what bob allowed"
    for address, count in changes:
        shown = said(client.get(address.replace("&amp;", "&")))
        assert shown.count("<li><time") == int(count), address


def test_what_others_have_changed_stands_there_until_it_is_marked_as_seen(durban: stories.Durban) -> None:
    durban.allowed(durban.looked(durban.absent(483), stories.ABSENT, actor="bob"), actor="bob")
    mine = durban.looked(durban.absent(484), stories.ABSENT, actor="ann")
    durban.allowed(mine, actor="ann")
    page = today("ann")
    assert "the last 24 hours" in page
    assert "<b>bob</b> allowed another try. <a" in page and "Order 483 · Acme</a>" in page
    assert "<b>ann</b>" not in page.partition("<footer")[0], "what one did oneself is no news"
    assert "<b>bob</b>" in today("vic") and "<b>ann</b>" in today("vic")
    until = int(re.findall(r'name="until" value="(\d+)"', page)[0])
    ann = browser_of("ann")
    durban.allowed(durban.looked(durban.absent(485), stories.ABSENT, actor="bob"), actor="bob")
    assert ann.post("/seen/", {"until": until})["Location"] == "/"
    page = today("ann")
    assert "Order 485" in page.split('id="h-since"')[1], "what came after the page was made is not seen yet"
    assert "Order 483" not in page.split('id="h-since"')[1]
    ann.post("/seen/", {"until": 10**17})
    assert "Nothing has changed but by your own hand." in today("ann")
    assert Reader.objects.get(person=person("ann")).seen_event == Event.objects.latest("pk").pk
    for wrong in ("1", "-1", "x", "", "9" * 30):
        ann.post("/seen/", {"until": wrong})
    assert "Nothing has changed but by your own hand." in today("ann"), "a mark never goes back"
    assert "the last 24 hours" in today("vic"), "each has a mark of their own"
    durban.clock.advance(timedelta(days=2))
    assert "Nothing has changed" in today("vic")


def test_what_is_in_trouble_stands_first(durban: stories.Durban) -> None:
    durban.silent(483)
    assert "The worker.</b> No work has gone through the queue yet" in today()
    assert "starts one: <code>manage.py worker</code>" in today(), "and what puts it right"
    Heartbeat.objects.create(name="queue", beat_at=TieoutNow(), busy_until=TieoutNow())
    page = today()
    assert "No destination is paused, the worker is at work, no webhook fails" in page
    durban.tried(durban.invoiced(455, "7315.00"), stories.UNKNOWN_TO_THEM)
    page = today()
    assert "Durban Books is paused</b> since" in page and "the worker is at work" not in page
    durban.clock.advance(60)
    silent = re.findall(r"No work has gone through the queue for (\d+) s", today())
    assert len(silent) == 1 and 60 <= int(silent[0]) < 600


def test_a_run_that_broke_off_is_in_trouble_until_one_over_the_same_days_has_begun(
    listed: Books, clock: Clock
) -> None:
    """Also where the due run has reported: nobody else would hear of the one that was asked for.

    | since the due run has reported           | in trouble                    |
    |------------------------------------------|-------------------------------|
    | one that was asked for broke off         | that one, and how to go on    |
    | one over other days broke off            | that one, too                 |
    | the first was run again                  | the other one                 |
    | both were run again, or a week is over   | none                          |
    | the due one itself broke off             | it stands in its plan's line  |
    """
    clock.set(MONDAY + timedelta(hours=1))
    plan = Plan.objects.get()
    listed.run()
    assert not broken(today())

    def breaks(days: Days | None = None) -> Run:
        HELD.pages = [None]
        of = days or OWN_WINDOW
        begins, ends = window(plan, *of)
        run = start(plan, window_from=begins, window_to=ends, actor="ann", days=of)
        with pytest.raises(NotWhole):
            execute(run)
        HELD.pages = []
        return run

    own = breaks()
    page = today()
    assert stands(page)[0] == "1 of 1 reconciliation ran", "what was due has run"
    assert broken(page) == [own.pk] and "The list broke off. Nothing of it counts." in page
    days = date(2026, 11, 20), date(2026, 11, 22)
    other = breaks(days)
    assert broken(today()) == [other.pk, own.pk]
    shown = plain(said(browser_of("ann").get(f"/runs/{other.uid}/")))
    assert f"reconcile {plan.name} --from 2026-11-20 --to 2026-11-22</code>" in shown
    assert "aria-disabled" in broken_page("vic", own), "who only looks runs nothing"
    asked = r'action="(/runs/plans/[^"]+)">.*?name="after" value="(\d+)"'
    form = re.search(asked, broken_page("ann", own), re.DOTALL)
    assert form is not None
    begun = browser_of("ann").post(form[1], {"after": form[2]})
    assert begun.status_code == 303 and broken(today()) == [other.pk]
    again = Run.objects.latest("pk")
    assert f"Run {again.pk}</a> has been begun over the same days since." in broken_page("ann", own)
    taken = leasing.take(again.pk)
    assert taken is not None and execute(taken) == []
    assert broken(today()) == [other.pk]
    clock.advance(7 * 86400)
    assert not broken(today())


def broken(page: str) -> list[int]:
    """The runs that Today says did not run to their end, in its order."""
    return [int(number) for number in re.findall(r"<b>Run (\d+) of \S+ did not run to its end</b>", page)]


def broken_page(name: str, run: Run) -> str:
    return plain(said(browser_of(name).get(f"/runs/{run.uid}/")))


def test_it_costs_the_same_queries_however_much_there_is(durban: stories.Durban) -> None:
    durban.absent(483)
    counts: list[int] = []
    while len(counts) < 2:
        if counts:
            durban.has_thousands_alike()
        vic = browser_of("vic")
        with CaptureQueriesContext(connection) as queries:
            assert vic.get("/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 32, queries.captured_queries


def test_what_is_at_risk_now_is_added_up_to_its_end_off_an_index(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts stop at a cap, the money does not; and the long rows of the queue are not read for it."""
    monkeypatch.setattr(today_page, "COUNTED", 2)
    for order in range(5):
        durban.clock.advance(1)
        durban.absent(order, "19.00")
    with CaptureQueriesContext(connection) as asked:
        page = today("ann")
    (added,) = [one["sql"] for one in asked if 'SUM("review_item"."at_risk")' in one["sql"]]
    (now,) = re.findall(r"At risk now, of what waits for a decision: <a [^>]+>([^<]+)</a>", page)
    sums = json.loads(browser_of("ann").get("/queue.json?view=person").getvalue())["about"]["totals"]
    assert Decimal(now[4:].replace(" ", "")) == Decimal(sums["ZAR"]) > 0, now
    assert "All 2+ items" in page
    durban.clock.database.as_superuser("SET session_replication_role = replica", "DELETE FROM review_item")
    fill(durban.clock.database, 700, durban.invoice.pk)
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute(f"EXPLAIN {added}")
        plan = "\n".join(row for (row,) in cursor.fetchall())
    assert "Index Only Scan using item_by_rank on review_item" in plan, plan
