"""Words for what a section's reader refuses: what is wrong, and what to write instead."""

import re
from typing import Any

from pydantic_core import ErrorDetails

from reconcile.configuration.wrongs import Path, choices

DURATION = 'Write a duration such as "30s", "5m", "24h" or "35d".'

JMESPATH = "Write a path such as \"error.code == 'already_exists'\"; jmespath.org explains them."

_NOT_JMESPATH = ": not a JMESPath expression: "
_SHOWN = 60
UNSHOWN = frozenset({"auth", "chat", "headers", "options", "proxy", "secret", "set", "tls", "url"})
"""Where a secret stands, or a text that may be one by mistake."""
CARRIED = frozenset({"body", "match", "payload", "query", "refused", "wrap"})
"""What a request or a query carries: a text inside may be a secret by mistake."""
_UNSHOWN = UNSHOWN | CARRIED | {"base_url", "open_url", "path"}
"""A secret may stand here by mistake, and must not be printed again; what is wrong is not taken apart."""

_KINDS = {
    "string_type": ("text", 'Put it in quotes, such as "books".'),
    "int_type": ("a whole number", "Write digits, without quotes."),
    "float_type": ("a number", "Write digits, without quotes."),
    "bool_type": ("true or false", "Write true or false, without quotes."),
    "tuple_type": ("a list", 'Write a list in brackets, such as ["a", "b"].'),
    "dict_type": ("a table", 'Write name = value pairs in braces, such as { ZAR = "0.00" }.'),
    "model_type": ("a section", "Write name = value pairs, in braces or under a header of their own."),
}
_LIMITS = {
    "greater_than": ("is too small", "Write more than {gt:g}."),
    "greater_than_equal": ("is too small", "Write at least {ge:g}."),
    "less_than_equal": ("is too large", "Write at most {le:g}."),
    "string_too_long": ("is too long", "Write at most {max_length} characters."),
}
_PATTERNS = {
    "base_url": "Begin with http:// or https:// and the host, such as https://books.example.com.",
    "url": "Begin with https:// and the host, such as https://shop.example.com/tieout.",
    "rule": "Write up to 60 small letters, digits and strokes, such as bank-day.",
    "percent": 'Write a percentage as text, such as "0.5".',
    "path": 'Begin the path with "/"; the host stands in base_url.',
}
_MISSING = {
    "url": 'Say where to post: url = "https://shop.example.com/tieout".',
    "events": 'Say of what: events = ["operation.completed", "operation.held"].',
    "scheme": 'Say how it signs: scheme = "standard", "stripe" or "hmac".',
    "secret": 'Say where the secret is: secret = "env:NAME" or "file:PATH".',
    "reference": 'Say where our reference stands: reference = "data.object.metadata.operation".',
    "performed_by": 'Say who sends: performed_by = "tieout" or "caller".',
    "destination": 'Name the destination by its section: destination = "books".',
    "entity": 'Name the legal entity whose books these are: entity = "Durban Trading (Pty) Ltd".',
    "operation_type": 'Name the operation type to reconcile: operation_type = "invoice.create".',
    "timezone": 'Name the zone of its cut-off: timezone = "Africa/Johannesburg".',
}


def in_words(error: ErrorDetails, path: Path, known: list[str]) -> tuple[str, str]:
    """Return what is wrong and its remedy; `known` are the names that may stand at the error's place."""
    kind, context, name = error["type"], error.get("ctx", {}), str(path[-1]) if path else ""
    value = _shown(error["input"], path)
    if kind == "missing":
        return f"{name} is missing.", _MISSING.get(name, f"Add the line: {name} = …")
    if kind == "extra_forbidden":
        return f"{name} is not known here.", choices(name, known)
    if kind in _KINDS:
        meant, remedy = _KINDS[kind]
        return f"{value} is not {meant}.", remedy
    if kind == "literal_error":
        return f"{value} is not one of the choices.", _choices(str(context["expected"]), error["input"])
    if kind in _LIMITS:
        what, remedy = _LIMITS[kind]
        return f"{value} {what}.", remedy.format(**context)
    if kind == "string_pattern_mismatch":
        of_rule = name == "name" and "rules" in path
        return f"{value} cannot be used.", _PATTERNS.get("rule" if of_rule else name, "Write some text.")
    if kind == "value_error":
        return refused(str(context["error"]), value=value)
    return f"{value} cannot be used.", f"{error['msg']}."


def _shown(value: Any, path: Path) -> str:
    if _UNSHOWN.intersection(path):
        return "What stands here"
    if isinstance(value, str):
        return f'"{value}"' if len(value) <= _SHOWN else f'"{value[:_SHOWN]}…"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return "A list" if isinstance(value, list) else "A table"


def _choices(expected: str, given: object) -> str:
    return choices(given, re.findall(r"'([^']*)'", expected))


def refused(message: str, *, value: str = "") -> tuple[str, str]:
    """Return what is wrong and its remedy for a message of the rules, whose parts a semicolon divides."""
    if message.startswith("write a duration"):
        return f"{value} is not a duration.", DURATION
    if _NOT_JMESPATH in message:
        why = message.partition(_NOT_JMESPATH)[2].partition("\n")[0].partition(", for expression")[0]
        return f"This is not a JMESPath expression: {why.rstrip(':.')}.", JMESPATH
    what, _, remedy = " ".join(message.split()).partition("; ")
    what = f"{what[:1].upper()}{what[1:]}."
    return what, f"{remedy[:1].upper()}{remedy[1:]}." if remedy else "Add what is missing."
