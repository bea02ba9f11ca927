"""Amounts as exports write them: the decimal mark is decided once for the whole file, never by line."""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

from ledger.rules import money
from ledger.rules.money import MoneyError
from reconcile.histories.files import FileRefused
from reconcile.statements.layouts import Cell

POINT, COMMA = ".", ","
MARKS = {"point": POINT, "comma": COMMA}
CELL_MAX = 60
SYMBOLS = {
    "$": frozenset("USD AUD CAD NZD SGD HKD MXN NAD".split()),
    "R": frozenset({"ZAR"}),
    "€": frozenset({"EUR"}),
    "£": frozenset({"GBP"}),
    "₹": frozenset({"INR"}),
    "¥": frozenset({"JPY", "CNY"}),
    "zł": frozenset({"PLN"}),
    "kr": frozenset("SEK NOK DKK".split()),
}
SIDES = {"DR": "-", "CR": "+", "DBIT": "-", "CRDT": "+", "DEBIT": "-", "CREDIT": "+", "D": "-", "C": "+"}
"""What takes away and what gives, as an account's statement has it."""
BESIDE = ("DR", "CR")
"""Those of them that stand beside a number."""
_SHAPE = re.compile(
    r"(?P<open>\()?\ ?(?P<sign1>[-+−]?)\ ?(?P<mark1>[^\W\d_]{1,3}|[$€£₹¥])?\ ?(?P<sign2>[-+−]?)\ ?"
    r"(?P<number>[0-9.,](?:[0-9.,'’\ ]*[0-9])?)\ ?(?P<mark2>[^\W\d_]{1,3}|[$€£₹¥])?\ ?"
    r"(?P<sign3>[-+−]?)\ ?(?P<close>\))?"
)
_MINUS = re.compile(r"[-−(]|DR\b", re.IGNORECASE)
_BLANKS = re.compile(r"[\s\u00a0\u202f]+")
_PLAIN = re.compile(r"[1-9][0-9]{0,14}\.([0-9]+)")
_EXPONENT = re.compile(r"[-+]?\d+(?:[.,]\d+)?[eE][-+]?\d+")


class Unreadable(ValueError):
    """A cell cannot be read; the words say what is wrong with it."""


@dataclass
class Evidence:
    """What the amounts of a file say about its decimal mark: the first line that shows each."""

    point: int = 0
    comma: int = 0
    unsure: int = 0

    def see(self, cell: str, line: int) -> None:
        """Look at one amount; one that could be read both ways proves nothing."""
        points, commas = cell.count(POINT), cell.count(COMMA)
        if not points and not commas:
            return
        if points + commas == 1 and (self.point if points else self.comma):
            return  # it could show nothing new
        if points and commas:
            self._note(POINT if cell.rfind(POINT) > cell.rfind(COMMA) else COMMA, line)
        elif points > 1 or commas > 1:
            self._note(COMMA if points else POINT, line)
        else:
            mark = POINT if points else COMMA
            before, _, after = re.sub(r"[^0-9.,]", "", cell).partition(mark)
            if len(after) == 3 and 1 <= len(before) <= 3 and before[0] != "0":
                self.unsure = self.unsure or line
            else:
                self._note(mark, line)

    def _note(self, mark: str, line: int) -> None:
        if mark == POINT:
            self.point = self.point or line
        else:
            self.comma = self.comma or line

    def decide(self, stated: str, *, name: str, remedy: str) -> str:
        """Return the decimal mark of the file; FileRefused where it cannot be told."""
        if stated:
            return MARKS[stated]
        if self.point and self.comma:
            raise FileRefused(
                f"{name} has a decimal point on line {self.point} and a decimal comma on line {self.comma}."
                f" {remedy} Lines that are written the other way are then unreadable."
            )
        if self.unsure and not (self.point or self.comma):
            raise FileRefused(
                f"Whether line {self.unsure} of {name} has decimals or thousands cannot be told. {remedy}"
            )
        return COMMA if self.comma else POINT


@lru_cache(maxsize=2**16)
def read(cell: Cell, currency: str, mark: str, unit: money.Unit = "major") -> Decimal:
    """Return an amount in major units of its currency, exactly; Unreadable says why it is none.

    It is written in major units, or in the smallest ones of its currency.
    """
    if isinstance(cell, date):
        raise Unreadable(f'the amount "{cell}" is a day')
    if isinstance(cell, Decimal):
        return _number(cell, str(cell), currency, unit)
    if (
        unit == "major"
        and mark == POINT
        and (plain := _PLAIN.fullmatch(cell))
        and len(plain[1]) == money.DECIMALS[currency]
    ):
        return Decimal(cell)  # most files hold nothing else
    text = _BLANKS.sub(" ", cell).strip()
    if not text:
        raise Unreadable("it has no amount")
    found = _SHAPE.fullmatch(text) if len(text) <= CELL_MAX else None
    if found is None:
        raise Unreadable(_what_is_wrong(text[:CELL_MAX]))
    marks = [found[name] for name in ("mark1", "mark2") if found[name]]
    signs = [found[name] for name in ("sign1", "sign2", "sign3") if found[name]]
    signs += [SIDES[one.upper()] for one in marks if one.upper() in BESIDE]
    if bool(found["open"]) != bool(found["close"]) or len(signs) + bool(found["open"]) > 1:
        raise Unreadable(f'the amount "{text}" has more than one sign')
    units = [one for one in marks if one.upper() not in BESIDE]
    if len(units) > 1 or any(not _is_of(unit, currency) for unit in units):
        raise Unreadable(f'the amount "{text}" is not in {currency}')
    digits = _digits(found["number"], mark, text)
    negative = bool(found["open"]) or (signs and signs[0] != "+")
    return _number(f"-{digits}" if negative else digits, text, currency, unit)


@dataclass
class Debits:
    """Whether the amounts that a column calls debits have a minus of their own, all through the file."""

    minus: bool = False
    plain: bool = False

    def see(self, amount: Cell, sign: str) -> None:
        """Look at one amount; one of nought shows nothing."""
        if SIDES.get(sign.upper()) != "-" or not re.search("[1-9]", str(amount)):
            return
        if amount < 0 if isinstance(amount, Decimal) else _MINUS.search(str(amount)):
            self.minus = True
        else:
            self.plain = True

    @property
    def mixed(self) -> bool:
        """Say whether some have one and some have none: one with a minus may be taken back."""
        return self.minus and self.plain


def signed(amount: Decimal, sign: str, *, mixed: bool) -> Decimal:
    """Return an amount with the sign that a column of its own gives it; Unreadable where they disagree.

    Of mixed debits one with a minus is either a debit or one that is taken back.
    """
    mark = SIDES.get(sign.upper())
    if mark is None:
        raise Unreadable(f'"{sign[:20]}" is neither debit nor credit')
    if mark == "+" and amount < 0:
        raise Unreadable("its amount has a minus, and it is a credit")
    if mark == "-" and amount < 0 and mixed:
        raise Unreadable("its amount has a minus, and other debits of the file have none")
    return -abs(amount) if mark == "-" else amount


def _number(digits: str | Decimal, text: str, currency: str, unit: money.Unit) -> Decimal:
    try:
        return money.read(digits, unit, currency=currency).amount
    except MoneyError as error:
        raise Unreadable(
            f'the amount "{text}": {error.detail[0].lower()}{error.detail[1:].rstrip(".")}'
        ) from None


def _is_of(unit: str, currency: str) -> bool:
    return unit.upper() == currency or currency in SYMBOLS.get(unit, frozenset())


def _digits(number: str, mark: str, text: str) -> str:
    """Take thousands out and put a point in; what is not grouped as numbers are is refused."""
    whole, _, fraction = number.partition(mark)
    other = COMMA if mark == POINT else POINT
    used = set(re.sub(r"[0-9]", "", whole))
    well = len(used) <= 1 and used <= {other, " ", "'", "’"}
    if used and well:
        first, *groups = re.split(r"[^0-9]", whole)
        thousands = 1 <= len(first) <= 3 and all(len(group) == 3 for group in groups)
        lakhs = (
            1 <= len(first) <= 2 and all(len(group) == 2 for group in groups[:-1]) and len(groups[-1]) == 3
        )
        well = thousands or lakhs
    if not well or (fraction and not fraction.isdigit()) or number.endswith(mark):
        raise Unreadable(f'the amount "{text}" is not written with "{mark}" as its decimal mark')
    return re.sub(r"[^0-9]", "", whole or "0") + (f".{fraction}" if fraction else "")


def _what_is_wrong(text: str) -> str:
    if _EXPONENT.fullmatch(text):
        return f'the amount "{text}" was shortened by a spreadsheet'
    letter = re.search(r"(?<=[\d.,])[^\W\d_](?=[\d.,])", text)
    if letter:
        return f'the amount "{text}" holds the letter {letter[0]}'
    return f'the amount "{text}" is no number'
