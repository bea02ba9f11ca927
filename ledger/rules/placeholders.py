"""Placeholders such as {key} in paths, headers and payloads, and what `set` writes into a payload."""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from ledger.rules import money
from ledger.rules.calls import Calls, RecordMap
from ledger.rules.errors import Malformed
from ledger.rules.paths import split

Values = Mapping[str, str | int]
"""What placeholders stand for; a number is written as one where it is all of a value."""

MARKS = frozenset({"key", "source.system", "source.reference", "source.version"})
"""What tells one operation apart from any other."""
SET = MARKS | {"type", "amount", "amount_minor", "currency", "currency_lower"}
"""What `set` may name: what never changes afterwards under the operation's key."""
FIRST = "after.destination_reference"
"""The reference of what an operation comes after: known once that is done, so it is written as it is sent."""
MATCH = MARKS | {FIRST}
"""What a match may name."""
SEND = SET | {"idempotency_key", "account", FIRST}
"""What the path and the headers of a send may name."""
LOOKUP = SEND | {"destination_reference", "since", "position"}
"""What a look-up may name; `position` is the number of a page, or of its first item."""
REVERSAL = LOOKUP | {"today"}
"""What a void or a credit may name; `today` is the day of its first try, where its type's day begins."""
LIST = frozenset({"since", "account", "position"})
"""What a list may name."""
PAYLOAD = "{payload}"
"""What stands for the whole payload where `wrap` puts it."""

_FIRST = f"{{{FIRST}}}"
_QUOTE = re.compile(r"['\"]")
_ENDS = re.compile(r"['\"\\]")
_PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.[a-z_]+)*)\}")


def named(template: str) -> tuple[str, ...]:
    """Return the placeholders of a template, in order."""
    return tuple(_PLACEHOLDER.findall(template))


def pieces(template: str) -> Iterator[tuple[str, str]]:
    """Yield each literal text of a template with the placeholder after it, "" after the last one."""
    parts = _PLACEHOLDER.split(template)
    yield from zip(parts[::2], [*parts[1::2], ""], strict=True)


def unknown(template: str, known: frozenset[str]) -> list[str]:
    """Return the placeholders of a template that nothing can fill, for a check of the configuration."""
    return sorted({name for name in named(template) if name not in known})


def of_money(amount: Decimal | None, currency: str, map: RecordMap | None) -> Values:
    """Return what may be named of an amount in major units; none of it without an amount.

    The whole number of the destination's smallest units is left out where it would not be exact.
    """
    if amount is None:
        return {}
    value = money.Money(amount, currency)
    codes = {"currency": currency, "currency_lower": currency.lower()}
    named: dict[str, str | int] = {"amount": money.text(value), **codes}
    with suppress(money.MoneyError):
        named["amount_minor"] = money.minor(value, minor_decimals=map.minor_decimals if map else {})
    return named


def early(set: Mapping[str, str]) -> dict[str, str]:
    """Return the lines of `set` that are written as it is handed over, and stand in the digest."""
    return {path: template for path, template in set.items() if _FIRST not in template}


def late(set: Mapping[str, str]) -> dict[str, str]:
    """Return the lines of `set` that are written as it is sent: what they name is known only then."""
    return {path: template for path, template in set.items() if _FIRST in template}


def names_first(how: Calls) -> bool:
    """Say whether a send or a look-up names what an operation comes after."""
    asked = how.lookup
    templates: list[object] = []
    if asked is not None:
        templates.append([asked.path, asked.query, asked.headers, asked.body, asked.match])
    if how.send is not None:
        templates.append([how.send.path, how.send.headers, how.send.set, how.send.wrap])
    return any(_FIRST in text for _, text in texts(templates))


def fill(template: str, values: Values, *, encode: bool = False) -> str:
    """Write values in place of a template's placeholders, percent-encoded where asked.

    Raises Malformed, naming what is missing; so is an empty value: without it a path asks something else.
    For the same reason no value may make a step such as ".." of an encoded path.
    """

    def put(match: re.Match[str]) -> str:
        value = str(values.get(match[1], ""))
        if not value:
            raise Malformed(f"There is no {match[1]} to put in place of {match[0]}.")
        if encode:
            refuse_quotes(template, value)
        return quote(value, safe="") if encode else value

    filled = _PLACEHOLDER.sub(put, template)
    if encode:
        _refuse_steps(template, filled)
    return filled


def refuse_quotes(template: str, value: str) -> None:
    """Refuse a value that would end the quoted text of a query in which it stands; raises Malformed."""
    if _QUOTE.search(template) and _ENDS.search(value):
        raise Malformed("A value has a quote or a backslash, which would end the text in which it stands.")


def fill_tree(template: object, values: Values, *, text: Callable[[str], object] | None = None) -> Any:
    """Return a template of tables and lists, filled; `text` gives what some of its texts stand for instead.

    What a value says is never read as a template. Raises Malformed, also for a value that would end a quoted
    text within a text.
    """
    if isinstance(template, Mapping):
        return {name: fill_tree(inner, values, text=text) for name, inner in template.items()}
    if isinstance(template, list | tuple):
        return [fill_tree(inner, values, text=text) for inner in template]
    if not isinstance(template, str):
        return template
    special = text(template) if text is not None else None
    if special is not None:
        return special
    for name in named(template):
        refuse_quotes(template, str(values.get(name, "")))
    return fill_value(template, values)


def texts(template: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each text of a template of tables and lists, with where it stands."""
    if isinstance(template, str):
        yield path, template
    elif isinstance(template, Mapping):
        for name, inner in template.items():
            yield from texts(inner, (*path, name))
    elif isinstance(template, list | tuple):
        for index, inner in enumerate(template):
            yield from texts(inner, (*path, index))


def fill_value(template: str, values: Values) -> str | int:
    """Write values in place of a template's placeholders; one that stands for a number alone is a number."""
    whole = _PLACEHOLDER.fullmatch(template)
    value = values.get(whole[1]) if whole else None
    return value if isinstance(value, int) else fill(template, values)


def _refuse_steps(template: str, path: str) -> None:
    """Refuse "." and ".." that come from a value; encoding them is not enough, for servers decode."""
    # An encoded value has neither "/" nor "?", so the steps of both are the same ones.
    steps = zip(template.partition("?")[0].split("/"), path.partition("?")[0].split("/"), strict=True)
    for asked, filled in steps:
        if asked != filled and filled in (".", ".."):
            raise Malformed(f"{filled} cannot be put in place of {asked}: it would lead to another address.")


def apply_set(payload: Mapping[str, Any], set: Mapping[str, str], values: Values) -> dict[str, Any]:
    """Return a copy of the payload with each dotted path of `set` written; raises Malformed."""
    result: dict[str, Any] = copy.deepcopy(dict(payload))
    for path, template in set.items():
        put(result, path, fill_value(template, values))
    return result


def missing_set(payload: Mapping[str, Any], set: Mapping[str, str], values: Values) -> list[str]:
    """Return the sorted dotted paths where a payload does not carry what `set` asks for."""
    return sorted(
        path for path, template in set.items() if not _carries(payload, path, fill_value(template, values))
    )


def _carries(payload: Mapping[str, Any], path: str, value: str | int) -> bool:
    there = _get(payload, path)
    return there == value and not isinstance(there, bool)


def put(target: dict[str, Any], path: str, value: str | int) -> None:
    """Write a value at a dotted path, making objects on the way; Malformed where something is in the way."""
    names = split(path)
    if not names:
        raise Malformed("A path must name a member of the payload.", path=path)
    place: Any = target
    for name in names[:-1]:
        place = place.setdefault(name, {}) if isinstance(place, dict) else _item(place, name)
    if not isinstance(place, dict):
        raise Malformed(f"{path} cannot be written: what is above it in the payload is no object.", path=path)
    place[names[-1]] = value


def _get(payload: object, path: str) -> object:
    place = payload
    for name in split(path):
        place = place.get(name) if isinstance(place, Mapping) else _item(place, name)
    return place


def _item(place: object, name: str) -> object:
    inside = isinstance(place, list) and name.isdecimal() and int(name) < len(place)
    return place[int(name)] if inside else None  # type: ignore[index]
