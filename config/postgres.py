"""The embedded PostgreSQL, shared by every process started with the same DATA_DIR."""

import atexit
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from config import environment, kept
from config.cluster import SUPERUSER, Cluster, PostgresError

OWNER = "tieout_owner"
APP = "tieout"
DATABASE = "tieout"
LOCK_S = 120


@dataclass(frozen=True)
class Urls:
    """Addresses of one database for its two roles; they carry passwords."""

    app: str
    owner: str


def ensure() -> Urls:
    """Have a database: the one of DATABASE_URL, else the embedded one, started if it does not run.

    Call it before django.setup(). A second call starts the embedded server again if it has died meanwhile.
    Raises PostgresError.
    """
    known = environment.read()
    if known.database_url:
        return Urls(known.database_url, known.database_owner_url or known.database_url)
    return hold(known.data_dir, pg_bin=known.pg_bin)


def urls(data_dir: Path) -> tuple[str, str]:
    """Addresses of the embedded database for the application and for the owner, whether it runs or not."""
    return url(data_dir, role=APP), url(data_dir, role=OWNER)


def url(data_dir: Path, *, role: str, database: str = DATABASE) -> str:
    """The address of one database of the embedded server for one role, its password included."""
    socket_folder = quote(str(_cluster(data_dir).socket_folder), safe="")
    password = quote(kept.password(data_dir, role), safe="")
    return f"postgresql://{role}:{password}@/{database}?host={socket_folder}&port=5432"


# One held file for each data folder; a forked child holds with its parent, for it has the same open file.
_held: dict[Path, int] = {}


def hold(data_dir: Path, *, pg_bin: Path | None = None, extra: Mapping[str, str] | None = None) -> Urls:
    """Start the server of this folder if nobody has; keep it until this process ends or calls release()."""
    kept.private_folder(data_dir)
    cluster = _cluster(data_dir, pg_bin=pg_bin, extra=extra)
    with _locked(data_dir):
        if cluster.process() is None:
            cluster.start(kept.password(data_dir, SUPERUSER))
            _provide(data_dir)
        if data_dir not in _held:
            _held[data_dir] = _new_holder(data_dir)
            atexit.register(release, data_dir)
    return Urls(*urls(data_dir))


def release(data_dir: Path) -> None:
    """Hold the server no longer; the last one out stops it."""
    handle = _held.pop(data_dir, None)
    if handle is None or not data_dir.is_dir():
        return
    with _locked(data_dir):
        # Closed, not unlocked: where a forked child still has the file open, the lock and so the hold stay.
        os.close(handle)
        _stop_unheld(data_dir)


def stop_unheld(data_dir: Path) -> bool:
    """Stop a server whose holders were all killed, and so could not stop it; False where one lives."""
    with _locked(data_dir):
        return _stop_unheld(data_dir)


def _stop_unheld(data_dir: Path) -> bool:
    held = any(list(_living(data_dir)))
    if not held:
        _cluster(data_dir).stop()
    return not held


def _cluster(
    data_dir: Path, *, pg_bin: Path | None = None, extra: Mapping[str, str] | None = None
) -> Cluster:
    return Cluster(data_dir / "postgres", pg_bin=pg_bin, extra=extra or {})


@contextmanager
def _locked(data_dir: Path) -> Iterator[None]:
    handle = os.open(data_dir / "postgres.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        until = time.monotonic() + LOCK_S
        while not _lock(handle):
            if time.monotonic() > until:
                raise PostgresError(f"Another process has kept {data_dir}/postgres.lock for {LOCK_S} s.")
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _new_holder(data_dir: Path) -> int:
    folder = data_dir / "holders"
    folder.mkdir(mode=0o700, exist_ok=True)
    handle, _ = tempfile.mkstemp(prefix=f"{os.getpid()}-", dir=folder)
    _lock(handle)
    return handle


def _living(data_dir: Path) -> Iterator[bool]:
    # A lock dies with its process, however that ended; what is left is a file that anybody can lock.
    for path in (data_dir / "holders").glob("*"):
        handle = os.open(path, os.O_RDWR)
        if _lock(handle):
            path.unlink()
        else:
            yield True
        os.close(handle)


def _provide(data_dir: Path) -> None:
    """Make the two roles and the database, where they are missing, and give each role what it may."""
    superuser = url(data_dir, role=SUPERUSER, database="postgres")
    with closing(psycopg.connect(superuser, autocommit=True)) as connection:
        for role, rights in ((OWNER, "LOGIN CREATEDB"), (APP, "LOGIN")):
            if not _exists(connection, "SELECT FROM pg_roles WHERE rolname = %s", role):
                connection.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
            secret = connection.pgconn.encrypt_password(
                kept.password(data_dir, role).encode(), role.encode(), b"scram-sha-256"
            )
            statement = sql.SQL("ALTER ROLE {} {} PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(role), sql.SQL(rights), secret.decode()))
        if not _exists(connection, "SELECT FROM pg_database WHERE datname = %s", DATABASE):
            connection.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
    with closing(psycopg.connect(url(data_dir, role=SUPERUSER), autocommit=True)) as connection:
        connection.execute(RIGHTS)


RIGHTS = f"""
REVOKE ALL ON DATABASE {DATABASE} FROM PUBLIC;
GRANT CONNECT ON DATABASE {DATABASE} TO {APP};
GRANT USAGE ON SCHEMA public TO {APP};
ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {APP};
ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA public GRANT USAGE ON SEQUENCES TO {APP};
ALTER DEFAULT PRIVILEGES FOR ROLE {OWNER} IN SCHEMA public GRANT EXECUTE ON FUNCTIONS TO {APP};
"""


def _exists(connection: psycopg.Connection, query: str, name: str) -> bool:
    return connection.execute(query.encode(), [name]).fetchone() is not None
