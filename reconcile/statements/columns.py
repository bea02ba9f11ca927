"""Which column holds what: by a documented list of headings, or named; never guessed.

docs/compare.md has the list. Headings are compared without regard to case, blanks and punctuation.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ledger.rules import money
from reconcile.histories.files import FileRefused

PARTS = ("reference", "amount", "currency", "date", "id", "debit", "credit", "sign")
OPTIONAL = ("date", "id", "debit", "credit", "sign")

SIDES = ("debit", "credit")
"""Two columns for one amount; where there is an amount, they are left out."""

HEADINGS: Mapping[str, tuple[str, ...]] = {
    "reference": (
        "reference",
        "ref",
        "order",
        "order id",
        "order number",
        "order no",
        "order reference",
        "your reference",
        "external reference",
        "external id",
        "customer reference",
        "merchant reference",
        "payment reference",
        "transaction reference",
        "end to end id",
    ),
    "amount": ("amount", "total", "total amount", "order total", "invoice total", "gross", "gross amount"),
    "currency": ("currency", "currency code", "ccy"),
    "date": (
        "date",
        "order date",
        "invoice date",
        "transaction date",
        "posting date",
        "booking date",
        "created at",
        "created",
    ),
    "id": (
        "id",
        "invoice",
        "invoice number",
        "invoice no",
        "document",
        "document number",
        "transaction id",
    ),
    "debit": ("debit", "debits", "debit amount", "dr", "withdrawal", "withdrawals", "paid out", "money out"),
    "credit": ("credit", "credits", "credit amount", "cr", "deposit", "deposits", "paid in", "money in"),
    "sign": ("dr/cr", "cr/dr", "d/c", "c/d", "debit/credit", "credit/debit", "credit debit indicator"),
}


@dataclass(frozen=True)
class Columns:
    """Where each part of a line stands, counted from 0; and the currency, where one is stated for all."""

    header: tuple[str, ...]
    places: Mapping[str, int]
    currency: str = ""

    @property
    def names(self) -> Mapping[str, str]:
        """The headings by what they hold."""
        return {part: self.header[place] for part, place in self.places.items()}


class HeaderUntold(FileRefused):
    """What its columns hold cannot be told; `header` has the headings that somebody could name.

    `sheets` are those of a workbook, where the columns may be on another one.
    """

    type = "header-untold"
    title = "The file's columns cannot be told"

    def __init__(self, detail: str, header: Sequence[str]) -> None:
        """Keep the headings."""
        super().__init__(detail)
        self.header = tuple(header)
        self.sheets: tuple[str, ...] = ()


def is_header(cells: Sequence[str], named: Mapping[str, str]) -> bool:
    """Say whether a row holds a heading of each column that must be there."""
    held = {part for part in PARTS if _candidates(cells, part, named)}
    return "reference" in held and ("amount" in held or {"debit", "credit"} <= held)


Naming = Callable[[str], str]
"""Says how a part is named, where a header does not tell which column holds it."""


def find(cells: Sequence[str], named: Mapping[str, str], *, name: str, naming: Naming) -> Columns:
    """Return the columns of a header; FileRefused names what is missing or could be two columns.

    A currency that is named and is no heading is that of every line. A date or id that could be two columns
    is left out.
    """
    header = tuple(cell.strip() for cell in cells)
    places: dict[str, int] = {}
    currency = ""
    for part in PARTS:
        fits = _candidates(header, part, named)
        if len(fits) == 1:
            places[part] = fits[0]
        elif part == "currency" and not fits and named.get(part) in money.DECIMALS:
            currency = named[part]
        elif part == "amount" and not fits and part not in named and _has_both(header, named):
            continue
        elif part not in OPTIONAL or part in named:
            raise HeaderUntold(_untold(header, part, fits, named, name=name, naming=naming), header)
    if "amount" in places:
        places = {part: place for part, place in places.items() if part not in SIDES or part in named}
    if len(set(places.values())) < len(places):
        raise HeaderUntold(f"Two parts are named to stand in one column of {name}.", header)
    return Columns(header, places, currency)


def _has_both(header: Sequence[str], named: Mapping[str, str]) -> bool:
    return all(len(_candidates(header, part, named)) == 1 for part in ("debit", "credit"))


def wanted() -> str:
    """Say which headings a reference and an amount are found by."""
    return f"{_list(HEADINGS['reference'][:5])} … and {_list(HEADINGS['amount'][:3])} …"


def shown(header: Sequence[str]) -> str:
    """List headings for people, the first thirty of them."""
    return _list([cell.strip()[:60] or "(blank)" for cell in header[:30]])


def _candidates(cells: Sequence[str], part: str, named: Mapping[str, str]) -> list[int]:
    names = [named[part]] if part in named else HEADINGS[part]
    exact = [place for place, cell in enumerate(cells) if cell.strip() in names] if part in named else []
    plain = {_plain(name) for name in names} - {""}
    return exact or [place for place, cell in enumerate(cells) if _plain(cell) in plain]


def _untold(
    header: Sequence[str],
    part: str,
    fits: Sequence[int],
    named: Mapping[str, str],
    *,
    name: str,
    naming: Naming,
) -> str:
    there = f"{name} has {shown(header)}."
    if fits:
        both = _list([f'"{header[place]}"' for place in fits])
        return f"The {part} in {name} could be each of {both}: {naming(part)}."
    if part in named:
        return f'"{named[part]}" is named for the {part}, and there is no such column: {there}'
    return f"Which column holds the {part} cannot be told: {naming(part)}. {there}"


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)
