"""JSON read so that nobody else can read it differently (RFC 8259, I-JSON of RFC 7493, for RFC 8785).

Refused: anything but UTF-8, a member named twice, NaN and infinities, lone surrogates, nesting beyond 64, and
numbers that would not be kept as they were written:

- an integer beyond 2^53−1, also with a point or an exponent (RFC 8785 writes both alike below 1e21);
- a fraction with more than 17 significant digits, the most that tell two doubles apart; one too large for a
  double; one so small that it would become nought.

Two ways to write one double (`1`, `1.0`, `1e0`) are one number, as RFC 8785 has it. Money travels as text.
"""

import json
import re
from collections import Counter
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from math import isfinite

from ledger.rules.errors import DuplicateMember, Malformed, NumberNotExact
from ledger.rules.paths import dotted

MAX_DEPTH = 64
MAX_INTEGER = 2**53 - 1
SIGNIFICANT_DIGITS = 17

_PLAIN_BELOW = 1e21
"""From here on RFC 8785 writes a whole number with an exponent, so that it is read as a fraction again."""

_PATH_SHOWN = 200

_HOLDERS = (dict, list)
_WITHOUT_TEXT = frozenset((int, float, bool, type(None), Decimal))

Segments = tuple[str | int, ...]


class _Refused:
    """Stands in the tree for what may not be there, until a walk can say where that is."""

    def __init__(self, kind: type[Malformed], why: str) -> None:
        self.kind = kind
        self.why = why


def loads(data: bytes) -> object:
    """Read a request's JSON strictly, fractions as float; raises Malformed, with the path if there is one."""
    return _load(data, _STRICT)


def loads_apart(data: bytes, member: str, *, at_most: int) -> object:
    """Read a request's JSON as `loads` does, but each item of its list `member` by itself.

    A Malformed stands in the place of an item that `loads` would refuse. In a list of more than `at_most`
    nobody has looked at them: that one is for the caller to refuse.
    """
    value = _decode(data, _STRICT)
    items = value.get(member) if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(items, list):
        _walk(value, ())
        return value
    _walk({name: other for name, other in value.items() if name != member}, ())
    return {**value, member: [_apart(item) for item in items] if len(items) <= at_most else items}


def loads_decimal(data: bytes) -> object:
    """Read a destination's JSON: fractions as Decimal, integers of any size, with a byte order mark or not.

    Raises Malformed like `loads` where two readings are possible: an answer that is guessed proves nothing.
    """
    return _load(data.removeprefix(b"\xef\xbb\xbf"), _LENIENT)


def _load(data: bytes, decoder: json.JSONDecoder) -> object:
    value = _decode(data, decoder)
    _walk(value, ())
    return value


def _apart(item: object) -> object:
    try:
        _walk(item, ())
    except Malformed as refusal:
        return refusal
    return item


def _decode(data: bytes, decoder: json.JSONDecoder) -> object:
    """Read JSON; what may not be there stands in it as _Refused until it is walked."""
    try:
        value: object = decoder.decode(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Malformed(f"The text is not UTF-8 (byte {error.start + 1}).") from None
    except json.JSONDecodeError as error:
        if not data.strip():
            raise Malformed("There is no JSON: the text is empty.") from None
        where = f"line {error.lineno}, column {error.colno}"
        raise Malformed(f"The text is not JSON: {error.msg} ({where}).") from None
    except RecursionError:
        raise Malformed(f"The JSON is nested deeper than {MAX_DEPTH} levels.") from None
    return value


def _walk(value: object, path: Segments) -> None:
    if isinstance(value, _Refused):
        raise _at(path, value.why, value.kind)
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, _HOLDERS):
        if len(path) >= MAX_DEPTH:
            raise _at(path[:3], f"is nested deeper than {MAX_DEPTH} levels", Malformed)
        _walk_inside(value, path)


def _walk_inside(value: dict[str, object] | list[object], path: Segments) -> None:
    if isinstance(value, list):
        for index, item in enumerate(value):
            if not _is_plain(item):
                _walk(item, (*path, index))
        return
    for name, member in value.items():
        if not name.isascii():
            _check_text(name, (*path, name))
        if not _is_plain(member):
            _walk(member, (*path, name))


def _is_plain(value: object) -> bool:
    """Say at a glance that there is nothing to look for, as of most values."""
    kind = type(value)
    return (kind is str and value.isascii()) or kind in _WITHOUT_TEXT  # type: ignore[attr-defined]  # it is text


def _check_text(value: str, path: Segments) -> None:
    if value.isascii():
        return
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _at(path, "has half of a surrogate pair, which is no character", Malformed) from None


def _at(path: Segments, why: str, kind: type[Malformed]) -> Malformed:
    where = dotted(path)
    shown = where if len(where) <= _PATH_SHOWN else f"{where[:_PATH_SHOWN]}…"
    return kind(f"{shown} {why}.", path=shown)


def _object(pairs: list[tuple[str, object]]) -> object:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    times = Counter(name for name, _ in pairs)
    twice = next(name for name in times if times[name] > 1)
    return _Refused(DuplicateMember, f"names {dotted([twice])} twice")


def _constant(written: str) -> _Refused:
    return _Refused(NumberNotExact, f"is {written}, which JSON does not have")


def _integer(written: str) -> object:
    # Looking at the length first keeps a million digits from being converted.
    if len(written) > 17 or abs(int(written)) > MAX_INTEGER:
        return _Refused(NumberNotExact, "is an integer beyond 2^53−1; send it as text")
    return int(written)


def _any_integer(written: str) -> object:
    try:
        return int(written)
    except ValueError:
        return _Refused(NumberNotExact, "is an integer with too many digits")


def _double(written: str) -> object:
    value = float(written)
    if not isfinite(value):
        return _Refused(NumberNotExact, "is too large a number; send it as text")
    digits = re.split("[eE]", written)[0].lstrip("-").replace(".", "").strip("0")
    if len(digits) > SIGNIFICANT_DIGITS or (digits and value == 0):
        return _Refused(NumberNotExact, "is a number finer than a double can hold; send it as text")
    if value.is_integer() and MAX_INTEGER < abs(value) < _PLAIN_BELOW:
        return _Refused(NumberNotExact, "is an integer beyond 2^53−1; send it as text")
    return value


def _decimal(written: str) -> object:
    try:
        return Decimal(written)
    except InvalidOperation:
        return _Refused(NumberNotExact, "is a number with an exponent that cannot be kept")


def _decoder(fraction: Callable[[str], object], integer: Callable[[str], object]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_object, parse_float=fraction, parse_int=integer, parse_constant=_constant
    )


_STRICT = _decoder(_double, _integer)
_LENIENT = _decoder(_decimal, _any_integer)
