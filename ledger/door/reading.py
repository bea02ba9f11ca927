"""Reads a request so that nobody else can read it differently: strict JSON, and one operation key."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast, get_type_hints

from django.http import HttpRequest, HttpResponse
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser

from ledger.door import sizes
from ledger.door.schemas import Asked
from ledger.rules import strict_json
from ledger.rules.errors import DuplicateMember, KeyDiffers, Malformed, TieoutError, TwoKeys, UnknownMember
from ledger.rules.paths import dotted

_ESCAPED_NUL = rb"\u0000"
_LISTED, _SHOWN = 10, 100


class StrictParser(Parser):
    """Takes JSON in UTF-8 as `strict_json` does, and no NUL, which PostgreSQL cannot keep."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the body's object; raises Malformed."""
        kind, _, parameters = request.META.get("CONTENT_TYPE", "").partition(";")
        charset = parameters.strip().lower().replace('"', "")
        if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
            raise Malformed('Send JSON in UTF-8, and say so: "Content-Type: application/json".')
        if sizes.is_batch(request.path_info):
            value = _items_apart(request.body)
        else:
            value = strict_json.loads(request.body)
            if _ESCAPED_NUL in request.body:
                _refuse_nul(value, ())
        if not isinstance(value, dict):
            raise Malformed("The body must be a JSON object, as {…}.")
        return cast("dict[str, Any]", value)

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """Return what stands behind the question mark; raises DuplicateMember."""
        for name in data:
            if len(data.getlist(name)) > 1:
                raise DuplicateMember(f"{_shown(name)} stands twice in the address. Send it once.")
        return data.dict()


def only_known(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Refuse, behind an address's question mark, what its view does not take: a filter is never ignored."""
    asked = [
        kind for kind in get_type_hints(view).values() if isinstance(kind, type) and issubclass(kind, Asked)
    ]
    known = {name for kind in asked for name in kind.model_fields}

    @wraps(view)
    def strict(request: HttpRequest, *args: Any, **values: Any) -> HttpResponse:
        unknown = sorted(set(request.GET) - known)
        if unknown:
            takes = f"It takes {', '.join(sorted(known)) or 'none: what is meant stands in a body'}."
            names = ", ".join(_shown(name) for name in unknown[:_LISTED])
            raise UnknownMember(f"This address has no parameter {names}. {takes}")
        return view(request, *args, **values)

    return strict


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


def refuse_key_header(request: HttpRequest) -> None:
    """Raise Malformed where a batch comes with an `Idempotency-Key` header: it could be any item's."""
    if "HTTP_IDEMPOTENCY_KEY" in request.META:
        raise Malformed('A batch takes no Idempotency-Key header: each item has a "key" of its own.')


def _items_apart(body: bytes) -> object:
    """Read a batch; a TieoutError stands in the place of an item that cannot be read, or is too large."""
    value = strict_json.loads_apart(body, "items", at_most=sizes.BATCH_MAX)
    items = value.get("items") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(items, list):
        return value
    sizes.refuse_many(items)
    if len(items) <= sizes.BATCH_MAX:
        # What a body cannot have in it, none of its items has.
        long, nul = len(body) > sizes.BODY_MAX, _ESCAPED_NUL in body
        value["items"] = [_checked(item, long=long, nul=nul) for item in items]
    return value


def _checked(item: object, *, long: bool, nul: bool) -> object:
    """Return the item, or why it is refused: a body of its own would be for its size first."""
    try:
        if isinstance(item, TieoutError):
            return item
        if long:
            sizes.refuse_long(item)
        if nul:
            _refuse_nul(item, ())
    except TieoutError as refusal:
        return refusal
    return item


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


def _shown(name: str) -> str:
    """Return a name that somebody else has chosen, not longer than can be read."""
    return f'"{name}"' if len(name) <= _SHOWN else f'"{name[:_SHOWN]}…"'
