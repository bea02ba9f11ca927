"""One refusal for all that does not fit a schema: every wrong member, and what to write instead."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ledger.door.schemas import (
    AttemptOutcomeIn,
    ClaimBatchIn,
    ClaimIn,
    CorrectionIn,
    HeartbeatIn,
    OverrideIn,
    Source,
    StartIn,
)
from ledger.rules.errors import AmountNotText, Malformed, UnknownMember
from ledger.rules.paths import ROOT, dotted

LISTED = 50
SHOWN = 100

_MODELS = (
    AttemptOutcomeIn,
    ClaimBatchIn,
    ClaimIn,
    CorrectionIn,
    HeartbeatIn,
    OverrideIn,
    StartIn,
    Source,
)
_KNOWN = sorted({name for model in _MODELS for name in model.model_fields})
_CLAIMS_ONLY = ("attempt_id", "lease_s")

_WORDS = {
    "missing": "is missing",
    "string_type": "must be text, in quotes",
    "string_too_short": "must not be blank",
    "string_too_long": "has more than {max_length} characters",
    "too_long": "has more than {max_length} characters",
    "list_type": "must be a list, as […]",
    "dict_type": "must be an object, as {{…}}",
    "model_type": "must be an object, as {{…}}",
    "model_attributes_type": "must be an object, as {{…}}",
    "int_type": "must be a whole number, without quotes",
    "float_type": "must be a number, without quotes",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "datetime_from_date_parsing": "is no day or time that exists",
    "datetime_parsing": "is no day or time that exists",
    "uuid_type": "must be a UUID, as text",
    "uuid_parsing": "must be a UUID, such as 0b5f7c1e-6f0a-4d0c-9a53-2f6f1f0a7d11",
    "value_error": "{error}",
}
_OF_LISTS = {"too_short": "has no item", "too_long": "has more than {max_length} items"}


def malformed(errors: Sequence[Mapping[str, Any]]) -> Malformed:
    """Return one refusal for everything that pydantic found; it repeats names, never values."""
    found = [(_path(_names(error)), _words(error), _kind(error)) for error in errors]
    kinds = {kind for _, _, kind in found}
    kind = kinds.pop() if len(kinds) == 1 else Malformed
    listed = found[:LISTED]
    sentences = [f"{'The body' if path == ROOT else path} {words}." for path, words, _ in listed]
    if len(found) > len(listed):
        sentences.append(f"{len(found) - len(listed)} more are wrong.")
    return kind(" ".join(sentences), errors=[{"path": path, "problem": words} for path, words, _ in listed])


def _names(error: Mapping[str, Any]) -> Sequence[str | int]:
    """Return a member's path; ninja puts the place and, for a body, the view's own parameter in front."""
    loc: Sequence[str | int] = error["loc"]
    return loc[2:] if loc[0] == "body" else loc[1:]


def _path(names: Sequence[str | int]) -> str:
    path = dotted(names)
    return path if len(path) <= SHOWN else f"{path[:SHOWN]}…"


def _kind(error: Mapping[str, Any]) -> type[Malformed]:
    if error["type"] == "extra_forbidden":
        return UnknownMember
    if error["type"] == "string_type" and tuple(_names(error)) == ("amount",):
        return AmountNotText
    return Malformed


def _words(error: Mapping[str, Any]) -> str:
    name = str(error["loc"][-1])
    if error["type"] == "extra_forbidden":
        if name in _CLAIMS_ONLY:
            return "belongs to operations/claim; Tieout makes its own attempts"
        if name in _KNOWN:
            return "does not belong here; leave it out"
        close = get_close_matches(name[:SHOWN], _KNOWN, n=1)
        return "is not known" + (f'; did you mean "{close[0]}"?' if close else "; leave it out")
    if error["type"] == "string_type" and name == "amount":
        return 'must be text, in quotes, such as "1240.00"'
    known = _OF_LISTS if error.get("ctx", {}).get("field_type") == "List" else _WORDS
    words = known.get(error["type"], "cannot be used as it is")
    return words.format(**error.get("ctx", {}))
