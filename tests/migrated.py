"""A migrated cluster, kept from one test run to the next until something that makes it changes."""

import fcntl
import hashlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from config import postgres
from config.environment import ROOT

MADE_OF = (
    "*/migrations/*.py",
    "*/sql/*.sql",
    "*/**/guards.py",
    "ledger/rules/*.py",
    "*/models*/**/*.py",
    "config/*.py",
    "*.lock",
)
KEPT = "tieout-migrated-"
KEPT_S = 86_400
"""Kept for a day after its last use: other states of the code, beside this one, have their own."""


def copied(folder: Path, *, pg_bin: Path | None, make: Callable[[Path], None]) -> None:
    """Copy the migrated, stopped cluster that is kept to `folder`; where there is none, `make` fills one.

    Processes that come at once wait for the first one.
    """
    kept = Path(tempfile.gettempdir()) / f"{KEPT}{_state(pg_bin)}"
    with _alone(kept.with_suffix(".lock")):
        if not kept.is_dir():
            _make(kept, make)
        os.utime(kept)
        # Nobody holds the copy yet, and others sweep away what looks as if it had been left.
        shutil.copytree(kept, folder, ignore=shutil.ignore_patterns("holders"))


def _make(kept: Path, make: Callable[[Path], None]) -> None:
    draft = kept.with_suffix(".draft")
    if draft.is_dir():
        postgres.stop_unheld(draft)
        shutil.rmtree(draft)
    make(draft)
    draft.rename(kept)
    for other in kept.parent.glob(f"{KEPT}*/"):
        if time.time() - other.stat().st_mtime > KEPT_S:
            shutil.rmtree(other, ignore_errors=True)


def _state(pg_bin: Path | None) -> str:
    """Name everything that a migrated database depends on."""
    digest = hashlib.sha256(f"{pg_bin} {platform.python_version()} {os.geteuid()}".encode())
    for pattern in MADE_OF:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
