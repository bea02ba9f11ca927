"""Runs the statements of the fast path: each prepared once for a connection, and alone in its transaction."""

import threading
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from functools import cache
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections, models, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.rows import DictRow, dict_row

from ledger.sql import statement

Model = TypeVar("Model", bound=models.Model)


class _Prepared(psycopg.Cursor[DictRow]):
    """Sends values apart from the statement, which the server parses and plans once."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_Prepared":
        """Execute it prepared, as Django's cursors are asked to execute."""
        return super().execute(query, params, **{**options, "prepare": True})


class _Kept(threading.local):
    """The cursors of a thread's connection: one for each statement, which then knows its types."""

    raw: object = None
    cursors: dict[str, _Prepared]

    def cursor(self, name: str, raw: Any) -> _Prepared:
        if self.raw is not raw:
            self.raw, self.cursors = raw, {}
        if name not in self.cursors:
            self.cursors[name] = _Prepared(raw, row_factory=dict_row)
        return self.cursors[name]


_kept = _Kept()


def run(name: str, values: Mapping[str, Any]) -> DictRow | None:
    """Run one statement whole or not at all, and return its first row by column names.

    By itself it needs no BEGIN and no COMMIT, which spares two ways to the database; within a transaction it
    gets a savepoint.
    """
    database = connections[DEFAULT_DB_ALIAS]
    database.close_if_health_check_failed()
    database.ensure_connection()
    cursor = _kept.cursor(name, database.connection)
    with transaction.atomic() if database.in_atomic_block else nullcontext():
        # Django's own cursor is around it: for its errors, and for who watches statements.
        CursorWrapper(cursor, database).execute(short(name), values)
    return cursor.fetchone()


@cache
def short(name: str) -> str:
    """Return a statement without what is for people; psycopg reads one anew each time that is too long."""
    lines = (line.strip() for line in statement(name).splitlines())
    return " ".join(line for line in lines if not line.startswith("--"))


def stored(model: type[Model], columns: Mapping[str, object]) -> Model:
    """Return a row from the columns that are known; any other is read when it is asked for."""
    names = _names(model, tuple(columns))
    return model.from_db(DEFAULT_DB_ALIAS, names, [columns[name] for name in names])


@cache
def _names(model: type[models.Model], columns: Iterable[str]) -> Mapping[str, None]:
    """Return a model's columns among these, in its order; a statement always asks with the same ones."""
    known = set(columns)
    return {field.attname: None for field in model._meta.concrete_fields if field.attname in known}
