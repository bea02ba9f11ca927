"""Two kinds of database that are asked and never written to: PostgreSQL and SQLite.

One query runs in one transaction that may only read, and its rows come page by page under a deadline. What
the database says in its own words is not repeated: it may quote what it holds.
"""

import math
import os
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

import psycopg
from psycopg import errors
from psycopg.types.json import set_json_loads

from ledger.destinations.connectors.base import ConfigurationError, IncompletePull
from ledger.destinations.connectors.wire import Deadline
from ledger.rules import strict_json
from ledger.rules.errors import Malformed

CONNECT_MIN_S = 2
"""The driver gives no connection less time."""
GRACE_S = 0.5
"""How much later than the database itself we end what has had its time."""
STEPS = 10_000
"""How many steps SQLite makes between two looks at the clock."""
NEVER = datetime(1970, 1, 1, tzinfo=UTC)
READ_ONLY = "The query tries to write. It was refused: this connector only reads."
IN_TIME = "The database did not answer in time."
BROKEN = "The connection to the database broke off."

Values = Mapping[str, object]
Row = Sequence[Any]
Clock = Callable[[], Deadline]
"""Gives the deadline of the next page."""


class Session(Protocol):
    """A transaction that only reads; `as_of` is the instant that it shows, where that is not now."""

    as_of: datetime | None

    def pages(self, query: str, values: Values, *, clock: Clock, size: int) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of one query by column name, so many at a time; raises IncompletePull."""


def kind_of(url: str) -> str:
    """Return what kind of database an address names; raises ConfigurationError without a word of it."""
    scheme = url.partition("://")[0]
    if scheme in ("postgresql", "postgres"):
        return "postgresql"
    if scheme == "sqlite" and urlsplit(url).path.startswith("/") and not urlsplit(url).netloc:
        return "sqlite"
    raise ConfigurationError(
        "It is no address that is read here: write postgresql://HOST/DATABASE, with USER:PASSWORD@ "
        "before the host, or sqlite:///absolute/path. Other databases are read through a connector of your "
        "own."
    )


@contextmanager
def session(url: str, *, zone: str, deadline: Deadline) -> Iterator[Session]:
    """Open a session that only reads, its clock in a zone; raises IncompletePull, ConfigurationError."""
    opened = _postgresql if kind_of(url) == "postgresql" else _sqlite
    with opened(url, zone, deadline) as found:
        yield found


@contextmanager
def _postgresql(url: str, zone: str, deadline: Deadline) -> Iterator[Session]:
    try:
        connection = psycopg.connect(
            url,
            autocommit=True,
            connect_timeout=max(CONNECT_MIN_S, math.ceil(deadline.left_s())),
            application_name="tieout",
        )
    except psycopg.Error as error:
        raise _unopened(error) from None
    with closing(connection):
        with _answering(connection, deadline):
            # Before there is a snapshot: a replica goes on replaying, which the snapshot does not show.
            row = connection.execute(_AS_OF, [NEVER]).fetchone()
        connection.autocommit = False
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        set_json_loads(_decoded, connection)
        with _answering(connection, deadline):
            connection.execute("SELECT set_config('TimeZone', %s, true)", [zone])
        yield _PostgreSQL(connection, None if row is None else row[0])


def _unopened(error: psycopg.Error) -> Exception:
    if isinstance(error, psycopg.OperationalError):
        return IncompletePull("The database could not be reached, or refused who we are.")
    return ConfigurationError("The database's address cannot be read: check it where it is kept.")


_AS_OF = "SELECT coalesce(pg_last_xact_replay_timestamp(), %s) WHERE pg_is_in_recovery()"
"""A replica shows what it has replayed; how much there is beyond that, it cannot tell."""


class _PostgreSQL:
    """One transaction of PostgreSQL; rows come through a cursor on its side."""

    def __init__(self, connection: psycopg.Connection[Any], as_of: datetime | None) -> None:
        self._connection = connection
        self.as_of = as_of

    def pages(self, query: str, values: Values, *, clock: Clock, size: int) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of one query by column name, so many at a time; raises IncompletePull."""
        cursor, deadline = self._connection.cursor("tieout"), clock()
        try:
            with _answering(self._connection, deadline):
                # Values always go beside the query, which then can be one statement only.
                cursor.execute(query.encode(), values)
                names = _names(cursor.description)
            while True:
                with _answering(self._connection, deadline):
                    rows = cursor.fetchmany(size)
                if not rows:
                    return
                yield [dict(zip(names, row, strict=True)) for row in rows]
                deadline = clock()
        finally:
            self._connection.close()  # first, so that closing the cursor waits for nobody
            cursor.close()


@contextmanager
def _answering(connection: psycopg.Connection[Any], deadline: Deadline) -> Iterator[None]:
    """Let the database answer until the deadline, and cut the line if it does not; raises IncompletePull."""
    left_s = deadline.left_s()
    if left_s <= 0:
        raise IncompletePull(IN_TIME)
    late = threading.Event()
    line = socket.socket(fileno=os.dup(connection.fileno()))

    def cut() -> None:
        late.set()
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(left_s + GRACE_S, cut)
    timer.daemon = True
    timer.start()
    try:
        connection.execute(
            "SELECT set_config('statement_timeout', %s, true)", [f"{math.ceil(left_s * 1000)}"]
        )
        yield
    except psycopg.Error as error:
        raise IncompletePull(IN_TIME if late.is_set() else _words(error)) from None
    except Malformed as error:
        raise IncompletePull(f"A JSON value cannot be read exactly: {error.detail}") from None
    finally:
        timer.cancel()
        line.close()


def _words(error: psycopg.Error) -> str:
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return READ_ONLY
    if isinstance(error, errors.QueryCanceled):
        return IN_TIME
    if error.sqlstate:
        return f"The database refused the query ({type(error).__name__}, {error.sqlstate})."
    if isinstance(error, psycopg.DataError):
        return "A value in a row is none that can be kept, such as a date after the year 9999."
    return BROKEN


def _decoded(text: str | bytes) -> object:
    return strict_json.loads_decimal(text.encode() if isinstance(text, str) else text)


@contextmanager
def _sqlite(url: str, zone: str, deadline: Deadline) -> Iterator[Session]:
    path = unquote(urlsplit(url).path)
    try:
        connection = sqlite3.connect(
            f"file:{quote(path)}?mode=ro", uri=True, timeout=max(deadline.left_s(), 0), isolation_level=None
        )
    except sqlite3.Error:
        raise IncompletePull("The database's file cannot be opened.") from None
    with closing(connection):
        yield _SQLite(connection)


class _SQLite:
    """One query of SQLite, whose file is opened for reading."""

    as_of: datetime | None = None

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def pages(self, query: str, values: Values, *, clock: Clock, size: int) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of one query by column name, so many at a time; raises IncompletePull."""
        deadline = clock()
        try:
            self._connection.execute("PRAGMA query_only = 1")
            self._connection.set_authorizer(_here_only)
            self._connection.set_progress_handler(lambda: deadline.left_s() <= 0, STEPS)
            cursor = self._connection.execute(query, dict(values))
            names = _names(cursor.description)
            while rows := cursor.fetchmany(size):
                yield [dict(zip(names, row, strict=True)) for row in rows]
                deadline = clock()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise IncompletePull(_sqlite_words(error)) from None


def _here_only(action: int, *_: object) -> int:
    """Deny another file: it would be made before the writing is refused. VACUUM INTO takes one, too."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


def _sqlite_words(error: Exception) -> str:
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    if name.startswith(("SQLITE_READONLY", "SQLITE_AUTH")):
        return READ_ONLY
    if name in ("SQLITE_INTERRUPT", "SQLITE_BUSY"):
        return IN_TIME
    return f"The database refused the query ({name})."


def _names(description: Any) -> list[str]:
    """Return the names of the columns; raises IncompletePull where two have the same one."""
    if description is None:
        raise IncompletePull("The query brings no rows: it must be one that selects.")
    names = [str(column[0]) for column in description]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise IncompletePull(f"Two columns of the query are called {twice}: give each a name of its own.")
    return names
