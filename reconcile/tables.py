"""Every CSV that leaves Tieout: first where it comes from, then the rows, for a spreadsheet (RFC 4180).

Text is quoted, references and ids too; numbers are not. A spreadsheet would take text that begins like a
formula for one, so such text has an apostrophe before it; a negative number is a number.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO
from itertools import islice

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
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
        }

    def rows(self) -> Iterator[Sequence[object]]:
        """Yield it line by line, a name and its value, and an empty line behind it."""
        for name, value in self.document.items():
            if isinstance(value, dict):
                yield from ((f"total {currency}", total) for currency, total in value.items())
            else:
                yield name, value
        yield ()


def written(about: About, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield a table as CSV, part by part: where it comes from, an empty line, heads and rows."""
    yield MARK + _lines([*about.rows(), columns])
    left = iter(rows)
    while part := list(islice(left, ROWS)):
        yield _lines(part)


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


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
