"""Reads a request so that nobody else can read it differently: strict JSON, and one operation key."""

from typing import Any, cast

from django.http import HttpRequest
from ninja.parser import Parser

from ledger.rules import strict_json
from ledger.rules.errors import KeyDiffers, Malformed, TwoKeys
from ledger.rules.paths import dotted

_ESCAPED_NUL = rb"\u0000"


class StrictParser(Parser):
    """Takes JSON in UTF-8 as `strict_json` does, and no NUL, which PostgreSQL cannot keep."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the body's object; raises Malformed."""
        kind, _, parameters = request.META.get("CONTENT_TYPE", "").partition(";")
        charset = parameters.strip().lower().replace('"', "")
        if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
            raise Malformed('Send JSON in UTF-8, and say so: "Content-Type: application/json".')
        value = strict_json.loads(request.body)
        if _ESCAPED_NUL in request.body:
            _refuse_nul(value, ())
        if not isinstance(value, dict):
            raise Malformed("The body must be a JSON object, as {…}.")
        return cast("dict[str, Any]", value)


def operation_key(request: HttpRequest, key: str | None) -> str | None:
    """Return the operation's key, which the body and the `Idempotency-Key` header may name, or one of them.

    A server joins two headers with a comma, so a comma is refused; a key that has one stands in the body.
    """
    header: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if header is None:
        return key
    if "," in header:
        raise TwoKeys(
            'Two Idempotency-Key headers came, or one with a comma. Send one; a key with a comma as "key".'
        )
    if not header.isascii() or header.startswith('"'):
        raise Malformed(
            'An Idempotency-Key header is plain ASCII without quotes. Send this key in the body, as "key".'
        )
    if key is not None and header != key:
        raise KeyDiffers('The Idempotency-Key header and "key" differ. Send one of them, or both alike.')
    return header


def _refuse_nul(value: object, path: tuple[str | int, ...]) -> None:
    if isinstance(value, str) and "\0" in value:
        raise Malformed(f"{dotted(path)} has a NUL character, which cannot be kept.")
    if isinstance(value, dict):
        for name, member in value.items():
            if "\0" in name:
                raise Malformed(f"{dotted(path)} has a member with a NUL character in its name.")
            _refuse_nul(member, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_nul(item, (*path, index))
