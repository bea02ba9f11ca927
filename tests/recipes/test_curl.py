"""docs/recipes/invoice.sh, run as a person runs it: one invoice, and an exit status that says what is so."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import clients
from tests.recipes.shops import RECIPES, Shop, key, new_order
from tests.workers import until


def invoice(shop: Shop, order: dict[str, Any], **environ: str) -> tuple[int, str]:
    status, words = shop.ran(str(RECIPES / "invoice.sh"), *order_words(order), **environ)
    return status, words.strip()


def order_words(order: dict[str, Any]) -> tuple[str, str, str, str]:
    return order["id"], order["total"], order["currency"], order["customer"]


def test_run_twice_it_makes_one_invoice_and_names_it(shop: Shop) -> None:
    order = {**new_order(), "customer": 'Söhne & "Co"'}
    first, second = invoice(shop, order), invoice(shop, order)
    [record] = shop.books.records(key(order))
    assert first == second == (0, record["id"])
    assert record["customer"] == {"name": 'Söhne & "Co"'}
    assert shop.tries(order) == ["succeeded"]


@pytest.mark.parametrize(("lost", "tries"), [("drop_after", 1), ("drop_before", 2)])
def test_a_lost_answer_or_request_makes_one_in_the_end(shop: Shop, lost: str, tries: int) -> None:
    assert invoice(shop, new_order())[0] == 0, "the look-up proves itself"
    order = new_order()
    shop.books.faults("ignore_keys", count=None)
    shop.books.faults(lost, "POST /invoices")
    assert invoice(shop, order)[0] == 75
    shop.time_passes()
    [status, words] = invoice(shop, order)
    assert (status, words) == (0, shop.books.records(key(order))[0]["id"])
    assert shop.effects(order) == 1
    assert len(shop.tries(order)) == tries


def test_it_is_killed_after_the_invoice_and_run_again(shop: Shop) -> None:
    order = new_order()
    shop.makes_and_keeps_silent()
    with subprocess.Popen([RECIPES / "invoice.sh", *order_words(order)], env=shop.environ) as process:
        until(lambda: shop.effects(order), what="The invoice")
        process.kill()
    assert invoice(shop, order)[0] == 75
    shop.time_passes()
    assert invoice(shop, order)[0] == 0
    assert shop.effects(order) == 1


@pytest.mark.parametrize("call", ["/claim", "/start", "/outcome"])
def test_a_lost_answer_of_tieout_is_asked_for_again(shop: Shop, tmp_path: Path, call: str) -> None:
    order = new_order()
    with clients.way_to(clients.Shop(shop.api, shop.books, tmp_path)) as way:
        way.cut(call, before=False, count=1)
        assert invoice(shop, order, TIEOUT_URL=way.url)[0] == 0
        assert way.count == 0
    assert shop.tries(order) == ["succeeded"]
    assert shop.effects(order) == 1


def test_what_is_refused_names_the_page_where_a_person_decides(shop: Shop) -> None:
    order = {**new_order(), "customer": "Blocked & Sons"}
    status, words = invoice(shop, order)
    assert (status, shop.tries(order)) == (76, ["rejected"])
    assert f"/operations/{shop.operation(order).uid}/" in words
    other = new_order()
    assert invoice(shop, other)[0] == 0
    assert invoice(shop, {**other, "total": "1.00"})[0] == 77
    assert shop.effects(other) == 1


def test_a_refused_connection_is_no_doubt(shop: Shop) -> None:
    order = new_order()
    assert invoice(shop, order, BOOKS_URL="http://127.0.0.1:1")[0] == 75
    assert shop.tries(order) == ["retryable"]
