"""A drill's lost answer: the request goes out whole, nothing is read, and that proves nothing.

| the way             | what arrives       | what is known |
|---------------------|--------------------|---------------|
| plain               | the whole request  | silence       |
| TLS                 | the whole request  | silence       |
| TLS through a proxy | the whole request  | silence       |
| no way there        | nothing            | not sent      |
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.ledger.test_http_connector import free_port
from tests.ledger.wires import answering, certificate, connector, sending, serving
from tests.proxies import proxying
from tests.workers import until

HANGING_UP = replace(sending(), hang_up=True)
MADE = answering(b'{"id": "INV-1"}', "201 Created", "Connection: close")


@contextmanager
def reached(way: str, folder: Path) -> Iterator[tuple[str, dict[str, object], list[bytes]]]:
    """A destination's address, how it is reached, and what arrives there."""
    if way == "plain":
        with serving(MADE) as wire:
            yield wire.url, {}, wire.requests
        return
    theirs = certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(theirs)
    with serving(MADE, tls=context) as wire, proxying() as proxy:
        through: dict[str, object] = {"proxy": proxy.url} if way == "proxy" else {}
        yield wire.url, {"tls": {"ca": f"file:{theirs}"}, **through}, wire.requests


@pytest.mark.parametrize("way", ["plain", "tls", "proxy"])
def test_the_request_arrives_whole_and_its_answer_is_lost(way: str, tmp_path: Path) -> None:
    with reached(way, tmp_path) as (url, how, requests):
        answer = connector(url, **how).send(HANGING_UP)
        assert (answer.stage, answer.status) == ("silent", None)
        until(lambda: requests, what="The request")
    (request,) = requests
    assert request.startswith(b"POST /invoices HTTP/1.1")
    assert request.endswith(b'"total":"1240.00"}')


def test_where_nothing_listens_nothing_was_sent() -> None:
    answer = connector(f"http://127.0.0.1:{free_port()}").send(HANGING_UP)
    assert answer.stage == "not_sent"
