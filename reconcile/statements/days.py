"""Days as exports write them: whether day or month comes first is decided once for the whole file."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from reconcile.histories.files import FileRefused
from reconcile.statements.amounts import Unreadable
from reconcile.statements.layouts import Cell

ORDERS = ("dmy", "mdy")
_YEAR_FIRST = re.compile(r"(\d{4})([-/.]?)(\d{2}|\d(?=\D|$))\2(\d{2}|\d(?=\D|$))(?:[T ].*)?")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*(?:Z|[+-]\d{2}:?\d{2})", re.IGNORECASE)
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})(?:[T, ].*)?")


@dataclass
class Evidence:
    """What the days of a file say about their order: the first line that shows each."""

    dmy: int = 0
    mdy: int = 0
    unsure: int = 0

    def see(self, cell: str, line: int) -> None:
        """Look at one day. With points between, the day comes first wherever people write so."""
        found = None if cell[4:5] == "-" else _YEAR_LAST.fullmatch(cell.strip())
        if found is None:
            return
        if found[2] == "." or int(found[1]) > 12:
            self.dmy = self.dmy or line
        elif int(found[3]) > 12:
            self.mdy = self.mdy or line
        else:
            self.unsure = self.unsure or line

    def decide(self, stated: str, *, name: str, remedy: str) -> str:
        """Return the order of the file, empty where no day needs one; FileRefused where it cannot be told."""
        if stated:
            return stated
        if self.dmy and self.mdy:
            raise FileRefused(
                f"{name} has the day first on line {self.dmy} and the month first on line {self.mdy}."
                f" {remedy}"
            )
        if self.unsure and not (self.dmy or self.mdy):
            raise FileRefused(
                f"Whether day or month comes first on line {self.unsure} of {name} cannot be told, nor by any"
                f" other line. {remedy}"
            )
        return "dmy" if self.dmy else "mdy" if self.mdy else ""


@lru_cache(maxsize=2**14)
def read(cell: Cell, order: str, zone: str = "") -> date | None:
    """Read a day; a time beside it is left out. None where there is none.

    Where a zone is stated, a time with an offset is of that zone's day; else nothing moves it.
    """
    if isinstance(cell, date):
        return cell
    text = str(cell).strip()
    if not text:
        return None
    if zone and _INSTANT.fullmatch(text):
        try:
            return datetime.fromisoformat(text).astimezone(ZoneInfo(zone)).date()
        except (ValueError, OverflowError):
            raise Unreadable(f'the date "{text[:40]}" cannot be read') from None
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day = int(found[1]), int(found[3]), int(found[4])
    elif found := _YEAR_LAST.fullmatch(text):
        year, first, second = int(found[4]), int(found[1]), int(found[3])
        day, month = (first, second) if order == "dmy" else (second, first)
    else:
        raise Unreadable(f'the date "{text[:40]}" cannot be read')
    try:
        return date(year, month, day)
    except ValueError:
        raise Unreadable(f'there is no day "{text[:40]}"') from None
