"""Node-RED itself runs docs/recipes/node-red/flow.json while answers are lost: one invoice for an order.

| lost                              | the flow                                             | invoices |
|-----------------------------------|------------------------------------------------------|----------|
| nothing                           | claims, starts, sends, reports                       | 1        |
| Durban Books' answer              | says so, waits, is told that it is done              | 1        |
| the same, without Tieout          | sends again                                          | 2        |
| the request                       | says so, waits, and may send again                   | 1        |
| each of Tieout's answers          | asks again in the same words                         | 1        |
| nothing, and it is refused        | tells a person where to decide                       | 0        |
"""

import json
import platform
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from config.environment import ROOT
from ledger.models import Operation
from tests import clients, npm
from tests.doors import Api
from tests.processes import at_its_address
from tests.recipes.shops import RECIPES, Shop, key, new_order, worked_until
from tests.sandboxes import Sandbox
from tests.workers import until

pytestmark = pytest.mark.long
LOCKED = ROOT / "tests" / "node_red"
FLOW = RECIPES / "node-red" / "flow.json"
BINARY = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]


@dataclass
class NodeRed:
    """A Node-RED with the recipe's flow and one without Tieout, and the way from it to Tieout."""

    url: str
    way: clients.Way

    def order(self, order: dict[str, Any], flow: str = "orders") -> "Future[httpx.Response]":
        """Post a paid order, as the shop does; its answer comes when the flow is through."""
        pool = ThreadPoolExecutor(1)
        cookie = {"Cookie": "shop=secret"}
        answer = pool.submit(httpx.post, f"{self.url}/{flow}", json=order, headers=cookie, timeout=120)
        pool.shutdown(wait=False)
        return answer


@pytest.fixture(scope="module")
def node_red(serving: Api, books: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeRed]:
    folder = npm.installed(LOCKED, tmp_path_factory.mktemp("npm") / "node_red")
    home = folder / "home"
    home.mkdir()
    nodes = [*json.loads(FLOW.read_text()), *json.loads((LOCKED / "naive.json").read_text())]
    (home / "flow.json").write_text(json.dumps(nodes))
    node = str(folder / "node_modules" / f"node-linux-{BINARY}" / "bin" / "node")
    with clients.way_to(clients.Shop(serving, books, folder)) as way:
        environ = {"TIEOUT_URL": way.url, "TIEOUT_TOKEN": serving.token, "BOOKS_URL": books.url}
        command = (node, "serve.cjs", "flow.json", str(home))
        with at_its_address(*command, folder=folder, environ={**environ, "HOME": str(home)}) as url:
            yield NodeRed(url, way)


def answered(answer: "Future[httpx.Response]") -> httpx.Response:
    """Do the worker's work until the flow answers."""
    worked_until(answer.done, what="The flow's answer")
    return answer.result()


def in_doubt(order: dict[str, Any]) -> bool:
    return Operation.objects.filter(key=key(order), state="uncertain").exists()


def test_an_order_becomes_one_invoice(shop: Shop, node_red: NodeRed) -> None:
    order = new_order()
    answer = answered(node_red.order(order))
    again = answered(node_red.order(order))
    [invoice] = shop.books.records(key(order))
    assert answer.json() == again.json() == {"done": True, "reference": invoice["id"]}
    assert invoice["customer"] == {"name": "Acme"}
    assert shop.tries(order) == ["succeeded"]
    assert not any(b"cookie" in request.lower() for request in node_red.way.requests)


def test_a_lost_answer_makes_two_invoices_without_tieout(shop: Shop, node_red: NodeRed) -> None:
    order = new_order()
    shop.books.faults("drop_after", "POST /invoices")
    assert answered(node_red.order(order, "naive")).status_code == 201
    assert shop.effects(order) == 2


def test_a_lost_answer_makes_one_with_it(shop: Shop, node_red: NodeRed) -> None:
    order = new_order()
    shop.books.faults("ignore_keys", count=None)
    shop.books.faults("drop_after", "POST /invoices")
    answer = answered(node_red.order(order))
    [invoice] = shop.books.records(key(order))
    assert answer.json() == {"done": True, "reference": invoice["id"]}
    assert shop.tries(order) == ["uncertain"]
    assert claims(node_red, order) > 1, "its retry has run"


def claims(node_red: NodeRed, order: dict[str, Any]) -> int:
    asked = [one for one in node_red.way.requests if b"operations/claim " in one.split(b"\r\n")[0]]
    return sum(key(order).encode() in one for one in asked)


def test_a_lost_request_is_sent_again_once_it_is_proved(shop: Shop, node_red: NodeRed) -> None:
    order = new_order()
    shop.books.faults("drop_before", "POST /invoices")
    answer = node_red.order(order)
    until(lambda: in_doubt(order), what="Doubt")
    shop.time_passes()
    assert answered(answer).json()["done"]
    assert shop.tries(order) == ["uncertain", "succeeded"]
    assert shop.effects(order) == 1


@pytest.mark.parametrize("call", ["/claim", "/start", "/outcome"])
def test_a_lost_answer_of_tieout_is_asked_for_again(shop: Shop, node_red: NodeRed, call: str) -> None:
    order = new_order()
    node_red.way.cut(call, before=False, count=1)
    assert answered(node_red.order(order)).json()["done"]
    assert node_red.way.count == 0
    assert shop.tries(order) == ["succeeded"]
    assert shop.effects(order) == 1


def test_what_is_refused_comes_to_a_person(shop: Shop, node_red: NodeRed) -> None:
    order = {**new_order(), "customer": "Blocked & Sons"}
    answer = answered(node_red.order(order))
    assert answer.status_code == 409
    assert answer.json()["decide"].endswith(f"/operations/{shop.operation(order).uid}/")
    assert shop.tries(order) == ["rejected"]
    assert shop.effects(order) == 0
