"""The edge of the API: whole bodies in, and a problem document out for every refusal."""

from collections.abc import Callable
from io import BytesIO
from typing import BinaryIO

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from ledger.door import problems
from ledger.rules.errors import Malformed, TieoutError

PREFIX = "/api/v1/"
PIECE = 64 * 1024
THROWN_AWAY_MAX = 32 * 1024 * 1024
"""How much of a body that is too large is read all the same, so that its sender can read the answer."""


class Boundary:
    """Middleware, outside of the others: what they refuse becomes a problem document, too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a request; one that is not for the API passes untouched."""
        if not request.path_info.startswith(PREFIX):
            return self.get_response(request)
        try:
            body = _whole(request)
        except TieoutError as refusal:
            return self._ended(problems.document(refusal))
        request._body, request._stream = body, BytesIO(body)
        response = self.get_response(request)
        if response.status_code >= 400 and response.get("Content-Type") != problems.CONTENT_TYPE:
            response = problems.for_status(response)
        return self._ended(response)

    @staticmethod
    def _ended(response: HttpResponseBase) -> HttpResponseBase:
        response["Cache-Control"] = "no-store"
        return response


def _whole(request: HttpRequest) -> bytes:
    """Read the body, also one that comes in chunks, which Django takes for an empty one."""
    source: BinaryIO = request.environ["wsgi.input"]  # type: ignore[attr-defined]  # every request is WSGI's
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdigit():
        announced = int(length)
    elif request.META.get("wsgi.input_terminated"):
        announced = None
    else:
        announced = 0
    wanted = problems.BODY_MAX + 1 if announced is None else min(announced, problems.BODY_MAX + 1)
    body = _read(source, wanted)
    if len(body) > problems.BODY_MAX:
        _throw_away(source, THROWN_AWAY_MAX if announced is None else announced - len(body))
        raise problems.too_large()
    if announced is not None and len(body) < announced:
        raise Malformed("The request broke off before its end.")
    return body


def _read(source: BinaryIO, size: int) -> bytes:
    try:
        return source.read(size) if size else b""
    except Exception:  # noqa: BLE001  # each server has a class of its own for a body that is not HTTP
        raise Malformed("The body's transfer coding cannot be read.") from None


def _throw_away(source: BinaryIO, size: int) -> None:
    left = min(size, THROWN_AWAY_MAX)
    while left > 0:
        piece = _read(source, min(PIECE, left))
        if not piece:
            return
        left -= len(piece)
