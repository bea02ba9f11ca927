"""What of the entities a person sees, around all that answers their request, also what is streamed later."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from ledger.sight import Sight, limited
from review import access


class Middleware:
    """Let whoever is limited to legal entities see these alone, on every page and in every file."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        """Stand around all that answers."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a request with what its person sees; asked only where a question needs it."""
        # Who shows no sign-in is no person; to ask who it is would make each answer one for its cookie alone.
        known = settings.SESSION_COOKIE_NAME in request.COOKIES
        sight = Sight(lambda: access.entities(request.user)) if known else None
        with limited(sight):
            response = self.get_response(request)
        if sight is not None and isinstance(response, StreamingHttpResponse):
            response.streaming_content = _seen(sight, response.streaming_content)
        return response


def _seen(sight: Sight, parts: Any) -> Iterator[bytes]:
    """Yield what is streamed, each part made under the same sight."""
    going = iter(parts)
    yield from iter(partial(_next, sight, going), None)


def _next(sight: Sight, going: Iterator[bytes]) -> bytes | None:
    with limited(sight):
        return next(going, None)
