"""JSON as platforms give it, item by item: an array, an object around one, or objects one after another."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NoReturn, TextIO

ITEM_MAX = 8 * 2**20
CHUNK = 2**16
DIGITS_MAX = 100
POWER_MAX = 400
"""Of ten; what programs reckon with ends at 308 (IEEE 754, binary64)."""
LISTS = ("data", "dag_runs", "value", "scenarioLogs")
"""Under which name a platform's object holds its runs."""


def items(first: str, text: TextIO) -> Iterator[object]:
    """Yield the items of a text that begins with `first`; ValueError says what is wrong, and where."""
    reader = _Reader(first, text)
    if reader.peek() == "[":
        yield from reader.array()
        reader.end()
        return
    members, wrapped = dict[str, object](), False
    for name in reader.names():
        if name in LISTS and reader.peek() == "[" and not wrapped:
            wrapped = True
            yield from reader.array()
        else:
            members[name] = reader.value()
    if wrapped:
        reader.end()
        return
    yield members
    while reader.peek():
        yield reader.value()


class _Reader:
    """Text that is read on as it is needed; what was taken is forgotten."""

    def __init__(self, first: str, text: TextIO) -> None:
        self._text, self._held, self._at, self._over = text, first, 0, False
        self._taken = 0

    def peek(self) -> str:
        """Return the next character that is no white space, "" at the end."""
        while True:
            while self._at < len(self._held):
                if not self._held[self._at].isspace():
                    return self._held[self._at]
                self._at += 1
            if self._over:
                return ""
            self._more()

    def value(self) -> object:
        """Take one whole value."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                if self._over:
                    raise ValueError(f"{error.msg} after item {self._taken}") from None
                self._more()
                continue
            except RecursionError:
                raise ValueError("something in it is nested too deeply") from None
            if end < len(self._held) or self._over:  # a number could go on
                self._at = end
                self._taken += 1
                return value
            self._more()

    def array(self) -> Iterator[object]:
        """Take an array, item by item."""
        self._take("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() != "]":
                self._take(",")
                if self.peek() == "]":
                    raise ValueError(f"a comma stands before the end, after item {self._taken}")
        self._take("]")

    def names(self) -> Iterator[str]:
        """Take an object, name by name; whoever asks takes each value."""
        self._take("{")
        seen: set[str] = set()
        while self.peek() != "}":
            name = self.value()
            self._taken -= 1
            if not isinstance(name, str) or name in seen:
                raise ValueError(f"a member is named twice, or by no text: {name}")
            seen.add(name)
            self._take(":")
            yield name
            if self.peek() != "}":
                self._take(",")
        self._take("}")

    def end(self) -> None:
        """Refuse what stands behind the end."""
        if self.peek():
            raise ValueError(f"something stands behind its end, after item {self._taken}")

    def _take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise ValueError(f'"{wanted}" is missing after item {self._taken}')
        self._at += 1

    def _more(self) -> None:
        self._held, self._at = self._held[self._at :], 0
        if len(self._held) > ITEM_MAX:
            raise ValueError(f"item {self._taken + 1} is no JSON, or longer than 8 Mi characters")
        read = self._text.read(max(CHUNK, len(self._held)))
        self._held += read
        self._over = not read


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("an object names a member twice")
    return members


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _whole(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise ValueError(f"a number has {len(text)} digits; {DIGITS_MAX} are the most")
    return int(text)


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text)
    except ArithmeticError:
        number = None
    if number is None or (number and abs(number.adjusted()) > POWER_MAX):
        raise ValueError(f"{text[:40]} is beyond any number that is exported")
    return number


DECODER = json.JSONDecoder(
    object_pairs_hook=_members, parse_int=_whole, parse_float=_decimal, parse_constant=_no_number, strict=True
)
