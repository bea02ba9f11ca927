"""What stands in the queue follows from operations, cases and differences, and is ranked exactly.

| case                                       | then                                                          |
|--------------------------------------------|---------------------------------------------------------------|
| somebody else writes an item               | the database refuses it                                       |
| any operation of any story                 | it has an item exactly while it is held or in doubt           |
| a hundred thousand, by shells              | the same order as by sorting, from every row, both ways       |
| records there that no operation carries    | one item each reference, with its case, owner, age and amount |
| given to somebody while a run commits      | neither fails, and both are kept                              |
| it is gone again, or its run was a dry one | no item                                                       |
"""

import random
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext

from ledger import actions, sight
from ledger.models import Case, Operation, database_now
from ledger.rules.states import Outcome, State
from review import ranked
from review.counting import counts
from review.cursors import Cursor
from review.filters import VIEWS, Filter, Reader
from review.models import Item
from review.queue import Queue
from review.ranked import STORED, Scale
from tests import stories
from tests.databases import Database
from tests.ledger.sessions import in_thread, until_somebody_waits
from tests.people import browser_of
from tests.reconcile.books import HELD, Books, key_of, record


@pytest.fixture
def listed(database: Database, tmp_path: Path) -> Books:
    return Books.configured(tmp_path, performed_by="caller")


def in_question() -> set[int]:
    rows = Operation.objects.filter(held_at__isnull=False) | Operation.objects.filter(state=State.UNCERTAIN)
    return set(rows.values_list("pk", flat=True))


def test_every_operation_has_an_item_exactly_while_it_is_in_question(durban: stories.Durban) -> None:
    made = durban.every_state()
    items = {item.operation_id: item for item in Item.objects.select_related("operation", "case")}
    assert set(items) == in_question()
    for item in items.values():
        case = Case.objects.open().filter(operation=item.operation_id).first()
        known = (case.pk, case.kind, case.owner, case.due_at) if case else (None, "", "", None)
        assert (item.case_id, item.kind, item.owner, item.due_at) == known
        assert item.operation is not None
        assert (item.state, item.amount) == (item.operation.state, item.operation.amount)
    durban.looked(made["uncertain"], stories.one(made["uncertain"], "INV-9"))
    assert (
        set(Item.objects.values_list("operation_id", flat=True))
        == in_question()
        == set(items) - {made["uncertain"].pk}
    )


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM review_item",
        "UPDATE review_item SET owner = 'nobody'",
        'INSERT INTO review_item SELECT (jsonb_populate_record(i, \'{"id": 0, "operation_id": 0}\')).* '
        "FROM review_item AS i",
    ],
)
def test_nobody_else_writes_items(durban: stories.Durban, statement: str) -> None:
    durban.absent(1)
    with pytest.raises(IntegrityError, match="follow from operations"), transaction.atomic():
        connection.cursor().execute(statement)


def fill(database: Database, count: int, type_id: int) -> None:
    """Put items there as no operation made them: large and small, alike, without amount, and of tomorrow."""
    chance = random.Random(7)
    rows = []
    for number in range(count):
        currency = chance.choice(["ZAR", "EUR", "JPY", ""])
        amount = (
            chance.choice(["0", "100", "64", f"{chance.expovariate(1 / 5000):.2f}"]) if currency else None
        )
        age = chance.choice([0, 60, 86400, chance.randrange(-100, 5_000_000)])
        verdict = chance.choice(["", "absent", "several"])
        rows.append(
            f"({number}, {type_id + number % 3}, '{verdict}', {amount or 'NULL'}, '{currency}', {age})"
        )
    database.as_superuser(
        "SET session_replication_role = replica",
        "INSERT INTO review_item (operation_id, operation_type_id, state, kind, owner, verdict, amount,"
        " currency, band, size, lightness, since, since_s, due_s, entered_at, words)"
        " SELECT n, t, 'uncertain', '', '', v, a, c, w.*, at, extract(epoch FROM at), 1e18, at, ''"
        f" FROM (VALUES {', '.join(rows)}) AS r (n, t, v, a, c, age)"
        " CROSS JOIN LATERAL review_weighed(a::numeric, t) AS w"
        " CROSS JOIN LATERAL (SELECT now() - age * interval '1 second' AS at) AS since",
        "ANALYZE review_item",
    )


@pytest.mark.parametrize("chosen", [Filter(), Filter(found="absent"), Filter(currency="EUR")])
def test_40_by_shells_the_order_is_the_same_as_by_sorting(durban: stories.Durban, chosen: Filter) -> None:
    fill(durban.clock.database, 700, durban.invoice.pk)
    scale = Scale({"EUR": 21.3, "JPY": 0.12}, {durban.invoice.pk: 50.0, durban.reminder.pk: 7.5})
    at = durban.clock.now()
    queue = Queue(chosen, at)
    items, order = queue.items, replace(queue.order, scale=scale)
    sorted_, shells = (replace(order, few=few) for few in (True, False))
    whole = sorted_.page(items, None, length=1000)
    assert len(whole) > 100
    for backwards in (False, True):
        rows, met, last = whole[::-1] if backwards else whole, [], None
        while page := shells.page(items, last, backwards=backwards, length=37):
            met += page
            last = page[-1]
        assert met == rows
    for number in range(0, len(whole), 11):
        own = items.filter(pk=whole[number].pk)
        for by in (order, *(replace(order, name=name, few=True) for name in STORED)):
            assert by.key(own) == next(iter(by.page(own, None, length=1)))
        assert shells.page(items, whole[number], length=3) == whole[number + 1 : number + 4]
        queue.__dict__["order"] = shells
        nearest = whole[max(number - 1, 0) : number], whole[number + 1 : number + 2]
        assert queue.beside(whole[number]) == nearest


@pytest.mark.parametrize("chosen", [Filter(view="person"), Filter(reason="absent"), Filter(currency="EUR")])
def test_shells_are_read_off_their_index_without_the_rows(durban: stories.Durban, chosen: Filter) -> None:
    """A row is long: what a filter leaves out must not be read with all its words."""
    fill(durban.clock.database, 700, durban.invoice.pk)
    queue = Queue(chosen, durban.clock.now())
    with CaptureQueriesContext(connection) as asked:
        replace(queue.order, few=False).page(queue.items, None, length=51)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {asked[-1]['sql']}")
        plan = "\n".join(row for (row,) in cursor.fetchall())
    assert plan.count("Index Only Scan using item_by_rank on review_item laid") == 1, plan
    assert "Seq Scan" not in plan and "Heap Scan" not in plan, plan


def test_tabs_of_who_sees_some_types_are_counted_without_the_rows(durban: stories.Durban) -> None:
    fill(durban.clock.database, 700, durban.invoice.pk)
    durban.clock.database.as_superuser(
        "SET session_replication_role = replica",
        "UPDATE review_item SET finding_id = 1, operation_id = NULL WHERE operation_id = 0",
        f"UPDATE review_item SET operation_type_id = {durban.invoice.pk} WHERE finding_id = 1",
    )
    at, entities = durban.clock.now(), frozenset({durban.invoice.destination.entity})
    with CaptureQueriesContext(connection) as asked, sight.limited(sight.Sight(lambda: entities)):
        assert counts(at).views["person"] == 1, "a difference that has no case yet"
    assert Queue(Filter(view="person"), at).items.count() == counts(at).views["person"] == 1
    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN {asked[-1]['sql']}")
        plan = "\n".join(row for (row,) in cursor.fetchall())
    read = set(re.findall(r"Index Only Scan using (\w+) on review_item", plan))
    assert read >= {"item_by_due", "item_by_kind", "item_escalated", "item_resting"}, plan


def test_what_is_few_under_a_filter_is_sorted_and_what_is_many_is_not(
    durban: stories.Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(durban.clock.database, 700, durban.invoice.pk)
    monkeypatch.setattr(ranked, "FEW", 400)
    monkeypatch.setattr("review.queue.FEW", 400)
    at = durban.clock.now()
    assert not Queue(Filter(), at).order.few
    assert Queue(Filter(found="several"), at).order.few
    assert Queue(Filter(order="due"), at).order.few
    monkeypatch.setattr("review.queue.FEW", -1)
    for query in (*(f"view={view}" for view in VIEWS), "owner=x", "text=y", "least=1", "who=mine"):
        Queue(Filter.read(QueryDict(query), Reader("ann")), at).keys(None, length=3)


def test_a_cursor_is_read_as_it_was_written_and_anything_else_is_none() -> None:
    for cursor in (Cursor("i", -0.1, 3), Cursor("o", 0.0, 12), Cursor("i", -1.2e19, 1 << 62)):
        assert Cursor.read(str(cursor)) == cursor
    for text in ("", "i", "i~x~1", "x~1~1", "i~nan~1", "i~inf~1", "i~1~-1", "i~1~1e3", f"i~1~{1 << 64}"):
        assert Cursor.read(text) is None, text


def test_what_no_operation_carries_stands_in_the_queue_until_it_is_gone(listed: Books) -> None:
    listed.claimed("402", Outcome.SUCCEEDED, reference="INV-1")
    own = record(1, key=key_of("402"))
    made_at = (database_now() - timedelta(hours=1)).isoformat()
    stray = [record(number, key="order/77", total="250.00", created_at=made_at) for number in (7, 8)]
    lost = record(9, key="order/78", total="99.00", currency="EUR", created_at=made_at)
    HELD.pages = [[*stray, lost, own]]
    run, _ = listed.run()
    ann = browser_of("ann")
    page = ann.get("/queue/?text=77").content.decode()
    assert f'href="/runs/{run.uid}/differences/' in page
    assert "There, unexpected" in page and "500.00" in page
    item = Item.objects.get(finding__reference="order/77")
    assert item.case is not None and item.finding is not None
    assert (item.kind, item.owner) == ("never_submitted", item.case.owner)
    assert item.since == item.finding.first_seen_at
    names = re.findall(r'class="q-key"><a href="[^"]+">([^<]+)</a>', ann.get("/queue/").content.decode())
    assert {"order/77", "order/78"} <= set(names)
    (link,) = set(re.findall(r'href="(/runs/[^"?]+/differences/\d+/)', page))
    assert "order/77" in ann.get(link).content.decode()
    HELD.pages = [[own]]
    listed.run()
    assert not Item.objects.filter(operation=None).exists()
    HELD.pages = [[*stray, own]]
    listed.run(keep=False)
    assert not Item.objects.filter(operation=None).exists()


def test_a_case_is_given_to_somebody_while_a_run_commits(database: Database, listed: Books) -> None:
    """The run finds it gone: it changes the difference alone, and its item follows."""
    listed.claimed("402", Outcome.SUCCEEDED, reference="INV-1")
    own = record(1, key=key_of("402"))
    made_at = (database_now() - timedelta(hours=1)).isoformat()
    HELD.pages = [[record(7, key="order/77", total="250.00", created_at=made_at), own]]
    listed.run()
    HELD.pages = [[own]]
    case = Item.objects.get(operation=None).case
    assert case is not None
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            actions.assign(case.uid, actor="bob", to="ann")
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # its item is written, and not yet committed
            running = in_thread(listed.run, pool)
            until_somebody_waits(database, running)
        run, _ = running.result(60)
    case.refresh_from_db()
    assert (run.state, run.gone.count(), case.assignee) == ("done", 1, "ann")
    assert case.closed_at is not None and not Item.objects.filter(operation=None).exists()
