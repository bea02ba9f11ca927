"""The one mapping from what is refused, or goes wrong, to HTTP: a problem document (RFC 9457) each time."""

import logging
import traceback
from datetime import datetime

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from ledger.door import answers, sizes, wrongs
from ledger.models import Operation
from ledger.rules.errors import (
    CorrectionOpen,
    Malformed,
    NotFound,
    NotSigned,
    PayloadChanged,
    TieoutError,
    TooManyRequests,
    Unauthenticated,
    Unavailable,
    WrongMethod,
)

CONTENT_TYPE = "application/problem+json"
UNAVAILABLE_S = 5
CHAIN_MAX = 5

logger = logging.getLogger("ledger.door")


def install(api: NinjaAPI) -> None:
    """Let every exception of the API's views end here; what ninja brings of its own is replaced."""
    for kind in (Exception, Http404, HttpError, ValidationError):
        api.add_exception_handler(kind, answer)


def answer(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
    """Return the problem document for an exception."""
    return document(told(request, error() if isinstance(error, type) else error))


def told(request: HttpRequest, error: Exception) -> TieoutError:
    """Return what an exception means for the caller, with all that its document says; a 500 is logged."""
    refusal = refusal_of(error)
    if refusal.status == 500:
        logger.error("%s %s: %s", request.method, request.path, _without_values(error))
    about = refusal.members.pop("about", None)
    refusal.members.pop("sentence", None)  # the same words, for pages
    if isinstance(about, Operation):
        changed = isinstance(refusal, PayloadChanged)
        decision = "refuse" if changed else answers.standing(about)
        if isinstance(refusal, CorrectionOpen):
            decision = "hold"  # whatever its original stands at: what was asked for is not done
        refusal.members = {**answers.told(request, about, decision=decision), **refusal.members}
        if changed:
            refusal.members["correct_at"] = answers.correct_at(request, about)
            refusal.detail = f"{refusal.detail} Post it to {refusal.members['correct_at']}."
    return refusal


def document(refusal: TieoutError, *, retry_at: datetime | None = None) -> HttpResponse:
    """Write a refusal; one that asks to wait says for how many seconds."""
    headers = {}
    if isinstance(refusal, Unauthenticated):
        scheme = "Signature" if isinstance(refusal, NotSigned) else "Bearer"
        headers["WWW-Authenticate"] = f'{scheme} realm="tieout"'
    if isinstance(refusal, Unavailable):
        headers["Retry-After"] = str(UNAVAILABLE_S)
    elif isinstance(refusal, TooManyRequests):
        headers["Retry-After"] = str(refusal.wait_s)
    elif refusal.retry == "wait":
        headers["Retry-After"] = answers.retry_after(retry_at)
    return answers.respond(
        members(refusal), status=refusal.status, content_type=CONTENT_TYPE, headers=headers
    )


def members(refusal: TieoutError) -> dict[str, object]:
    """Return the members of a refusal's document."""
    return {**refusal.problem(), **answers.NOTHING_TOLD, **refusal.members}


def refusal_of(error: BaseException) -> TieoutError:
    """Return what an exception means for the caller; what nobody foresaw is 500 and tells nothing."""
    match error:
        case TieoutError():
            return error
        case HttpError(__cause__=TieoutError() as cause):
            return cause  # the parser's own words, which ninja wraps
        case ValidationError():
            return wrongs.malformed(error.errors)
        case RequestDataTooBig():
            return sizes.too_large()
        case Http404():
            return NotFound("There is nothing at this address. /api/v1/openapi.json lists what there is.")
        case OperationalError() | InterfaceError():
            return Unavailable(
                "The database does not answer, so it is not known whether this was kept. Ask again in a "
                "moment, in the same words: the same key, attempt_id and start_id do nothing twice."
            )
        case _:
            return TieoutError("Something went wrong inside. It is in the log, with time and address.")


def for_status(response: HttpResponseBase) -> HttpResponse:
    """Return the problem document for an error that was answered before a view was reached."""
    status = response.status_code
    if status == 405:
        allowed = ", ".join(sorted(response.get("Allow", "").split(", ")))
        problem = document(WrongMethod(f"This address takes {allowed}."))
        problem["Allow"] = allowed
        return problem
    # A form without its token is 403, a slash too few 301: neither is at an address of ours.
    if status < 400 or status in (403, 404):
        return document(refusal_of(Http404()))
    if status < 500:
        return document(Malformed("The request cannot be used: check its address, its host and headers."))
    return document(refusal_of(Exception()))


def _without_values(error: BaseException) -> str:
    """Say what kind and where; an exception's own text may carry a payload's or a row's values."""
    chain: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(chain) < CHAIN_MAX:
        frames = traceback.extract_tb(seen.__traceback__)
        ours = [frame for frame in frames if "site-packages" not in frame.filename] or frames[-1:]
        where = " < ".join(f"{frame.filename}:{frame.lineno}" for frame in reversed(ours))
        constraint = getattr(getattr(seen, "diag", None), "constraint_name", None)
        named = [type(seen).__name__, getattr(seen, "sqlstate", None), constraint]
        chain.append(" ".join(filter(None, [*named, f"at {where}" if where else ""])))
        seen = seen.__cause__
    return "; caused by ".join(chain)
