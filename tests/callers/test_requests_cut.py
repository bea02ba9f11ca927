"""A caller dies while it sends: what did not arrive whole is not done, even where what came could be read.

| what arrives                                        | what is done |
|-----------------------------------------------------|--------------|
| half a body                                         | nothing      |
| all that means something, and not what was announced | nothing      |
| a whole piece, and no end of the pieces             | nothing      |
"""

import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.callers.writing import SAYINGS, SIGNED_WITH, Request, Saying, counted, hear_from_books, left
from tests.doors import Api
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.ledger.wires import reset
from tests.workers import until


def half(request: Request) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % len(request.content) + request.content[: len(request.content) // 2]


def all_but_the_end(request: Request) -> bytes:
    return b"Content-Length: %d\r\n\r\n" % (len(request.content) + 10) + request.content


def no_last_piece(request: Request) -> bytes:
    return b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(request.content), request.content)


Cut = Callable[[Request], bytes]
CUTS: list[Cut] = [half, all_but_the_end, no_last_piece]


@pytest.fixture(scope="module", autouse=True)
def signed(serving: Api, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret: Path = tmp_path_factory.mktemp("secrets") / "books"
    secret.write_text(SIGNED_WITH)
    hear_from_books(f"file:{secret}")


def begin(api: Api, request: Request, body: bytes) -> socket.socket:
    """Send a request's head and what comes of its body; the connection stays open."""
    host = urlsplit(api.server.url)
    lines = [f"POST /api/v1/{request.path} HTTP/1.1", f"Host: {host.netloc}"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    sender = socket.create_connection((host.hostname or "", host.port or 80), timeout=30)
    sender.sendall("\r\n".join([*lines, ""]).encode() + body)
    return sender


def opened(api: Api) -> int:
    """How many files and connections the server's processes have open."""
    return sum(worker.num_fds() for worker in psutil.Process(api.server.process.pid).children())


@pytest.mark.parametrize("cut", CUTS, ids=lambda cut: cut.__name__)
@pytest.mark.parametrize("saying", SAYINGS, ids=lambda saying: saying.name)
def test_what_did_not_arrive_whole_is_not_done(api: Api, saying: Saying, cut: Cut) -> None:
    request = saying.ready(api)
    before = counted()
    with begin(api, request, cut(request)) as sender:
        sender.shutdown(socket.SHUT_WR)
        said = sender.makefile("rb").read()
    assert said.startswith(b"HTTP/1.1 400 ") and b"/problems/malformed" in said
    assert left(before) == {}
    answer = api.http.post(f"/api/v1/{request.path}", content=request.content, headers=request.headers)
    assert (answer.status_code, left(before)) == (saying.first, saying.rows)


@pytest.mark.parametrize("saying", SAYINGS, ids=lambda saying: saying.name)
def test_a_caller_that_is_killed_has_done_nothing(api: Api, saying: Saying) -> None:
    request = saying.ready(api)
    before, quiet = counted(), opened(api)
    sender = begin(api, request, all_but_the_end(request))
    until(lambda: opened(api) > quiet, what="The server's end of the connection")
    reset(sender)
    until(lambda: opened(api) <= quiet, what="The end of what the server did with it")
    assert left(before) == {}
