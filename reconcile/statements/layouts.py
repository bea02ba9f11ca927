"""How a file is written, whatever its form, and its rows: what every form gives to those who read on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path

from reconcile.statements.columns import Columns
from reconcile.statements.unlinked import Unlinked

Cell = str | Decimal | date
"""What stands in a cell: text as it is written; an exact number or a day where the form itself has such."""

Row = tuple[int, Sequence[Cell], str]
"""The line on which a row begins, its cells, and why it cannot be read, where its form says so already."""


@dataclass(frozen=True)
class Layout:
    """A file as it is written: its form, its checksum (SHA-256), and where its columns stand."""

    path: Path | Unlinked
    checksum: str
    form: str
    """In words for people, such as CSV."""
    columns: Columns
    read: Callable[[], Iterator[Row]]
    """Yields the rows under the header that hold anything; raises FileRefused."""
    encoding: str = ""
    separator: str = ""
    """In words, where there is one."""
    header_line: int = 0
    """0 where the form needs no header."""
    notes: list[str] = field(default_factory=list)
    """What whoever reads the result has to know of the file, each in a sentence; whole once it was read."""
    sheets: tuple[str, ...] = ()
    """The sheets that there are, where it is a workbook."""
    settled: frozenset[str] = frozenset()
    """What its form itself settles of `decimal`, `days` and `unit`, where no text in it is to be read."""
