"""The edge: whole bodies in, and from the API a problem document out for every refusal."""

from collections.abc import Callable
from io import BytesIO

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from ledger.door import bodies, problems, sizes
from ledger.rules.errors import TieoutError

PREFIX = "/api/"


class Boundary:
    """Middleware, outside of the others: what they refuse becomes a problem document, too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Read the body before anything else does, and answer; a page's own answer passes untouched."""
        limit = sizes.streamed_max(request.path_info)
        if limit and request.content_type == "multipart/form-data":
            return self._streamed(request, limit)
        try:
            body = bodies.whole(request)
            request._body, request._stream = body, BytesIO(body)
            if not self._is_api(request):
                self._without_nul(request)
                bodies.refuse_other_text(request, body)
        except TieoutError as refusal:
            return self._ended(self._unread(request, refusal))
        response = self.get_response(request)
        if not self._is_api(request):
            return response
        if (
            response.status_code >= 300
            and response.status_code != 304
            and response.get("Content-Type") != problems.CONTENT_TYPE
        ):
            response = problems.for_status(response)
        return self._ended(response)

    def _streamed(self, request: HttpRequest, limit: int) -> HttpResponseBase:
        """Answer a form with files, which are not held in memory."""
        self._without_nul(request)
        try:
            with bodies.streamed(request, limit=limit) as why_not_whole:
                response = self.get_response(request)
                refusal = why_not_whole()
        except TieoutError as too_large:
            return self._ended(self._unread(request, too_large))
        return self._ended(self._unread(request, refusal)) if refusal else response

    @staticmethod
    def _is_api(request: HttpRequest) -> bool:
        return f"{request.path_info}/".startswith(PREFIX)

    @staticmethod
    def _without_nul(request: HttpRequest) -> None:
        """Let what a page's address says with a NUL count as not said: no text in the database has one."""
        said = request.META.get("QUERY_STRING", "")
        if "%00" in said or "\0" in said:
            kept = (part for part in said.split("&") if "%00" not in part and "\0" not in part)
            request.META["QUERY_STRING"] = "&".join(kept)

    def _unread(self, request: HttpRequest, refusal: TieoutError) -> HttpResponseBase:
        """Refuse a body that was not read: with a problem document, to a person in a sentence."""
        if self._is_api(request):
            return problems.document(refusal)
        return HttpResponse(refusal.detail, status=refusal.status, content_type="text/plain; charset=utf-8")

    @staticmethod
    def _ended(response: HttpResponseBase) -> HttpResponseBase:
        # What has a mark of its own is asked for again by it.
        response["Cache-Control"] = "no-cache" if response.has_header("ETag") else "no-store"
        return response
