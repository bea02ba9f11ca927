"""What stands in a request: templates with their values and secrets, bodies as JSON or as a form."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlencode

from ledger.destinations.connectors.base import ListRequest, LookRequest, SendRequest, secret
from ledger.rules import placeholders
from ledger.rules.digests import canonical
from ledger.rules.errors import Malformed
from ledger.rules.paths import dotted
from ledger.rules.placeholders import PAYLOAD, Values

Arrays = Literal["index", "empty"]

JSON, FORM = "application/json", "application/x-www-form-urlencoded"


def of_send(request: SendRequest, values: Values) -> tuple[bytes, str]:
    """Return the body of a send and its content type; raises Malformed, ConfigurationError."""
    call, payload = request.call, dict(request.payload)
    body: dict[str, Any] = payload
    if call.wrap is not None:
        body = placeholders.fill_tree(
            call.wrap, values, text=lambda text: payload if text == PAYLOAD else _secret(text)
        )
    if request.contract.idempotency == "field":
        body = placeholders.apply_set(body, {request.contract.key_name: "{idempotency_key}"}, values)
    return _encoded(body, form=call.body == "form", arrays=call.form_arrays or "index")


def of_question(
    request: LookRequest | ListRequest, values: Values, *, at: Mapping[str, str | int]
) -> tuple[bytes, str] | None:
    """Return the body of a question and its content type, None where it has none.

    `at`: what asks for a later page, by dotted path. Raises Malformed, ConfigurationError.
    """
    call = request.call
    if call.body is None and call.paging.where != "body":
        return None
    body: dict[str, Any] = placeholders.fill_tree(call.body or {}, values, text=_secret)
    for path, value in at.items():
        placeholders.put(body, path, value)
    return _encoded(body, form=call.body_as == "form", arrays=call.form_arrays or "index")


def read_secrets(template: Mapping[str, Any] | None) -> None:
    """Read every secret of a template once, so that one which is gone is known before anything starts."""
    for _, text in placeholders.texts(template):
        _secret(text)


def of_headers(template: Mapping[str, str], values: Values) -> dict[str, str]:
    """Return headers, each filled or read from its place; raises Malformed, ConfigurationError."""
    return {name: _secret(text) or placeholders.fill(text, values) for name, text in template.items()}


def is_secret(text: str) -> bool:
    """Say whether a text of a template names a secret instead of being one."""
    return text.startswith(("env:", "file:"))


def _secret(text: str) -> str | None:
    return secret(text) if is_secret(text) else None


def _encoded(body: Mapping[str, Any], *, form: bool, arrays: Arrays) -> tuple[bytes, str]:
    if form:
        return urlencode(form_fields(body, arrays)).encode("ascii"), FORM
    return canonical(body), JSON


def form_fields(payload: Mapping[str, Any], arrays: Arrays = "index") -> list[tuple[str, str]]:
    """Return a form's fields, nested ones in brackets, in one order; Malformed for what none can carry.

    A member that is null is left out. `arrays`: items are written `l[0]` or, plain ones only, `l[]`.
    """
    fields: list[tuple[str, str]] = []
    for name in sorted(payload):
        _fields(name, payload[name], (name,), fields=fields, arrays=arrays)
    return fields


def _fields(
    field: str,
    value: object,
    path: tuple[str | int, ...],
    *,
    fields: list[tuple[str, str]],
    arrays: Arrays,
) -> None:
    if value is None and isinstance(path[-1], str):
        return
    if isinstance(value, dict) and value:
        for name in sorted(value):
            _fields(f"{field}[{name}]", value[name], (*path, name), fields=fields, arrays=arrays)
    elif isinstance(value, list) and value:
        for position, item in enumerate(value):
            _refuse_unclear(item, (*path, position), arrays)
            inner = f"{field}[{position}]" if arrays == "index" else f"{field}[]"
            _fields(inner, item, (*path, position), fields=fields, arrays=arrays)
    elif isinstance(value, str):
        fields.append((field, value))
    elif isinstance(value, bool | int | float):
        fields.append((field, canonical(value).decode("ascii")))
    else:
        where = dotted(path)
        raise Malformed(
            f"A form cannot carry an empty list, an empty object, or nothing as an item: {where}.", path=where
        )


def _refuse_unclear(item: object, path: tuple[str | int, ...], arrays: Arrays) -> None:
    """Refuse an item with parts of its own under empty brackets: nobody could tell which item they are of."""
    if arrays == "empty" and isinstance(item, dict | list):
        where = dotted(path)
        raise Malformed(
            f'With form_arrays = "empty" the items of a list are plain values: {where} is not.', path=where
        )
