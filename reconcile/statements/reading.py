"""From rows to lines: each value is read exactly, or its line says why not; nothing is left out unsaid."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from ledger.rules import money
from ledger.rules.money import MoneyError
from reconcile.histories.files import FileRefused
from reconcile.histories.reading import SHORTENED
from reconcile.statements import amounts, days, files
from reconcile.statements.amounts import Unreadable
from reconcile.statements.layouts import Cell, Layout
from reconcile.statements.stating import How
from reconcile.statements.unlinked import Unlinked
from reconcile.tying import Side, Totals

TEXT_MAX = 200
ROWS_MAX = 3_000_000
LEFT_OUT_SHOWN = 50
SUMS = frozenset(
    (
        "total",
        "totals",
        "grand total",
        "subtotal",
        "sum",
        "balance",
        "opening balance",
        "closing balance",
        "balance brought forward",
        "balance carried forward",
    )
)
"""What a row of sums or balances begins with; it is left out, and said."""


class Line(NamedTuple):
    """One line of a statement; unreadable where `why` says so, and then without an amount."""

    number: int
    reference: str
    """As it is compared; empty where it cannot be."""
    shown: str
    """As it stands in the file."""
    id: str = ""
    amount: Decimal | None = None
    currency: str = ""
    day: date | None = None
    why: str = ""


@dataclass
class Statement:
    """A file that is read: how it is written, and what was counted; whole once every line was asked for."""

    layout: Layout
    mark: str
    """The decimal mark: a point or a comma."""
    order: str
    """`dmy` or `mdy`, where its days begin with either."""
    seen: bool = False
    """All of it was looked through before it is read."""
    rows: int = 0
    """How many lines it has, as far as it was looked through."""
    count: int = 0
    unreadable: int = 0
    left_out: list[tuple[int, str]] = field(default_factory=list)
    """The first rows of sums and balances: where they stand, and their first words."""
    left_out_count: int = 0
    totals: Totals = field(default_factory=dict)

    @classmethod
    def opened(cls, path: Path | Unlinked, how: How) -> "Statement":
        """Decide how a file is written, by all of it; FileRefused where that cannot be told."""
        layout = files.look(path, how)
        places, made = layout.columns.places, cls(layout, "", "", seen=True)
        marks, orders = amounts.Evidence(), days.Evidence()
        amount_at, day_at = places["amount"], places.get("date", -1)
        for line, cells, _ in layout.read():
            if made.leaves_out(cells):
                made.note_left_out(line, cells)
            else:
                made.rows += 1
            if len(cells) != len(layout.columns.header):
                continue
            if isinstance(amount := cells[amount_at], str):
                marks.see(amount, line)
            if day_at >= 0 and isinstance(day := cells[day_at], str):
                orders.see(day, line)
        made.mark = marks.decide(how.decimal, name=path.name, remedy=how.remedy("decimal", *amounts.MARKS))
        made.order = orders.decide(how.days, name=path.name, remedy=how.remedy("days", *days.ORDERS))
        return made

    @cached_property
    def _header(self) -> list[str]:
        return list(self.layout.columns.header)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.layout.path.name

    def lines(self) -> Iterator[Line]:
        """Yield every line, counted as it is read; FileRefused where there are too many, or none."""
        for number, cells, wrong in self.layout.read():
            if self.leaves_out(cells):
                if not self.seen:
                    self.note_left_out(number, cells)
                continue
            line = self._line(number, cells, wrong)
            self.count += 1
            if self.count > ROWS_MAX:
                raise FileRefused(f"{self.name} has more than 3 000 000 rows. Export fewer days at a time.")
            self.unreadable += bool(line.why)
            if line.currency not in self.totals:
                self.totals[line.currency] = Side()
            self.totals[line.currency].add(line.amount)
            yield line
        if not self.count:
            where = self.layout.header_line
            held = f"has a header on line {where}, and nothing under it" if where else "holds no entry"
            raise FileRefused(f"{self.name} {held}.")

    def note_left_out(self, number: int, cells: Sequence[Cell]) -> None:
        """Count a row that is left out; the first ones are named."""
        self.left_out_count += 1
        if len(self.left_out) < LEFT_OUT_SHOWN:
            self.left_out.append((number, _first(cells)))

    def leaves_out(self, cells: Sequence[Cell]) -> bool:
        """Say whether it is the header again, or a row of sums.

        Of sums the first words say so, and no other reference stands there.
        """
        if cells == self._header:
            return True
        place = self.layout.columns.places["reference"]
        reference = _plain(str(cells[place])) if place < len(cells) else ""
        if reference and reference not in SUMS:
            return False
        return _plain(_first(cells)) in SUMS or reference in SUMS

    def _line(self, number: int, cells: Sequence[Cell], wrong: str) -> Line:
        columns = self.layout.columns
        places = columns.places
        if len(cells) != len(columns.header):
            shown = _text(cells[places["reference"]])[:TEXT_MAX] if places["reference"] < len(cells) else ""
            why = wrong or f"it has {len(cells)} fields, and the header {len(columns.header)}"
            return Line(number, "", _clean(shown), why=why)
        text = _text(cells[places["reference"]])
        wrong = wrong or _wrong_reference(text)
        reference, shown = ("", _clean(text[:TEXT_MAX])) if wrong else (text, text)
        identity = _text(cells[places["id"]])[:TEXT_MAX] if "id" in places else ""
        try:
            if wrong:
                raise Unreadable(wrong)
            currency = _currency(
                _text(cells[places["currency"]]) if "currency" in places else columns.currency
            )
            amount = amounts.read(cells[places["amount"]], currency, self.mark)
            day = days.read(cells[places["date"]], self.order) if "date" in places else None
        except Unreadable as error:
            return Line(number, reference, shown, _clean(identity), why=_clean(str(error)))
        return Line(number, reference, shown, _clean(identity), amount, currency, day)


@lru_cache(maxsize=256)
def _currency(text: str) -> str:
    try:
        return money.read_currency(text)
    except MoneyError:
        said = f'"{text[:20]}" is no currency' if text else "it has no currency"
        raise Unreadable(said) from None


def _wrong_reference(text: str) -> str:
    if not text:
        return "it has no reference"
    if len(text) > TEXT_MAX:
        return f"its reference has more than {TEXT_MAX} characters"
    if not text.isprintable():
        return "its reference has a control character"
    if "E" in text.upper() and SHORTENED.fullmatch(text):
        return f"its reference {text} was shortened by a spreadsheet: its digits are lost"
    return ""


def _text(cell: Cell) -> str:
    return cell.strip() if isinstance(cell, str) else str(cell)


def _first(cells: Sequence[Cell]) -> str:
    return next((text for text in map(_text, cells) if text), "")[:60]


def _plain(cell: str) -> str:
    return cell[:60].strip(" \t\u00a0:").casefold()


def _clean(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)
