"""Finding: any reference leads to its operation from every page, exactly it first."""

import inspect
import re
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger.models import REFERENCES, Lookup, Operation, database_now
from ledger.rules.leaves import Action
from ledger.rules.states import Outcome
from reconcile.models import Finding, Plan, Run
from review import also, difference, finding
from review.bulk.freezing import freeze
from review.filters import Filter
from tests import stories
from tests.databases import Database
from tests.people import browser_of, limited, person
from tests.reconcile.books import HELD, Books, record


def opened(client: Client, asked: str) -> str:
    """Return where a search leads; empty where it shows a page of its own."""
    answer = client.get("/find/", {"q": asked})
    return answer["Location"] if answer.status_code == 302 else ""


def listed(client: Client, asked: str) -> list[str]:
    page = client.get("/find/", {"q": asked}).content.decode()
    return re.findall(r'class="q-key"><a href="[^"]+">([^<·]+?)(?: ·[^<]*)?</a>', page)


def test_any_reference_opens_its_operation(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(483, "1240.50", subject="Acme"), stories.done("INV-1187"))
    durban.silent(471, "865.00", subject="Umgeni Cycles")
    operation.refresh_from_db()
    first, address = operation.attempts.get(), f"/operations/{operation.uid}/"
    whole = {name: str(getattr(operation, name)) for name in REFERENCES}
    assert all(whole.values()), whole
    whole |= {"uid": str(operation.uid), "try": str(first.uid), "amount": "1240.50"}
    whole |= {"as shown": "1\u00a0240.50\u00a0ZAR", "as typed": " 1,240.50 ", "capitals": "ACME"}
    whole |= {"its beginning": "inv-11", "no dashes": operation.uid.hex}
    ann = browser_of("ann")
    assert {name: opened(ann, asked) for name, asked in whole.items()} == dict.fromkeys(whole, address)


def test_a_number_that_only_a_check_or_a_run_has_seen_opens_its_operation(durban: stories.Durban) -> None:
    doubled = durban.looked(durban.silent(471), stories.several(durban.silent(1), "INV-1", "INV-2"))
    durban.looked(doubled, stories.several(doubled, "INV-2", "INV-3"))
    ann, there = browser_of("ann"), f"/operations/{doubled.uid}/"
    assert [opened(ann, asked) for asked in ("INV-1", "inv-3", "INV-")] == [there, there, ""]
    now = database_now()
    plan = Plan.objects.create(name="p", operation_type=durban.invoice, window_s=3600, grace_s=0)
    window = {"window_from": now - timedelta(days=1), "window_to": now, "lease_until": now, "grace_s": 0}
    run = Run.objects.create(
        plan=plan, actor="schedule", **window | {"lease_until": now + timedelta(hours=1)}
    )
    Run.objects.update(step="comparing")
    Finding.objects.create(
        run=run,
        item_class="amount_over",
        operation=durban.silent(2),
        why="It is more.",
        destination=[{"id": "GUT-9", "amount": "1.00"}],
        fingerprint="x",
    )
    Finding.objects.create(
        run=run, item_class="unexpected_at_destination", reference="order/77", why="It is there."
    )
    assert opened(ann, "order/77") == "", "a run at work has found nothing yet"
    assert opened(ann, "gut-9") == f"/operations/{Operation.objects.get(source_reference='2').uid}/"


def test_what_is_exactly_it_comes_first_and_the_newest_of_alike_ones(durban: stories.Durban) -> None:
    for order in (4830, 483, 4831):
        durban.invoiced(order, subject="Acme")
    ann = browser_of("ann")
    assert listed(ann, "Order 483") == ["Order 483", "Order 4830", "Order 4831"]
    assert listed(ann, "acme") == ["Order 4831", "Order 483", "Order 4830"]
    durban.invoiced(7, subject="4830")
    durban.invoiced(8, subject="48")
    assert listed(ann, "48") == ["Order 8", "Order 483", "Order 4830", "Order 4831", "Order 7"]


def test_what_nobody_carries_is_said_and_what_was_searched(durban: stories.Durban) -> None:
    durban.silent(483)
    ann = browser_of("ann")
    for asked in ("Order 9", "rder", "%", "_rder 483", "\\", "'", '<b>"', str(uuid.uuid4()), "9" * 400, "Ä"):
        page = ann.get("/find/", {"q": asked}).content.decode()
        assert "Nothing carries" in page and "the key sent there" in page, asked
    assert "<i>" not in ann.get("/find/", {"q": "<i>"}).content.decode()
    for nothing in ("", "  ", "\0", "\0Order 483"):
        assert "<h1>Find</h1>" in ann.get("/find/", {"q": nothing}).content.decode()


@pytest.mark.parametrize("asked", ["ÄRGER & Söhne", "ärger", "100%_\\"])
def test_letters_and_signs_stand_for_themselves(durban: stories.Durban, asked: str) -> None:
    durban.invoiced(1, subject="Ärger & Söhne")
    durban.invoiced(2, subject="100%_\\ Hemp")
    assert opened(browser_of("ann"), asked)


def test_it_stands_on_every_page_for_whoever_may_look(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    for name in ("vic", "ann", "bob", "ada"):
        client = browser_of(name)
        for page in ("/queue/", "/approvals/", "/runs/", "/register/", "/find/", "/nothing/"):
            assert 'action="/find/"' in client.get(page).content.decode(), page
        assert opened(client, "Order 483") == f"/operations/{operation.uid}/"
    assert browser_of("nora").get("/find/?q=Order").status_code == 403
    assert Client().get("/find/?q=Order")["Location"] == "/accounts/login/?next=/find/%3Fq%3DOrder"


def test_each_way_is_read_off_its_index_and_stops_at_what_is_shown(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many begin so: nothing counts or sorts them."""
    monkeypatch.setattr(finding, "SHOWN", 9)
    durban.tried(durban.invoiced(1, subject="Acme"), stories.done("INV-1"))
    durban.has_thousands_alike()
    ann = browser_of("ann")
    for asked in ("order", "Acme", "INV", "1240", "o", "nobody"):
        with CaptureQueriesContext(connection) as queries:
            page = ann.get("/find/", {"q": asked}).content.decode()
        assert len(queries) <= 9, [query["sql"] for query in queries]
        assert asked == "nobody" or "<h1>9+ operations carry" in page
        for part in finding._parts(asked):
            if part.model in (Lookup, Finding):
                continue
            plan = part.explain(analyze=True, timing=False)
            read = [int(rows) for rows in re.findall(r"ledger_\w+ .*actual rows=(\d+)", plan)]
            assert read and max(read) <= 10 and "Seq Scan" not in plan and "Removed" not in plan, plan


@pytest.fixture
def books(database: Database, tmp_path: Path) -> Books:
    return Books.configured(tmp_path, performed_by="caller")


def ran(books: Books, *orders: str) -> Run:
    at = database_now().isoformat()
    HELD.pages = [[record(n, key=key, created_at=at) for n, key in enumerate(orders)]]
    return books.run()[0]


def besides(client: Client, asked: str) -> list[str]:
    page = client.get("/find/", {"q": asked}).content.decode()
    return re.findall(r'<li><a href="([^"]+)">', page.partition('<ol class="rows">')[2].partition("</ol>")[0])


def test_a_difference_without_an_operation_is_found_by_all_that_a_person_may_hold_of_it(books: Books) -> None:
    run = ran(books, "order/9001", "order/9002")
    first, second = run.findings.order_by("reference")
    ann = browser_of("ann")
    there, other = difference.address(first), difference.address(second)
    held = (
        "order/9001",
        "ORDER/9001",
        first.destination[0]["id"],
        f"difference {first.pk}",
        f"Difference #{first.pk}",
    )
    assert {asked: opened(ann, asked) for asked in held} == dict.fromkeys(held, there)
    assert besides(ann, "order/900") == [there, other] or besides(ann, "order/900") == [other, there]
    later = ran(books, "order/9001")
    (again,) = later.findings.all()
    assert opened(ann, "order/9001") == difference.address(again), "as the latest run has it, once"
    assert opened(ann, "order/9002") == other and "gone since" in ann.get("/find/?q=order").content.decode()
    ran(books, "order/9001", "order/9002")
    came = Finding.objects.get(reference="order/9002", lives=True)
    assert opened(ann, "order/9002") == difference.address(came), "what came back is one"


def test_a_difference_is_found_by_the_order_in_its_key(books: Books) -> None:
    run = ran(books, "order/webshop/459/v1", "order/webshop/4590/v1", "order/till/459/v1")
    at = {found.reference: difference.address(found) for found in run.findings.all()}
    shop, till = at["order/webshop/459/v1"], at["order/till/459/v1"]
    ann = browser_of("ann")
    assert opened(ann, "4590") == opened(ann, "Order 4590") == at["order/webshop/4590/v1"]
    assert sorted(besides(ann, "459")) == sorted(besides(ann, "ORDER 459")) == sorted([till, shop])
    assert opened(ann, "webshop 459") == opened(ann, "webshop/459") == shop
    assert [besides(ann, asked) for asked in ("45", "459 till 7", "/", "//")] == [[], [], [], []]
    operation = books.claimed("459", Outcome.UNCERTAIN)
    assert listed(ann, "459") == [operation.description] and len(besides(ann, "459")) == 2


def test_one_that_is_found_in_several_ways_is_one(books: Books) -> None:
    HELD.pages = [[{**record(1, key="INV-7/1", created_at=database_now().isoformat()), "id": "INV-7"}]]
    (found,) = books.run()[0].findings.all()
    assert found.destination[0]["id"] == "INV-7"
    assert opened(browser_of("ann"), "inv-7") == difference.address(found)


def test_runs_lists_and_samples_are_found_by_number_and_id(books: Books) -> None:
    run = ran(books, "order/9001")
    of = books.claimed("7", Outcome.UNCERTAIN)
    bulk = freeze(Action.CHECK, person=person("ann"), chosen=Filter(), picked=[of.uid])
    ann = browser_of("ann")
    at = {"run": f"/runs/{run.uid}/", "bulk action": f"/bulk/{bulk.uid}/"}
    for one, number in ((run, run.pk), (bulk, bulk.pk)):
        kind = "run" if one is run else "bulk action"
        for asked in (f"{kind} {number}", f"{kind.capitalize()} #{number}", str(one.uid)):
            assert opened(ann, asked) == at[kind], asked
    assert opened(ann, "Invoices") == at["run"], "a plan leads to its latest run"
    assert opened(ann, f"sample {bulk.pk}") == ""
    assert {at["run"], at["bulk action"]} <= set(besides(ann, str(run.pk))), "a bare number is asked of each"
    operation = books.claimed(str(run.pk), Outcome.UNCERTAIN)
    assert opened(ann, str(run.pk)) == f"/operations/{operation.uid}/", "an order of that number goes before"


def test_nothing_is_found_besides_of_another_entity(books: Books) -> None:
    run = ran(books, "order/9001")
    (found,) = run.findings.all()
    limited("kim", "Cape Trading (Pty) Ltd")
    asked = (
        "order/9001",
        found.destination[0]["id"],
        f"difference {found.pk}",
        f"run {run.pk}",
        str(run.uid),
        "invoices",
    )
    for text in asked:
        page = browser_of("kim").get("/find/", {"q": text})
        assert page.status_code == 200 and "Nothing carries" in page.content.decode(), text
        assert opened(browser_of("ann"), text), text
    limited("vic", books.plan.operation_type.destination.entity)
    assert opened(browser_of("vic"), "order/9001") == difference.address(found)


def test_however_much_is_found_besides_it_is_asked_in_as_many_questions(books: Books) -> None:
    ann = browser_of("ann")
    counted = []
    for many in (2, 30):
        ran(books, *(f"order/9{n:03}" for n in range(many)))
        ann.get("/find/?q=order/9")
        with CaptureQueriesContext(connection) as queries:
            page = ann.get("/find/?q=order/9").content.decode()
        counted.append(len(queries))
        assert len(besides(ann, "order/9")) == min(many, also.SHOWN)
    assert counted[0] == counted[1] <= 9 and "20+ found" in page
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        plan = inspect.unwrap(also._carrying)("order/9", "order/9", uuid.uuid4(), 0).explain()
    assert "finding_find_reference" in plan and "Seq Scan" not in plan, plan
