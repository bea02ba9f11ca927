"""The statements of the fast path, each alone in its transaction: prepared for one item, planned for many."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from operator import itemgetter
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models.base import ModelState
from psycopg.rows import DictRow, dict_row, tuple_row
from psycopg.types.datetime import TimestamptzLoader

from ledger.sql import statement

Model = TypeVar("Model", bound=models.Model)


class _Rows(psycopg.Cursor[Any]):
    """Gives rows by their columns' names, or as told."""

    def __init__(self, connection: Any, rows: Any = dict_row) -> None:
        super().__init__(connection, row_factory=rows)
        # psycopg's own, which is compiled: the connection's zone is UTC, as Django's loader says once more.
        self.adapters.register_loader("timestamptz", TimestamptzLoader)


class _Prepared(_Rows):
    """Sends values apart from the statement, which the server parses and plans once."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_Prepared":
        """Execute it prepared, as Django's cursors are asked to execute."""
        return super().execute(query, params, **{**options, "prepare": True})


class _Planned(_Rows):
    """Sends values apart from a statement that is planned for this once."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_Planned":
        """Execute it unprepared, as Django's cursors are asked to execute."""
        return super().execute(query, params, **{**options, "prepare": False})


class _Kept(threading.local):
    """The cursors of a thread's connection: one for each statement, which then knows its types."""

    raw: object = None
    cursors: dict[str, _Prepared]

    def cursor(self, name: str, raw: Any, rows: Any = dict_row) -> _Prepared:
        if self.raw is not raw:
            self.raw, self.cursors = raw, {}
        if name not in self.cursors:
            self.cursors[name] = _Prepared(raw, rows)
        return self.cursors[name]


_kept = _Kept()


def run(name: str, values: Mapping[str, Any]) -> DictRow | None:
    """Run one statement whole or not at all, and return its first row by column names.

    By itself it needs no BEGIN and no COMMIT, which spares two ways to the database; within a transaction it
    gets a savepoint.
    """
    database = _connected()
    cursor = _kept.cursor(name, database.connection)
    _execute(cursor, database, name, values)
    return cursor.fetchone()


def read(name: str, values: Mapping[str, Any]) -> list[DictRow]:
    """Run one statement that only reads, and return its rows by column names.

    It needs no savepoint: whoever could not read goes no further.
    """
    database = _connected()
    cursor = _kept.cursor(name, database.connection)
    CursorWrapper(cursor, database).execute(short(name), values)
    return cursor.fetchall()


def ask(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run one of the few statements that pages ask each time, prepared, and return its rows.

    It only reads, as `read`. Where statements are logged, Django's own cursor runs it: it logs values, too.
    """
    database = _connected()
    own = database.queries_logged
    cursor: Any = database.cursor() if own else _kept.cursor(sql, database.connection, tuple_row)
    (cursor if own else CursorWrapper(cursor, database)).execute(sql, values)
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def run_for_all(name: str, values: Mapping[str, Any]) -> list[DictRow]:
    """Run one statement over many items, whole or not at all, and return its rows by column names.

    It is planned each time, which costs little for so many: a plan that was made while the tables were small
    would read them whole when they are not.
    """
    database = _connected()
    with _Planned(database.connection) as cursor:
        _execute(cursor, database, name, values)
        return cursor.fetchall()


def _connected() -> BaseDatabaseWrapper:
    database = connections[DEFAULT_DB_ALIAS]
    database.close_if_health_check_failed()
    database.ensure_connection()
    return database


def _execute(
    cursor: psycopg.Cursor[DictRow], database: BaseDatabaseWrapper, name: str, values: Mapping[str, Any]
) -> None:
    with transaction.atomic() if database.in_atomic_block else nullcontext():
        # Django's own cursor is around it: for its errors, and for who watches statements.
        CursorWrapper(cursor, database).execute(short(name), values)


@cache
def short(name: str) -> str:
    """Return a statement without what is for people; psycopg reads one anew each time that is too long."""
    lines = (line.strip() for line in statement(name).splitlines())
    return " ".join(line for line in lines if not line.startswith("--"))


def stored(model: type[Model], columns: Mapping[str, object]) -> Model:
    """Return a row from the columns that are known; any other is read when it is asked for.

    As `from_db` makes it, in a fraction of the time: that looks at every field, and sends signals.
    """
    row = model.__new__(model)
    row._state = ModelState()
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    names, values = _columns(model, tuple(columns))
    row.__dict__.update(zip(names, values(columns), strict=True))
    return row


@cache
def _columns(
    model: type[models.Model], columns: tuple[str, ...]
) -> tuple[tuple[str, ...], Callable[[Mapping[str, object]], tuple[object, ...]]]:
    """Return a model's columns among these, in its order, and what picks their values out of a row.

    They are two at least, and a statement always asks with the same ones.
    """
    known = set(columns)
    names = tuple(field.attname for field in model._meta.concrete_fields if field.attname in known)
    return names, itemgetter(*names)
