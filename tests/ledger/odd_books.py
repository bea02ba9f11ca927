"""Small servers that speak as other systems do: each request is read, and answered by a function."""

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.ledger.wires import Handler, answering


@dataclass(frozen=True)
class Asked:
    """One request as its server reads it: `body` is JSON, a list of pairs where it was a form, or None."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


def replying(answer: Callable[[Asked], object]) -> Handler:
    """Answer each request with a JSON body, or with (status, body, *headers)."""

    def handle(connection: socket.socket, request: bytes) -> None:
        result = answer(asked(request))
        status, body, *headers = result if isinstance(result, tuple) else ("200 OK", result)
        answering(json.dumps(body).encode(), status, *headers)(connection, request)

    return handle


def asked(request: bytes) -> Asked:
    """Read a request's bytes."""
    head, _, content = request.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, target, _ = first.split(" ")
    pairs = [line.partition(":") for line in lines]
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body: Any = None
    if "form" in headers.get("content-type", ""):
        body = parse_qsl(content.decode(), keep_blank_values=True)
    elif content:
        body = json.loads(content)
    parts = urlsplit(target)
    return Asked(method, unquote(parts.path), dict(parse_qsl(parts.query)), headers, body)
