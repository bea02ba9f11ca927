"""A small OAuth 2 server with a destination behind it: real sockets, real tokens, and orders to misbehave."""

import base64
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus

CLIENT, SECRET, SIGNED_IN = "tie:out", "cl13nt s3cret", "refresh-0"


@dataclass
class Books:
    """What the server knows and was asked; tokens are numbered, so that a test can name them.

    `rotates`: a refresh token serves once. `hold`: an answer to a token request waits for it, with what was
    given already counted. `refuses`: no access token is taken. `says`: what the token endpoint answers
    instead, as status and body.
    """

    url: str = ""
    rotates: bool = False
    life_s: int | None = 3600
    hold: threading.Event | None = None
    says: tuple[int, str] | None = None
    refuses: bool = False
    refresh_tokens: set[str] = field(default_factory=lambda: {SIGNED_IN})
    good: set[str] = field(default_factory=set)
    asked: list[dict[str, str]] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    lock: threading.Lock = field(default_factory=threading.Lock)
    arrived: threading.Event = field(default_factory=threading.Event)

    def give(self, form: dict[str, str], authorization: str) -> tuple[int, str]:
        """Answer the token endpoint."""
        with self.lock:
            self.asked.append({**form, "authorization": authorization})
            if self.says is not None:
                return self.says
            if _client(form, authorization) != (CLIENT, SECRET):
                return 401, '{"error": "invalid_client"}'
            given: dict[str, Any] = {"token_type": "Bearer"}
            if self.life_s is not None:
                given["expires_in"] = self.life_s
            number = next(self.numbers)
            if form["grant_type"] == "refresh_token":
                if form.get("refresh_token") not in self.refresh_tokens:
                    return 400, '{"error": "invalid_grant", "error_description": "It is s3cret."}'
                if self.rotates:
                    self.refresh_tokens = {f"refresh-{number}"}
                    given["refresh_token"] = f"refresh-{number}"
            self.good.add(f"access-{number}")
            return 200, json.dumps({"access_token": f"access-{number}", **given})

    def call(self, method: str, authorization: str, body: bytes) -> tuple[int, str]:
        """Answer the destination: a POST makes an effect, a GET finds none."""
        with self.lock:
            self.calls.append(authorization.removeprefix("Bearer "))
            if self.refuses or self.calls[-1] not in self.good:
                return 401, '{"message": "The token is not good."}'
            if method == "GET":
                return 200, '{"data": []}'
            sent = json.loads(body)
            self.effects.append(sent["metadata"]["operation"])
            record = {"id": f"INV-{len(self.effects)}", "metadata": sent["metadata"], "total": sent["total"]}
            return 201, json.dumps(record)


def _client(form: dict[str, str], authorization: str) -> tuple[str, str]:
    if not authorization:
        return form.get("client_id", ""), form.get("client_secret", "")
    pair = base64.b64decode(authorization.removeprefix("Basic ")).decode()
    client, _, password = pair.partition(":")
    return unquote_plus(client), unquote_plus(password)


@contextmanager
def serving_tokens(**orders: Any) -> Iterator[Books]:
    """Serve `/token` and, for who has an access token, `/invoices`."""
    books = Books(**orders)

    class Door(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            shown = self.headers.get("Authorization", "")
            if self.path == "/token":
                form = {name: values[0] for name, values in parse_qs(body.decode()).items()}
                status, answer = books.give(form, shown)
                books.arrived.set()
                if books.hold is not None:
                    books.hold.wait(20)
            else:
                status, answer = books.call(self.command, shown, body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.send_header("Content-Type", "application/json")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(answer.encode())
            self.close_connection = True

        do_GET = do_POST = _serve  # noqa: N815 - named by http.server

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except (ConnectionError, TimeoutError):
                pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    books.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield books
    finally:
        if books.hold is not None:
            books.hold.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
