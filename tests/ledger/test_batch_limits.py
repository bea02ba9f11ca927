"""A batch at its limits, and one whose database is lost while it is answered."""

import json
from collections.abc import Callable
from contextlib import suppress

import psycopg
from django.db import connection
from django.test import RequestFactory

from ledger.door import batches
from ledger.models import ApiToken, Operation
from ledger.rules.tokens import token_hash
from tests.doors import Api, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.ledger.test_batches import in_one_batch, item
from tests.ledger.test_batches import shop as shop


def test_a_batch_may_be_larger_than_a_single_request_and_has_a_limit_of_its_own(shop: Api) -> None:
    large = [item(f"large/{number}", payload={"text": "x" * 900_000}) for number in range(8)]
    assert {one["status"] for one in in_one_batch(shop, "operations/claim-batch", large)} == {201}
    answer = shop.post("operations/claim-batch", b'{"items": [%b]}' % b",".join([*large, *large]))
    assert "larger than 8192 KiB. Send fewer items at once." in problem(answer, 413, "too-large")["detail"]
    beyond = item("large/alone", payload={"text": "x" * (1 << 20)})
    alone = problem(shop.post("operations/claim", beyond), 413, "too-large")
    among = in_one_batch(shop, "operations/claim-batch", [item("large/first"), beyond, item("large/last")])
    assert [one["status"] for one in among] == [201, 413, 201]
    assert among[1]["detail"] == alone["detail"].replace("The request", "The item")
    assert not Operation.objects.filter(key="large/alone").exists()


def test_a_batch_has_a_limit_of_values_and_is_refused_whole_beyond_it(shop: Api) -> None:
    each = {str(number): number for number in range(9_990)}
    most = [item(f"values/{number}", payload=each) for number in range(5)]
    assert {one["status"] for one in in_one_batch(shop, "operations/claim-batch", most)} == {201}
    more = [item(f"values/more/{number}", payload={"lines": [[]] * 6_000}) for number in range(9)]
    answer = shop.post("operations/claim-batch", b'{"items": [%b]}' % b",".join(more))
    told = problem(answer, 413, "too-large")
    assert "have more than 50,000 values. Send fewer items at once." in told["detail"]
    assert not Operation.objects.filter(key__startswith="values/more/").exists()


def test_a_long_name_above_many_values_is_refused_alone_and_spoils_no_batch(shop: Api) -> None:
    beyond = item("paths/alone", payload={"name" * 2_000: list(range(9_000))})
    alone = problem(shop.post("operations/claim", beyond), 413, "too-large")
    assert "500 are the most. Give it shorter names" in alone["detail"]
    among = in_one_batch(shop, "operations/claim-batch", [item("paths/first"), beyond, item("paths/last")])
    assert [one["status"] for one in among] == [201, 413, 201]
    assert among[1]["detail"] == alone["detail"]
    assert not Operation.objects.filter(key="paths/alone").exists()


def test_a_batch_counts_as_many_requests_as_it_has_items(shop: Api) -> None:
    ApiToken.objects.filter(token_hash=token_hash(shop.token)).update(per_minute=4)
    whole = shop.post("operations/claim-batch", b'{"items": [%b]}' % b",".join([item("count/1")] * 5))
    assert "has 5 items" in problem(whole, 413, "too-large")["detail"]
    shop.clock.advance(61 - shop.clock.now().second)  # a minute has just begun
    assert len(in_one_batch(shop, "operations/claim-batch", [item("count/1"), item("count/2")])) == 2
    more = shop.post("operations/claim-batch", b'{"items": [%b]}' % b",".join([item("count/3")] * 3))
    assert problem(more, 429, "too-many-requests")["detail"].endswith("seconds.")
    assert not Operation.objects.filter(key="count/3").exists()


def test_a_database_that_is_lost_while_a_refusal_is_told_spoils_that_item_alone(shop: Api) -> None:
    """What was recorded before it is answered: the connection ends just as the refused one's row is read."""
    attempts = [shop.claimed(f"told/{number}") for number in range(3)]
    attempts[1]["token"] = "tieout_" + "x" * 43
    items = [{"attempt": one["id"], "token": one["token"], "outcome": "succeeded"} for one in attempts]
    request = RequestFactory().post("/api/v1/attempts/outcome-batch")
    request.auth = ApiToken.objects.get(token_hash=token_hash(shop.token))  # type: ignore[attr-defined]
    cut: list[str] = []

    def ends(execute: Callable[..., object], sql: str, *rest: object) -> object:
        if "LIMIT 21" in sql and '"ledger_operation"."id" =' in sql and not cut:
            cut.append(sql)
            with connection.connection.cursor() as cursor, suppress(psycopg.OperationalError):
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return execute(sql, *rest)

    with connection.execute_wrapper(ends):
        answer = batches.outcomes(request, items)
    connection.close()
    assert cut
    assert [one["status"] for one in json.loads(answer.content)["items"]][:2] == [200, 503]
    again = in_one_batch(shop, "attempts/outcome-batch", [json.dumps(one).encode() for one in items])
    assert [one["status"] for one in again] == [200, 409, 200]
