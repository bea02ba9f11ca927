"""JSON: an object a line (JSON lines), or one array of objects; numbers are read exactly as written."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import partial
from itertools import islice

from reconcile.histories import json_rows
from reconcile.histories.columns import at
from reconcile.histories.files import FileRefused
from reconcile.statements import columns
from reconcile.statements.columns import Columns
from reconcile.statements.forms import headers, typed
from reconcile.statements.forms.headers import HEADER_WITHIN
from reconcile.statements.layouts import Cell, Layout, Row
from reconcile.statements.opening import File, lines

Item = tuple[int, Mapping[str, object], str]
"""Where it stands, its members, and why it cannot be read."""

EXACT = 2**53 - 1
"""Beyond it, many programs round a whole number that is no text (RFC 8259, section 6)."""
BEGINS = re.compile(r'\{\s*(?:["}]|$)|\[\s*(?:[{["\]]|$|(?:-?\d[\d.eE+-]*|true|false|null)\s*(?:,|\]\s*$))')
DEEP = 3
"""How deep members are looked for: `order.customer.name`."""


def is_json(head: str) -> bool:
    """Say whether a text begins as JSON does, to its second token: a title of a CSV may begin with [, too."""
    return bool(BEGINS.match(head))


def look(file: File) -> Layout:
    """Find the columns among the members of the first items; FileRefused where they cannot be told."""
    encoding = file.encoding()
    by_line = _is_by_line(file, encoding)
    first = [members for _, members, _ in islice(_items(file, encoding, by_line=by_line), HEADER_WITHIN)]
    header = list(dict.fromkeys(path for members in first for path in _paths(members)))
    if not columns.is_header(header, file.how.named):
        raise headers.untold(file.name, file.how, header)
    found = columns.find(header, file.how.named, name=file.name, naming=file.how.naming)
    return Layout(
        file.path,
        file.checksum,
        "JSON lines" if by_line else "JSON",
        found,
        partial(_rows, file, encoding, found, by_line=by_line),
        encoding,
        notes=[] if by_line else [f"A line of {file.name} is an item of its list, counted from 1."],
        settled=typed.SETTLED,
    )


def _is_by_line(file: File, encoding: str) -> bool:
    with file.text(encoding) as text:
        first = next((line for line in lines(text, file.name) if line.strip()), "")
    try:
        return isinstance(json_rows.DECODER.decode(first), dict)
    except (ValueError, RecursionError):
        return False


def _items(file: File, encoding: str, *, by_line: bool) -> Iterator[Item]:
    with file.text(encoding) as text:
        if by_line:
            for number, line in enumerate(lines(text, file.name), 1):
                if line.strip():
                    yield _item(number, line)
            return
        try:
            for number, item in enumerate(json_rows.items("", text), 1):
                yield number, *_members(item)
        except ValueError as error:
            raise FileRefused(f"{file.name} is no JSON that can be read: {error}.") from None


def _item(number: int, line: str) -> Item:
    try:
        return number, *_members(json_rows.DECODER.decode(line))
    except RecursionError:
        return number, {}, "it is nested too deeply"
    except ValueError as error:
        return number, {}, f"it is no JSON: {str(error)[:100]}"


def _members(item: object) -> tuple[Mapping[str, object], str]:
    return (item, "") if isinstance(item, dict) else ({}, "it is no object with members")


def _paths(members: Mapping[str, object], above: str = "") -> Iterator[str]:
    for name, value in members.items():
        if isinstance(value, dict):
            if above.count(".") < DEEP - 1:
                yield from _paths(value, f"{above}{name}.")
        else:
            yield above + name


def _rows(file: File, encoding: str, found: Columns, *, by_line: bool) -> Iterator[Row]:
    for number, members, why in _items(file, encoding, by_line=by_line):
        cells, wrong = typed.settled([_cell(at(members, path)) for path in found.header], found, exact=EXACT)
        yield number, cells, why or wrong


def _cell(value: object) -> Cell:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return Decimal(value)
    return value if isinstance(value, str) else "" if value is None else "…"
