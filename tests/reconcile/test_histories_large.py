"""A million runs are read as a stream, and memory stays within bounds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment import ROOT
from reconcile.models import History, PastRun, Repeat
from tests.databases import Database
from tests.reconcile.books import Books

pytestmark = pytest.mark.long

ROWS, MEMORY_MAX = 1_000_000, 400 * 2**20


def run(number: int) -> dict[str, str]:
    """One of them; each five-hundredth was started by what started the next one as well."""
    order = number if number % 500 else number + 1
    minute = f"{1 + number % 28:02d}T07:{number % 60:02d}:00+02:00"
    return {"trigger": f"{order}", "time": f"2026-11-{minute}", "status": "success", "run": f"e-{number}"}


def many(folder: Path) -> Path:
    file = folder / "runs.csv"
    with file.open("w") as out:
        out.write("trigger,time,status,run\n")
        out.writelines(",".join(run(number).values()) + "\n" for number in range(ROWS))
    return file


def test_a_million_rows_in_little_memory(listed: Books, database: Database, tmp_path: Path) -> None:
    command = [sys.executable, "manage.py", "import_runs", str(many(tmp_path)), "--automation=shop"]
    log = tmp_path / "said"
    with log.open("w") as said:
        process = subprocess.Popen(
            [*command, "--type=invoice.create"], cwd=ROOT, env=database.environ, stdout=said, stderr=said
        )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 1, log.read_text()
    assert used.ru_maxrss * 1024 < MEMORY_MAX
    history = History.objects.get()
    assert (history.rows, history.added, history.bad) == (ROWS, ROWS, 0)
    assert (PastRun.objects.count(), Repeat.objects.count()) == (ROWS, history.repeated)
    assert history.repeated == ROWS // 500
