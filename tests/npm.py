"""Programs of npm's for the long tests, installed from a lock in a folder of ours, checked by its digests."""

import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL_S = 300


def installed(locked: Path, folder: Path) -> Path:
    """Copy a folder with a lock and install it there; fails the test, and names the packages, without npm."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.fail(
            "node and npm are missing: install the packages nodejs and npm. Only long tests need them."
        )
    shutil.copytree(locked, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    assert done.returncode == 0, done.stderr
    return folder
