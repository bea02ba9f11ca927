"""What n8n's, Zapier's and Make's HTTP modules send, as their documents say, ends as one invoice.

None of them runs here. What is sent is the recipe's own body, filled in as each of them fills it in, with its
headers, their spelling and its repetitions; raw, so that no library puts them right.
"""

import json
import re
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from tests.recipes.shops import RECIPES, Shop, key, new_order
from tests.workers import one_round

BODY = RECIPES / "handed_over.json"


@dataclass(frozen=True)
class Module:
    """How a platform's module spells what it sends."""

    authorization: str
    content_type: tuple[str, str]
    others: tuple[str, ...] = ()
    written_again: bool = False
    """Whether it reads the body and writes it anew, as n8n does, or sends it as it was typed."""


MODULES = {
    "n8n": Module(
        "authorization",
        ("content-type", "application/json"),
        ("accept: application/json",),
        written_again=True,
    ),
    "zapier": Module("Authorization", ("Content-Type", "application/json; charset=utf-8"), ("Accept: */*",)),
    "make": Module("Authorization", ("Content-Type", "application/json")),
}


def filled(order: dict[str, Any]) -> str:
    """The recipe's body with the order's values in place of its fields."""
    values = {"order_id": order["id"], **order}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: str(values[found[1]]), BODY.read_text())


def sent(shop: Shop, module: Module, body: str, *, heard: bool = True) -> tuple[int, dict[str, Any]]:
    """Send it over a bare connection; unless it is `heard`, hang up before the answer."""
    if module.written_again:
        body = json.dumps(json.loads(body), separators=(",", ":"))
    address, content = urlsplit(shop.api.server.url), body.encode()
    lines = [
        "POST /api/v1/operations HTTP/1.1",
        f"Host: {address.netloc}",
        f"{module.authorization}: Bearer {shop.api.token}",
        ": ".join(module.content_type),
        f"Content-Length: {len(content)}",
        *module.others,
        "Connection: close",
    ]
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + content)
        if not heard:
            return 0, {}
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, text = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(text)


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_sends_once_or_five_times_makes_one_invoice(shop: Shop, name: str) -> None:
    order, module = new_order(), MODULES[name]
    shop.books.faults("drop_after", "POST /invoices")
    sent(shop, module, filled(order), heard=False)
    statuses = [sent(shop, module, filled(order))[0] for _ in range(2)]
    one_round()
    shop.time_passes()
    statuses += [sent(shop, module, filled(order))[0] for _ in range(2)]
    assert statuses == [202, 202, 200, 200]
    [invoice] = shop.books.records(key(order))
    assert shop.operation(order).destination_reference == invoice["id"]


def test_a_form_is_refused_in_words(shop: Shop) -> None:
    """Zapier's POST action and a form in Make send `key=…&payload=…`: nothing is taken in."""
    order = new_order()
    form = Module("Authorization", ("Content-Type", "application/x-www-form-urlencoded"))
    status, problem = sent(shop, form, urlencode({"type": "invoice.hand_over", "key": key(order)}))
    assert (status, problem["type"], problem["retry"]) == (400, "/problems/malformed", "never")
    assert not shop.books.records(key(order))


def test_text_that_was_not_quoted_is_refused_and_not_guessed(shop: Shop) -> None:
    """A total that the platform writes as a number has lost its decimals already."""
    order = new_order()
    text = filled(order).replace('"amount": "1240.00"', '"amount": 1240.0')
    assert sent(shop, MODULES["make"], text)[1]["type"] == "/problems/amount-not-text"
    broken = filled({**order, "customer": 'The "Best" Co'})
    assert sent(shop, MODULES["make"], broken)[1]["type"] == "/problems/malformed"


@pytest.mark.parametrize("page", ["n8n.md", "zapier.md", "make.md"])
def test_the_pages_show_what_is_sent(page: str) -> None:
    [shown] = re.findall(r"```json\n(.*?)```", (RECIPES / page).read_text(), re.S)
    fields = r"\{\{ JSON\.stringify\(\$json\.(\w+)\) \}\}", r"\{\{ \$json\.(\w+) \}\}", r"\{\{1\.(\w+)\}\}"
    for field, ours in zip(fields, (r'"{{\1}}"', r"{{\1}}", r"{{\1}}"), strict=True):
        shown = re.sub(field, ours, shown)
    assert shown == BODY.read_text()
