"""The one-file clients, to be downloaded: each names its version and the digest of what follows."""

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import condition, require_safe


class _Kept(NamedTuple):
    file: str
    comment: str
    content_type: str


_KEPT = {
    "tieout_client.py": _Kept("client.py", "#", "text/x-python; charset=utf-8"),
    "tieout_client.mjs": _Kept("client.mjs", "//", "text/javascript; charset=utf-8"),
}


@cache
def _served(name: str) -> tuple[bytes, str]:
    """Return a client as it is served, and the digest of its text; Http404 for any other name."""
    if name not in _KEPT:
        raise Http404
    text = (Path(__file__).parent / _KEPT[name].file).read_text(encoding="utf-8")
    version = re.search(r'^(?:export const VERSION|__version__) = "(.+)"', text, re.MULTILINE)
    assert version is not None
    digest = hashlib.sha256(text.encode()).hexdigest()
    first = f"{_KEPT[name].comment} Tieout client {version[1]}; SHA-256 of what follows this line: {digest}\n"
    return (first + text).encode(), digest


def _etag(request: HttpRequest, name: str) -> str:
    return f'"{_served(name)[1]}"'


@require_safe
@condition(etag_func=_etag)
def client(request: HttpRequest, name: str) -> HttpResponse:
    """Serve one; whoever has this one already is told so (304)."""
    response = HttpResponse(_served(name)[0], content_type=_KEPT[name].content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-cache"
    return response
