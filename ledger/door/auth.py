"""Who calls: an automation's API token, and the operation types that it covers."""

import json

from django.db.models import Q
from django.http import HttpRequest
from ninja.security import HttpBearer

from ledger.actions import kinds, statements
from ledger.actions.statements import stored
from ledger.door import limits
from ledger.models import ApiToken, OperationType
from ledger.rules.errors import TypeNotAllowed, Unauthenticated
from ledger.rules.tokens import token_hash

ENDED = {
    "revoked": "This token was revoked, or another one took its place. Ask an administrator for the new one.",
    "expired": "This token has expired. Ask an administrator for the next one.",
}


class Bearer(HttpBearer):
    """`Authorization: Bearer TOKEN`, looked up each time: one that has ended is void at once."""

    def __call__(self, request: HttpRequest) -> ApiToken:
        """Return the caller's token, and count the request; raises Unauthenticated and TooManyRequests."""
        scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthenticated(
                'Send "Authorization: Bearer TOKEN". An administrator issues one with issue_key.'
            )
        return self.authenticate(request, token.strip())

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:
        """Return the token's row, and count the request; raises Unauthenticated and TooManyRequests."""
        found = statements.run("token", {"token_hash": token_hash(token)})
        if found is None:
            raise Unauthenticated("This token is not known here. Ask an administrator for one.")
        if found["ended"]:
            raise Unauthenticated(ENDED[found["ended"]])
        known = stored(ApiToken, {**found, "types": json.loads(found["types"])})
        counted = limits.allowance(request, known, at_s=found["at_s"])
        if counted is not None:
            request.allowance = counted  # type: ignore[attr-defined]  # for the items of a batch
            counted.take()
        return known


def caller(request: HttpRequest) -> ApiToken:
    """Return the token of a request that was let in."""
    token = request.auth  # type: ignore[attr-defined]  # ninja puts it there
    assert isinstance(token, ApiToken)
    return token


def actor(request: HttpRequest) -> str:
    """Return the caller as the trail names it."""
    return f"api:{caller(request).name}"


def types(request: HttpRequest, name: str | None) -> list[OperationType]:
    """Return the operation types that the caller's token covers, or the one of this name.

    Raises TypeNotAllowed, and NotFound where there is none of this name.
    """
    if name is not None:
        require(request, name)
        return [kinds.read(name)]
    covered = caller(request).types
    return list(OperationType.objects.filter(Q(name__in=covered) if covered else Q()))


def require(request: HttpRequest, type_name: str) -> None:
    """Raise TypeNotAllowed where the caller's token does not cover an operation type."""
    if not caller(request).allows(type_name):
        raise TypeNotAllowed(
            "This token does not cover that operation type. An administrator issues one that does."
        )
