"""From rows to lines: each value is read exactly, or its line says why not; nothing is left out unsaid."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from ledger.rules import money
from ledger.rules.money import MoneyError
from reconcile.histories.files import FileRefused
from reconcile.statements import amounts, controls, days, files, references
from reconcile.statements.amounts import Unreadable
from reconcile.statements.layouts import Cell, Layout
from reconcile.statements.references import TEXT_MAX
from reconcile.statements.stating import How
from reconcile.statements.unlinked import Unlinked
from reconcile.sums import Side, Totals

ROWS_MAX = 3_000_000
LEFT_OUT_SHOWN = 50
REJECTS_MAX = 10_000
ROW_MAX = 1000
TOTALS = frozenset(("total", "totals", "grand total", "sum"))
"""Which of these rows the lines above should come to."""
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
    how: How = field(default_factory=lambda: How(""))
    """What was stated of it."""
    unit: str = ""
    """`minor` where amounts are in the smallest units of their currency."""
    cut: bool = False
    """Its references of more than 15 digits have lost those behind the fifteenth."""
    settled: frozenset[str] = frozenset()
    """What is not to be stated of it: `decimal`, `days` or `unit`."""
    mixed: bool = False
    """Debits that a column of its own tells have a minus on some lines, and none on others."""
    seen: bool = False
    """All of it was looked through before it is read."""
    rows: int = 0
    """How many lines it has, as far as it was looked through."""
    count: int = 0
    unreadable: int = 0
    left_out: list[tuple[int, str]] = field(default_factory=list)
    """The first rows of sums and balances: where they stand, and their first words."""
    left_out_count: int = 0
    rejects: list[tuple[int, str, str]] = field(default_factory=list)
    """The first unreadable lines: where they stand, why, and what stands there."""
    totals: Totals = field(default_factory=dict)

    @classmethod
    def opened(cls, path: Path | Unlinked, how: How) -> "Statement":
        """Decide how a file is written, by all of it; FileRefused where that cannot be told."""
        with fitting(path.name, how):
            return cls._decided(path, how)

    @classmethod
    def _decided(cls, path: Path | Unlinked, how: How) -> "Statement":
        layout = files.look(path, how)
        made = cls(layout, "", "", unit=how.unit, seen=True, how=how)
        marks, orders, cuts = amounts.Evidence(), days.Evidence(), references.Evidence()
        debits = amounts.Debits()
        places = layout.columns.places
        money_at = [places[part] for part in ("amount", "debit", "credit") if part in places]
        day_at, reference_at = places.get("date", -1), places["reference"]
        width = len(layout.columns.header)
        for line, cells, _ in layout.read():
            if made.leaves_out(cells):
                made.note_left_out(line, cells)
            else:
                made.rows += 1
            if len(cells) != width:
                continue
            for place in money_at:
                if isinstance(amount := cells[place], str):
                    marks.see(amount, line)
            if "sign" in places and "amount" in places:
                debits.see(cells[places["amount"]], _text(cells[places["sign"]]))
            if day_at >= 0 and isinstance(day := cells[day_at], str):
                orders.see(day, line)
            if len(reference := cells[reference_at]) > references.KEPT:  # type: ignore[arg-type]  # text by now
                cuts.see(reference)
        written = {"decimal": marks.point or marks.comma or marks.unsure}
        written["days"] = orders.dmy or orders.mdy or orders.unsure
        made.settled = layout.settled - {what for what, line in written.items() if line}
        if wrong := how.refused(made.settled):
            raise FileRefused(f"{path.name} is {layout.form}: {wrong}")
        _agree(how, marks, orders)
        made.mark = marks.decide(how.decimal, name=path.name, remedy=how.remedy("decimal", *amounts.MARKS))
        made.order = orders.decide(how.days, name=path.name, remedy=how.remedy("days", *days.ORDERS))
        made.cut, made.mixed = cuts.cut, debits.mixed
        return made

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return self.layout.columns.places

    @cached_property
    def _header(self) -> list[str]:
        return list(self.layout.columns.header)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.layout.path.name

    def lines(self) -> Iterator[Line]:
        """Yield every line, counted as it is read; FileRefused where there are too many, or none."""
        sums: list[controls.Sum] = []
        for number, cells, wrong in self.layout.read():
            if self.leaves_out(cells):
                if not self.seen:
                    self.note_left_out(number, cells)
                if self._states_a_sum(cells):
                    sums.append(controls.Sum(number, cells, self.count))
                if len(sums) > LEFT_OUT_SHOWN:
                    del sums[1]  # what is of all lines stands first or last
                continue
            line = self._line(number, cells, wrong)
            self.count += 1
            if self.count > ROWS_MAX:
                raise FileRefused(f"{self.name} has more than 3 000 000 rows. Export fewer days at a time.")
            if line.why:
                self._reject(line, cells)
            if line.currency not in self.totals:
                self.totals[line.currency] = Side()
            self.totals[line.currency].add(line.amount)
            yield line
        if not self.count:
            where = self.layout.header_line
            held = f"has a header on line {where}, and nothing under it" if where else "holds no entry"
            raise FileRefused(f"{self.name} {held}.")
        self.layout.notes.extend(controls.Controls(self, self._unit).proved(sums))

    def _reject(self, line: Line, cells: Sequence[Cell]) -> None:
        self.unreadable += 1
        if len(self.rejects) < REJECTS_MAX:
            text = _clean(" | ".join(map(str, cells))[:ROW_MAX])
            self.rejects.append((line.number, line.why, text))

    def _states_a_sum(self, cells: Sequence[Cell]) -> bool:
        return _plain(_first(cells)) in TOTALS or controls.is_trailer(cells, self.how)

    def note_left_out(self, number: int, cells: Sequence[Cell]) -> None:
        """Count a row that is left out; the first ones are named."""
        self.left_out_count += 1
        if len(self.left_out) < LEFT_OUT_SHOWN:
            self.left_out.append((number, _first(cells)))

    def leaves_out(self, cells: Sequence[Cell]) -> bool:
        """Say whether it is the header again, or a row of sums.

        Of sums the first words say so, and no other reference stands there.
        """
        if self._stated_sums is not None and self._stated_sums(cells):
            return True
        place = self._places["reference"]
        reference = cells[place] if place < len(cells) else ""
        if isinstance(reference, str) and reference[-1:].isdigit():
            return False  # most references, no heading, and no words of sums
        if cells == self._header:
            return True
        plain = _plain(str(reference))
        if plain and plain not in SUMS:
            return False
        return _plain(_first(cells)) in SUMS or plain in SUMS

    @cached_property
    def _stated_sums(self) -> Callable[[Sequence[Cell]], bool] | None:
        """What tells rows of sums that only a profile knows; None where it knows of none."""
        if not self.how.sums and self.how.trailer is None:
            return None
        return lambda cells: _plain(_first(cells)) in self.how.sums or controls.is_trailer(cells, self.how)

    def _line(self, number: int, cells: Sequence[Cell], wrong: str) -> Line:
        places = self._places
        if len(cells) != len(self._header):
            shown = _text(cells[places["reference"]])[:TEXT_MAX] if places["reference"] < len(cells) else ""
            why = wrong or f"it has {len(cells)} fields, and the header {len(self._header)}"
            return Line(number, "", _clean(shown), why=why)
        held = cells[places["reference"]]
        text = held.strip() if isinstance(held, str) else str(held)
        wrong = wrong or references.wrong(text, cut=self.cut)
        reference, shown = ("", _clean(text[:TEXT_MAX])) if wrong else (text, text)
        identity = _clean(_text(cells[places["id"]])[:TEXT_MAX]) if "id" in places else ""
        try:
            if wrong:
                raise Unreadable(wrong)
            currency = _currency(
                _text(cells[places["currency"]]) if "currency" in places else self.layout.columns.currency
            )
            amount = (
                amounts.read(cells[places["amount"]], currency, self.mark, self._unit)
                if self._plain_amount
                else self._amount(cells, currency)
            )
            if self.how.negated:
                amount = -amount if amount else amount
            day = (
                days.read(cells[places["date"]], self.order, self.how.timezone) if "date" in places else None
            )
        except Unreadable as error:
            return Line(number, reference, shown, identity, why=_clean(str(error)))
        return Line(number, reference, shown, identity, amount, currency, day)

    def _amount(self, cells: Sequence[Cell], currency: str) -> Decimal:
        places = self._places
        if "amount" not in places:
            return self._of_two(cells[places["debit"]], cells[places["credit"]], currency)
        amount = amounts.read(cells[places["amount"]], currency, self.mark, self._unit)
        if "sign" not in places:
            return amount
        return amounts.signed(amount, _text(cells[places["sign"]]), mixed=self.mixed)

    def _of_two(self, debit: Cell, credit: Cell, currency: str) -> Decimal:
        """Return what two columns come to; one of them is blank or nought, and neither has a sign."""
        held = [
            amounts.read(cell, currency, self.mark, self._unit) if _text(cell) else Decimal(0)
            for cell in (debit, credit)
        ]
        if not _text(debit) and not _text(credit):
            raise Unreadable("it has no amount")
        if all(held):
            raise Unreadable("it has a debit and a credit")
        if min(held) < 0:
            raise Unreadable("its debit or its credit has a minus")
        return held[1] - held[0]

    @cached_property
    def _plain_amount(self) -> bool:
        """Say whether a column holds it with its sign, as in most files."""
        return "amount" in self._places and "sign" not in self._places

    @cached_property
    def _unit(self) -> money.Unit:
        return "minor" if self.unit == "minor" else "major"


@contextmanager
def fitting(name: str, how: How) -> Iterator[None]:
    """Say of what a file is refused for, where it is read by a profile, that it does not fit that."""
    try:
        yield
    except FileRefused as refusal:
        if how.profile:
            refusal.detail = f"{name} does not fit profile {how.profile}: {refusal.detail}"
        raise


def _agree(how: How, marks: amounts.Evidence, orders: days.Evidence) -> None:
    """Refuse a file of which no line is written as its profile says, and some the other way."""
    said = {
        "point": (marks.point, marks.comma, "a decimal comma"),
        "comma": (marks.comma, marks.point, "a decimal point"),
    }
    said |= {
        "dmy": (orders.dmy, orders.mdy, "the month first"),
        "mdy": (orders.mdy, orders.dmy, "the day first"),
    }
    for what in sorted(how.by_profile & {"decimal", "days"}):
        fits, other, words = said[getattr(how, what)]
        if other and not fits:
            raise FileRefused(f"Line {other} has {words}, and the profile says {getattr(how, what)}.")


@lru_cache(maxsize=256)
def _currency(text: str) -> str:
    try:
        return money.read_currency(text)
    except MoneyError:
        said = f'"{text[:20]}" is no currency' if text else "it has no currency"
        raise Unreadable(said) from None


def _text(cell: Cell) -> str:
    return cell.strip() if isinstance(cell, str) else str(cell)


def _first(cells: Sequence[Cell]) -> str:
    return next((text for text in map(_text, cells) if text), "")[:60]


def _plain(cell: str) -> str:
    return cell[:60].strip(" \t\u00a0:").casefold()


def _clean(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)
