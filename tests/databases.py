"""A PostgreSQL for the test run: migrated once, copied for each test, with a clock that obeys."""

import base64
import hashlib
import hmac
import itertools
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from django.db import connections
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from config import environment, kept, postgres, processes
from config.cluster import SUPERUSER
from tests import migrated

FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "max_wal_size": "4GB"}
END_ALL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
ENDING_S = 1
SALT = b"of the tests"
ROLES = (postgres.APP, postgres.OWNER, SUPERUSER)


def verifier(password: str) -> str:
    """What a server keeps of a password that was hashed once (RFC 5803); each version takes it as it is."""
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), SALT, 1)
    client, server = (hmac.digest(salted, whose, "sha256") for whose in (b"Client Key", b"Server Key"))
    parts = (SALT, hashlib.sha256(client).digest(), server)
    return "SCRAM-SHA-256$1:{}${}:{}".format(*(base64.b64encode(part).decode() for part in parts))


@dataclass(frozen=True)
class Database:
    """One test's database and the addresses of its roles."""

    name: str
    app_url: str
    owner_url: str
    superuser_url: str
    _kept: list[psycopg.Connection] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def environ(self) -> dict[str, str]:
        """The environment in which a process works on this database."""
        return {**os.environ, "DATABASE_URL": self.app_url, "DATABASE_OWNER_URL": self.owner_url}

    def as_owner(self, *statements: str) -> None:
        """Run statements in the role that owns the schema."""
        with closing(psycopg.connect(self.owner_url, autocommit=True)) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    @contextmanager
    def rewriting(self, *tables: str) -> Iterator[None]:
        """Let a test write of closed books what no run would leave: the tables' own guards are off."""
        self.as_owner(*(f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in tables))
        try:
            yield
        finally:
            self.as_owner(*(f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in tables))

    def owned(self, statement: str, values: Sequence[object] = ()) -> psycopg.Cursor:
        """Run a short one by a connection that stays open: clocks are moved and asked often."""
        try:
            return self._owner().execute(statement.encode(), values or None)
        except psycopg.OperationalError:
            if not self._owner_lost():  # some tests end all connections
                raise
            return self._owner().execute(statement.encode(), values or None)

    def _owner(self) -> psycopg.Connection:
        if self._owner_lost():
            known = psycopg.connect(self.owner_url, autocommit=True, options="-c TimeZone=UTC")
            self._kept[:] = [known]
        return self._kept[0]

    def _owner_lost(self) -> bool:
        return not self._kept or self._kept[0].closed

    def close(self) -> None:
        """End that connection, where there is one."""
        for connection in self._kept:
            connection.close()

    def as_superuser(self, *statements: str) -> None:
        """Run statements as nobody in production can."""
        with closing(psycopg.connect(self.superuser_url, autocommit=True)) as connection:
            for statement in statements:
                connection.execute(statement.encode())


@dataclass(frozen=True)
class Template:
    """The migrated database; nobody works in it, for it could not be copied then."""

    folder: Path
    blocker: Any
    numbers: Iterator[int]

    @classmethod
    @contextmanager
    def made(cls, scratch: Path, blocker: Any) -> Iterator["Template"]:
        """A server that forgets durability for speed; its database was migrated in the owner's role."""
        folder, pg_bin = scratch / "cluster", environment.read().pg_bin

        def migrate(empty: Path) -> None:
            with (
                cls.running(empty, blocker, pg_bin) as template,
                blocker.unblock(),
                template.used(template.database(postgres.DATABASE)),
            ):
                processes.migrate()

        migrated.copied(folder, pg_bin=pg_bin, make=migrate)
        processes.gather()
        with cls.running(folder, blocker, pg_bin) as template:
            yield template

    @classmethod
    @contextmanager
    def running(cls, folder: Path, blocker: Any, pg_bin: Path | None) -> Iterator["Template"]:
        """Its server, started, and stopped at the end."""
        postgres.hold(folder, pg_bin=pg_bin, extra=FAST)
        template = cls(folder, blocker, itertools.count(1))
        try:
            template.let_in_quickly()
            yield template
        finally:
            template.power.close()
            postgres.release(folder)

    @cached_property
    def power(self) -> psycopg.Connection:
        """What copies are made and dropped by; it stays open, or each test would pay for its own."""
        superuser = postgres.url(self.folder, role=SUPERUSER, database="postgres")
        return psycopg.connect(superuser, autocommit=True)

    def database(self, name: str) -> Database:
        """The database of this name in the test server, whether it is there or not."""
        return Database(name, *(postgres.url(self.folder, role=role, database=name) for role in ROLES))

    def let_in_quickly(self) -> None:
        """Hash passwords once, not 4,096 times: each test signs in some ten times."""
        for role in ROLES:
            known = sql.Literal(verifier(kept.password(self.folder, role)))
            self.power.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), known))

    @contextmanager
    def clone(self, name: str | None = None) -> Iterator[Database]:
        """A copy for one test, in use as Django's connections; dropped even if others still work in it."""
        clone = self.database(name or f"test_{next(self.numbers)}")
        for statement in (
            f"CREATE DATABASE {clone.name} TEMPLATE {postgres.DATABASE} "
            f"OWNER {postgres.OWNER} STRATEGY FILE_COPY",
            # The rights on a database are not copied with it.
            f"REVOKE ALL ON DATABASE {clone.name} FROM PUBLIC",
            f"GRANT CONNECT ON DATABASE {clone.name} TO {postgres.APP}",
        ):
            self.power.execute(statement.encode())
        try:
            with self.blocker.unblock(), self.used(clone):
                yield clone
        finally:
            self._drop(clone)

    def _drop(self, clone: Database) -> None:
        # A backend that ends is counted until it has, and then DROP sleeps for a tenth of a second.
        until = time.monotonic() + ENDING_S
        while self.power.execute(END_ALL, [clone.name]).rowcount and time.monotonic() < until:
            time.sleep(0.002)
        self.power.execute(f"DROP DATABASE {clone.name} WITH (FORCE)".encode())

    @contextmanager
    def used(self, database: Database) -> Iterator[None]:
        """Let Django's two aliases point to this database, in every thread."""
        connections.close_all()
        for alias, url in (("default", database.app_url), ("owner", database.owner_url)):
            parts = conninfo_to_dict(url)
            names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
            connections.settings[alias].update({name: parts[libpq] for name, libpq in names.items()})
        try:
            yield
        finally:
            database.close()
            connections.close_all()


@dataclass(frozen=True)
class Clock:
    """What `tieout_now()` says in one database."""

    database: Database

    @classmethod
    def put_into(cls, database: Database) -> "Clock":
        """Replace the clock by one that reads a table; it runs like the real one until it is moved."""
        for statement in (
            'CREATE TABLE test_clock ("offset" interval NOT NULL, fixed timestamptz)',
            "INSERT INTO test_clock VALUES ('0', NULL)",
            "CREATE OR REPLACE FUNCTION tieout_now() RETURNS timestamptz LANGUAGE sql VOLATILE AS "
            "'SELECT coalesce(fixed, clock_timestamp()) + \"offset\" FROM public.test_clock'",
        ):
            database.owned(statement)
        return cls(database)

    def advance(self, seconds: float | timedelta) -> None:
        """Move it on (or back) by seconds."""
        step = seconds if isinstance(seconds, timedelta) else timedelta(seconds=seconds)
        self._write('UPDATE test_clock SET "offset" = "offset" + %s', step)

    def set(self, instant: datetime) -> None:
        """Stop it at this instant; it moves only by `advance` from now on."""
        if instant.tzinfo is None:
            raise ValueError("The instant has no time zone.")
        self._write("UPDATE test_clock SET \"offset\" = '0', fixed = %s", instant)

    def now(self) -> datetime:
        """What it says, in UTC."""
        row = self.database.owned("SELECT tieout_now()").fetchone()
        assert row is not None
        instant: datetime = row[0]
        return instant

    def _write(self, statement: str, value: object) -> None:
        self.database.owned(statement, [value])


def sweep(own: Path) -> None:
    """Stop and remove what test runs that were killed have left behind."""
    for folder in own.parent.glob("tieout-tests-*"):
        cluster = folder / "cluster"
        if folder == own or not (cluster / "holders").is_dir():
            continue
        if postgres.stop_unheld(cluster):
            shutil.rmtree(folder, ignore_errors=True)
