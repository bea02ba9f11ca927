"""The peer, DBOS, in an environment of its own that is made from a lock with hashes."""

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from config import postgres
from tests.bench.callers import Callers
from tests.bench.place import Place

LOCK = Path(__file__).with_name("peer.lock")
DATABASE = "bench_peer"
INSTALL_S = 180


def python(folder: Path) -> str:
    """Return the Python of the peer's environment, made where it is missing; raises SubprocessError."""
    home = folder / f"peer-{zlib.crc32(LOCK.read_bytes()):08x}"
    if not (home / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes")
        subprocess.run(
            [home / "bin" / "python", *install, "--requirement", LOCK],
            check=True,
            timeout=INSTALL_S,
            capture_output=True,
        )
        (home / "ready").touch()
    return str(home / "bin" / "python")


@contextmanager
def started(count: int, place: Place, *, folder: Path) -> Iterator[Callers]:
    """Start so many callers of the peer on a database of its own in the same server."""
    command = (python(folder), "-m", "tests.bench.peer_caller")
    with psycopg.connect(place.owner_url, autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {DATABASE}".encode())
    environ = {**os.environ, "BENCH_PEER_URL": _url(place)}
    with Callers.started(1, *command, environ=environ) as first:
        first.rate("peer", 1, seconds=0)  # makes its tables, alone
    with Callers.started(count, *command, environ=environ, rest=True) as callers:
        callers.rate("peer", count, seconds=0)
        yield callers


def _url(place: Place) -> str:
    return postgres.url(Path(place.environ["DATA_DIR"]), role=postgres.OWNER, database=DATABASE)
