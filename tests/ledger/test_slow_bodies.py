"""A body that never ends does not hold a thread: a deadline in all, before anybody is known."""

import io
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from django.test import RequestFactory

from ledger.door import bodies
from ledger.rules.errors import TooSlow
from tests.doors import Api
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def drip(sender: socket.socket, done: threading.Event) -> None:
    """Send a byte every so often, so that no single read waits long."""
    while not done.wait(0.05):
        sender.sendall(b"x")


def test_a_deadline_is_total_and_no_byte_begins_it_anew(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = ends
    monkeypatch.setattr(bodies, "DEADLINE_S", 0.3)
    request = RequestFactory().post("/api/v1/operations", b"x" * 1000, content_type="application/json")
    request.environ["gunicorn.socket"] = ours
    request.environ["wsgi.input"] = io.BufferedReader(socket.SocketIO(ours, "r"))
    done = threading.Event()
    slow = threading.Thread(target=drip, args=(theirs, done))
    slow.start()
    begun = time.monotonic()
    try:
        with pytest.raises(TooSlow):
            bodies.whole(request)
    finally:
        done.set()
        slow.join()
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("size", [1, 1000])
def test_a_body_in_time_is_read_and_watched_no_longer(
    ends: tuple[socket.socket, socket.socket], size: int
) -> None:
    ours, theirs = ends
    request = RequestFactory().post("/api/v1/operations", b"x" * size, content_type="application/json")
    request.environ["gunicorn.socket"] = ours
    request.environ["wsgi.input"] = io.BufferedReader(socket.SocketIO(ours, "r"))
    theirs.sendall(b"x" * size)
    assert bodies.whole(request) == b"x" * size
    assert not bodies._WATCH._open


def test_slow_bodies_of_strangers_end_with_408_and_the_server_goes_on(api: Api) -> None:
    host = urlsplit(api.server.url)
    kinds = [
        ("/api/v1/operations/claim", "Content-Length: 1000"),
        ("/accounts/login/", "Content-Length: 1000"),
        ("/api/v1/operations", "Transfer-Encoding: chunked"),
    ]
    with ExitStack() as opened:
        senders = []
        for path, framing in (kinds * 3)[:8]:  # as many as the server has threads
            sender = socket.create_connection((host.hostname, host.port or 80), timeout=60)
            opened.enter_context(sender)
            sender.sendall(f"POST {path} HTTP/1.1\r\nHost: {host.netloc}\r\n{framing}\r\n\r\n5".encode())
            senders.append((path, sender))
        assert api.http.get("/healthz", timeout=60).status_code == 200
        for path, sender in senders:
            with sender.makefile("rb") as said:
                head, _, body = said.read().partition(b"\r\n\r\n")  # to its end: the connection is closed
            assert head.startswith(b"HTTP/1.1 408 ")
            if path.startswith("/api/"):
                assert json.loads(body)["type"] == "/problems/too-slow"
            else:  # a person reads a sentence
                assert b"The request was not whole after 15 seconds. Send it again." in body
