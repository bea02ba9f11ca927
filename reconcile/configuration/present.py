"""The rules in force in the words of a configuration file, without what may lead to a secret."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Model, QuerySet

from ledger import sight
from ledger.models import OperationType
from reconcile.configuration.rows import (
    AUTOMATION,
    DESTINATION,
    DISPLAY,
    PLAN,
    PROFILE,
    TEAM,
    TYPE,
    WEBHOOK,
    Columns,
    Kind,
)
from reconcile.configuration.showing import flat, hidden, shown

KINDS = (DISPLAY, DESTINATION, TYPE, AUTOMATION, PROFILE, PLAN, WEBHOOK, TEAM)
NOT_SHOWN = "is set, and not shown: a secret may stand there. Whoever takes this section in writes it again."
_BARE = re.compile(r"[A-Za-z0-9_-]+")
Path = tuple[str, ...]


def in_force(at: datetime) -> Iterator[str]:
    """Yield all that whoever reads sees of the rules, section by section, as a file would have them."""
    yield f"# The rules in force at {at.isoformat(timespec='seconds')}, as they are configured.\n"
    yield "# In an address, … stands for what may be a secret.\n"
    for kind in KINDS:
        for row in _rows(kind).order_by("name"):
            yield "\n" + "".join(f"{line}\n" for line in _section(kind, row))


def _rows(kind: Kind) -> QuerySet[Any]:
    if kind is TYPE:
        return OperationType.objects.configured().select_related(*_related(OperationType))
    found: QuerySet[Any] = kind.model._default_manager.select_related(*_related(kind.model))
    if kind is TEAM and sight.present() is not None:
        return found.filter(name__in=OperationType.objects.values("owner"))  # a team has no entity of its own
    return found


def _related(model: type[Model]) -> list[str]:
    """Return the rows that a row names: read with it, for each section says their names."""
    return [field.name for field in model._meta.concrete_fields if field.is_relation]


def _section(kind: Kind, row: Model) -> Iterator[str]:
    columns = _columns(row)
    head = (kind.section,) if kind is DISPLAY else (kind.section, columns["name"])
    words = dict(kind.words(columns))
    if kind is TYPE and words["performed_by"] == OperationType.Performer.TIEOUT:
        del words["lease"]  # it follows the destination's time-out
    yield from _table(head, words, ())


def _columns(row: Model) -> Columns:
    found: Columns = {}
    for field in row._meta.concrete_fields:
        value = getattr(row, field.name)
        found[field.name] = value.name if field.is_relation and value is not None else value
    return found


def table(head: Path, values: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines of one section as a file would have them."""
    yield from _table(head, values, ())


def _table(head: Path, values: Mapping[str, object], path: Path) -> Iterator[str]:
    """Write a table: its own values first, then the tables in it."""
    yield f"[{'.'.join(map(_name, (*head, *path)))}]"
    given = {name: value for name, value in values.items() if flat({name: value})}
    tables: dict[str, Mapping[str, object]] = {}
    for name, value in given.items():
        if hidden((*path, name)):
            yield f"# {_name(name)} {NOT_SHOWN}"
        elif isinstance(value, Mapping):
            tables[name] = value
        else:
            yield f"{_name(name)} = {_value((*path, name), value)}"
    for name, table in tables.items():
        yield ""
        yield from _table(head, table, (*path, name))


def _value(path: Path, value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(path, one) for one in value)}]"
    if isinstance(value, Mapping):
        pairs = (f"{_name(name)} = {_value((*path, name), one)}" for name, one in value.items())
        return f"{{ {', '.join(pairs)} }}"
    written = shown(path, value)
    is_toml = written[:1] == '"' or written == json.dumps(value, ensure_ascii=False)
    return written if is_toml else json.dumps(written)  # a duration is a text in the file


def _name(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)
