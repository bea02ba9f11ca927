"""LibreOffice opens a workbook and shows what the books say: digits, signs, and no formula worked out."""

import csv
import subprocess
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest

from reconcile.tables import About, Form, Table

SOFFICE = "/usr/bin/soffice"
AS_SHOWN = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,true,false,false,-1"
"""Comma, quotes, UTF-8, each cell as it is shown, every sheet in a file of its own."""
LONG = "00123456789012345678"

pytestmark = pytest.mark.long


def test_64_65_libreoffice_shows_digits_signs_and_no_formula(tmp_path: Path) -> None:
    rows = [
        (LONG, Decimal("-5.00"), "=1+1", datetime(2026, 12, 1, 5, 2, 3, tzinfo=UTC)),
        ("007", Decimal("1240.50"), "<r>a & b</r>", None),
        ("+27 82", Decimal("12345678901234567.89"), '=HYPERLINK("https://example.com/")', None),
    ]
    about = About("A table", "all", datetime(2026, 12, 1, tzinfo=UTC), "vic", len(rows))
    pieces = Table(about, ("reference", "amount", "why", "at"), rows).written(Form.XLSX)
    (tmp_path / "run.xlsx").write_bytes(b"".join(piece for piece in pieces if isinstance(piece, bytes)))
    home = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = [SOFFICE, "--headless", home, "--convert-to", AS_SHOWN, "--outdir", str(tmp_path), "run.xlsx"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=180, capture_output=True)
    shown = (tmp_path / "run-Rows.csv").read_text(encoding="utf-8")
    assert list(csv.reader(StringIO(shown, newline=""))) == [
        ["Reference", "Amount", "Why", "At"],
        [LONG, "-5.00", "=1+1", "2026-12-01 05:02:03 UTC"],
        ["007", "1,240.50", "<r>a & b</r>", ""],
        ["+27 82", "12345678901234567.89", '=HYPERLINK("https://example.com/")', ""],
    ]
    first = (tmp_path / "run-Where this comes from.csv").read_text(encoding="utf-8")
    assert first.startswith("A table")
