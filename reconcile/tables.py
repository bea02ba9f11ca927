"""Every table that leaves Tieout, as CSV (RFC 4180), XLSX and JSON: first where it comes from, then the rows.

In CSV text is quoted, references and ids too; numbers are not. A spreadsheet would take text that begins like
a formula for one, so such text has an apostrophe before it; a negative number is a number.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from io import StringIO
from itertools import islice

from reconcile import workbooks

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
AMOUNT = re.compile(r"-?\d{1,15}(\.\d{1,4})?")
ROWS = 500
"""How many rows are written and sent at a time."""
MARK = "\ufeff"
"""Without it, spreadsheets take UTF-8 for the code page of the machine."""


@dataclass(frozen=True)
class About:
    """Where a table comes from: what it is, what was asked, as of when, for whom, how many, and totals."""

    what: str
    asked: str
    as_of: datetime
    author: str
    count: int
    totals: Mapping[str, str] = field(default_factory=dict)
    """By currency, as text; never added across."""
    more: Mapping[str, object] = field(default_factory=dict)
    figures: Mapping[str, object] = field(default_factory=dict)
    """What a workbook has on a sheet of its own, and is told here in any other form."""

    @property
    def document(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "what": self.what,
            "asked": self.asked,
            "as_of": _instant(self.as_of),
            "author": self.author,
            "count": self.count,
            "totals": dict(self.totals),
            **self.more,
            **self.figures,
        }

    def rows(self) -> Iterator[Sequence[object]]:
        """Yield it line by line, a name and its value, and an empty line behind it."""
        for name, value in self.document.items():
            if isinstance(value, dict):
                yield from ((f"total {currency}", total) for currency, total in value.items())
            else:
                yield name, value
        yield ()

    def report(self) -> Iterator[Sequence[object]]:
        """Yield it as the first sheet of a workbook: what it is, then each thing by its name in words."""
        yield (self.what,)
        yield ()
        told = {"asked": self.asked, "as_of": self.as_of, "author": self.author, "count": self.count}
        told |= {f"total {name}": figure(total) for name, total in self.totals.items()}
        yield from ((spoken(name), value) for name, value in {**told, **self.more}.items())


def spoken(name: str) -> str:
    """Return a name as a person reads it: "destination_ids" is "Destination ids"."""
    words = name.replace("_", " ")
    return words[:1].upper() + words[1:]


def figure(text: str) -> object:
    """Return an amount as a number, where it is one."""
    return Decimal(text) if AMOUNT.fullmatch(text) else text


class Form(StrEnum):
    """A form in which a table leaves."""

    CSV = "csv"
    XLSX = "xlsx"
    JSON = "json"


@dataclass(frozen=True)
class Table:
    """Rows under their columns, and where they come from; read once, part by part."""

    about: About
    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    before: Sequence[workbooks.Sheet] = ()
    """Of a workbook alone: small tables before the rows."""
    words: Callable[[Sequence[object]], Sequence[object]] = tuple
    """Of a workbook alone: a row with names in place of keys."""
    heads: Mapping[str, str] = field(default_factory=dict)
    """Of a workbook alone: what some columns are called there."""

    def written(self, form: Form) -> Iterator[str] | Iterator[bytes]:
        """Yield it in one of its forms, part by part."""
        match form:
            case Form.CSV:
                return self.csv()
            case Form.XLSX:
                heads = [self.heads.get(name) or spoken(name) for name in self.columns]
                rows = map(self.words, self.rows)
                return workbooks.written(self.about.report(), heads, rows, before=self.before)
            case Form.JSON:
                return self.json()

    def csv(self) -> Iterator[str]:
        """Yield it as CSV: where it comes from, an empty line, heads and rows."""
        yield MARK + _lines([*self.about.rows(), self.columns])
        left = iter(self.rows)
        while part := list(islice(left, ROWS)):
            yield _lines(part)

    def json(self) -> Iterator[str]:
        """Yield it as JSON: `about`, and a member of `rows` for each; amounts are text, times in UTC."""
        named = (dict(zip(self.columns, row, strict=True)) for row in self.rows)
        return joined({"about": self.about.document}, named, "rows")


def joined(head: Mapping[str, object], rows: Iterable[object], name: str = "findings") -> Iterator[str]:
    """Yield one JSON object, part by part: the members of `head`, then the rows under a name."""
    yield f"{_json(head).removesuffix('}')}, {_json(name)}: ["
    left, before = iter(rows), ""
    while part := list(islice(left, ROWS)):
        yield before + ", ".join(map(_json, part))
        before = ", "
    yield "]}"


def guarded(text: str) -> str:
    """Return text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _lines(rows: Iterable[Sequence[object]]) -> str:
    text = StringIO()
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return guarded(value) if isinstance(value, str) else value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> str:
    """Return what JSON has no word for as text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
