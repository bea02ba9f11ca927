"""What the database does for a page of a list at 12,000 rows: it reads a page and sorts no more."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.actions.correcting import Correction
from ledger.door import listing
from ledger.door.schemas import ListIn
from ledger.models import Operation, OperationType
from ledger.rules.states import State
from tests import factories as make
from tests.databases import Clock

LIMIT = 100
OF_EACH = 6000
COPIES = {
    "uid": "gen_random_uuid()",
    "key": "'bulk/' || n",
    "source_system": "'bulk'",
    "source_reference": "n::text",
    "state": "(ARRAY['completed', 'failed', 'uncertain', 'pending'])[1 + n % 4]",
    "evidence": "CASE WHEN n % 4 = 0 THEN 'answer' ELSE '' END",
    "next_try_at": "CASE WHEN n % 4 = 3 THEN changed_at END",
    "changed_at": "changed_at - n * interval '1 s'",
}


def many_of(kind: OperationType, clock: Clock) -> None:
    """Copy an operation thousands of times, into every state but running."""
    operation = make.tried(kind, make.UNREACHED)
    columns = [field.column for field in Operation._meta.concrete_fields if not field.primary_key]
    values = ", ".join(COPIES.get(column, column) for column in columns)
    copies = f"FROM ledger_operation, generate_series(1, {OF_EACH}) AS n WHERE id = {operation.pk}"
    clock.database.as_superuser(
        f"SET session_replication_role = replica; INSERT INTO ledger_operation ({', '.join(columns)}) "
        f"SELECT {values} {copies}"
    )


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def plans(asked: dict[str, str], kinds: list[OperationType]) -> Iterator[list[dict[str, Any]]]:
    """Return the plan of each statement that reads operations for a list, as it ran."""
    with CaptureQueriesContext(connection) as captured:
        listing.page(ListIn.model_validate({**asked, "limit": str(LIMIT)}), kinds)
    for query in captured.captured_queries:
        if 'ledger_operation"' in query["sql"]:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query['sql']}")
                told = cursor.fetchone()[0]
            yield list(nodes((json.loads(told) if isinstance(told, str) else told)[0]["Plan"]))


def rows(found: list[dict[str, Any]]) -> float:
    """Return how many rows these nodes gave, or looked at in vain."""
    told = (
        (node["Actual Loops"], node["Actual Rows"], node.get("Rows Removed by Filter", 0)) for node in found
    )
    return sum(float(loops) * (float(given) + float(in_vain)) for loops, given, in_vain in told)


def test_40_no_list_reads_sorts_or_counts_more_than_a_page_of_each_state(clock: Clock) -> None:
    kinds = [make.reminder_type(name=name) for name in ("reminder.send", "ticket.open")]
    for kind in kinds:
        many_of(kind, clock)
    clock.database.as_superuser("ANALYZE ledger_operation, ledger_permit")
    middle = listing.page(ListIn(), kinds).next_cursor
    assert middle is not None
    since = (clock.now() - timedelta(hours=1)).isoformat()
    page_of_each = len(kinds) * len(State) * (LIMIT + 1)
    for asked in (
        {},
        {"cursor": middle},
        {"state": "failed", "cursor": middle},
        {"state": "running"},
        {"key": "bulk/7"},
        {"source": "bulk/7"},
        {"updated_since": since},
        {"updated_since": since, "state": "failed"},
        {"claimable": "true"},
        {"claimable": "true", "cursor": middle},
    ):
        found = list(plans(asked, kinds))
        assert len(found) == (2 if "claimable" in asked else 1), asked
        for plan in found:
            table = [node for node in plan if node.get("Relation Name") == "ledger_operation"]
            assert rows(table) <= page_of_each < OF_EACH, asked
            assert rows([node for node in plan if "Sort" in node["Node Type"]]) <= page_of_each, asked
            assert not [node for node in plan if node["Node Type"] in ("Seq Scan", "Aggregate")], asked


def test_40_a_list_asks_as_often_for_many_as_for_few(clock: Clock) -> None:
    """Once for the page, once for what its operations correct, and once for what stands in their place."""
    kinds = [make.reminder_type(name=f"reminder.{number}") for number in range(3)]
    for kind in kinds:
        wrong = make.tried(kind, make.REFUSED)
        right = Correction({"order": "484"}, amount="1.00", currency="ZAR")
        actions.correct(wrong.pk, right, actor="api:shop", reason="The order was wrong.")
    with CaptureQueriesContext(connection) as captured:
        page = listing.page(ListIn(), kinds)
        stand = actions.corrections_of(page.operations)
        shown = [(one.operation_type.name, one.corrects or stand[one.pk]) for one in page.operations]
    assert len(shown) == 2 * len(kinds)
    assert len(captured) == 3
