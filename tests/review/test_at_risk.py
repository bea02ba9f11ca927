"""Money at risk is what is at stake, by one rule, on every page that adds it up or orders by it.

Of an operation over 1 240.00 that was meant once:

| what the latest check that could look found             | at risk   |
|---------------------------------------------------------|-----------|
| nobody has looked; absent; one match, and it is held     | 1 240.00  |
| four of it                                              | 3 720.00  |
| 1 240.00 and 900.00                                     | 900.00    |
| 1 200.00 first, and 1 240.00                            | 1 280.00  |
| one over 1 860.00; one over 1 000.00                     | 620.00; 240.00 |
| one in another currency; a void one                     | 1 240.00  |
| four, and the check after that could not look           | 3 720.00  |
| four, one of them in another currency                   | 3 720.00  |
| one; what was reversed beside it left 300.00             | 300.00    |
| two of it, and those 300.00                             | 1 540.00  |
| one over 1 000.00, and those 300.00                     | 540.00    |
"""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path

from ledger.models import Operation
from ledger.rules.records import Found, RecordSeen
from ledger.rules.states import Outcome, Standing, Verdict
from review.models import Item
from review.sql import statement
from tests import stories
from tests.databases import Clock, Database
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, key_of, record
from tests.review.test_choose import choose, doubled
from tests.review.test_grouping import lines
from tests.review.test_runs import plain

MEANT = "1240.00"


def at_risk(operation: Operation) -> Decimal | None:
    return Item.objects.get(operation=operation).at_risk


def found(verdict: Verdict, *records: RecordSeen) -> Found:
    return Found(verdict, complete=True, records=records)


def test_what_is_at_stake_follows_from_the_latest_check_that_could_look(durban: stories.Durban) -> None:
    one = durban.silent(1, MEANT)
    assert at_risk(one) == Decimal("1240")
    exact, short, less = (stories.record(one, f"INV-{n}", amount=n) for n in (MEANT, "1200.00", "900.00"))
    short = replace(short, differs=("amount",))
    dollars = replace(exact, id="INV-D", currency="USD", differs=("currency",))
    for seen, stake in (
        (stories.several(one, "INV-1", "INV-2", "INV-3", "INV-4"), "3720"),
        (stories.BLIND, "3720"),
        (found(Verdict.SEVERAL, exact, less), "900"),
        (found(Verdict.SEVERAL, short, exact), "1280"),
        (found(Verdict.SEVERAL, exact, exact, exact, dollars), "3720"),
        (found(Verdict.SEVERAL, exact, exact, replace(exact, standing=Standing.VOID)), "1240"),
        (stories.differing(one, "INV-1", "1860.00"), "620"),
        (stories.differing(one, "INV-1", "1000.00"), "240"),
        (found(Verdict.DIFFERS, dollars), "1240"),
        (found(Verdict.DIFFERS, replace(less, standing=Standing.VOID, differs=("amount", "status"))), "1240"),
    ):
        durban.clock.advance(60)
        durban.looked(one, seen)
        assert at_risk(one) == Decimal(stake), seen
    expired = durban.expired(398)
    assert at_risk(expired) is None, "what has no amount has none at risk"


def test_of_what_was_reversed_in_part_what_is_left_is_at_stake(durban: stories.Durban) -> None:
    one = doubled(durban)
    durban.clock.advance(1)
    choose(one, "INV-1")
    durban.clock.advance(3600)
    tasks = list(one.reversals.order_by("reversed_reference"))
    assert [task.reversed_reference for task in tasks] == ["INV-2", "INV-3"]
    for task in tasks:
        gone = stories.record(task, task.reversed_reference)
        assert durban.looked(task, found(Verdict.ONE_MATCH, gone)).state == "completed"
    kept, second = (stories.record(one, f"INV-{n}") for n in (1, 4))
    partly, whole, negative, euros = (
        replace(kept, id=number, amount=Decimal(amount), currency=currency, standing=Standing.VOID)
        for number, amount, currency in (
            ("INV-2", "300", "ZAR"),
            ("INV-3", "865", "ZAR"),
            ("INV-3", "-300", "ZAR"),
            ("INV-3", "300", "EUR"),
        )
    )
    wrong = replace(kept, amount=Decimal(800), differs=("amount",))
    for seen, stake in (
        (found(Verdict.ONE_MATCH, kept, partly, whole), "300"),
        (found(Verdict.ONE_MATCH, kept, partly, negative), "300"),
        (found(Verdict.ONE_MATCH, kept, partly, euros), "300"),
        (found(Verdict.ONE_MATCH, kept, replace(partly, amount=Decimal("12.5")), whole), "12.5"),
        (found(Verdict.SEVERAL, kept, second, partly, whole), "1165"),
        (found(Verdict.DIFFERS, wrong, partly, whole), "365"),
    ):
        durban.clock.advance(60)
        assert durban.looked(one, seen).held_at is not None
        assert at_risk(one) == Decimal(stake), seen
    page = plain(browser_of("ann").get("/queue/").content.decode())
    assert "365.00 at risk" in page


def test_the_queue_its_groups_its_files_and_today_add_up_the_same(durban: stories.Durban) -> None:
    durban.every_state()
    ann = browser_of("ann")
    page = plain(ann.get("/queue/?view=person").content.decode())
    assert "2 595.00 at risk" in page and "620.00 at risk" in page
    assert "18 400.00 at risk" not in page, "it is the amount itself"
    groups = lines(ann, "view=person&group=cause")
    assert plain(groups["There are several"][2]) == "2 595.00 ZAR"
    assert plain(groups["It differs"][2]) == "620.00 ZAR"
    (together,) = re.findall(
        r"Together</th>.*?data-label=\"Money at risk\">(.*?)</td>",
        plain(ann.get("/queue/?view=person&group=cause").content.decode()),
        re.DOTALL,
    )
    told = json.loads(ann.get("/queue.json?view=person").getvalue())
    sums = {currency: Decimal(total) for currency, total in told["about"]["totals"].items()}
    assert sums["ZAR"] == sum(
        Decimal(row["at_risk"] or 0) for row in told["rows"] if row["currency"] == "ZAR"
    )
    shown = {
        currency: Decimal(amount.replace(" ", ""))
        for amount, currency in (one.rsplit(" ", 1) for one in together.split("<br>"))
    }
    today = plain(ann.get("/").content.decode())
    (now,) = re.findall(r"At risk now, of what waits for a decision: <a [^>]+>([^<]+)</a>", today)
    told_now = {one[:3]: Decimal(one[4:].replace(" ", "")) for one in now.split(", ")}
    assert sums == shown == told_now
    assert "at_risk" in ann.get("/queue.csv?view=person").getvalue().decode()
    due = {row["due"] for row in told["rows"]}
    assert all(datetime.fromisoformat(one).tzinfo for one in due), "what is kept is read on another day"


def test_small_ones_that_are_many_come_before_one_that_is_larger(durban: stories.Durban) -> None:
    """Four of 865.00 are 2 595.00 too many, which is more than 1 240.00 that is missing."""
    several, lost = durban.silent(471, "865.00"), durban.silent(483, MEANT)
    durban.looked(several, stories.several(several, "INV-1", "INV-2", "INV-3", "INV-4"))
    durban.clock.advance(3600)
    page = browser_of("ann").get("/queue/").content.decode()
    assert page.index(f"/operations/{several.uid}/") < page.index(f"/operations/{lost.uid}/")


def test_what_reverses_a_surplus_counts_where_the_surplus_is(durban: stories.Durban) -> None:
    original = doubled(durban)
    durban.clock.advance(1)
    choose(original, "INV-1")
    tasks = Item.objects.filter(operation__reverses=original)
    assert [one.at_risk for one in tasks] == [None, None]
    assert at_risk(original) == Decimal("1730")
    page = browser_of("ann").get("/queue/?group=cause").content.decode()
    assert (
        "1 730.00 ZAR" in plain(page) and "What reverses a surplus is counted where the surplus is." in page
    )


def test_what_a_run_leaves_open_is_what_is_at_risk_after_it(clock: Clock, tmp_path: Path) -> None:
    """Nothing comes between: the run's own figure and that of the queue are the same sum."""
    monday = datetime(2026, 11, 30, 4, 15, tzinfo=UTC)
    clock.set(monday - timedelta(days=1))
    listed = Books.configured(tmp_path, performed_by="caller")
    listed.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    listed.claimed("403", Outcome.SUCCEEDED, reference="INV-4", amount="50.00")
    listed.claimed("404", Outcome.SUCCEEDED, reference="INV-5", amount="5.00")
    HELD.pages = [
        [record(number, key=key_of("402"), total="1860.00") for number in (1, 2, 3)],
        [record(4, key=key_of("403"), total="40.00"), record(5, key=key_of("404"), total="8.00")],
        [record(7, key="order/77", total="250.00")],
    ]
    clock.set(monday + timedelta(hours=1))
    listed.run()
    page = plain(browser_of("vic").get("/").content.decode())
    assert "as of 07:15: unexplained ZAR 0.00 · open ZAR 3 983.00" in page
    assert re.search(r"At risk now, of what waits for a decision: <a [^>]+>ZAR 3 983.00</a>", page)


def test_what_stood_in_the_queue_before_the_upgrade_is_weighed_by_it(
    durban: stories.Durban, database: Database
) -> None:
    durban.every_state()
    weighed = "pk", "at_risk", "band", "size", "lightness"
    wanted = list(Item.objects.order_by("pk").values_list(*weighed))
    _, what_stands = statement("at_risk").split("-- What stands there already.")
    database.as_superuser(
        "SET session_replication_role = replica",
        "UPDATE review_item SET at_risk = NULL, size = coalesce(abs(amount), 1),"
        " band = (SELECT band FROM review_weighed(amount, operation_type_id))",
    )
    assert list(Item.objects.order_by("pk").values_list(*weighed)) != wanted
    database.as_owner(f"-- {what_stands}")
    assert list(Item.objects.order_by("pk").values_list(*weighed)) == wanted


def test_the_upgrade_is_taken_back_and_made_again(durban: stories.Durban, database: Database) -> None:
    durban.every_state()
    weighed = "pk", "at_risk", "band", "size", "lightness"
    wanted = list(Item.objects.order_by("pk").values_list(*weighed))
    database.as_owner(import_module("review.migrations.0015_at_risk").BEFORE)
    meant = Item.objects.exclude(amount=None).values_list("amount", "size")
    assert all(amount is not None and size == abs(amount) for amount, size in meant)
    later = durban.silent(1, MEANT)
    assert at_risk(later) is None, "nothing knows of it any more"
    database.as_owner(statement("at_risk"))
    assert list(Item.objects.exclude(operation=later).order_by("pk").values_list(*weighed)) == wanted
    assert at_risk(later) == Decimal(MEANT)
