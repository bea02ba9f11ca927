"""Triggers that ran more than once, for people: looked up, closed, and nothing decided twice."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.destinations import lookups
from ledger.models import Case, Event, Lookup, OperationType, database_now
from ledger.rules.states import Outcome
from reconcile.models import Repeat
from tests.databases import Database
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, key_of, record, refreshed
from tests.reconcile.test_histories import MONDAY, here, told, written
from tests.sandboxes import Sandbox


@pytest.fixture
def books(database: Database, sandbox: Sandbox, tmp_path: Path) -> Books:
    return Books.configured(tmp_path, sandbox=sandbox)


@pytest.fixture
def listed(database: Database, tmp_path: Path) -> Books:
    return Books.configured(tmp_path, performed_by="caller")


def monday(folder: Path, *more: str, version: str = "1") -> Repeat:
    """The trigger of order 471, which ran three times that Monday."""
    done = here(written(folder, MONDAY + "".join(more)), "--source-version", version)
    assert done.returncode == 1, done.stderr
    return Repeat.objects.get(reference="471")


def checked(repeat: Repeat, name: str = "ann") -> Repeat:
    browser_of(name).post(f"/runs/histories/{repeat.uid}/check/")
    return Repeat.objects.select_related("case", "operation").get(pk=repeat.pk)


def page(repeat: Repeat, name: str = "ann") -> str:
    shown = browser_of(name).get(f"/runs/histories/{repeat.uid}/")
    assert shown.status_code == 200
    return shown.content.decode().replace("\u00a0", " ")


def close(client: Client, repeat: Repeat, reason: str = "All three are right.") -> str:
    form = {"command_id": str(uuid.uuid4()), "reason": reason}
    return client.post(f"/runs/histories/{repeat.uid}/", form, follow=True).content.decode()


def test_the_durban_monday_before_tieout(books: Books, tmp_path: Path) -> None:
    """Four invoices of one order, which no operation carries: three are too many, with their sum."""
    for _ in range(4):
        books.outside("471", total="1860.00")
    repeat = monday(tmp_path)
    queue = browser_of("ann").get("/queue/").content.decode()
    assert "Ran more than once" in queue and f"/runs/histories/{repeat.uid}/" in queue
    assert "Nobody has looked yet." in page(repeat)
    repeat = checked(repeat)
    assert (repeat.item_class, repeat.surplus, str(repeat.amount)) == (
        "duplicate_at_destination",
        3,
        "5580.0000",
    )
    assert repeat.is_open
    shown = page(repeat)
    assert "3 too many." in shown
    assert "5 580.00 ZAR" in shown
    assert "ann</b> checked Durban Books." in shown
    assert not Lookup.objects.exists()


def test_one_record_answers_it(books: Books, tmp_path: Path) -> None:
    books.outside("471")
    repeat = checked(monday(tmp_path))
    assert (repeat.item_class, repeat.is_open, repeat.case.closed_by) == ("matched", False, "policy")
    assert "There once" in page(repeat)
    assert f"/runs/histories/{repeat.uid}/" not in browser_of("ann").get("/queue/").content.decode()
    assert checked(repeat) == repeat, "what is answered is not asked again"
    assert Event.objects.filter(kind="looked").count() == 1


def test_all_of_them_are_looked_up_at_once_where_that_is_asked(listed: Books, tmp_path: Path) -> None:
    """One is there once, one twice, one not at all; after three that could not look, the rest is left."""
    again = "".join(
        f"{n},2026-11-23T08:00:00Z,success,f-{n}-{run}\n" for n in (472, 474, 475, 476, 477) for run in "xy"
    )
    HELD.pages = [[record(1, key=key_of("471")), *(record(n, key=key_of("472")) for n in (2, 3))]]
    asked = ("--source-version", "1", "--look", "--json")
    done = told(here(written(tmp_path, MONDAY + again), *asked))
    assert [(one["reference"], one["class"], one["open"]) for one in done["triggers"]] == [
        ("471", "matched", False),
        ("472", "duplicate_at_destination", True),
        *((n, "uncertain", True) for n in ("474", "475", "476", "477")),
    ]
    assert HELD.looks == 6, "what is absent was looked up"
    HELD.blind, HELD.looks = True, 0
    more = "".join(f"{n},2026-11-23T08:00:00Z,success,g-{n}-{run}\n" for n in range(5) for run in "xy")
    here(written(tmp_path, f"trigger,time,status,run\n{more}", "more.csv"), *asked)
    assert HELD.looks == 3


def test_a_surplus_that_was_reversed_answers_it_at_the_next_check(listed: Books, tmp_path: Path) -> None:
    HELD.pages = [[record(1, key=key_of("471")), record(2, key=key_of("471"))]]
    repeat = checked(monday(tmp_path))
    assert (repeat.item_class, repeat.surplus) == ("duplicate_at_destination", 1)
    HELD.pages = [[record(1, key=key_of("471")), record(2, key=key_of("471"), status="void")]]
    repeat = checked(repeat)
    assert (repeat.item_class, repeat.surplus, repeat.is_open) == ("matched", 0, False)


def test_absence_without_an_operation_is_no_proof(listed: Books, tmp_path: Path) -> None:
    """Nobody knows under which name an older connector wrote it."""
    OperationType.objects.update(lookup_proved_at=database_now())
    repeat = checked(monday(tmp_path))
    assert (repeat.item_class, repeat.is_open) == ("uncertain", True)
    assert "may have written it under another name" in page(repeat)
    HELD.blind = True
    assert "It is closed on Sundays." in page(checked(repeat))
    HELD.blind, HELD.pages = False, [[record(1, key=key_of("471"), status="declined")]]
    assert checked(repeat).item_class == "status_differs"


def test_an_export_from_before_its_last_run_answers_nothing(listed: Books, tmp_path: Path) -> None:
    """One invoice was there when the export was written, and the last run began a minute before."""
    HELD.pages = [[record(1, key=key_of("471"))]]
    HELD.as_of = datetime(2026, 11, 23, 5, 4, tzinfo=UTC)
    repeat = checked(monday(tmp_path))
    assert (repeat.item_class, repeat.is_open) == ("uncertain", True)
    assert "too early to show all that was sent" in page(repeat)
    HELD.as_of += timedelta(hours=1)
    assert checked(repeat).item_class == "matched"


def test_an_operation_is_looked_up_as_any_other_and_its_case_takes_over(
    listed: Books, tmp_path: Path
) -> None:
    """One question, one case: what a check finds twice is held, and answered on the operation's page."""
    operation = listed.claimed("471", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("471")), record(2, key=key_of("471"))]]
    repeat = monday(tmp_path)
    own = repeat.case
    assert "one try by Tieout’s record, one effect known" in page(repeat)
    repeat = checked(repeat)
    case = Case.objects.get(operation=operation)
    assert (case.kind, repeat.case, repeat.is_open) == ("several", case, True)
    own.refresh_from_db()
    assert own.closed_by == "policy"
    shown = page(repeat)
    assert "is answered on that page" in shown
    for words in ("opened a case.", "checked Durban Books.", "closed the case."):
        assert f"</b> {words}" in shown, "its trail goes with it"
    assert "Not now" in close(browser_of("ann"), repeat)
    HELD.pages = [[record(1, key=key_of("471"))]]
    browser_of("ann").post(f"/operations/{operation.uid}/check/", {"command_id": str(uuid.uuid4())})
    repeat.case.refresh_from_db()
    assert not repeat.is_open
    assert refreshed(operation).state == "completed"


@pytest.mark.parametrize("settle_s", [30, 2 * 3600])
def test_one_record_answers_nothing_while_the_last_run_may_still_write(
    listed: Books, tmp_path: Path, settle_s: int
) -> None:
    """It is said when to check again, and the same file with --look does: by then a second one is there."""
    kind = OperationType.objects.get()
    OperationType.objects.update(contract={**kind.contract, "settle": settle_s})
    early, late = [database_now() - timedelta(seconds=max(3600, settle_s) - left) for left in (600, -60)]
    HELD.pages = [[record(1, key=key_of("471")), record(2, key=key_of("472"))]]
    rows = "".join(
        f"{order},{at.isoformat()},success,{order}-{run}\n"
        for order, at in ((471, early), (472, late))
        for run in "xy"
    )
    file = written(tmp_path, f"trigger,time,status,run\n{rows}")
    asked = ("--source-version", "1", "--look", "--json")
    first, second = told(here(file, *asked))["triggers"]
    assert (second["class"], second["open"]) == ("matched", False)
    assert (first["class"], first["open"]) == ("uncertain", True)
    then = early + timedelta(seconds=max(3600, settle_s))
    assert first["why"].endswith(f"Check again after {then:%Y-%m-%d %H:%M:%S} UTC; nothing does by itself.")
    HELD.pages = [[record(number, key=key_of("471")) for number in (1, 3)]]
    assert told(here(file, *asked))["triggers"][0]["class"] == "duplicate_at_destination"


def test_an_operation_that_nobody_doubled_is_done_with_at_one_look(listed: Books, tmp_path: Path) -> None:
    listed.claimed("471", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("471"))]]
    repeat = checked(monday(tmp_path, version=""))
    assert (repeat.item_class, repeat.is_open) == ("matched", False)
    assert Lookup.objects.get().actor == "ann"


def test_a_run_after_the_check_asks_again_and_one_before_it_does_not(listed: Books, tmp_path: Path) -> None:
    HELD.pages = [[record(1, key=key_of("471"))]]
    repeat = checked(monday(tmp_path))
    assert not repeat.is_open
    early = "trigger,time,status,run\n471,2026-11-22T07:05:00Z,success,e-0\n"
    here(written(tmp_path, early, "early.csv"), "--source-version", "1")
    repeat.refresh_from_db()
    assert (repeat.runs, repeat.is_open, repeat.came_back) == (4, False, False)
    at = (database_now() + timedelta(minutes=1)).isoformat()
    late = f"trigger,time,status,run\n471,{at},success,e-9\n"
    here(written(tmp_path, late, "late.csv"), "--source-version", "1")
    repeat = Repeat.objects.select_related("case").get(pk=repeat.pk)
    assert (repeat.runs, repeat.is_open, repeat.came_back) == (5, True, True)
    assert (repeat.item_class, repeat.records, repeat.looked_at) == ("uncertain", [], None)


def test_more_than_one_operation_of_a_source_is_ambiguous(listed: Books, tmp_path: Path) -> None:
    first = listed.claimed("471", Outcome.SUCCEEDED, reference="INV-1")
    second = actions.claim(
        actions.Submission(
            "invoice.create",
            {"order": "471", "metadata": {"operation": "order/shop/471/v2"}},
            key="order/shop/471/v2",
            source={"system": "shop", "reference": "471", "version": "2"},
        ),
        actor="api:shop",
    ).operation
    repeat = monday(tmp_path, version="")
    assert (repeat.item_class, repeat.operation) == ("ambiguous", None)
    assert "check each of them on its own page" in page(checked(repeat))
    assert not Lookup.objects.filter(operation__in=[first, second]).exists()


def test_a_person_closes_it_once_with_a_reason(listed: Books, tmp_path: Path) -> None:
    repeat, ann = monday(tmp_path), browser_of("ann")
    assert "Write a reason" in close(ann, repeat, reason="")
    assert "Closed, with your reason in the trail." in close(ann, repeat)
    assert "ann closed it" in close(browser_of("bob"), repeat, reason="Mine.")
    repeat = Repeat.objects.select_related("case").get(pk=repeat.pk)
    assert repeat.case.closed_by == "ann"
    assert Event.objects.filter(kind="closed").count() == 1
    assert "“All three are right.”" in page(repeat)


def test_what_two_people_close_elsewhere_one_does_not_close_here(listed: Books, tmp_path: Path) -> None:
    kind = OperationType.objects.get()
    OperationType.objects.update(review={**kind.review, "four_eyes_above": {"ZAR": "50.00"}})
    HELD.pages = [[record(1, key=key_of("471")), record(2, key=key_of("471"))]]
    repeat = checked(monday(tmp_path))
    assert "ZAR 100.00 is more than one person closes." in close(browser_of("bob"), repeat).replace(
        "\u00a0", " "
    )
    HELD.pages = [
        [
            record(1, key=key_of("471")),
            record(2, key=key_of("471"), currency="EUR"),
            record(3, key=key_of("471")),
        ]
    ]
    repeat = checked(repeat)
    assert "What the surplus comes to is not known." in close(browser_of("bob"), repeat)
    assert repeat.is_open


def test_who_only_looks_neither_checks_nor_closes(listed: Books, tmp_path: Path) -> None:
    repeat = monday(tmp_path)
    for name, why in (("vic", "Your role looks only."), ("ada", "Administrators decide no items.")):
        assert page(repeat, name).count(why) == 2
        assert why in close(browser_of(name), repeat)
        assert checked(repeat, name).looked_at is None
    assert HELD.looks == 0
    assert browser_of("nora").get(f"/runs/histories/{repeat.uid}/").status_code == 403
    assert Client().get("/runs/histories/").status_code == 302
    assert browser_of("ann").get(f"/runs/histories/{uuid.uuid4()}/").status_code == 404
    assert browser_of("ann").get(f"/runs/histories/{repeat.uid}/check/").status_code == 405


def test_what_cannot_be_looked_up_says_why(listed: Books, tmp_path: Path) -> None:
    repeat = monday(tmp_path, version="")
    assert "a part is missing. Look there by hand." in page(repeat)
    OperationType.objects.update(calls={})
    assert "cannot be checked: its rules name no look-up" in page(checked(repeat))
    assert HELD.looks == 0


def test_what_was_taken_in_stays(listed: Books, tmp_path: Path, database: Database) -> None:
    monday(tmp_path)
    for table in ("pastrun", "history", "repeat"):
        with pytest.raises(Exception, match="the ledger only grows"), connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM reconcile_{table}")
    with pytest.raises(Exception, match="the ledger only grows"), connection.cursor() as cursor:
        cursor.execute("UPDATE reconcile_pastrun SET run = 'e-9'")


def test_the_list_and_the_queue_cost_the_same_few_queries(listed: Books, tmp_path: Path) -> None:
    vic = browser_of("vic")
    assert "Nothing was taken in yet." in vic.get("/runs/histories/").content.decode()
    monday(tmp_path)
    assert "Nothing here yet" not in vic.get("/").content.decode(), "there is something to do"
    counts: list[list[int]] = []
    for number in (3, 9):
        counts.append([])
        for address in ("/runs/histories/", "/queue/"):
            with CaptureQueriesContext(connection) as queries:
                shown = vic.get(address).content.decode()
            counts[-1].append(len(queries))
            assert shown.count('scope="row"><a href="/runs/histories/') == Repeat.objects.count()
        rows = "".join(
            f"9{n},2026-11-23T07:0{n}:00Z,success,{r}\n" for n in range(number) for r in ("x", "y")
        )
        here(written(tmp_path, f"trigger,time,status,run\n{rows}", f"{number}.csv"))
    assert counts[0] == counts[1]
    assert re.search(r"Import \d+ · <span class=\"key\">3.csv", vic.get("/runs/histories/").content.decode())


def test_it_begins_with_what_tieout_knows_of_its_operation(listed: Books, tmp_path: Path) -> None:
    """It does not end with it: the check was before the file, and the runs may have made more since."""
    listed.claimed("471", Outcome.SUCCEEDED, reference="INV-1")
    repeat = monday(tmp_path)
    assert "Tieout has it done as INV-1, after 1 try, never checked. Whether the other runs" in page(repeat)
    doubled = listed.claimed("472", Outcome.SUCCEEDED, reference="INV-2")
    HELD.pages = [[record(number, key=key_of("472")) for number in (2, 3)]]
    check = lookups.look(refreshed(doubled), actor="ann", reason="Is it there twice?")
    single = listed.claimed("473", Outcome.SUCCEEDED, reference="INV-4")
    HELD.pages = [[record(4, key=key_of("473"))]]
    lookups.look(refreshed(single), actor="ann", reason="Is it there?")
    rows = "".join(
        f"{order},2026-11-23T08:00:00Z,success,f-{order}-{run}\n" for order in (472, 473) for run in "xy"
    )
    here(written(tmp_path, f"trigger,time,status,run\n{rows}", "more.csv"), "--source-version", "1")
    twice, once = (
        Repeat.objects.select_related("case").filter(reference__in=["472", "473"]).order_by("reference")
    )
    assert (twice.item_class, twice.surplus, twice.looked_by) == ("duplicate_at_destination", 1, "ann")
    assert (twice.is_open, twice.case.operation) == (True, doubled), "one question, one case"
    told_of = Event.objects.get(data__repeat=str(twice.uid), kind="known")
    assert told_of.data["lookup"] == str(check.uid) and told_of.data["by"] == "ann" != told_of.actor
    assert not Event.objects.filter(data__repeat=str(twice.uid), kind="looked").exists(), "nobody looked now"
    assert "began with what an earlier check had found." in page(twice)
    assert (
        "ann</b> checked" not in page(twice) and f"At {check.asked_at:%Y-%m-%d %H:%M:%S} UTC: " in twice.why
    )
    assert (once.item_class, once.is_open, once.looked_at) == ("uncertain", True, None)
    assert re.search(
        r"done as INV-4, after 1 try, and the check of \S+ \S+ UTC found 1 that stands\.", once.why
    )


def test_several_that_were_answered_since_are_no_beginning(listed: Books, tmp_path: Path) -> None:
    """A person reversed one and named the other: what the check found is old news."""
    doubled = listed.claimed("471", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(number, key=key_of("471")) for number in (1, 2)]]
    lookups.look(refreshed(doubled), actor="ann", reason="Is it there twice?")
    word = {"actor": "ann", "reason": "I reversed the other.", "reference": "INV-1"}
    actions.attest(doubled.pk, command_id=uuid.uuid4(), **word)
    repeat = monday(tmp_path)
    assert (repeat.item_class, repeat.is_open, repeat.looked_at) == ("uncertain", True, None)
    assert not Event.objects.filter(data__repeat=str(repeat.uid), kind__in=["known", "looked"]).exists()


def test_an_export_that_is_late_enough_for_the_operation_may_be_too_early_for_its_runs(
    listed: Books, tmp_path: Path
) -> None:
    operation = listed.claimed("471", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages, HELD.as_of = [[record(1, key=key_of("471"))]], database_now()
    later = (HELD.as_of + timedelta(minutes=5)).isoformat()
    repeat = checked(monday(tmp_path, f"471,{later},success,e-8\n"))
    assert (repeat.operation, repeat.item_class, repeat.is_open) == (operation, "uncertain", True)
    assert "too early to show all that was sent" in page(repeat)
    HELD.as_of += timedelta(minutes=66)
    lookups.look(refreshed(operation), actor="ann", reason="Is it there?")
    assert refreshed(operation).state == "completed"
