"""What a file says its lines come to, held to what they do come to; where it is not that, it is not whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, Protocol

from ledger.rules import money
from reconcile.histories.files import FileRefused
from reconcile.statements import amounts
from reconcile.statements.amounts import Unreadable
from reconcile.statements.layouts import Cell, Layout
from reconcile.statements.stating import How
from reconcile.sums import Totals

NOT_WHOLE = "It is not compared: export it again, whole."


class Sum(NamedTuple):
    """A row that says what the lines come to: where it stands, its cells, and how many lines are above it."""

    number: int
    cells: Sequence[Cell]
    above: int


class Read(Protocol):
    """A file that was read to its end."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    layout: Layout
    how: How
    mark: str
    count: int
    unreadable: int
    totals: Totals


@dataclass(frozen=True)
class Controls:
    """Holds one file to what it says of itself."""

    read: Read
    unit: money.Unit

    def proved(self, sums: Sequence[Sum]) -> list[str]:
        """Say what its totals prove; FileRefused where its lines are not what they say.

        Where lines are unreadable, or a person wants totals told alone, what is off is only told.
        """
        ends = [one for one in sums if self.read.how.trailer and is_trailer(one.cells, self.read.how)]
        told = [*self._trailer(ends)] if self.read.how.trailer else []
        held = [*self._totals([one for one in sums if one not in ends])]
        off = [words for words, fits, sure in held if sure and not fits]
        if off and not any(fits for _, fits, _ in held) and not self._only_told:
            raise FileRefused(f"{off[-1]} {NOT_WHOLE} {self._remedy}")
        return told + [words for words, _, _ in held]

    @property
    def _only_told(self) -> bool:
        return bool(self.read.unreadable) or self.read.how.totals == "told"

    @property
    def _remedy(self) -> str:
        option = self.read.how.option("totals")
        if self.read.how.on_page:
            return f"If that row is no total of them, say so under {option}."
        return f"If that row is no total of them, say {option} told."

    @property
    def _currency(self) -> str:
        """The only currency of its lines; empty where there are several, or none."""
        currencies = [currency for currency in self.read.totals if currency]
        return currencies[0] if len(currencies) == 1 else ""

    def _totals(self, sums: Sequence[Sum]) -> Iterator[tuple[str, bool, bool]]:
        """Yield what each total says in words, whether the lines come to it, and whether that is sure."""
        if not (currency := self._currency):
            return
        held = self.read.totals[currency].amount
        for one in sums:
            said = self._said(one.cells, currency)
            if said is None:
                continue
            words = f"Line {one.number} of {self.read.name} ({_first(one.cells)}) says {said:f} {currency}"
            words = f"{words}, and its lines come to {'that' if said == held else f'{held:f}'}."
            yield words, said == held, "sign" not in self.read.layout.columns.places

    def _said(self, cells: Sequence[Cell], currency: str) -> Decimal | None:
        """Return what a row of sums says; None where it says nothing that can be read."""
        places = self.read.layout.columns.places
        parts = ("amount",) if "amount" in places else ("credit", "debit")
        if any(places[part] >= len(cells) for part in parts):
            return None
        values = [cells[places[part]] for part in parts]
        try:
            read = [amounts.read(cell, currency, self.read.mark, self.unit) for cell in values]
        except Unreadable:
            return None
        said = read[0] if len(read) == 1 else read[0] - read[1]
        return -said if self.read.how.negated else said

    def _trailer(self, ends: Sequence[Sum]) -> Iterator[str]:
        """Say what the last row proves; FileRefused where it is missing, not the last one, or off."""
        assert self.read.how.trailer is not None  # asked before
        begins, count_in, total_in = self.read.how.trailer
        name, count = self.read.name, self.read.count
        if len(ends) != 1:
            there = "It has none" if not ends else f"It has {len(ends)}"
            raise FileRefused(
                f"{name} has to end with a row that begins with “{begins}”. {there}: it may have broken off."
            )
        (end,) = ends
        if end.above != count:
            raise FileRefused(
                f"Line {end.number} of {name} ({begins}) has to be its last one, and more follow. {NOT_WHOLE}"
            )
        row = f"Line {end.number} of {name} ({begins})"
        if count_in:
            self._counted(row, _cell(end.cells, count_in))
        total = self._total(row, _cell(end.cells, total_in)) if total_in else ""
        lines = f"{count} line{'s' * (count != 1)}" if count_in else ""
        proved = " and ".join(filter(None, (lines, total)))
        if proved:
            yield f"{row} says {proved}, and that is what it holds."
        if total_in and not total:
            yield f"{row} states a total, and it proves nothing: {self._why_no_total}."

    @property
    def _why_no_total(self) -> str:
        return "some lines are unreadable" if self.read.unreadable else "its lines are in several currencies"

    def _counted(self, row: str, said: str) -> None:
        if not said.isascii() or not said.isdigit():
            raise FileRefused(f"{row} has no count where its profile says: “{said[:40]}”.")
        if int(said) != self.read.count:
            raise FileRefused(
                f"{row} counts {int(said)} lines, and the file holds {self.read.count}. {NOT_WHOLE}"
            )

    def _total(self, row: str, said: str) -> str:
        """Return the total in words, empty where it can prove nothing; FileRefused where it is off."""
        currency = self._currency
        if self.read.unreadable or not currency:
            return ""
        try:
            total = amounts.read(said, currency, self.read.mark, self.unit)
        except Unreadable as error:
            raise FileRefused(f"{row} has no total where its profile says: {error}.") from None
        total = -total if self.read.how.negated else total
        held = self.read.totals[currency].amount
        if total != held:
            raise FileRefused(f"{row} says {total:f} {currency}, and its lines come to {held:f}. {NOT_WHOLE}")
        return f"{held:f} {currency}"


def is_trailer(cells: Sequence[Cell], how: How) -> bool:
    """Say whether a row begins as the profile says that the last one does."""
    return how.trailer is not None and _first(cells).casefold() == how.trailer[0].casefold()


def _cell(cells: Sequence[Cell], field: int) -> str:
    return str(cells[field - 1]).strip() if field <= len(cells) else ""


def _first(cells: Sequence[Cell]) -> str:
    return next((text for text in (str(cell).strip() for cell in cells) if text), "")[:60]
