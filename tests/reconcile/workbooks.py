"""Made-up workbooks, as spreadsheets and exports write them."""

import re
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook

HEADER = ("reference", "amount", "currency", "date")


def workbook(
    rows: Sequence[Sequence[Any]], also: Callable[[Any], None] = lambda sheet: None, *, title: str = "Orders"
) -> bytes:
    """Write rows to a sheet; `also` changes the sheet, or makes others."""
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    for row in rows:
        sheet.append(list(row))
    also(sheet)
    held = BytesIO()
    book.save(held)
    return held.getvalue()


def with_parts(content: bytes, **parts: bytes | Callable[[bytes], bytes]) -> bytes:
    """Put parts into a workbook, or change those that it has; a name has _ for / and ends before its dot."""
    held = BytesIO()
    with ZipFile(BytesIO(content)) as old, ZipFile(held, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            part = parts.pop(re.sub(r"\W", "_", name.rpartition(".")[0]), old.read(name))
            new.writestr(name, part if isinstance(part, bytes) else part(old.read(name)))
        for name, part in parts.items():
            assert isinstance(part, bytes)
            new.writestr(f"{name.replace('_', '/')}.bin", part)
    return held.getvalue()
