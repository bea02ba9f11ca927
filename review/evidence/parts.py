"""Parts of a pack: rows with typed values, written alike for paper and as JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

from django.utils.html import format_html
from django.utils.safestring import SafeString

from review import instants

Value = str | int | bool | Decimal | datetime | None | list[Any] | Mapping[str, Any]
Row = dict[str, Value]


@dataclass(frozen=True)
class Part:
    """One part: its name in JSON, its heading on paper, its rows; `labels` are the words of their members."""

    name: str
    title: str
    form: Literal["facts", "blocks", "table"]
    labels: Mapping[str, str]
    rows: Sequence[Row]
    note: str = ""
    """What the part leaves out, or how it is to be read."""
    block: str = ""
    """What one of its blocks is called: "Try"."""

    @property
    def heads(self) -> list[str]:
        """Return the heads of its columns."""
        return [*self.labels.values()]

    @property
    def shown(self) -> list[list[tuple[str, SafeString]]]:
        """Return its rows as paper has them: label and words; what is empty is left out but in tables."""
        return [
            [
                (label, words(row[name]))
                for name, label in self.labels.items()
                if self.form == "table" or told(row[name])
            ]
            for row in self.rows
        ]

    @property
    def document(self) -> object:
        """Return it as JSON has it."""
        rows = [{name: plain(value) for name, value in row.items()} for row in self.rows]
        return rows[0] if self.form == "facts" else rows


def told(value: Value) -> bool:
    """Say whether there is anything to tell."""
    return value is not None and value not in ("", [], {})


def words(value: Value) -> SafeString:
    """Write a value as paper has it: times in the reader's zone, with date and seconds."""
    match value:
        case bool():
            return format_html("{}", "yes" if value else "no")
        case datetime():
            return format_html('<time datetime="{}">{}</time>', plain(value), moment(value))
        case None:
            return format_html("{}", "–")
        case list():
            return format_html("{}", _listed(value))
        case str() | int() | Decimal():
            return format_html("{}", value)
    return format_html("{}", "; ".join(f"{name}: {_short(one)}" for name, one in sorted(value.items())))


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def moment(at: datetime) -> str:
    """Write an instant in full: "30 Nov 2026 18:42:07"."""
    there = at.astimezone(instants.zone())
    return f"{there.day}\u00a0{there:%b}\u00a0{there:%Y} {there:%H:%M:%S}"


def plain(value: Value) -> object:
    """Return a value as JSON carries it: times in UTC, amounts as text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return str(value) if isinstance(value, Decimal) else value


def _listed(value: list[Any]) -> str:
    """Write a list on one line; sentences end by themselves."""
    said = [str(one) for one in value]
    return (" " if all(one.endswith(".") for one in said) else "; ").join(said)
